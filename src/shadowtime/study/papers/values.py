"""What a reproduction holds: published tables, figures and claims with our numbers in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shadowtime.errors import UsageError

ROUNDING = 1e-12
"""Shares that differ by less than this differ in how they were rounded."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and its standard error (None for one seed).

    Examples
    --------
    >>> known = Estimate((1.0, 3.0))
    >>> known.mean, known.error, Estimate((1.0,)).error
    (2.0, 1.0, None)
    """

    values: tuple[float, ...]

    @staticmethod
    def of(values: Iterable[float | None], *, scale: float = 1.0) -> Estimate | None:
        """Of the values that are known (neither None nor nan); None where there are none."""
        known = tuple(x * scale for x in values if x is not None and not math.isnan(x))
        return Estimate(known) if known else None

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def error(self) -> float | None:
        n = len(self.values)
        if n < 2:
            return None
        spread = sum((value - self.mean) ** 2 for value in self.values) / (n - 1)
        error = math.sqrt(spread / n)
        return error if error > ROUNDING * abs(self.mean) else 0.0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Our number and the paper's, None where there is none.

    ``error`` is the standard error of ours where it is a mean over seeds.

    Examples
    --------
    >>> Cell(ours=110.0, paper=100.0).difference, Cell(ours=1.0).difference
    (0.1, None)
    """

    ours: float | None
    paper: float | None = None
    error: float | None = None

    @staticmethod
    def over(
        values: Iterable[float | None], paper: float | None = None, *, scale: float = 1.0
    ) -> Cell:
        """The mean over seeds with its standard error; empty where no value is known."""
        known = Estimate.of(values, scale=scale)
        if known is None:
            return Cell(ours=None, paper=paper)
        return Cell(ours=known.mean, paper=paper, error=known.error)

    @property
    def difference(self) -> float | None:
        """How far ours is from the paper's, as a share of the paper's."""
        if self.ours is None or not self.paper:
            return None
        return (self.ours - self.paper) / abs(self.paper)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        row: dict[str, Any] = {"ours": self.ours}
        if self.paper is not None:
            row |= {"paper": self.paper, "difference": self.difference}
        return row if self.error is None else row | {"standard_error": self.error}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measure: a cell for every column of its table. Rows of a group stand together."""

    label: str
    cells: tuple[Cell, ...]
    unit: str = ""
    group: str = ""

    @staticmethod
    def of(
        label: str, cells: Iterable[Cell | float | None], *, unit: str = "", group: str = ""
    ) -> Row:
        """A number alone is ours, where the paper has none."""
        made = (one if isinstance(one, Cell) else Cell(ours=one) for one in cells)
        return Row(label=label, cells=tuple(made), unit=unit, group=group)


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table of a paper, or one of ours beside it; ``name`` is the paper's, as Table 4.

    Examples
    --------
    >>> row = Row(label="jobs", cells=(Cell(ours=2.0, paper=2.0), Cell(ours=3.0)))
    >>> table = PaperTable(name="Table 1", title="Jobs", columns=("A", "B"), rows=(row,))
    >>> table.cell("jobs", "B").ours
    3.0
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""

    @staticmethod
    def of(
        name: str, title: str, columns: Iterable[str], rows: Iterable[Row], *, note: str = ""
    ) -> PaperTable:
        """From columns and rows as they are made."""
        return PaperTable(
            name=name, title=title, columns=tuple(columns), rows=tuple(rows), note=note
        )

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise UsageError(
                    f"{self.name}: the row {row.label} has {len(row.cells)} cells for "
                    f"{len(self.columns)} columns"
                )

    def cell(self, label: str, column: str, *, group: str = "") -> Cell:
        """The cell of a row and a column; of the first such row where no group is given."""
        at = self.columns.index(column)
        return next(
            row.cells[at]
            for row in self.rows
            if row.label == label and (not group or row.group == group)
        )

    def compared(self) -> Iterator[tuple[Row, str, Cell]]:
        """Every cell that stands beside a published number."""
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                if cell.difference is not None:
                    yield row, column, cell

    def as_dict(self) -> dict[str, Any]:
        """For JSON: a row per measure, a cell per column."""
        rows = [
            {
                "label": row.label,
                "group": row.group,
                "unit": row.unit,
                "cells": {
                    column: cell.as_dict()
                    for column, cell in zip(self.columns, row.cells, strict=True)
                },
            }
            for row in self.rows
        ]
        return {"name": self.name, "title": self.title, "rows": rows, "note": self.note}

    def flat(self) -> Iterator[dict[str, Any]]:
        """A line per cell, for a CSV file."""
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                yield {
                    "group": row.group,
                    "measure": row.label,
                    "unit": row.unit,
                    "column": column,
                    "ours": cell.ours,
                    "standard_error": cell.error,
                    "paper": cell.paper,
                    "difference": cell.difference,
                }


Kind = Literal["line", "bars"]


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line or one colour of bars; None where there is no value."""

    name: str
    y: tuple[float | None, ...]
    error: tuple[float | None, ...] = ()
    """Standard error of each value; empty where values are not means over seeds."""

    @staticmethod
    def over(name: str, columns: Iterable[Iterable[float | None]], *, scale: float = 1.0) -> Series:
        """Means over seeds with their standard errors; a column of values for each point."""
        known = [Estimate.of(column, scale=scale) for column in columns]
        return Series(
            name=name,
            y=tuple(None if one is None else one.mean for one in known),
            error=tuple(None if one is None else one.error for one in known),
        )


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes: values over numbers (a line) or over names (bars)."""

    title: str
    kind: Kind
    x_label: str
    y_label: str
    x: tuple[float | str, ...]
    series: tuple[Series, ...]

    @staticmethod
    def of(
        title: str,
        kind: Kind,
        x_label: str,
        y_label: str,
        x: Iterable[float | str],
        series: Iterable[Series] | Mapping[str, Iterable[float | None]],
    ) -> Panel:
        """From series, or from values by the name of their line."""
        if isinstance(series, Mapping):
            series = (Series(name=name, y=tuple(y)) for name, y in series.items())
        return Panel(
            title=title, kind=kind, x_label=x_label, y_label=y_label, x=tuple(x),
            series=tuple(series),
        )  # fmt: skip

    def __post_init__(self) -> None:
        for one in self.series:
            if len(one.y) != len(self.x) or len(one.error) not in (0, len(self.x)):
                raise UsageError(f"{self.title}: {one.name} has {len(one.y)} values")

    def line(self, name: str) -> dict[float | str, float | None]:
        """A series by name: its values by x."""
        one = next(series for series in self.series if series.name == name)
        return dict(zip(self.x, one.y, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "title": self.title,
            "kind": self.kind,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "x": list(self.x),
            "series": [
                {"name": one.name, "y": list(one.y)}
                | ({"standard_error": list(one.error)} if one.error else {})
                for one in self.series
            ],
        }


@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """A figure: its panels, and the words of the paper about what it shows.

    Examples
    --------
    >>> panel = Panel(title="A", kind="line", x_label="x", y_label="y", x=(1.0, 2.0),
    ...     series=(Series(name="ours", y=(3.0, 4.0)),))
    >>> figure = PaperFigure(name="Figure 1", title="Two points", panels=(panel,))
    >>> [(row["x"], row["y"]) for row in figure.flat()]
    [(1.0, 3.0), (2.0, 4.0)]
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    says: str = ""
    note: str = ""

    @staticmethod
    def of(
        name: str, title: str, panels: Iterable[Panel], *, says: str = "", note: str = ""
    ) -> PaperFigure:
        """From panels as they are made."""
        return PaperFigure(name=name, title=title, panels=tuple(panels), says=says, note=note)

    def panel(self, title: str) -> Panel:
        """A panel by its title."""
        return next(panel for panel in self.panels if panel.title == title)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "paper_says": self.says,
            "note": self.note,
            "panels": [panel.as_dict() for panel in self.panels],
        }

    def flat(self) -> Iterator[dict[str, Any]]:
        """A line per point, for a CSV file."""
        for panel in self.panels:
            for one in panel.series:
                for at, (x, y) in enumerate(zip(panel.x, one.y, strict=True)):
                    yield {
                        "panel": panel.title,
                        "series": one.name,
                        "x": x,
                        "y": y,
                        "standard_error": one.error[at] if one.error else None,
                    }


