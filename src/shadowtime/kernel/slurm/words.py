"""Masks as rows of 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.jit import kernel
from shadowtime.types import AnyArray

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


@kernel
def has(mask: AnyArray, row: int, node: int) -> bool:
    """A node is in ``mask[row]``."""
    return (mask[row, node // 64] >> np.uint64(node % 64)) & ONE != NONE


@kernel
def put(mask: AnyArray, row: int, node: int) -> None:
    """Add a node to ``mask[row]``."""
    mask[row, node // 64] |= ONE << np.uint64(node % 64)


@kernel
def drop(mask: AnyArray, row: int, node: int) -> None:
    """Take a node out of ``mask[row]``."""
    mask[row, node // 64] &= ~(ONE << np.uint64(node % 64))


def words_of(nodes: int) -> int:
    """Words of a mask of ``nodes`` nodes."""
    return max(1, -(-nodes // 64))


def packed(mask: int, words: int) -> AnyArray:
    """A mask as words.

    Examples
    --------
    >>> packed(5 | 1 << 64, 2).tolist()
    [5, 1]
    """
    return np.frombuffer(mask.to_bytes(8 * words, "little"), np.uint64)


def unpacked(words: AnyArray) -> int:
    """The mask of a row of words.

    Examples
    --------
    >>> unpacked(packed(5 | 1 << 64, 2)) == 5 | 1 << 64
    True
    """
    return int.from_bytes(words.tobytes(), "little")
