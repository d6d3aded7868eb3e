"""Masks as rows of 64-bit words: counting bits, runs of neighbours, ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm.board import RUN_AT, RUN_LENGTH

NONE = np.uint64(0)
ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
TWO = np.uint64(2)
FOUR = np.uint64(4)
EIGHT = np.uint64(8)
SIXTEEN = np.uint64(16)
HALF = np.uint64(32)
PAIRS = np.uint64(0x5555555555555555)
QUADS = np.uint64(0x3333333333333333)
BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
COUNT = np.uint64(0x7F)


@kernel
def bits_in(word: Any) -> int:
    """How many bits a word has set."""
    left = word - ((word >> ONE) & PAIRS)
    left = (left & QUADS) + ((left >> TWO) & QUADS)
    left = (left + (left >> FOUR)) & BYTES
    left = left + (left >> EIGHT)
    left = left + (left >> SIXTEEN)
    left = left + (left >> HALF)
    return np.int64(left & COUNT)  # type: ignore[return-value]


@kernel
def zeros_below(word: Any) -> int:
    """How many clear bits a word has below its lowest set one."""
    return bits_in(~word & (word - ONE))


@routine
def runs_of(mask: Any, row: int, run: Any) -> int:
    """Write places and lengths of the runs of neighbouring bits, lowest first; how many."""
    count = 0
    length = 0
    words = mask.shape[1]
    for at in range(words):
        word = mask[row, at]
        if word == NONE:
            if length > 0:
                run[RUN_LENGTH, count] = length
                count += 1
                length = 0
            continue
        if word == ALL:
            if length == 0:
                run[RUN_AT, count] = 64 * at
            length += 64
            continue
        done = 0
        while word != NONE:
            skip = zeros_below(word)
            if skip > 0 and length > 0:  # the run from the word before ends
                run[RUN_LENGTH, count] = length
                count += 1
                length = 0
            word >>= np.uint64(skip)
            done += skip
            if length == 0:
                run[RUN_AT, count] = 64 * at + done
            some = zeros_below(~word)
            length += some
            word >>= np.uint64(some)
            done += some
            if done < 64:
                run[RUN_LENGTH, count] = length
                count += 1
                length = 0
    if length > 0:
        run[RUN_LENGTH, count] = length
        count += 1
    return count


@kernel
def set_range(mask: Any, row: int, first: int, count: int) -> None:
    """Set ``count`` bits from a place on."""
    at = first
    left = count
    while left > 0:
        bit = at % 64
        here = min(64 - bit, left)
        word = ALL if here == 64 else ((ONE << np.uint64(here)) - ONE) << np.uint64(bit)
        mask[row, at // 64] |= word
        at += here
        left -= here
