"""Simulate a log under one policy, write the result and print it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.api.inputs import as_where
from shadowtime.cli.common import options, tables
from shadowtime.cli.common.console import show
from shadowtime.cli.common.inputs import Cleaning, load, must_score_some, print_policy_notes
from shadowtime.cli.common.outputs import check_outputs, wrote
from shadowtime.cli.common.plain import Words
from shadowtime.cli.common.progress import working
from shadowtime.cli.common.running import run_policies
from shadowtime.metrics import Window
from shadowtime.policy import parse_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.api.run import Run
    from shadowtime.metrics.where import Where


def simulate_log(
    *,
    trace: str,
    cluster: str | None,
    policy: str,
    demand: str | None,
    window: str | None,
    where: str,
    by: str,
    schedule: str | None,
    folder: str | None,
    as_json: bool,
    report: str | None,
    figures: str | None,
    phases: int | None,
    **cleaning: Any,
) -> None:
    """Run one policy, or with ``phases`` several runs of Slurm's scheduler."""
    scored = Window.parse(window or "all")
    chosen = parse_policy(policy)
    counted = jobs_that_count(where, by)
    if phases:
        from shadowtime.cli.common.phases import check_phases, show_phases

        check_phases(chosen, schedule=schedule, folder=folder, report=report, figures=figures)
    if phases and by:
        raise click.UsageError(
            "--by and --phases do not go together: use shadowtime replay for "
            "groups over several runs"
        )
    check_outputs(schedule=schedule, folder=folder, report=report, figures=figures)
    workload, machine = load(trace, cluster, Cleaning(**cleaning), demand=demand)
    must_score_some(scored, workload)
    print_policy_notes([chosen], machine, workload)
    if phases:
        runs = run_policies(workload, machine, chosen.offsets(phases), scored, where=counted)
        show_phases(runs, workload, as_json)
        return
    [run] = run_policies(workload, machine, [chosen], scored, where=counted)
    rows = run.groups(by) if by else []
    if schedule:
        run.write(schedule)
    pages = 0
    if folder or report or figures or as_json:  # a table alone needs no writer
        from shadowtime.result.pages import write_results
        from shadowtime.result.write import as_object, write_folder

        result = run.as_report(command=options.command_line())
        content = as_object(result, scored, **({"groups": rows} if by else {}))
        if folder:
            write_folder(content, result, folder)
        pages = len(write_results(result, report=report, figures=figures, step=working))
    wrote(schedule, folder, report, figures=figures, count=pages - bool(report))
    if as_json:
        options.print_json(content)
    else:
        _show(run, rows)


def jobs_that_count(where: str, by: str) -> Where | None:
    """What ``--where`` selects; ``--by`` is read too, so that a wrong word is reported early."""
    if by:
        from shadowtime.metrics.groups import parse_by

        parse_by(by)
    return as_where(where)


def _show(run: Run, rows: Sequence[dict[str, Any]]) -> None:
    jobs = run.workload
    slice_words = f", {run.where}" if run.where else ""
    head = Words(
        (run.name, "bold cyan"),
        f" on {jobs.name}: {tables.count(len(jobs), 'job')}"
        f" on {tables.machine(run.cluster)}; scored: {run.window}{slice_words}\n",
    )
    cleaned = tables.cleaning(jobs)
    extra: list[Any] = [Words("\nThe log was cleaned:"), cleaned] if cleaned else []
    if run.unstarted:
        from shadowtime.report.obstacle_words import unstarted_lines

        never = [Words(("\nNever started:", "bold yellow"))]
        extra = [*never, *(Words(f"  {line}") for line in unstarted_lines(run.unstarted)), *extra]
    if rows:
        from shadowtime.cli.common.grouped import group_table

        extra = [Words(""), group_table(rows), *extra]
    show(
        head,
        tables.distributions(run.metrics),
        Words(""),
        tables.facts(run.metrics),
        *extra,
    )
