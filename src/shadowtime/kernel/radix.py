"""Sorting whole numbers by some of their bits: without comparisons, which are hard to predict."""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import kernel
from shadowtime.types import Ints

DIGIT = 11
"""Bits of a digit: two or three rounds for the times of a log, counters that fit the cache."""
DIGITS = 1 << DIGIT
"""Room that the counters need."""


@kernel
def sort_by_bits(keys: Ints, spare: Ints, size: int, low: int, high: int, counts: Ints) -> bool:
    """Sort the first ``size`` keys by their bits from ``low`` up to ``high``; equal ones stay.

    True if they now stand in ``spare``, which is room for as many; ``counts`` is for DIGITS. Keys
    are not below 0.
    """
    source, target = keys, spare
    swapped = False
    one, end = np.uint64(1), np.uint64(size)
    for shift in range(low, high, DIGIT):
        counts[:DIGITS] = 0
        at = np.uint64(0)
        while at < end:
            counts[(source[at] >> shift) & (DIGITS - 1)] += 1
            at += one
        total = 0
        for digit in range(DIGITS):
            number = counts[digit]
            counts[digit] = total
            total += number
        at = np.uint64(0)
        while at < end:
            digit = (source[at] >> shift) & (DIGITS - 1)
            target[counts[digit]] = source[at]
            counts[digit] += 1
            at += one
        source, target = target, source
        swapped = not swapped
    return swapped
