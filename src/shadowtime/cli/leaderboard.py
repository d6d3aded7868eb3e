"""shadowtime leaderboard: the results of a sweep as one static page."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("leaderboard")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--metric", metavar="M", default="bsld_mean", show_default=True, help="Rank by this metric."
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
def command(folder: str, metric: str, output: str) -> None:
    """Rank the policies of a sweep on its logs, with intervals, digests and proofs, as one page.

    The plan should set `check = true` for the proofs and `held_out = 0.2` for that column.

    \b
    shadowtime leaderboard results -o leaderboard.html
    """
    from shadowtime.cli.common.outputs import check_file
    from shadowtime.metrics import REGISTRY
    from shadowtime.private import write_result
    from shadowtime.report.leaderboard import leaderboard_page
    from shadowtime.study.sweep.leaderboard import leaderboard
    from shadowtime.study.sweep.record import recorded_text
    from shadowtime.study.sweep.shards import Shards

    check_file("--output", output)
    found = leaderboard(Shards(Path(folder)).collect(), metric)
    page = leaderboard_page(found, label=REGISTRY[metric].label, plan=recorded_text(folder))
    write_result(Path(output), page.encode("utf-8"))
    click.echo(f"wrote {output}")
