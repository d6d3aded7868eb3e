"""Sums of floats in one order of additions on every machine, as compiled code makes them.

The order is that of NumPy: halves are added up apart, pieces of at most 128 values in eight
sums side by side. Its error grows with the logarithm of the number of values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.jit import kernel

if TYPE_CHECKING:
    from shadowtime.types import Floats, Ints

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
