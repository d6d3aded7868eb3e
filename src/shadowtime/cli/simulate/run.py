"""Simulate a log under one policy, write the result and print it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options, tables
from shadowtime.cli.common.console import show
from shadowtime.cli.common.inputs import Cleaning, load, must_score_some, print_policy_notes
from shadowtime.cli.common.outputs import check_outputs, wrote
from shadowtime.cli.common.plain import Words
from shadowtime.cli.common.progress import working
from shadowtime.cli.common.running import run_policies
from shadowtime.metrics import Window
from shadowtime.policy import parse_policy
from shadowtime.report import ReportInput

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    jobs_where, kinds = slices(where, by)
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
    only = jobs_where.mask(workload) if jobs_where else None
    if phases:
        offsets = chosen.offsets(phases)
        runs = run_policies(workload, machine, offsets, scored, only=only)
        show_phases(runs, workload, as_json)
        return
    runs = run_policies(workload, machine, [chosen], scored, only=only)
    rows = []
    if by:
        from shadowtime.cli.common.grouped import group_rows

        rows = group_rows(runs, workload, kinds, window=scored, only=only)
    result = ReportInput(
        title=f"{runs[0].name} on {workload.name}",
        workload=workload,
        cluster=machine,
        runs=runs,
        window=str(scored),
        versions={},
        command=options.command_line(),
    )
    if schedule:
        from shadowtime.api.run import write_schedule

        write_schedule(workload, runs[0].schedule, schedule, policy=runs[0].name)
    pages = 0
    if folder or report or figures or as_json:  # a table alone needs no writer
        from shadowtime.result.pages import write_results
        from shadowtime.result.write import as_object, versions, write_folder

        result = result.replace(versions=versions())
        content = as_object(result, scored, **({"groups": rows} if by else {}))
        if jobs_where:
            content["where"] = str(jobs_where)
        if folder:
            write_folder(content, result, folder)
        pages = len(write_results(result, scored, report=report, figures=figures, step=working))
    wrote(schedule, folder, report, figures=figures, count=pages - bool(report))
    if as_json:
        options.print_json(content)
    else:
        _show(result, rows, str(jobs_where or ""))


def slices(where: str, by: str) -> tuple[Where | None, tuple[str, ...]]:
    """Which jobs count, and how they are grouped; loads nothing if neither is requested."""
    if not where and not by:
        return None, ()
    from shadowtime.metrics.groups import parse_by
    from shadowtime.metrics.where import Where

    return Where.parse(where) if where else None, tuple(parse_by(by))


def _show(result: ReportInput, rows: Sequence[dict[str, Any]], where: str) -> None:
    run, jobs = result.runs[0], result.workload
    slice_words = f", {where}" if where else ""
    head = Words(
        (run.name, "bold cyan"),
        f" on {jobs.name}: {tables.count(len(jobs), 'job')}"
        f" on {tables.machine(result.cluster)}; scored: {result.window}{slice_words}\n",
    )
    cleaned = tables.cleaning(jobs)
    extra: list[Any] = [Words("\nThe log was cleaned:"), cleaned] if cleaned else []
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
