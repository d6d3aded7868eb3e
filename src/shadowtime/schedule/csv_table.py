"""A CSV file of whole numbers as columns, with errors that name the file, the line and the cure."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from shadowtime.errors import InputError
from shadowtime.schedule.assemble import first_out_of_range
from shadowtime.schedule.columns import LABELS, UNKNOWN_ALLOWED, largest, smallest
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.types import Ints

CODES = {label: code for code, label in enumerate(LABELS)}
CODES |= {str(code): code for code in range(len(LABELS))} | {"": 0}
"""Reasons by name or by number; nothing means recorded."""


@dataclass(frozen=True)
class Table:
    """The cells of a CSV file by column, still as text.

    Examples
    --------
    >>> Table.parse("End, start\\n9,\\n", path="x.csv").integers("start").tolist()
    [-1]
    """

    path: str
    text: str
    cells: dict[str, Sequence[str]]
    rows: int

    @staticmethod
    def parse(text: str, *, path: str) -> Table:
        """Split a CSV text into columns; names are compared in lower case without blanks."""
        found = _split_plain(text) or _split_any(text, path=path)
        if found is None:
            raise InputError("the file is empty", path=path, hint="Its first line names columns.")
        header, columns, rows = found
        names = [name.strip().lower() for name in header]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"the column {name!r} appears twice", path=path, line=1)
        return Table(path=path, text=text, cells=dict(zip(names, columns, strict=True)), rows=rows)

    def refuse(self, row: int, what: str, hint: str) -> NoReturn:
        """Raise the error about a row; only now is the text read again to find its line."""
        raise InputError(what, path=self.path, line=_line_of(self.text, row), hint=hint)

    def need(self, names: Sequence[str], *, what: str) -> None:
        """Refuse a file without these columns."""
        lacking = [name for name in names if name not in self.cells]
        if lacking:
            raise InputError(
                f"no column {', '.join(lacking)} (found: {', '.join(self.cells)[:200]})",
                path=self.path,
                line=1,
                hint=f"{what} needs {', '.join(names)}, separated by commas.",
            )

    def integers(self, name: str) -> Ints:
        """A column as whole numbers; 12.0 is one, and nothing is -1 where that is allowed."""
        cells = self.cells[name]
        try:
            values = np.array(list(map(int, cells)), np.int64)
        except (ValueError, OverflowError):
            whole = [self._whole(name, row, cell.strip()) for row, cell in enumerate(cells)]
            values = np.array(whole, np.int64)
        row = first_out_of_range(name, values)
        if row is not None:
            self._refuse_range(name, row)
        return values

    def reasons(self, name: str) -> Ints:
        """A column of reasons, by name or by number; nothing means recorded."""
        cells = self.cells[name]
        codes = {cell: CODES.get(cell.strip().lower()) for cell in set(cells)}
        if None in codes.values():
            row = next(row for row, cell in enumerate(cells) if codes[cell] is None)
            known = ", ".join(LABELS)
            self.refuse(row, f"{name} is {cells[row][:40]!r}", f"Known are {known}.")
        return np.array([codes[cell] for cell in cells], np.int64)

    def _whole(self, name: str, row: int, text: str) -> int:
        if not text and name in UNKNOWN_ALLOWED:
            return UNKNOWN
        try:
            number = float(text)
        except ValueError:
            what = f"{text[:40]!r}, not a number" if text else "empty"
            self.refuse(row, f"{name} is {what}", "Write a whole number.")
        if not abs(number) < 1 << 62:  # also infinity and nan
            self._refuse_range(name, row)
        if not number.is_integer():
            self.refuse(row, f"{name} is {text[:40]}, not whole", "Round it: seconds are whole.")
        # A float has 53 bits: long ids are exact only as they were written.
        return int(text) if text.lstrip("+-").isdecimal() else int(number)

    def _refuse_range(self, name: str, row: int) -> NoReturn:
        cell = self.cells[name][row].strip()[:40]
        span = f"from {smallest(name)} to {largest(name)}"
        self.refuse(row, f"{name} is {cell}, allowed is {span}", "Correct the row.")


Split = tuple[list[str], "list[Sequence[str]]", int]
"""Header, columns of cells, number of rows."""


def _split_plain(text: str) -> Split | None:
    """A text without quotation marks and with equally long rows, or None: five times as fast.

    One flat list of cells makes no list per row, which the garbage collector would walk.
    """
    if '"' in text or "\r" in text:
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    if len(set(map(methodcaller("count", ","), lines))) != 1:
        return None
    width = lines[0].count(",") + 1
    cells = ",".join(lines).split(",")
    columns: list[Sequence[str]] = [cells[width + at :: width] for at in range(width)]
    return cells[:width], columns, len(lines) - 1


def _split_any(text: str, *, path: str) -> Split | None:
    """Any CSV text; None where it holds nothing."""
    try:
        filled = [row for row, _ in _rows(text)]
    except csv.Error as error:
        raise InputError(
            f"not a CSV file ({error})", path=path, hint="Save it as plain CSV."
        ) from None
    if not filled:
        return None
    header, rows = filled[0], filled[1:]
    for number, row in enumerate(rows):
        if len(row) != len(header):
            raise InputError(
                f"{len(row)} fields where the header names {len(header)}",
                path=path,
                line=_line_of(text, number),
                hint="Fix the row.",
            )
    columns: list[Sequence[str]] = [[row[at] for row in rows] for at in range(len(header))]
    return header, columns, len(rows)


def _rows(text: str) -> Iterator[tuple[list[str], int]]:
    """The rows that hold anything, each with the line on which it ends."""
    reader = csv.reader(text.splitlines(keepends=True))
    for cells in reader:
        if len(cells) > 1 or "".join(cells).strip():
            yield cells, reader.line_num


def _line_of(text: str, row: int) -> int:
    """The line of a row below the header, as an editor counts them."""
    try:
        return next(line for number, (_, line) in enumerate(_rows(text)) if number == row + 1)
    except (csv.Error, StopIteration):  # a cell beyond the size that csv takes, an odd line end
        return row + 2
