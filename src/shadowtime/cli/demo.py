"""shadowtime demo: the main job on a workload that comes with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shadowtime.cli import options

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from shadowtime.report import PolicyRun, ReportInput

POLICIES = ("easy", "easy-sjbf", "easy++", "conservative", "lxfw", "fcfs")
"""What most clusters run first: the others are measured against it."""

LEGEND = "best of its column; bsld: bounded slowdown, mwbs: the same weighted by processors"

NEXT = {
    "shadowtime simulate YOUR.swf.gz --policy {}": "your own log",
    "shadowtime policies {}": "what it does",
    "shadowtime demo -o results": "the schedules behind this table",
}


@click.command("demo")
@options.folder
@options.as_json
def command(folder: str | None, as_json: bool) -> None:
    """Compare six policies on an embedded workload. No data and no network needed.

    The workload is generated (Lublin and Feitelson's model, with estimates as users give
    them) and always the same.
    """
    from shadowtime.cli.results import as_object, versions, write_folder
    from shadowtime.cli.running import run_policies
    from shadowtime.cluster.spec import parse_cluster
    from shadowtime.metrics import Window
    from shadowtime.policy import parse_policy
    from shadowtime.report import ReportInput
    from shadowtime.workload.embedded import demo_workload

    workload = demo_workload()
    cluster = parse_cluster(None, machine=workload.machine).replace(name="demo")
    policies = [parse_policy(name) for name in POLICIES]
    result = ReportInput(
        title="Demo",
        workload=workload,
        cluster=cluster,
        runs=run_policies(workload, cluster, policies, Window.all()),
        versions=versions(),
        command=options.command_line(),
    )
    content = as_object(result, Window.all())
    if folder:
        write_folder(content, result, folder)
    if as_json:
        options.print_json(content)
    else:
        _show(result)


def _show(result: ReportInput) -> None:
    from rich.text import Text

    from shadowtime.cli import tables
    from shadowtime.cli.console import output, show
    from shadowtime.report.verdict import judge

    load = result.baseline.metrics["offered_load"]
    head = (
        f"{len(result.workload):,} generated jobs on {tables.machine(result.cluster)}, "
        f"offered load {load:.2f}\n"
    )
    verdict = judge(result.runs)
    winner = result.runs[verdict.winner or 0]
    show(
        Text(head),
        tables.side_by_side(result.runs, output()),
        Text(f"{tables.STAR} {LEGEND}\n", "dim"),
        Text.assemble((verdict.headline, "bold"), f" {verdict.detail}"),
        _who_loses(result, winner),
        Text("\nNext:"),
        _next(winner.name),
    )


def _next(winner: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(no_wrap=True)
    for command_line, why in NEXT.items():
        table.add_row(command_line.format(winner), Text(why, "dim"))
    return table


def _who_loses(result: ReportInput, winner: PolicyRun) -> Text:
    """The price of winning: the classes of jobs that wait longer than under the first policy."""
    from rich.text import Text

    from shadowtime.report.classes import class_rows
    from shadowtime.report.numbers import percent
    from shadowtime.report.verdict import class_changes

    base = result.baseline
    if winner is base:
        return Text()
    jobs = result.workload
    rows, before = class_rows(jobs, winner.schedule), class_rows(jobs, base.schedule)
    kinds = {"size": "procs", "runtime": "of run time"}
    worse = [
        change
        for change in class_changes(rows, before, "wait_mean_s")
        if change.row.kind in kinds and (change.change or 0) > 0.05
    ]
    if not worse:
        return Text(
            f"Nobody pays: no class by size or run time waits longer than under {base.name}."
        )
    worse.sort(key=lambda change: -(change.change or 0))
    named = ", ".join(
        f"{change.row.label} {kinds[change.row.kind]} ({percent(change.change, signed=True)})"
        for change in worse[:3]
    )
    return Text(f"Who pays: mean wait against {base.name} of the jobs with {named}.")
