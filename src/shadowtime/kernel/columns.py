"""Tables with named columns: NumPy's structured arrays, which compiled and plain code read alike.

``job["need"][j]`` is what job j needs. A single row holds what is one number in a run, a register:
``reg["now"][0]``. What there is of each resource stays a two-dimensional array of its own, or every
number of resources would be a type of its own to the compiler.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from shadowtime.types import AnyArray, Rows


@cache
def whole(*names: str) -> np.dtype[np.void]:
    """The type of a row of whole numbers of 64 bits with these names, one object for all.

    Examples
    --------
    >>> table = np.zeros(3, whole("need", "start"))
    >>> table["need"][1] = 4
    >>> table.tolist()
    [(0, 0), (4, 0), (0, 0)]
    """
    return np.dtype([(name, np.int64) for name in names], align=True)


def filled(shape: int | tuple[int, ...], columns: np.dtype[np.void], value: int) -> Rows:
    """A table with the same number everywhere."""
    made = np.empty(shape, columns)
    made.view(np.int64).fill(value)
    return made


def as_rows(numbers: AnyArray, columns: np.dtype[np.void]) -> Rows:
    """Rows of numbers, one for each column, as a table.

    Examples
    --------
    >>> as_rows(np.array([[4, 7]]), whole("edge", "weight")).tolist()
    [(4, 7)]
    """
    wide = np.ascontiguousarray(numbers, np.int64)
    return wide.view(columns).reshape(len(wide))


def numbers_of(row: Rows) -> dict[str, int]:
    """The numbers of a table of one row, by their names.

    Examples
    --------
    >>> numbers_of(np.zeros(1, whole("used", "last")))
    {'used': 0, 'last': 0}
    """
    return dict(zip(row.dtype.names or (), row[0].item(), strict=True))


def longer(table: Rows, more: int) -> Rows:
    """The table with empty rows behind its own."""
    return np.concatenate([table, np.zeros(more, table.dtype)])