Verdict = Literal["holds", "does not hold", "not judged"]

NEAR = 0.10
"""A number of a paper is met if ours is within this share of it."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper, its number, ours, and the verdict with the evidence for it.

    Where a sentence can be read in several ways each ``reading`` is judged by itself.
    """

    text: str
    verdict: Verdict
    evidence: str
    paper: str = ""
    ours: str = ""
    where: str = ""
    reading: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "claim": self.text,
            "reading": self.reading,
            "where": self.where,
            "paper": self.paper,
            "ours": self.ours,
            "verdict": self.verdict,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, kw_only=True)
class Published:
    """A row of a paper's published claims, to be judged."""

    key: str
    text: str
    number: str
    where: str

    def judged(
        self, holds: bool | None, evidence: str, *, ours: str = "", reading: str = ""
    ) -> Claim:
        """This claim with a verdict; None is 'not judged'.

        Examples
        --------
        >>> claim = Published(key="waste", text="waste is low", number="2 %", where="Sec. 1")
        >>> claim.judged(True, "measured: 2.1 %", ours="2.1 %").verdict
        'holds'
        """
        verdicts: Mapping[bool | None, Verdict] = {
            True: "holds",
            False: "does not hold",
            None: "not judged",
        }
        return Claim(
            text=self.text,
            verdict=verdicts[holds],
            evidence=evidence,
            paper=self.number,
            ours=ours,
            where=self.where,
            reading=reading,
        )


def near(ours: float, paper: float) -> bool:
    """Ours meets the paper's number.

    Examples
    --------
    >>> near(33.8, 32.9), near(57.0, 90.7)
    (True, False)
    """
    return abs(ours - paper) <= NEAR * abs(paper)
