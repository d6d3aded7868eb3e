"""A published table with our numbers in it, cell by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
