"""shadowtime paper: reproduce a published study and compare its numbers with ours."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.placing import kept_runs

NAMES = ("pv-easy", "ibb", "rua", "hperf", "class-partitioning")
"""The papers that can be reproduced."""


@click.command("paper")
@click.argument("name", metavar="NAME", type=click.Choice(NAMES))
@click.option(
    "--traces",
    metavar="DIR",
    envvar="SHADOWTIME_TRACES",
    show_envvar=True,
    help="Folder with the logs that the paper used; without it, a generated workload.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=1000),
    metavar="N",
    help="Runs for each random point. [default: 10; hperf 30]",
)
@click.option("--quick", is_flag=True, help="Fewer points and runs, for papers that take minutes.")
@kept_runs(
    "Save the results of each simulation in DIR and reuse those found there: the same command "
    "resumes "
    "after Ctrl-C.",
)
@options.folder
@options.as_json
@options.report
def command(**given: Any) -> None:
    """Reproduce the study of a paper: its tables, figures and claims with our numbers.

    NAME is pv-easy, ibb, rua, hperf or class-partitioning. Every number is beside the
    published one, every claim gets a verdict with the evidence, and discrepancies are reported.

    \b
    shadowtime paper pv-easy --traces logs
    shadowtime paper pv-easy --traces logs -o pv-easy --report pv-easy.html
    shadowtime paper pv-easy --traces logs --resume runs
    shadowtime paper ibb --traces logs --resume runs --on slurm --site blocks=8
    """
    from shadowtime.cli.paper.run import reproduce

    reproduce(**given)
