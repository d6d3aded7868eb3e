"""shadowtime leaderboard: the results of a sweep as one page of policies by logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shadowtime.cli.common.outputs import check_file
from shadowtime.private import write_result
from shadowtime.report.leaderboard import leaderboard_page
from shadowtime.study.sweep.leaderboard import leaderboard as ranked
from shadowtime.study.sweep.leaderboard import ranked_metrics
from shadowtime.study.sweep.record import recorded_text
from shadowtime.study.sweep.shards import Shards

if TYPE_CHECKING:
    from shadowtime.types import File, Folder

MOST = 6
"""Metrics on the page."""


def leaderboard(
    folder: Folder, *, metric: str = "bsld_mean", output: File = "leaderboard.html"
) -> None:
    """Rank the policies of a sweep on its logs, with intervals, digests and proofs, as one page.

    The plan should set `check = true` for the proofs and `held_out = 0.2` for that column.

    \b
    shadowtime leaderboard results -o leaderboard.html

    Parameters
    ----------
    folder : DIR
    metric : M
        Lead with this metric; the others of the plan follow.
    output : OUT.html
        Where to write the page.
    """
    check_file("--output", output)
    table = Shards(Path(folder)).collect()
    first = ranked(table, metric)
    others = [ranked(table, name) for name in ranked_metrics(table, metric)[1:MOST]]
    page = leaderboard_page([first, *others], plan=recorded_text(folder))
    write_result(Path(output), page.encode("utf-8"))
    click.echo(f"wrote {output}")
