"""shadowtime leaderboard: the results of a sweep as one static page."""

from __future__ import annotations

from typing import Any

import click


@click.command("leaderboard")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--metric",
    metavar="M",
    default="bsld_mean",
    show_default=True,
    help="Lead with this metric; the others of the plan follow.",
)
@click.option(
    "-o",
    "--output",
    "output",
    metavar="OUT.html",
    default="leaderboard.html",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Where to write the page.",
)
def command(**given: Any) -> None:
    """Rank the policies of a sweep on its logs, with intervals, digests and proofs, as one page.

    The plan should set `check = true` for the proofs and `held_out = 0.2` for that column.

    \b
    shadowtime leaderboard results -o leaderboard.html
    """
    from shadowtime.cli.leaderboard.run import write_leaderboard

    write_leaderboard(**given)
