"""The distinct texts of columns: each gets a number, so that its meaning is found once.

Texts are compared eight bytes at a time, whole columns at once. A hash says with which known text
to compare; that they are equal is never taken from the hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.slurmtext.sacct_texts import Texts, Words

    Part = tuple[Ints | None, Words]
    """A word of the keys in these rows (None: in all), after those before it."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_LONGEST = 512
"""Bytes of texts that are compared by words; others are looked up one by one."""


class _Keys:
    """Numbers of keys, from 1 on as they turn up. A key is some words, and zeros behind them."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._hashes = np.zeros(256, np.uint64)
        self._words = np.zeros((4, 256), np.uint64)
        self._words[0, 0] = np.iinfo(np.uint64).max  # so that an empty slot equals no key
        self._slots = np.zeros(1 << 12, np.int64)

    def numbers(
        self,
        parts: Sequence[Part],
        keys: Callable[[Ints], Iterable[bytes]],
        long: AnyArray | None = None,
    ) -> Ints:
        """The number of each row's key.

        ``parts`` are its words, ``keys`` gives bytes that only equal keys share, for some rows,
        and ``long`` are rows whose words are not all there.
        """
        self._make_room(len(parts))
        hashes = np.zeros(len(parts[0][1]), np.uint64)
        for rows, word in parts:
            if rows is None:
                _mix(hashes, word)
            else:
                some = hashes[rows]
                _mix(some, word)
                hashes[rows] = some
        hashes *= _MIX  # the highest bits are the slot
        found: Ints = self._slots[self._slot(hashes)]
        odd = self._differ(found, parts, long)
        if odd.any():
            missing = np.flatnonzero(odd)
            _, first, each = np.unique(hashes[missing], return_index=True, return_inverse=True)
            found[missing] = self._add(missing[first], keys, hashes, parts)[each]
            # What remains: keys that are long, and two with one hash.
            rest = np.flatnonzero(self._differ(found, parts, long))
            found[rest] = self._add(rest, keys, hashes, parts)
        return found

    def _slot(self, hashes: Words) -> Ints:
        return (hashes >> np.uint64(65 - len(self._slots).bit_length())).view(np.int64)

    def _differ(self, numbers: Ints, parts: Sequence[Part], long: AnyArray | None) -> AnyArray:
        odd = np.zeros(len(numbers), bool) if long is None else long.copy()
        for known, (rows, word) in zip(self._words, parts, strict=False):
            if rows is None:
                odd |= known[numbers] != word
            else:
                odd[rows] |= known[numbers[rows]] != word
        return odd

    def _add(
        self,
        rows: Ints,
        keys: Callable[[Ints], Iterable[bytes]],
        hashes: Words,
        parts: Sequence[Part],
    ) -> Ints:
        """The numbers of keys that may be new, in these rows."""
        before = len(self._numbers)
        known = self._numbers
        found = np.array([known.setdefault(key, len(known) + 1) for key in keys(rows)], np.int64)
        while len(known) >= len(self._hashes):
            self._hashes = np.concatenate([self._hashes, np.zeros_like(self._hashes)])
            self._words = np.concatenate([self._words, np.zeros_like(self._words)], axis=1)
        new = found > before
        rows, numbers = rows[new], found[new]
        self._hashes[numbers] = hashes[rows]
        for words, (some, word) in zip(self._words, parts, strict=False):
            if some is None:
                words[numbers] = word[rows]
            else:
                at = np.minimum(np.searchsorted(some, rows), len(some) - 1)
                there = some[at] == rows
                words[numbers[there]] = word[at[there]]
        if _slots_for(len(known)) > len(self._slots):
            self._slots = np.zeros(_slots_for(2 * len(known)), np.int64)
            numbers = np.arange(1, len(known) + 1)
        self._slots[self._slot(self._hashes[numbers])] = numbers
        return found

    def _make_room(self, words: int) -> None:
        while words > len(self._words):
            self._words = np.concatenate([self._words, np.zeros_like(self._words)])


def _slots_for(keys: int) -> int:
    """A power of two: 64 slots for a key, so that few share one, as long as that is not much."""
    return 1 << max(8 * keys, min(64 * keys, 1 << 20)).bit_length()


def _mix(hashes: Words, word: Words) -> None:
    hashes ^= word
    hashes *= _MIX
    hashes ^= hashes >> np.uint64(29)


class TextCodes:
    """Numbers of texts.

    Examples
    --------
    >>> from shadowtime.slurmtext.sacct_texts import Texts
    >>> codes = TextCodes()
    >>> codes.of(Texts.of(["a", "bc", "a"])).tolist(), codes.of(Texts.of(["d", "bc"])).tolist()
    ([1, 2, 1], [3, 2])
    """

    def __init__(self) -> None:
        self._keys = _Keys()

    def of(self, texts: Texts) -> Ints:
        """The number of each, from 1 on; a new one is larger than all known ones."""
        size = texts.size.view(np.uint64)  # a text may end with zeros, as a word does
        words = [(None, size), *texts.words(_LONGEST)]
        n = len(texts)
        if n and len(words) == 2 and not any((word != word[0]).any() for _, word in words):
            return np.repeat(self._numbers(texts[:1], [(None, word[:1]) for _, word in words]), n)
        return self._numbers(texts, words)

    def _numbers(self, texts: Texts, words: Sequence[Part]) -> Ints:
        long = texts.size > _LONGEST
        return self._keys.numbers(words, lambda rows: texts[rows].as_bytes(), long)


class RowCodes:
    """Numbers of rows of several texts, always as many.

    Examples
    --------
    >>> from shadowtime.slurmtext.sacct_texts import Texts
    >>> rows = RowCodes()
    >>> rows.of([Texts.of(["a", "a", "a"]), Texts.of(["x", "y", "x"])]).tolist()
    [1, 2, 1]
    """

    def __init__(self) -> None:
        self._columns: list[TextCodes] = []
        self._keys = _Keys()

    def of(self, columns: Sequence[Texts]) -> Ints:
        """The number of each row, from 1 on; a new one is larger than all known ones."""
        if not self._columns:
            self._columns = [TextCodes() for _ in columns]
        pairs = zip(self._columns, columns, strict=True)
        each = np.array([codes.of(texts) for codes, texts in pairs]).view(np.uint64)
        return self._keys.numbers(
            [(None, word) for word in each],
            lambda rows: (row.tobytes() for row in each[:, rows].T),
        )
