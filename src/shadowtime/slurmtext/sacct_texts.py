"""A column of fields as places in the bytes of a block: no object for a field until it is read.

What most fields are, a number or one of few words, is found for a whole column at once, eight
bytes at a time; any other field is a string when it is asked for by its row. Rows that follow each
other are a piece, with its columns by number and by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, overload

import numpy as np

from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

_MARGIN = bytes(32)
"""Around the text of a block, so that the bytes before or after any place can be read."""
_WIDTHS = (8, 8, 16)
"""Bytes of a text that are read at once, one after the other; then 32: it takes little longer."""
_WIDEST = 32
_FIRST = {
    width: np.frombuffer(
        b"".join(b"\xff" * size + bytes(width - size) for size in range(width + 1)), "<u8"
    ).reshape(-1, width // 8)
    for width in (8, 16, _WIDEST)
}
"""By number of bytes: the bits of the first few of them, as words."""
_LAST = np.array([(1 << 64) - (1 << 8 * max(8 - size, 0)) for size in range(17)], np.uint64)
"""Which bits of the last eight bytes are those of a text of up to 16."""
_LAST_BUT_8 = np.concatenate([np.zeros(8, np.uint64), _LAST[:9]])
_BETWEEN = b"\xff"
"""Between fields that were put together: no byte of UTF-8."""


def _repeated(byte: int) -> np.uint64:
    return np.uint64(int.from_bytes(bytes([byte]) * 8))


_ZEROS, _ONES, _HIGH = _repeated(ord("0")), _repeated(0x01), _repeated(0x80)
_TO_HIGH = _repeated(0x80 - 10)
_STEPS = tuple(
    (np.uint64(1 + (10**digits << 8 * digits)), np.uint64(8 * digits), mask)
    for digits, mask in (
        (1, np.uint64(0x00FF00FF00FF00FF)),
        (2, np.uint64(0x0000FFFF0000FFFF)),
        (4, np.uint64(0xFFFFFFFF)),
    )
)
"""Digits to pairs, pairs to fours, fours to a number: multiplier, shift and mask."""


class Block:
    """The bytes of some lines (UTF-8)."""

    __slots__ = ("_bytes_from", "data", "raw")

    first = len(_MARGIN)
    """Where the text begins."""

    def __init__(self, *text: bytes) -> None:
        self.raw = b"".join((_MARGIN, *text, _MARGIN))
        self.data = np.frombuffer(self.raw, np.uint8)
        self._bytes_from = {
            width: np.ndarray((len(self.raw) - width + 1,), f"V{width}", self.raw, strides=(1,))
            for width in _FIRST
        }

    def words(self, places: Ints, width: int) -> Words:
        """The bytes from these places on, 8, 16 or 32, as a row of words; the first is lowest."""
        return self._bytes_from[width][places].view("<u8").reshape(-1, width // 8)


class Texts(Sequence[str]):
    """Fields of a block: where each begins and how many bytes it has.

    Examples
    --------
    >>> texts = Texts.of(["17", "", "n[1-2]"])
    >>> len(texts), texts[2], list(texts[1:])
    (3, 'n[1-2]', ['', 'n[1-2]'])
    """

    __slots__ = ("begin", "block", "size")

    def __init__(self, block: Block, begin: Ints, size: Ints) -> None:
        self.block, self.begin, self.size = block, begin, size

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """These texts, one after the other."""
        block, before, end = packed([[text] for text in texts], 1)
        return cls(block, before[:, 0] + 1, end[:, 0] - before[:, 0] - 1)

    @classmethod
    def empty(cls, count: int) -> Texts:
        """``count`` empty texts."""
        block = Block(b"")
        return cls(block, np.full(count, block.first, np.int64), np.zeros(count, np.int64))

    def __len__(self) -> int:
        return len(self.begin)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice | AnyArray) -> Texts: ...
    def __getitem__(self, at: int | slice | AnyArray) -> str | Texts:
        if isinstance(at, slice | np.ndarray):
            return Texts(self.block, self.begin[at], self.size[at])
        begin = int(self.begin[at])
        text = self.block.raw[begin : begin + int(self.size[at])]
        return text.decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (text.decode("utf-8", "surrogatepass") for text in self.as_bytes())

    def as_bytes(self) -> Iterator[bytes]:
        """The bytes of each field."""
        raw, places = self.block.raw, zip(self.begin.tolist(), self.size.tolist(), strict=True)
        return (raw[begin : begin + size] for begin, size in places)

    def part(self, begin: Ints | int, size: Ints) -> Texts:
        """``size`` bytes of each field, ``begin`` bytes behind its first."""
        return Texts(self.block, self.begin + begin, size)

    def words(self, most: int) -> Iterator[tuple[Ints | None, Words]]:
        """Eight bytes of each field after the other, and zeros behind its end.

        Rows (all: None) and what they are, up to ``most`` bytes of a field. How many words a field
        has depends on its size alone.
        """
        longest = int(self.size.max(initial=0))
        shortest = int(self.size.min(initial=longest))
        at = 0
        for width in chain(_WIDTHS, repeat(_WIDEST)):
            if at and at >= min(longest, most):
                break
            begin, size, rows = self.begin, self.size, None
            if at >= shortest > 0 or (at and not shortest):
                rows = np.flatnonzero(size > at)
                begin, size = begin[rows], size[rows]
            words = self.block.words(begin + at if at else begin, width)
            if shortest < at + width:
                words &= _FIRST[width][np.minimum(size - at if at else size, width)]
            for place in range(width // 8):
                yield rows, words[:, place]
            at += width

    def has(self, mark: str) -> AnyArray:
        """In which of them does this ASCII character occur?

        Examples
        --------
        >>> Texts.of(["2026-03", "177", ""]).has("-").tolist()
        [True, False, False]
        """
        found = np.zeros(len(self), bool)
        sought = _repeated(ord(mark))
        for rows, word in self.words(int(self.size.max(initial=0))):
            there = _zero_bytes(word ^ sought) != 0
            if rows is None:
                found |= there
            else:
                found[rows] |= there
        return found

    def digits_before(self) -> Ints:
        """How many ASCII digits stand at the beginning of each, up to 16.

        Examples
        --------
        >>> Texts.of(["12_3", "", "4567890123.batch", "x1"]).digits_before().tolist()
        [2, 0, 10, 0]
        """
        count = np.zeros(len(self), np.int64)
        words = self.block.words(self.begin, 16)
        for place in (0, 1):
            odd = _not_digits(words[:, place] ^ _ZEROS)
            low = odd & (~odd + np.uint64(1))
            here = np.bitwise_count(low - np.uint64(1)).astype(np.int64) // 8
            count += np.where(count == 8 * place, here, 0)
        return np.minimum(count, self.size)

    def numbers(self, most: int) -> tuple[Ints, AnyArray]:
        """What is written in decimal digits, at most ``most`` (16), and nothing else: the numbers,
        and in which rows they stand.

        Examples
        --------
        >>> numbers, there = Texts.of(["17", "1772323210", "-1", "", "123456"]).numbers(10)
        >>> numbers[there].tolist(), there.tolist()
        ([17, 1772323210, 123456], [True, True, False, False, True])
        """
        longest, shortest = int(self.size.max(initial=0)), int(self.size.min(initial=16))
        size = self.size if longest <= 16 else np.minimum(self.size, 16)
        there = size > 0
        if longest > most:
            there &= self.size <= most
        end = self.begin + size
        alike = size[:1] if longest == shortest else size
        if most <= 8 or longest <= 8:
            value, odd = _number(self.block.words(end - 8, 8)[:, 0], _LAST[alike])
        else:
            words = self.block.words(end - 16, 16)
            value, odd = _number(words[:, 1], _LAST[alike])
            high, odd_too = _number(words[:, 0], _LAST_BUT_8[alike])
            high *= np.uint64(10**8)
            value += high
            odd |= odd_too
        there &= odd == 0
        return value.view(np.int64), there


def packed(
    rows: Sequence[Sequence[str]], width: int, before: bytes = b""
) -> tuple[Block, Ints, Ints]:
    """A block of rows that have ``width`` fields each, below other text; where the byte before and
    the byte after each field are.

    Examples
    --------
    >>> block, before, end = packed([["7", "a"], ["8", "b|c"]], 2)
    >>> before.tolist(), end.tolist(), block.raw[end[0, 1] + 1 : end[1, 1]]
    ([[31, 33], [35, 37]], [[33, 35], [37, 41]], b'8\xffb|c')
    """
    cells = [field.encode("utf-8", "surrogatepass") for row in rows for field in row]
    size = np.array([len(cell) for cell in cells], np.int64)
    end = Block.first + len(before) - 1 + np.cumsum(size + 1)
    block = Block(before, _BETWEEN.join(cells))
    return block, (end - size - 1).reshape(-1, width), end.reshape(-1, width)


def _zero_bytes(word: Words) -> Words:
    """Not 0 where one of the eight bytes is; the lowest bit set is that of the first."""
    found: Words = (word - _ONES) & ~word & _HIGH
    return found


def _not_digits(word: Words) -> Words:
    """The high bits of bytes that are no digits, if "0" has been taken from each; the lowest one
    is right, and there is none if all are digits."""
    found: Words = word + _TO_HIGH
    found |= word
    found &= _HIGH
    return found


def _number(word: Words, keep: Words) -> tuple[Words, Words]:
    """The number whose digits are the bytes to keep, and where they are no digits."""
    word = word ^ _ZEROS
    word &= keep
    odd = _not_digits(word)
    for times, shift, mask in _STEPS:
        word *= times
        word >>= shift
        word &= mask
    return word, odd


_MOST = 4096
"""Rows of a piece."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows that follow each other: the line of each, and where its fields stand in a block.

    ``before`` and ``end`` are the bytes before and after each field, a row for each row. Between
    the fields of a row lies one byte.
    """

    lines: Ints
    block: Block
    before: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, rows: slice | AnyArray) -> Piece:
        return Piece(self.lines[rows], self.block, self.before[rows], self.end[rows])

    def column(self, at: int) -> Texts:
        """The fields of a column."""
        return self.columns(at, at)

    def columns(self, first: int, last: int) -> Texts:
        """All that stands in neighbouring columns, which is the same only if all fields are."""
        begin = self.before[:, first] + 1
        return Texts(self.block, begin, self.end[:, last] - begin)


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be split into its fields, and why."""

    line: int
    why: str


