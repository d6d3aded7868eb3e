"""shadowtime sweep report: the results of a sweep as one page, and as figures."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options


@click.command("report")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "-o",
    "--output",
    "output",
    metavar="OUT.html",
    type=click.Path(dir_okay=False),
    help="Where to write the page.  [default: DIR/report.html]",
)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="Show this metric; repeatable. [default: the first four with a direction of improvement]",
)
@options.figures
def command(**given: Any) -> None:
    """Metrics by policy, over each ranged parameter and over pairs of them, with 95 % intervals.

    \b
    shadowtime sweep report results -o sweep.html
    shadowtime sweep report results --metric wait_mean_s --figures figures
    """
    from shadowtime.cli.sweep.run_report import write_sweep

    write_sweep(**given)
