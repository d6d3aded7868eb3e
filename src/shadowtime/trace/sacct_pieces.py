"""Rows of an sacct export that are processed together, and their columns by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.trace.sacct_texts import Block, Texts, packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from shadowtime.types import AnyArray, Ints

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