Row = tuple[int, "list[str] | str"]
"""The line of a row and its fields, or a message if it cannot be split."""


def pieces_of(rows: Iterator[Row], width: int) -> Iterator[Piece | BadRow]:
    """Rows as ``width`` columns, in pieces between bad rows."""
    lines: list[int] = []
    fields: list[list[str]] = []

    def gathered() -> Iterator[Piece]:
        if lines:
            yield Piece(np.array(lines, np.int64), *packed(fields, width))
        lines.clear()
        fields.clear()

    for line, row in rows:
        if isinstance(row, str):
            yield from gathered()
            yield BadRow(line, row)
            continue
        lines.append(line)
        fields.append(row)
        if len(lines) >= _MOST:
            yield from gathered()
    yield from gathered()


class Taken:
    """The columns of those rows of a piece that are jobs, a row once per job."""

    def __init__(self, place: Mapping[str, int], piece: Piece, at: Ints | None) -> None:
        self.place, self.piece, self.at = place, piece, at
        self.n = len(piece) if at is None else len(at)
        self._columns: dict[str, Texts] = {}

    def __call__(self, name: str) -> Texts:
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def _column(self, name: str) -> Texts:
        if name not in self.place:
            return Texts.empty(self.n)
        column = self.piece.column(self.place[name])
        return column if self.at is None else column[self.at]

    def together(self, names: Iterable[str]) -> list[Texts]:
        """The texts of several columns, those of neighbours as one."""
        spans: list[list[int]] = []
        for place in sorted(self.place[name] for name in names):
            if spans and place == spans[-1][1] + 1:
                spans[-1][1] = place
            else:
                spans.append([place, place])
        found = [self.piece.columns(first, last) for first, last in spans]
        return found if self.at is None else [texts[self.at] for texts in found]
