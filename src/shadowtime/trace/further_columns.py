"""Columns of a job table beyond ours: kept for functions of a policy, which read ``job.NAME``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shadowtime.errors import InputError, similar
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload
from shadowtime.workload.scale import INSTANTS

ALIKE = 0.8
"""How similar a name must be to one of ours, of 1, to count as a misspelling of it."""


def refuse_misspelt(columns: Iterable[str], known: Sequence[str], path: str | None) -> None:
    """Reject a name that is almost one of ours."""
    for column in columns:
        if meant := similar(column, known, most=1, cutoff=ALIKE):
            raise InputError(
                f"there is no column {column!r}", path=path, line=1,
                hint=f"Is it {meant[0]}? If it is one of your own, give it another name.",
            )  # fmt: skip


class Further(NamedTuple):
    """A column that the table has beyond ours: numbers, or the places of its texts in ``names``."""

    values: AnyArray
    names: tuple[str, ...] = ()


def typed(numbering: Mapping[str, int], places: Ints) -> Further:
    """Whole numbers where all cells are, else fractions, else texts; empty cells are -1.

    Examples
    --------
    >>> typed({"": 0, "7": 1, "9": 2}, np.array([2, 0, 1])).values.tolist()
    [9, -1, 7]
    >>> typed({"": 0, "7": 1, "0.5": 2}, np.array([2, 0, 1])).values.tolist()
    [0.5, -1.0, 7.0]
    >>> typed({"": 0, "red": 1}, np.array([0, 1]))
    Further(values=array([-1,  1]), names=('', 'red'))
    """
    words = list(numbering)[1:]
    for kind in (np.int64, np.float64):
        try:
            given = np.array([UNKNOWN, *(kind(word) for word in words)], kind)
        except (ValueError, OverflowError):
            continue
        if bool(np.isfinite(given).all()):
            return Further(given[places])
    return Further(np.where(places > 0, places, UNKNOWN), tuple(numbering))


def further_of(workload: Workload, known: Sequence[str]) -> dict[str, list[Any]]:
    """The same columns of a workload as cells of a table; None where a job has no value."""
    found: dict[str, list[Any]] = {}
    for name, values in workload.extra.items():
        if name in known or values.ndim != 1:
            continue
        names = workload.names.get(name)
        base = (workload.epoch or 0) if name in INSTANTS else 0
        cells = np.where(values >= 0, values + base, values).tolist() if base else values.tolist()
        found[name] = [
            None if cell == UNKNOWN else cell if names is None else names[int(cell)]
            for cell in cells
        ]
    return found
