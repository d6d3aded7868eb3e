"""shadowtime simulate: one log, one machine, one policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from shadowtime.api.inputs import as_where
from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.api.run import Run
from shadowtime.cli.common import console, outputs, progress, tables
from shadowtime.cli.common.plain import Words
from shadowtime.cli.common.running import load, must_score_some, print_policy_notes, run_policies
from shadowtime.metrics import Window
from shadowtime.policy import parse_policy
from shadowtime.report.numbers import count
from shadowtime.types import File, FileOrFolder, Folder


def simulate(
    trace: FileOrFolder,
    *,
    cluster: str | None = None,
    policy: str,
    cleaning: Cleaning = CLEAN,
    demand: str | None = None,
    window: str | None = None,
    where: str | None = None,
    by: str = "",
    schedule: File | None = None,
    output: Folder | None = None,
    json: bool = False,
    report: File | None = None,
    figures: Folder | None = None,
    phases: int | None = None,
    resume: Folder | None = None,
) -> None:
    """Replay the job log TRACE under one policy and measure the schedule.

    TRACE is a job log: the Standard Workload Format (SWF), an sacct export, a Slurm site's CSV,
    HTCondor history or event log, PBS or Torque accounting, slurmctld.log, a workflow of WfCommons,
    a table of jobs (CSV or Parquet; with TABLE.map.toml beside it for other columns, which is
    proposed), a folder of PBS days or tables, a site's folder or a result folder; plain or .gz.

    \b
    shadowtime simulate log.swf.gz --policy easy
    shadowtime simulate log.swf.gz --cluster pool:430 --policy 'easy(reserve=4, order=lxfw)'
    shadowtime simulate log.swf.gz --policy conservative --schedule out.csv
    shadowtime simulate log.swf.gz --policy easy --report easy.html
    shadowtime simulate site/ --policy slurm --phases 6

    Parameters
    ----------
    phases : N in 2..100
        slurm only: simulate N runs with the passes at different offsets, and print means and
        ranges.
    resume : DIR
        Save the run in DIR when it is over, and every minute before: after Ctrl-C the same command
        continues.
    """
    scored = Window.parse(window or "all")
    chosen = parse_policy(policy)
    if by:  # a wrong word is reported before the log is read
        from shadowtime.metrics.groups import parse_by

        parse_by(by)
    counted = as_where(where)
    if phases:
        from shadowtime.cli.common.running import check_phases, show_phases

        check_phases(chosen, schedule=schedule, folder=output, report=report, figures=figures)
    if phases and by:
        raise click.UsageError(
            "--by and --phases do not go together: use shadowtime replay for "
            "groups over several runs"
        )
    outputs.check_outputs(
        schedule=schedule, folder=output, report=report, figures=figures, kept=resume
    )
    workload, machine = load(trace, cluster, cleaning, demand=demand)
    must_score_some(scored, workload)
    print_policy_notes([chosen], machine, workload)
    if phases:
        runs = run_policies(
            workload, machine, chosen.offsets(phases), scored, where=counted, resume=resume
        )
        show_phases(runs, workload, json)
        return
    [run] = run_policies(workload, machine, [chosen], scored, where=counted, resume=resume)
    rows = run.groups(by) if by else []
    if schedule:
        run.write(schedule)
    pages = 0
    if output or report or figures or json:  # a table alone needs no writer
        from shadowtime.result.write import as_object, write_folder, write_results

        result = run.as_report(command=outputs.command_line())
        content = as_object(result, scored, **({"groups": rows} if by else {}))
        if output:
            write_folder(content, result, output)
        pages = len(write_results(result, report=report, figures=figures, step=progress.working))
    outputs.wrote(schedule, output, report, figures=figures, count=pages - bool(report))
    if json:
        outputs.print_json(content)
    else:
        _show(run, rows)


def _show(run: Run, rows: Sequence[dict[str, Any]]) -> None:
    jobs = run.workload
    slice_words = f", {run.where}" if run.where else ""
    head = Words(
        (run.name, "bold cyan"),
        f" on {jobs.name}: {count(len(jobs), 'job')}"
        f" on {tables.machine(run.cluster)}; scored: {run.window}{slice_words}\n",
    )
    cleaned = tables.cleaning(jobs)
    extra: list[Any] = [Words("\nThe log was cleaned:"), cleaned] if cleaned else []
    if run.unstarted:
        from shadowtime.report.obstacle_words import unstarted_lines

        never = [Words(("\nNever started:", "bold yellow"))]
        extra = [*never, *(Words(f"  {line}") for line in unstarted_lines(run.unstarted)), *extra]
    if rows:
        from shadowtime.cli.common.tables import group_table

        extra = [Words(""), group_table(rows), *extra]
    console.show(
        head,
        tables.distributions(run.metrics),
        Words(""),
        tables.facts(run.metrics),
        *extra,
    )
