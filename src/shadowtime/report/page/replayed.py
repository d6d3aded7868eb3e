"""A site's replay on the page: waits by group with ranges, the passes, what jobs waited for."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from shadowtime.report.page.templates import fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.report.inputs import ReportInput

TITLES = {
    "all": "All",
    "partition": "By partition",
    "account": "By account",
    "qos": "By QOS",
    "size": "By processors",
    "user": "By user",
    "gpus": "By GPUs",
}


def replayed(report: ReportInput) -> str:
    """The section of a site's replay; empty elsewhere."""
    told = report.replayed
    if not told:
        return ""
    groups = [
        {"title": TITLES.get(by, f"By {by}"), "rows": [_row(one) for one in rows]}
        for by, rows in groupby(told["groups"], key=lambda one: one["by"])
    ]
    return str(
        fill(
            "replayed.html",
            runs=told["runs"],
            groups=groups,
            backfilled=told["backfilled"],
            reasons=told["reasons"],
        )
    )


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """One group; whether what was recorded lies in the range is said in words."""
    recorded, low, high = row["recorded_wait_mean_s"], row["low_s"], row["high_s"]
    where = "below" if recorded < low else "above" if recorded > high else "within"
    name = "all jobs" if row["by"] == "all" else row["name"] or "none"
    return {**row, "name": name, "where": where}
