"""From the text of an sacct export to rows of fields.

Job names (and comments, constraints ...) may hold the delimiter and line breaks, which sacct
does not mark. A line that does not start a job belongs to the name before it; a line with too
many fields had the delimiter in one of the free texts: the reading in which the other fields
make sense is taken.

A large export is read in blocks, and where every line of a block is a row of its own its fields
are cut column by column.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError
from shadowtime.trace.sacct_sense import looks_like_id, most, sense

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.types import Ints

RECOMMENDED = (
    "JobIDRaw,JobID,Cluster,Partition,QOS,Account,User,Submit,Eligible,Start,End,ElapsedRaw,"
    "Suspended,TimelimitRaw,State,ExitCode,Priority,Flags,Reason,NNodes,ReqCPUS,NCPUS,"
    "ReqMem,ReqTRES,AllocTRES,Constraints,Reservation,NodeList,JobName"
)

_XDMOD = (
    "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,"
    "elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
)
LAYOUTS: tuple[tuple[str, ...], ...] = tuple(
    tuple(names.lower().split(","))
    for names in (
        RECOMMENDED,
        _XDMOD,
        _XDMOD.replace("qos,", ""),
        _XDMOD.replace("qos,", "").replace("reqtres,alloctres", "reqgres,reqtres"),
        _XDMOD.replace("qos,", "").replace("alloctres,", ""),
    )
)
"""Exports without a header that we know: our own command's, Open XDMoD's, and its older ones."""

_FREE = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir",
         "constraints", "reason", "extra", "wckey")  # fmt: skip
_BLOCK = 1 << 18
"""Characters of a block, about: more do not make it faster."""
_MOST = 4096
"""Rows of a piece."""
_KNOWN = {name for layout in LAYOUTS for name in layout} | set(_FREE)


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows that follow each other: the line of each, and its fields column by column."""

    lines: Ints
    columns: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.lines)

    def halves(self) -> tuple[Piece, Piece]:
        """The upper and the lower half."""
        middle = len(self) // 2
        return (
            Piece(self.lines[:middle], [column[:middle] for column in self.columns]),
            Piece(self.lines[middle:], [column[middle:] for column in self.columns]),
        )


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be split into its fields, and why."""

    line: int
    why: str


Row = tuple[int, "list[str] | str"]
"""The line of a row and its fields, or a sentence where it cannot be split."""


@dataclass
class Rows:
    """The rows of an export, read as they are asked for (once)."""

    columns: tuple[str, ...]
    pieces: Iterator[Piece | BadRow] = field(default_factory=lambda: iter(()))
    joined: int = 0
    """Lines that belong to the name before them, as far as the export has been read."""

    def each(self) -> Iterator[Row]:
        """Row by row."""
        for piece in self.pieces:
            if isinstance(piece, BadRow):
                yield piece.line, piece.why
            else:
                fields = zip(*piece.columns, strict=True)
                yield from zip(piece.lines.tolist(), map(list, fields), strict=True)


def split_rows(text: str | bytes, *, path: str | None = None) -> Rows:
    """Columns (lower case) and rows of an sacct export; bytes are UTF-8.

    The delimiter is found in the header; without a header the layout is recognised by the number
    and kind of the fields. A table in fixed columns (sacct without -P) is read by its
    line of dashes.

    Examples
    --------
    >>> rows = split_rows("JobID|State|JobName\\n7|FAILED|a\\n8|COMPLETED|b|c\\n")
    >>> rows.columns, list(rows.each())
    (('jobid', 'state', 'jobname'), [(2, ['7', 'FAILED', 'a']), (3, ['8', 'COMPLETED', 'b|c'])])
    """
    blocks = _blocks(text)
    lines: list[str] = []
    first = None
    for block in blocks:
        lines += block.split("\n")
        if first is None:
            first = next((i for i, line in enumerate(lines) if line.strip()), None)
        if first is not None and len(lines) > first + 20:
            break
    if first is None:
        raise InputError("the file is empty", path=path, hint="Was it written to the end?")

    def rest(start: int) -> Iterator[str]:
        if start < len(lines):
            yield "\n".join(lines[start:])
        yield from blocks

    below = lines[first + 1].strip() if first + 1 < len(lines) else ""
    if "---" in below and set(below) <= {"-", " "}:
        return _fixed(lines[first], lines[first + 1], _lines(rest(first + 2)), first + 3)
    head = lines[first]
    delimiter = _delimiter(head)
    names = tuple(name.strip().strip('"').lower() for name in head.split(delimiter))
    if len(_KNOWN.intersection(names)) < 2:
        columns = _layout(lines, first, delimiter, path)
        return _delimited(rest(first), first + 1, delimiter, columns, trailing=False)
    trailing = names[-1] == ""  # sacct -p ends every line with the delimiter
    columns = names[:-1] if trailing else names
    if delimiter == ",":
        return Rows(columns, _pieces(_quoted(_lines(rest(first + 1)), first + 1, len(columns))))
    return _delimited(rest(first + 1), first + 2, delimiter, columns, trailing=trailing)


def _blocks(text: str | bytes) -> Iterator[str]:
    """The text in blocks of whole lines: joined by line ends they are all of it."""
    at = 0
    while at <= len(text):
        if isinstance(text, bytes):
            end = text.find(b"\n", at + _BLOCK)
            block = text[at : end if end >= 0 else len(text)].decode("utf-8", "replace")
        else:
            end = text.find("\n", at + _BLOCK)
            block = text[at : end if end >= 0 else len(text)]
        block = block.replace("\r\n", "\n")
        at = end + 1 if end >= 0 else len(text) + 1
        yield block.removesuffix("\r") if end >= 0 else block


def _lines(blocks: Iterator[str]) -> Iterator[str]:
    return chain.from_iterable(block.split("\n") for block in blocks)


def _pieces(rows: Iterator[Row]) -> Iterator[Piece | BadRow]:
    """Rows as columns, as many together as follow each other without a bad one."""
    lines: list[int] = []
    fields: list[list[str]] = []

    def gathered() -> Iterator[Piece]:
        if lines:
            yield Piece(np.array(lines, np.int64), list(zip(*fields, strict=True)))
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


def _delimiter(head: str) -> str:
    return next((mark for mark in ("|", "\t", ";", ",") if mark in head), "|")


def _layout(lines: list[str], first: int, delimiter: str, path: str | None) -> tuple[str, ...]:
    for line in lines[first : first + 20]:
        fields = line.split(delimiter)
        for columns in LAYOUTS:
            if len(fields) >= len(columns) and sense(columns, fields) == most(columns):
                return columns
    raise InputError(
        "this is neither an sacct export with a header nor one of the known ones without",
        path=path,
        line=first + 1,
        hint="Export it with the command that `shadowtime trace sacct --print-command` shows.",
    )


def _delimited(
    blocks: Iterator[str], number: int, delimiter: str, columns: tuple[str, ...], *, trailing: bool
) -> Rows:
    found = Rows(columns)
    found.pieces = _Delimited(found, delimiter, trailing=trailing).pieces(blocks, number)
    return found


class _Delimited:
    """The rows of delimited text, block by block; the last row may go on in the next block."""

    def __init__(self, found: Rows, delimiter: str, *, trailing: bool) -> None:
        self.found, self.delimiter, self.trailing = found, delimiter, trailing
        self.columns = found.columns
        self.id_first = found.columns[0] in ("jobid", "jobidraw")
        self.at = 0
        self.text: list[str] = []
        """The lines of the row begun last."""

    def pieces(self, blocks: Iterator[str], number: int) -> Iterator[Piece | BadRow]:
        """All rows; ``number`` is that of the first line."""
        block = next(blocks, None)
        while block is not None:
            following = next(blocks, None)
            count = block.count("\n") + 1
            whole = following is None or self._begins(following.partition("\n")[0])
            columns = self._regular(block, count) if whole else None
            if columns is None:
                yield from _pieces(self._by_line(block.split("\n"), number))
            else:
                yield from _pieces(self._finished())
                yield Piece(np.arange(number, number + count, dtype=np.int64), columns)
            number += count
            block = following
        yield from _pieces(self._finished())

    def _begins(self, line: str) -> bool:
        """Does a row begin here?"""
        word, there, _ = line.partition(self.delimiter)
        # A bare number is more likely part of a name than a job of which all else is lost.
        return line.count(self.delimiter) >= len(self.columns) - 1 or bool(
            self.id_first and there and looks_like_id(word)
        )

    def _regular(self, block: str, count: int) -> list[list[str]] | None:
        """The columns of a block in which each line is a row of its own."""
        mark = self.delimiter
        width = len(self.columns) + self.trailing
        # A line end becomes the beginning of a field, which shows where each line begins.
        flat = block.replace("\n", f"{mark}\n").split(mark)
        if width < 2 or len(flat) != width * count:
            return None
        if mark.isspace() and not all(line.strip() for line in block.split("\n")):
            return None  # an empty line looks like a row
        begins = flat[width::width]
        if "".join([field[:1] for field in begins]).count("\n") != count - 1:
            return None
        if self.trailing and any(flat[width - 1 :: width]):
            return None
        flat[width::width] = [field[1:] for field in begins]
        return [flat[place::width] for place in range(len(self.columns))]

    def _by_line(self, lines: list[str], number: int) -> Iterator[Row]:
        for at, line in enumerate(lines, number):
            if self._begins(line) or not self.text:
                yield from self._finished()
                if line.strip():
                    self.at, self.text = at, [line]
            else:
                self.text.append(line)
                self.found.joined += bool(line.strip())

    def _finished(self) -> Iterator[Row]:
        """The row begun last; empty lines below it do not belong to it."""
        if not self.text:
            return
        while not self.text[-1].strip():
            self.text.pop()
        text = "\n".join(self.text)
        self.text = []
        body = text.removesuffix(self.delimiter) if self.trailing else text
        fields, n = body.split(self.delimiter), len(self.columns)
        if len(fields) > n:
            fields = _merged(fields, self.columns, self.delimiter)
        yield self.at, fields if len(fields) == n else f"expected {n} columns, found {len(fields)}"


def _merged(fields: list[str], columns: tuple[str, ...], delimiter: str) -> list[str]:
    """Put a delimiter back into the free text it came from: the reading that makes most sense."""
    extra = len(fields) - len(columns)
    best, best_score = fields, -1
    free = [columns.index(name) for name in _FREE if name in columns] or [len(columns) - 1]
    for place in free:
        whole = delimiter.join(fields[place : place + extra + 1])
        merged = [*fields[:place], whole, *fields[place + extra + 1 :]]
        score = sense(columns, merged)
        if score > best_score:
            best, best_score = merged, score
    return best


def _quoted(lines: Iterator[str], before: int, n: int) -> Iterator[Row]:
    """Comma-separated with quotes, as a spreadsheet writes it."""
    reader = csv.reader(lines)
    try:
        for fields in reader:
            if any(part.strip() for part in fields):
                row: list[str] | str = fields
                if len(fields) != n:
                    row = f"expected {n} columns, found {len(fields)} (commas must be quoted)"
                yield before + reader.line_num, row
    except csv.Error as error:
        yield before + reader.line_num, str(error)


def _fixed(head: str, dashes: str, lines: Iterator[str], number: int) -> Rows:
    spans = [match.span() for match in re.finditer("-+", dashes)]

    def cut(line: str) -> list[str]:
        return [line[a:b].strip() for a, b in spans]

    rows = ((at, cut(line)) for at, line in enumerate(lines, number) if line.strip())
    return Rows(tuple(name.lower() for name in cut(head)), _pieces(rows))
