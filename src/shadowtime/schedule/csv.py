"""A CSV file of whole numbers as columns, with errors that name the file, the line and the cure."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, NoReturn

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.schedule import columns as c
from shadowtime.schedule.schedule import Attempts, Schedule
from shadowtime.types import NO_LIMIT, UNKNOWN, Ints

CODES = {label: code for code, label in enumerate(c.LABELS)}
CODES |= {str(code): code for code in range(len(c.LABELS))} | {"": 0}
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
        row = c.first_out_of_range(name, values)
        if row is not None:
            self._refuse_range(name, row)
        return values

    def reasons(self, name: str) -> Ints:
        """A column of reasons, by name or by number; nothing means recorded."""
        cells = self.cells[name]
        codes = {cell: CODES.get(cell.strip().lower()) for cell in set(cells)}
        if None in codes.values():
            row = next(row for row, cell in enumerate(cells) if codes[cell] is None)
            known = ", ".join(c.LABELS)
            self.refuse(row, f"{name} is {cells[row][:40]!r}", f"Known are {known}.")
        return np.array([codes[cell] for cell in cells], np.int64)

    def _whole(self, name: str, row: int, text: str) -> int:
        if not text and name in c.UNKNOWN_ALLOWED:
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
        span = f"from {c.smallest(name)} to {c.largest(name)}"
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


CONTRACT = c.ALWAYS + c.WHERE_KNOWN


def parse_schedule(
    text: str,
    *,
    path: str = "schedule",
    attempts: Attempts | None = None,
    names: Mapping[str, str] | None = None,
) -> Schedule:
    """A schedule from CSV text.

    Rules
    -----
    Columns may stand in any order. ``job_id, submit, start, end, procs`` must be there; of the
    rest, what is missing is listed in ``Schedule.missing`` or None, and what is unknown to the
    contract is left out and counted (``counters["ignored_columns"]``). ``names`` says how the
    file calls a column: ``{"start": "starting_time"}``. Rows are sorted by (submit, id);
    nothing is dropped, so that a check can see a job that appears twice.

    Examples
    --------
    >>> s = parse_schedule("job_id,start,submit,end,procs,colour\\n7,5,0,9,2,red\\n")
    >>> s.job_id.tolist(), s.wait.tolist(), s.missing, s.counters["ignored_columns"]
    ([7], [5], ('reason', 'kills', 'killed'), 1)
    """
    table = _renamed(Table.parse(text, path=path), names or {})
    table.need(c.REQUIRED, what="A schedule")
    numbers = [name for name in CONTRACT if name in table.cells and name != "place"]
    return c.schedule_from(
        {
            name: table.reasons(name) if name == "reason" else table.integers(name)
            for name in numbers
        },
        place=table.cells.get("place"),
        attempts=Attempts.none() if attempts is None else attempts,
        ignored=len(set(table.cells) - set(CONTRACT)),
    )


def parse_attempts(text: str, *, path: str = "attempts") -> Attempts:
    """The attempts of preempted jobs from CSV text, sorted by start, then job.

    Examples
    --------
    >>> a = parse_attempts("job_id,start,end,preempted\\n4,9,20,0\\n4,2,5,1\\n")
    >>> a.start.tolist(), a.killed.tolist()
    ([2, 9], [1, 0])
    """
    table = Table.parse(text, path=path)
    table.need(c.ATTEMPTS, what="A file of attempts")
    names = c.ATTEMPTS + tuple(name for name in c.OF_WORK + c.OF_PIECES if name in table.cells)
    return c.attempts_from({name: table.integers(name) for name in names})


def _renamed(table: Table, names: Mapping[str, str]) -> Table:
    """The table with the contract's names in place of the file's own."""
    cells = dict(table.cells)
    for ours, theirs in names.items():
        if ours not in CONTRACT:
            raise UsageError(
                f"a schedule has no column {ours!r}: its columns are {', '.join(CONTRACT)}"
            )
        key = theirs.strip().lower()
        if key not in table.cells:
            raise InputError(f"no column {theirs!r} to be read as {ours}", path=table.path, line=1)
        cells.pop(key, None)
        cells[ours] = table.cells[key]
    return Table(path=table.path, text=table.text, cells=cells, rows=table.rows)


ROWS = 1 << 16
"""Rows turned into text at a time: enough to be quick, few enough to stay small in memory."""

SPECIAL = frozenset(',"\r\n')


def quoted(text: str) -> str:
    """A text field, in quotation marks where CSV asks for them.

    Examples
    --------
    >>> quoted("n1:4 n2:2"), quoted("n1,n2")
    ('n1:4 n2:2', '"n1,n2"')
    """
    if SPECIAL.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _values(schedule: Schedule, name: str, rows: slice) -> Sequence[Any]:
    """One column of some rows as the objects that the row template prints."""
    column = getattr(schedule, name)
    if name == "place":
        return [quoted(place) for place in column[rows]]
    if name == "reason":
        return [c.LABELS[code] for code in column[rows].tolist()]
    if name == "limit":
        column = np.where(column >= NO_LIMIT, UNKNOWN, column)
    values: list[int] = column[rows].tolist()
    return values


def schedule_lines(schedule: Schedule) -> Iterator[str]:
    """The text of a schedule file, in pieces: the header, then many rows at a time.

    A row per job in the schedule's order, whole seconds, reasons by name, -1 for unknown and
    for a limit that nothing enforces.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0], run=[10], procs=[2], recorded_start=[3])
    >>> print("".join(schedule_lines(Schedule.recorded(w))), end="")
    job_id,submit,start,end,procs,reason,kills,killed
    1,0,3,13,2,recorded,0,0
    """
    names = c.present(schedule)
    yield ",".join(names) + "\n"
    row = ",".join("%s" if name in ("reason", "place") else "%d" for name in names) + "\n"
    for first in range(0, len(schedule), ROWS):
        rows = slice(first, first + ROWS)
        columns = [_values(schedule, name, rows) for name in names]
        # One C-level loop for the whole piece: three times as fast as a loop of f-strings.
        yield "".join(map(row.__mod__, zip(*columns, strict=True)))


def attempts_lines(attempts: Attempts) -> Iterator[str]:
    """The text of the attempts file: a row per attempt of every preempted job."""
    columns = c.attempt_columns(attempts)
    yield ",".join(columns) + "\n"
    row = ",".join(["%d"] * len(columns)) + "\n"
    for first in range(0, len(attempts), ROWS):
        piece = [column[first : first + ROWS].tolist() for column in columns.values()]
        yield "".join(map(row.__mod__, zip(*piece, strict=True)))
