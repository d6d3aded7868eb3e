"""Run logs x machines x policies with ranges x loads x copies, resumable, on any cluster.

\b
shadowtime sweep plan.toml -o results
shadowtime sweep status results
shadowtime sweep collect results -o table.csv
shadowtime sweep report results -o sweep.html
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.text import Text

from shadowtime.api.sweep import load_log
from shadowtime.cli.common import hints, tables
from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.outputs import check_file, check_folder, check_outputs, print_json, wrote
from shadowtime.cli.common.placing import HERE, Placing, counting
from shadowtime.cli.common.progress import working
from shadowtime.private import write_result
from shadowtime.report.leaderboard import leaderboard_page
from shadowtime.report.numbers import count, number, span
from shadowtime.study.sweep import Outcome, curves, run_plan
from shadowtime.study.sweep.leaderboard import leaderboard as ranked
from shadowtime.study.sweep.leaderboard import ranked_metrics
from shadowtime.study.sweep.plan_file import (
    Status,
    read_plan,
    recorded_text,
    status_of,
    write_record,
)
from shadowtime.study.sweep.run import prepare as compile_for
from shadowtime.study.sweep.scale import condor_script, slurm_script
from shadowtime.study.sweep.shards import Shards, numbered, require_metric, write_table
from shadowtime.types import File, Folder

if TYPE_CHECKING:
    from rich.console import RenderableType


COMMANDS = {"Commands": ("run", "status", "collect", "report", "script", "merge")}
DEFAULT = "run"


def run(
    plan: File,
    *,
    output: Folder,
    workers: int | None = None,
    shard: str | None = None,
    retry: Literal["none", "failed"] = "none",
    placing: Placing = HERE,
    prepare: bool = False,
    json: bool = False,
) -> int:
    """Run every simulation of PLAN.toml that has no result in DIR yet.

    A run that fails becomes a row with its error, and the exit code is 1. After Ctrl-C, the same
    command resumes.

    \b
    shadowtime sweep plan.toml -o results
    shadowtime sweep run plan.toml -o results
    shadowtime sweep plan.toml -o results --retry failed
    shadowtime sweep plan.toml -o results --shard 3/64
    shadowtime sweep plan.toml -o results --on slurm --site partition=batch --site blocks=8

    Parameters
    ----------
    plan : PLAN.toml
    output : DIR
        The folder of the results; runs that it already contains are not repeated.
    workers : N >= 1
        Processes on this machine. [default: one for each core]
    shard : I/N
        Only the I-th of N parts, for an array of tasks.
    retry
        Repeat runs that failed before.
    prepare
        Compile what the plan needs for this machine, then exit.
    """
    placing = replace(placing, workers=workers)
    check_folder("--output", output)
    found = read_plan(plan)
    if prepare:
        compile_for(list(found.cases()), load_log, note)
        return 0
    if shard is None or shard.startswith("1/"):  # one task of an array is enough
        write_record(found, plan, output)
    if placing.on != "here":
        compile_for(list(found.cases()), load_log, note)  # before jobs are submitted to wait for it
    with counting() as progress, placing.executor(output) as executor:
        outcome = run_plan(
            found, output, load=load_log, workers=placing.count(), executor=executor, shard=shard,
            retry=retry, progress=progress, announce=note,
        )  # fmt: skip
    if json:
        names = ("planned", "ran", "skipped", "failed")
        print_json({"folder": output, **{name: getattr(outcome, name) for name in names}})
    else:
        _show(outcome, output)
    return 1 if outcome.failed else 0


def _show(outcome: Outcome, folder: str) -> None:
    text = f"{count(outcome.planned, 'run')} planned: {outcome.ran:,} run now"
    text += f", {outcome.skipped:,} done before"
    if outcome.failed:
        text += f"; {outcome.failed:,} failed: see shadowtime sweep status {folder}"
    show(Text(text))


def status(folder: Folder, *, plan: str | None = None, json: bool = False) -> None:
    """Show the progress of a sweep: runs done, failed and why, and the remaining time.

    \b
    shadowtime sweep status results

    Parameters
    ----------
    folder : DIR
    plan : PLAN.toml
        The plan to compare with. [default: the last one run with this DIR]
    """
    found = status_of(folder, plan)
    if json:
        print_json(found.as_dict())
    else:
        show(*_progress(found))


def _progress(found: Status) -> list[RenderableType]:
    text = f"{count(found.done, 'run')} done"
    if found.planned is not None:
        text = f"{found.done:,} of {count(found.planned, 'run')} done"
    text += f", {found.failed:,} failed, in {count(found.shards, 'shard')}"
    if found.seconds_left:
        text += f"; about {span(found.seconds_left)} left at the rate so far"
    parts: list[Any] = [Text(text)]
    if found.errors:
        table = tables.plain_table("runs", "error")
        for error, runs in found.errors:
            table.add_row(f"{runs:,}", error)
        parts += [Text(), table, Text("repeat them with --retry failed", "dim")]
        if any(hints.options_in(error) for error, _ in found.errors):
            keys = (
                'options of logs are keys of the plan\'s table [cleaning], e.g. bad_lines = "drop"'
            )
            parts.append(Text(keys, "dim"))
    return parts


def collect(
    folder: Folder,
    *,
    output: File | None = None,
    metric: str = "bsld_mean",
    over: str | None = None,
    sql: str | None = None,
    json: bool = False,
) -> None:
    """Show all results of a sweep as one table, by policy or over a parameter.

    \b
    shadowtime sweep collect results -o table.parquet
    shadowtime sweep collect results --metric wait_mean_s --over reserve
    shadowtime sweep collect results --sql 'select policy, avg(bsld_mean) from runs group by 1'

    Parameters
    ----------
    folder : DIR
    output : TABLE
        Write every row, sorted by key, as .parquet or .csv.
    metric : M
        The metric to show.
    over : NAME
        Show the metric over this ranged parameter.
    sql : QUERY
        Run a query on the table `runs` with DuckDB (extra sql).
    """
    if output:
        check_file("--output", output)
    table = Shards(Path(folder)).collect()
    if output:
        write_table(table, Path(output))
        note(f"wrote {output}: {table.num_rows:,} rows")
    if sql is not None:
        from shadowtime.study.sweep.shards import query

        answer = query(numbered(table), sql)
        if json:
            print_json({"rows": answer.to_pylist()})
        else:
            show(_rows(answer))
    elif not output or over:
        names = [over] if over else ["log", "policy"]
        points = curves.curve(numbered(table), metric, over or names)
        if json:
            print_json({"metric": metric, "points": [_point(one) for one in points]})
        else:
            show(_points(points, metric, names))


def _point(point: Any) -> dict[str, Any]:
    inside = point.interval.as_dict() if point.interval else None
    return {"at": list(point.at), "value": point.value, "interval": inside, "runs": point.runs}


def _points(points: list[Any], metric: str, names: list[str]) -> RenderableType:
    table = tables.plain_table(*names, metric, "over the copies (95 %)", "runs")
    for one in points:
        inside = one.interval
        interval = f"{number(inside.mean)} ± {number(inside.half)}" if inside else ""
        table.add_row(*map(_cell, one.at), number(one.value), interval, str(one.runs))
    return table


def _rows(answer: Any) -> RenderableType:
    table = tables.plain_table(*answer.column_names)
    for row in answer.to_pylist():
        table.add_row(*map(_cell, row.values()))
    return table


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def report(
    folder: Folder,
    *,
    output: File | None = None,
    metrics: tuple[str, ...] = (),
    figures: Folder | None = None,
) -> None:
    """Write a page of metrics by policy and over each ranged parameter, with intervals.

    \b
    shadowtime sweep report results -o sweep.html
    shadowtime sweep report results --metric wait_mean_s --figures figures

    Parameters
    ----------
    folder : DIR
    output : OUT.html
        Where to write the page.  [default: DIR/report.html]
    metrics : M
        Show this metric; repeatable. [default: the first four with a direction of improvement]
    """
    from shadowtime.report.page.sweep import sweep_page, write_sweep_figures
    from shadowtime.result.write import versions

    page = output or str(Path(folder) / "report.html")
    check_outputs(report=page, figures=figures)
    with working(f"reading {folder}"):
        table = numbered(Shards(Path(folder)).collect())
    for name in metrics:
        require_metric(table, name)
    with working(f"writing {page}"):
        made = sweep_page(
            table, title=Path(folder).resolve().name, metrics=metrics, plan=recorded_text(folder),
            versions=versions(),
        )  # fmt: skip
        write_result(Path(page), made)
    drawn = write_sweep_figures(table, figures, metrics=metrics) if figures else []
    wrote(page, *map(str, drawn))


def script(
    scheduler: Literal["slurm", "condor"],
    plan: File,
    *,
    output: Folder,
    tasks: int = 64,
    cores: int = 1,
) -> None:
    """Print a job script that runs PLAN.toml as an array of N tasks.

    Every task works on its own part and may be submitted again at any time: finished runs are
    skipped. Plan, logs and DIR must be on a file system that the nodes share.

    \b
    shadowtime sweep script slurm plan.toml -o results --tasks 64 > sweep.sh
    shadowtime sweep script condor plan.toml -o results --tasks 64 > sweep.sub

    Parameters
    ----------
    plan : PLAN.toml
    output : DIR
        The folder of the results; runs that it already contains are not repeated.
    tasks : N >= 1
        Number of tasks.
    cores : >= 1
        Cores per task.
    """
    read_plan(plan)  # a plan that cannot be read is reported here, not by every task
    make = slurm_script if scheduler == "slurm" else condor_script
    click.echo(make(plan, output, tasks=tasks, cores=cores), nl=False)


def merge(folder: Folder) -> None:
    """Merge the shards of DIR into one file, which is quicker to read.

    Run it only while no sweep writes to DIR.

    \b
    shadowtime sweep merge results

    Parameters
    ----------
    folder : DIR
    """
    merged = Shards(Path(folder)).merge()
    click.echo(f"{count(merged, 'shard')} merged into one" if merged > 1 else "nothing to merge")


MOST = 6
"""Metrics on the page."""


def leaderboard(
    folder: Folder, *, metric: str = "bsld_mean", output: File = "leaderboard.html"
) -> None:
    """Rank the policies of a sweep on its logs, with intervals, digests and proofs, as one page.

    The plan should set `check = true` for the proofs and `held_out = 0.2` for that column.

    \b
    shadowtime leaderboard results -o leaderboard.html

    Parameters
    ----------
    folder : DIR
    metric : M
        Lead with this metric; the others of the plan follow.
    output : OUT.html
        Where to write the page.
    """
    check_file("--output", output)
    table = Shards(Path(folder)).collect()
    first = ranked(table, metric)
    others = [ranked(table, name) for name in ranked_metrics(table, metric)[1:MOST]]
    page = leaderboard_page([first, *others], plan=recorded_text(folder))
    write_result(Path(output), page.encode("utf-8"))
    click.echo(f"wrote {output}")
