"""The description of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric's description: tables, pages and the documentation read it from here.

    The unit ``share`` is a part of 1, shown in per cent. ``column`` is a short heading for tables
    of the terminal.
    """

    name: str
    label: str
    unit: str
    better: Better
    group: str = ""
    definition: str = ""
    column: str = ""

    @property
    def heading(self) -> str:
        """Label and unit, for a table's row.

        Examples
        --------
        >>> Metric(name="wait_mean_s", label="Mean wait", unit="s", better="lower").heading
        'Mean wait, s'
        """
        unit = {"share": "%"}.get(self.unit, self.unit)
        return f"{self.label}, {unit}" if unit and unit not in self.label.split() else self.label

    @property
    def short(self) -> str:
        """The heading of a narrow column."""
        return self.column or self.label[:1].lower() + self.label[1:]
