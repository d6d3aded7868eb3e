"""A site's groups of jobs: recorded beside simulated."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from shadowtime.report.page.templates import fill
from shadowtime.report.page.whatif import TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.report.inputs import ReportInput


def replayed(report: ReportInput) -> str:
    """The section of a site's replay; empty elsewhere."""
    replay = report.replayed
    if not replay:
        return ""
    groups = [
        {"title": TITLES.get(by, f"By {by}"), "rows": [_row(one) for one in rows]}
        for by, rows in groupby(replay["groups"], key=lambda one: one["by"])
    ]
    return str(
        fill(
            "replayed.html",
            runs=replay["runs"],
            groups=groups,
            backfilled=replay["backfilled"],
            reasons=replay["reasons"],
        )
    )


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """One group; words state whether the recorded value is within the range."""
    recorded, low, high = row["recorded_wait_mean_s"], row["low_s"], row["high_s"]
    where = "below" if recorded < low else "above" if recorded > high else "within"
    name = "all jobs" if row["by"] == "all" else row["name"] or "none"
    return {**row, "name": name, "where": where}
