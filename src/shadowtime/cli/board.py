"""shadowtime board: the queue, the past day and the predicted future, served as a page."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.live import options as live

HIDE = ("names", "users", "nothing")

serving = options.all_of(
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8080,
        show_default=True,
        help="The port to serve on; 0: a free one, which is printed.",
    ),
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        metavar="ADDRESS",
        help="The address to serve on. Beyond loopback, a proxy should ask who is there.",
    ),
    click.option(
        "--allow-host",
        multiple=True,
        metavar="NAME",
        help="A further name by which browsers call the board, such as that of a proxy.",
    ),
    click.option(
        "--frame-ancestors",
        default="",
        metavar="SOURCES",
        help="Sites that may show /embed in a frame, such as 'https://portal.example.org'.",
    ),
    click.option(
        "--hide",
        multiple=True,
        type=click.Choice(HIDE),
        help="Not shown to anybody: names of jobs, users with accounts. [default: what the "
        "cluster keeps private; 'nothing' shows all that this user may see]",
    ),
    click.option(
        "--every",
        type=click.FloatRange(min=0.5),
        default=2.0,
        show_default=True,
        metavar="SECONDS",
        help="The time between two polls, which all browsers share.",
    ),
    click.option(
        "--snapshot",
        metavar="OUT.html",
        type=click.Path(dir_okay=False),
        help="Write the board as one HTML file and end; no server is needed to read it.",
    ),
)


@click.group("board")
def command() -> None:
    """Serve a page of the cluster: jobs, expected starts, the past day. Read-only.

    \b
    shadowtime board slurm
    shadowtime board slurm --port 8080 --hide names
    shadowtime board slurm --snapshot board.html
    """


@command.command("slurm")
@serving
@live.policy_option("none: a policy in shadow mode, compared with what Slurm does")
@live.partition
@live.state
@live.timeout
@click.option("--no-estimates", is_flag=True, help="Show what is there; predict nothing.")
def slurm(**given: Any) -> None:
    """The board of a Slurm cluster, with the expected start of every waiting job.

    An ordinary user runs it: what squeue does not show this user is not on the board.

    \b
    shadowtime board slurm
    shadowtime board slurm --policy easy
    """
    _run("slurm", **given)


@command.command("condor")
@serving
@click.option("--pool", default="", metavar="HOST", help="The host of the collector.")
@click.option(
    "--schedd", default="", metavar="NAMES", help="The schedds, as in a,b, or all. [default: local]"
)
def condor(**given: Any) -> None:
    """The board of an HTCondor pool: queue and machines; starts are not predicted.

    \b
    shadowtime board condor --schedd all
    """
    _run("condor", **given)


def _run(system: str, *, snapshot: str | None, **given: Any) -> None:
    from shadowtime.cli.common.outputs import check_file, wrote

    if snapshot is not None:
        check_file("--snapshot", snapshot)
    from shadowtime.board.run import run_board

    run_board(system, snapshot=snapshot, **given)
    wrote(snapshot)
