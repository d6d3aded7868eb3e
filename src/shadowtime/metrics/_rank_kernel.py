"""The value of a rank among unsorted ones, as compiled code finds it.

Quickselect without branches on the values: those below the pivot are written to the front of
another row, those above it to its end, and those equal to it nowhere. A pivot is the median of
three values at places drawn by a fixed rule, so no order of jobs is a bad case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.jit import kernel

if TYPE_CHECKING:
    from shadowtime.types import Floats, Ints

DRAWN = 31
"""Bits of a drawn number."""


@kernel
def ranked(values: Floats, size: int, rank: int, one: Floats, other: Floats) -> float:
    """The value of this rank, counted from 0, among the first ``size``; they stay as they are.

    ``one`` and ``other`` are room for as many values.
    """
    begin, end, seed = 0, size, size
    source, target, spare = values, one, other
    while True:
        length = end - begin
        seed = drawn(seed)
        x = source[begin + (seed * length >> DRAWN)]
        seed = drawn(seed)
        y = source[begin + (seed * length >> DRAWN)]
        seed = drawn(seed)
        z = source[begin + (seed * length >> DRAWN)]
        pivot = max(min(x, y), min(max(x, y), z))
        # A value goes to both ends and stays at one or neither: the place counts if its end moves.
        front, back = 0, length - 1
        for at in range(begin, end):
            value = source[at]
            target[front] = value
            target[back] = value
            front += value < pivot
            back -= value > pivot
        if rank < front:
            begin, end = 0, front
        elif rank <= back:
            return float(pivot)
        else:
            rank -= back + 1
            begin, end = back + 1, length
        source, target, spare = target, spare, target


@kernel
def drawn(seed: int) -> int:
    """The next number of a fixed sequence."""
    return (seed * 1103515245 + 12345) & ((1 << DRAWN) - 1)


@kernel
def ranked_all(
    values: Floats, ranks: Ints, first: Floats, one: Floats, other: Floats, found: Floats
) -> None:
    """The values of ascending ranks; each is looked for above the one before."""
    source, size, skipped = values, len(values), 0
    for k in range(len(ranks)):
        if k > 0:
            kept = 0
            for at in range(size):
                value = source[at]
                first[kept] = value
                kept += value > found[k - 1]
            source, skipped, size = first, skipped + size - kept, kept
        if ranks[k] < skipped:
            found[k] = found[k - 1]
        else:
            found[k] = ranked(source, size, ranks[k] - skipped, one, other)
