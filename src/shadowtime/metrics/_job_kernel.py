"""The compiled part of the metrics per job: every column in one walk, and what is made of them.

Each value is made by the same operations on the same numbers as in jobs.py and statistics.py, so
it is the same to the last bit; the tests compare them.

Ranks are found by quickselect without branches on the values: those below the pivot are written to
the front of another row, those above it to its end, and those equal to it nowhere. A pivot is the
median of three values at places drawn by a fixed rule, so no order of jobs is a bad case.

Sums are added in the order of NumPy: halves are added up apart, pieces of at most 128 values in
eight sums side by side. The error grows with the logarithm of the number of values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.columns import whole
from shadowtime.kernel.jit import entry, kernel

if TYPE_CHECKING:
    from shadowtime.types import Floats, Ints, Rows


PIECE = 128
"""Up to this many values are added without halving."""
DEPTH = 64
"""Room for as many halvings as there can be."""


@kernel
def pairwise_sum(values: Floats, begin: int, size: int, sizes: Ints, firsts: Floats) -> float:
    """Sum of ``size`` values from ``begin`` on; ``sizes`` and ``firsts`` have room for DEPTH.

    ``sizes`` holds the parts that are being halved, the outermost first, each with the sum of its
    first half, or below zero while that is not known.
    """
    at, top = begin, 0
    sizes[0] = size
    while True:
        part = sizes[top]
        if part > PIECE:
            sizes[top] = -part
            top += 1
            sizes[top] = first_half(part)
            continue
        total = piece_sum(values, at, part)
        at += part
        while top > 0 and sizes[top - 1] > 0:
            top -= 1
            total = firsts[top] + total
        if top == 0:
            return total
        whole = -sizes[top - 1]
        sizes[top - 1], firsts[top - 1] = whole, total
        sizes[top] = whole - first_half(whole)


@kernel
def first_half(size: int) -> int:
    """A half, rounded down to whole rows of eight."""
    return (size // 2) // 8 * 8


@kernel
def piece_sum(values: Floats, begin: int, size: int) -> float:
    """Sum of a few values: in eight sums side by side where there are as many."""
    end = begin + size
    if size < 8:
        total = 0.0
        for at in range(begin, end):
            total += values[at]
        return total
    a, b, c, d = values[begin], values[begin + 1], values[begin + 2], values[begin + 3]
    e, f, g, h = values[begin + 4], values[begin + 5], values[begin + 6], values[begin + 7]
    at = begin + 8
    while at + 8 <= end:
        a += values[at]
        b += values[at + 1]
        c += values[at + 2]
        d += values[at + 3]
        e += values[at + 4]
        f += values[at + 5]
        g += values[at + 6]
        h += values[at + 7]
        at += 8
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    while at < end:
        total += values[at]
        at += 1
    return float(total)


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


WAIT, RESPONSE, SLOWDOWN, BOUNDED, PER_PROCESSOR, PAPER = 0, 1, 2, 3, 4, 5
"""Rows of ``table``; all but the last are reported as distributions."""
WIDE, WORKED, WEIGHED, ROWS = 6, 7, 8, 9
"""Products in ``table``, room for sorting later: PAPER x processors, BOUNDED x processor-seconds,
response x processor-seconds; and how many rows."""

SUMS = whole(
    "waited",
    "responded",
    "lasted",
    "procs",
    "area",
    "product",  # of responses times areas
    "longest",  # response, and
    "largest",  # area: they bound that sum
)

MEAN, RANKED = 0, 1
"""Columns of ``found`` for a distribution: its mean, then the values of ``ranks``."""


@entry
def score_jobs(
    wait: Ints,
    run: Ints,
    procs: Ints,
    tau: int,
    ranks: Ints,
    table: Floats,
    sums: Rows,
    found: Floats,
    sizes: Ints,
    firsts: Floats,
) -> None:
    """Columns of one job at least, their sums and values by rank.

    ``found`` has the row of every distribution, and in the rows PAPER, WIDE, WORKED and WEIGHED
    the sums of those columns. ``sizes`` and ``firsts`` are room for sums.
    """
    n = len(wait)
    _fill_columns(wait, run, procs, tau, table, sums)
    for row in range(SLOWDOWN, ROWS):
        found[row, MEAN] = pairwise_sum(table[row], 0, n, sizes, firsts)
    found[WAIT, MEAN], found[RESPONSE, MEAN] = float(sums["waited"][0]), float(sums["responded"][0])
    for row in range(PAPER):
        found[row, MEAN] /= float(n)
        ranked_all(
            table[row], ranks, table[WIDE], table[WORKED], table[WEIGHED], found[row, RANKED:]
        )


@kernel
def _fill_columns(wait: Ints, run: Ints, procs: Ints, tau: int, table: Floats, sums: Rows) -> None:
    """Response, slowdowns and products of every job, and sums of whole numbers."""
    waited = responded = lasted = wide = area = product = longest = largest = 0
    at, end = np.uint64(0), np.uint64(len(wait))
    one = np.uint64(1)
    while at < end:
        response = wait[at] + run[at]
        counted = max(run[at], tau)
        work = procs[at] * run[at]
        bounded = max(1.0, float(response) / float(counted))
        paper = float(wait[at] + counted) / float(counted)
        table[WAIT, at] = float(wait[at])
        table[RESPONSE, at] = float(response)
        table[SLOWDOWN, at] = float(response) / float(max(run[at], 1))
        table[BOUNDED, at] = bounded
        table[PER_PROCESSOR, at] = max(1.0, float(response) / float(procs[at] * counted))
        table[PAPER, at] = paper
        table[WIDE, at] = paper * float(procs[at])
        table[WORKED, at] = bounded * float(work)
        table[WEIGHED, at] = float(response) * float(work)
        waited += wait[at]
        responded += response
        lasted += run[at]
        wide += procs[at]
        area += work
        product += response * work
        longest = max(longest, response)
        largest = max(largest, work)
        at += one
    sums["waited"][0] = waited
    sums["responded"][0] = responded
    sums["lasted"][0] = lasted
    sums["procs"][0] = wide
    sums["area"][0] = area
    sums["product"][0] = product
    sums["longest"][0] = longest
    sums["largest"][0] = largest
