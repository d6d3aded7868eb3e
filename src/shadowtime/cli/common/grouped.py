"""Results by group: a table with a column per policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from shadowtime.cli.common.tables import numbers_table
from shadowtime.report.numbers import number, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table


def group_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Mean waits by group, a column per policy."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    table = numbers_table("mean waits", "jobs", *policies)
    heading = ""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        cells.setdefault((row["by"], row["name"]), {})[row["policy"]] = row
    for (by, name), found in cells.items():
        if by not in ("all", heading):
            table.add_row(Text(f"by {by}", "dim"))
        heading = by
        jobs = max(row["jobs"] for row in found.values())
        label = "all jobs" if by == "all" else f"  {name or '(none)'}"
        waits = [span(found[one]["wait_mean_s"]) if one in found else "" for one in policies]
        table.add_row(label, number(jobs), *waits)
    return table
