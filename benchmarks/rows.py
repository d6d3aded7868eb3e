"""A row of the table: what was measured, the bar for it, and whether it was met."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FIGURES: dict[str, Callable[[float], str]] = {
    "jobs/s": lambda v: f"{v / 1e6:.2f} M jobs/s",
    "runs/s": lambda v: f"{v:,.0f} runs/s",
    "files": lambda v: f"{v:.0f} files",
    "us/job": lambda v: f"{v:.2f} us/job",
    "us": lambda v: f"{v:.2f} us",
    "ms": lambda v: f"{v:.2f} ms",
    "x": lambda v: f"{v:.2f} x",
    "jobs": lambda v: f"{v:.0f} jobs",
    "MB": lambda v: f"{v:.0f} MB",
    "s": lambda v: f"{v:.3f} s" if v < 1 else f"{v:.2f} s",
}


def show(value: float | None, unit: str) -> str:
    """A figure with its unit, a dash where there is none."""
    return "-" if value is None else FIGURES[unit](value)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure.

    Rules
    -----
    ``bar`` and ``goal`` are in the unit of the figure; ``at_least`` says on which side of them
    the figure belongs. ``ratio_bar`` and ``ratio_goal`` are upper bounds of ``ratio``, the time
    over that of the same algorithm in C in the same run. A row without any bar is for the record.

    Examples
    --------
    >>> row = Row(what="reading", value=0.2, unit="s", bar=0.4)
    >>> row.met, row.goal_met
    (True, None)
    >>> Row(what="easy", value=3e6, unit="jobs/s", bar=2e6, at_least=True, ratio_bar=1.7).met
    False
    """

    what: str
    value: float
    unit: str
    bar: float | None = None
    goal: float | None = None
    at_least: bool = False
    ratio: float | None = None
    ratio_bar: float | None = None
    ratio_goal: float | None = None
    clock: str = "CPU"
    note: str = ""

    @property
    def met(self) -> bool | None:
        """True if every bar is met, None if there is none. An unmeasured ratio is not met."""
        return self._within(self.bar, self.ratio_bar)

    @property
    def goal_met(self) -> bool | None:
        """The same for the goals."""
        return self._within(self.goal, self.ratio_goal)

    def _within(self, bar: float | None, ratio_bar: float | None) -> bool | None:
        if bar is None and ratio_bar is None:
            return None
        good = bar is None or (self.value >= bar if self.at_least else self.value <= bar)
        if ratio_bar is not None:
            good = good and self.ratio is not None and self.ratio <= ratio_bar
        return good

    def bar_text(self, bar: float | None, ratio_bar: float | None) -> str:
        """Bars in words: ``>= 2.50 M jobs/s, <= 1.70 x C``."""
        sign = ">=" if self.at_least else "<="
        words = [f"{sign} {show(bar, self.unit)}"] if bar is not None else []
        words += [f"<= {ratio_bar:g} x C"] if ratio_bar is not None else []
        return ", ".join(words)

    def as_object(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "met": self.met, "goal_met": self.goal_met}
