"""shadowtime report: result folders as a page, as figures, as files for other viewers."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.options import all_of
from shadowtime.cli.common.outputs import PAGE, TOGETHER

exports = all_of(
    click.option(
        "--paraver",
        metavar="OUT.prv",
        type=click.Path(dir_okay=False),
        help="Write a Paraver trace: OUT.prv, OUT.pcf and OUT.row.",
    ),
    click.option(
        "--perfetto",
        metavar="OUT.json",
        type=click.Path(dir_okay=False),
        help="Write a trace for Perfetto and chrome://tracing; .json.gz is compressed.",
    ),
    click.option(
        "--job-lines",
        metavar="OUT.svg",
        type=click.Path(dir_okay=False),
        help="Draw one line per job: waiting, running, unused and extra time; OUT.prv: the same "
        "for Paraver.",
    ),
    click.option(
        "--batsim",
        metavar="OUT.csv",
        type=click.Path(dir_okay=False),
        help="Write Batsim's jobs.csv, which evalys reads.",
    ),
)
"""The options; with several policies the names of all but the first are added to the file names."""


@click.command("report")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o",
    "--output",
    "page",
    metavar="OUT.html",
    type=click.Path(dir_okay=False),
    help=f"Where to write the page. [default: DIR/{PAGE}, or {TOGETHER} here for several folders, "
    "unless only other outputs are requested]",
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
@click.option(
    "--without",
    multiple=True,
    metavar="JOB",
    help="Run the policies again without this job, and show on its card who would start when; "
    "repeatable.",
)
def command(**given: Any) -> None:
    """Show the result folder DIR on one page: which policy wins by which metric, every schedule.

    DIR was written with -o by simulate, compare, replay, whatif, demo or paper. The page is one
    file that needs no network. Nothing is simulated again, unless --without asks for it.

    Several folders of the same jobs are compared on one page. Folders of different jobs, and a
    folder of several loads, become a grid: a page of every metric by folder, with links to a
    page for each.

    \b
    shadowtime report results
    shadowtime report results -o page.html --figures figures
    shadowtime report results --policy easy --perfetto easy.json
    shadowtime report before after -o comparison.html
    shadowtime report results --without 1042
    """
    from shadowtime.cli.report.run import write_report

    write_report(**given)
