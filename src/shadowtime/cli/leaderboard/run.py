"""Turn a sweep's results into the page of policies by logs."""

from __future__ import annotations

from pathlib import Path

import click

from shadowtime.cli.common.outputs import check_file
from shadowtime.private import write_result
from shadowtime.report.leaderboard import leaderboard_page
from shadowtime.study.sweep.leaderboard import leaderboard, ranked_metrics
from shadowtime.study.sweep.record import recorded_text
from shadowtime.study.sweep.shards import Shards

MOST = 6
"""Metrics on the page."""


def write_leaderboard(*, folder: str, metric: str, output: str) -> None:
    """Rank the policies of a sweep and write the page."""
    check_file("--output", output)
    table = Shards(Path(folder)).collect()
    first = leaderboard(table, metric)
    others = [leaderboard(table, name) for name in ranked_metrics(table, metric)[1:MOST]]
    page = leaderboard_page([first, *others], plan=recorded_text(folder))
    write_result(Path(output), page.encode("utf-8"))
    click.echo(f"wrote {output}")
