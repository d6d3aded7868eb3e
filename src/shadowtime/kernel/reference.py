"""Tables that compiled functions pass on by their address.

A tuple of arrays is passed field by field: fifty arrays are four hundred arguments of every
function that takes them, which costs more time to compile and to call than most functions do.
"""

from __future__ import annotations

from typing import TypeVar

Tables = TypeVar("Tables")


def by_reference(tables: Tables) -> Tables:
    """The same named tuple of arrays, passed on by its address.

    An entry makes it of its arguments. In plain Python it is the tuple itself; what it is in
    compiled code is in numba_reference.py.

    Examples
    --------
    >>> by_reference((1, 2))
    (1, 2)
    """
    return tables
