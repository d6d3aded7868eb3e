"""shadowtime report: a result folder as a page, as figures, as files for other viewers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shadowtime.cli.common import options
from shadowtime.cli.report.export import exports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from shadowtime.report import ReportInput

PAGE = "report.html"
"""The page's name in the result folder, where nothing else is asked for."""

LINE = 60
"""Characters of a line that draws the queue."""


@click.command("report")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "-o",
    "--output",
    "page",
    metavar="OUT.html",
    type=click.Path(dir_okay=False),
    help=f"Where the page goes. [default: DIR/{PAGE}, unless something else is asked for]",
)
@options.figures
@exports
@click.option(
    "--policy",
    "-p",
    "policies",
    multiple=True,
    metavar="NAME",
    help="Only this policy of the folder; repeatable. [default: all of them]",
)
def command(
    folder: str,
    page: str | None,
    figures: str | None,
    paraver: str | None,
    perfetto: str | None,
    job_lines: str | None,
    batsim: str | None,
    policies: tuple[str, ...],
) -> None:
    """Show the result folder DIR: who wins by which metric, and every schedule, on one page.

    DIR was written with -o by simulate, compare, demo or paper. The page is one file that needs
    no network. Nothing is simulated again.

    \b
    shadowtime report results
    shadowtime report results -o page.html --figures figures
    shadowtime report results --policy easy --perfetto easy.json
    """
    from shadowtime.cli.common.compiling import compile_notice
    from shadowtime.cli.common.progress import working
    from shadowtime.cli.report.export import write_exports
    from shadowtime.result.pages import write_results
    from shadowtime.result.read import read_folder

    with working(f"reading {folder}"), compile_notice("the log reader", "a few seconds"):
        found = read_folder(folder, policies=policies)
    if not any((page, figures, paraver, perfetto, job_lines, batsim)):
        page = str(found.root / PAGE)
    done = write_results(found.result, found.window, report=page, figures=figures, step=working)
    written = [f"wrote {path}" for path in done[: page is not None]]
    if figures:
        written.append(f"drew {len(done) - len(written)} files in {figures}")
    others = write_exports(
        found.result, paraver=paraver, perfetto=perfetto, job_lines=job_lines, batsim=batsim
    )
    _show(found.result, [*written, *(f"wrote {path}" for path in others)])


def _show(result: ReportInput, written: Sequence[str]) -> None:
    """The verdict, the queue over time, and what lies where."""
    from rich.text import Text

    from shadowtime.cli.common import tables
    from shadowtime.cli.common.console import output, show
    from shadowtime.report.verdict import verdict_of

    verdict = verdict_of(result)
    parts: list[RenderableType] = [
        tables.side_by_side(result.runs, output(), stars=not result.replay),
        Text(),
    ]
    queue = _queue(result)
    parts += [queue, Text()] if queue else []
    parts.append(Text.assemble((verdict.headline, "bold"), f" {verdict.detail}"))
    show(*parts, *(Text(line, "dim", overflow="fold") for line in written))


def _queue(result: ReportInput) -> Table | None:
    """How many jobs waited over time, all policies on one scale."""
    from rich.text import Text

    from shadowtime.cli.common.tables import plain_table
    from shadowtime.report.terminal import queue_lines

    lines = queue_lines(result.runs, width=LINE)
    if not any(lines):
        return None
    table = plain_table("policy", "jobs waiting, from the first to the last day")
    for run, line in zip(result.runs, lines, strict=True):
        table.add_row(Text(run.name, "cyan"), Text(line, no_wrap=True))
    return table
