"""A generated O2K month beside the paper's tables, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.cli.common.tables import numbers_table
from shadowtime.workload.o2k_tables import CLASSES, MONTHS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from shadowtime.workload.o2k_check import O2kCheck


def validation(check: O2kCheck) -> Iterator[RenderableType]:
    """Tables 4 and 8, powers of two and the peaks of the requested times, ours and the paper's."""
    month = MONTHS[check.month]
    sizes = [str(low) if low == high else f"{low}-{high}" for low, high in CLASSES]
    table = numbers_table("processors", *sizes, "all")
    table.add_row("jobs", *map(str, check.jobs), f"{sum(check.jobs)}")
    table.add_row("  paper", *map(str, month.jobs), f"{sum(month.jobs)}", style="dim")
    table.add_row("demand, %", *(f"{x:.1f}" for x in check.demand), f"{check.demand_total:.1f}")
    table.add_row("  paper", *map(str, month.demand), f"{sum(month.demand)}", style="dim")
    yield table
    bounds = numbers_table("demand, %", "P > 64", "R <= 5 h", "R <= 20 h", "R <= 50 h", "memory")
    ours = (check.large, *check.up_to, check.memory_demand)
    bounds.add_row("drawn", *(f"{x:.1f}" for x in ours))
    bounds.add_row("  paper", str(month.demand[-1]), *map(str, month.up_to), "", style="dim")
    yield bounds
    peaks = numbers_table("% of jobs", *map(_span, check.peaks), "power of two")
    shares = [f"{100 * share:.1f}" for share in (*check.peaks.values(), check.power_of_two)]
    peaks.add_row("drawn", *shares)
    yield peaks
    margin = max(check.off, key=lambda name: abs(check.off[name]))
    yield f"largest remaining deviation of the fit: {check.off[margin]:+.1%} ({margin})"


def _span(seconds: int) -> str:
    """A peak in hours or minutes.

    Examples
    --------
    >>> _span(600), _span(18000)
    ('10 min', '5 h')
    """
    return f"{seconds // 3600} h" if seconds >= 3600 else f"{seconds // 60} min"
