"""From the text of an sacct export to rows of fields.

Job names (and comments, constraints ...) may hold the delimiter and line breaks, which sacct
does not mark. A line that does not start a job belongs to the name before it; a line with too
many fields had the delimiter in free texts: the reading in which the other fields are plausible
is used.

An export is read in blocks. The fields of lines that are rows of their own are places in the bytes
of a block; only the other lines are processed one by one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from shadowtime.errors import InputError
from shadowtime.slurmtext.sacct_sense import FREE, looks_like_id, merged, most, sense
from shadowtime.slurmtext.sacct_texts import BadRow, Block, Piece, Row, packed, pieces_of
from shadowtime.types import AnyArray, Ints

RECOMMENDED = (
    "JobIDRaw,JobID,Cluster,Partition,QOS,Account,User,Submit,Eligible,Start,End,ElapsedRaw,"
    "Suspended,TimelimitRaw,State,Priority,Flags,Reason,NNodes,ReqCPUS,NCPUS,"
    "ReqMem,ReqTRES,AllocTRES,Constraints,Reservation,NodeList,JobName,SubmitLine,ExitCode"
)
"""The columns to export; the last one has no line end in it, as the first has none."""
_EARLIER = RECOMMENDED.replace("State,", "State,ExitCode,").removesuffix(",SubmitLine,ExitCode")
BETWEEN = "\x1f"
"""The separator of exports that :mod:`shadowtime.slurmtext.sacct_export` wrote."""
BY_HAND = "@3fa94c07@"
"""The separator to ask sacct for where none can be drawn: nobody writes it by accident."""
LONG = re.compile(r"\s*[A-Za-z]+(@[0-9a-f]{8,32}@)[A-Za-z]+")
"""The beginning of a header with such a separator."""

_XDMOD = (
    "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,"
    "elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
)
LAYOUTS: tuple[tuple[str, ...], ...] = tuple(
    tuple(names.lower().split(","))
    for names in (
        RECOMMENDED,
        _EARLIER,
        _XDMOD,
        _XDMOD.replace("qos,", ""),
        _XDMOD.replace("qos,", "").replace("reqtres,alloctres", "reqgres,reqtres"),
        _XDMOD.replace("qos,", "").replace("alloctres,", ""),
    )
)
"""Exports without a header that we know: our own command's, Open XDMoD's, and its older ones."""

_BLOCK = 1 << 21
"""Bytes of a block, about: more do not make it faster."""
_KNOWN = {name for layout in LAYOUTS for name in layout} | set(FREE)


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
                fields = zip(*map(piece.column, range(len(self.columns))), strict=True)
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
    start = text[:4096]
    long = LONG.match(start if isinstance(start, str) else start.decode("utf-8", "replace"))
    if long is not None:
        return _exact(text if isinstance(text, str) else text.decode("utf-8", "replace"), long[1])
    blocks = _blocks(text)
    begin: list[bytes] = []
    first = None
    for block in blocks:
        begin += block.split(b"\n")
        if first is None:
            first = next((i for i, line in enumerate(begin) if _text(line).strip()), None)
        if first is not None and len(begin) > first + 20:
            break
    if first is None:
        raise InputError("the file is empty", path=path, hint="Was it written to the end?")
    lines = [_text(line) for line in begin[: first + 21]]

    def rest(start: int) -> Iterator[bytes]:
        if start < len(begin):
            yield b"\n".join(begin[start:])
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
        rows = _quoted(_lines(rest(first + 1)), first + 1, len(columns))
        return Rows(columns, pieces_of(rows, len(columns)))
    return _delimited(rest(first + 1), first + 2, delimiter, columns, trailing=trailing)


def _exact(text: str, delimiter: str) -> Rows:
    """The rows of an export whose delimiter is in no text: each has all of its fields.

    A field may contain line ends, but not the first one: after the last line end in the last
    field of a row the next row begins.
    """
    head, _, body = text.replace("\r\n", "\n").lstrip().partition("\n")
    columns = tuple(name.strip().lower() for name in head.split(delimiter))

    def rows() -> Iterator[Row]:
        number, step = 2, len(columns) - 1
        parts = body.rstrip("\n").split(delimiter) if body.strip() else []
        first = parts[0] if parts else ""
        for at in range(1, len(parts), step):
            inner = parts[at : at + step]
            last, more, following = inner[-1].rpartition("\n")
            end = at + step >= len(parts)
            fields = [first, *inner] if end else [first, *inner[:-1], last]
            good = len(fields) == len(columns) and (end or more)
            yield number, fields if good else f"expected {len(columns)} columns: is it cut off?"
            number += sum(field.count("\n") for field in fields) + 1
            first = following

    return Rows(columns, pieces_of(rows(), len(columns)))


def _blocks(text: str | bytes) -> Iterator[bytes]:
    """The text in blocks of whole lines: joined by line ends they are all of it, as UTF-8."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    at = 0
    while at <= len(data):
        end = data.find(b"\n", at + _BLOCK)
        block = data[at : end if end >= 0 else len(data)]
        if isinstance(text, bytes) and not block.isascii():
            block = block.decode("utf-8", "replace").encode("utf-8")
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
            block = block.removesuffix(b"\r") if end >= 0 else block
        at = end + 1 if end >= 0 else len(data) + 1
        yield block


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _lines(blocks: Iterator[bytes]) -> Iterator[str]:
    return chain.from_iterable(_text(block).split("\n") for block in blocks)


def _delimiter(head: str) -> str:
    return next((mark for mark in (BETWEEN, "|", "\t", ";", ",") if mark in head), "|")


def _layout(lines: list[str], first: int, delimiter: str, path: str | None) -> tuple[str, ...]:
    for line in lines[first : first + 20]:
        fields = line.split(delimiter)
        for columns in LAYOUTS:
            if len(fields) >= len(columns) and sense(columns, fields) == most(columns):
                return columns
    raise InputError(
        "not a job log in a known format (SWF, sacct, HTCondor, PBS, a table with known columns)",
        path=path,
        line=first + 1,
        hint="For Slurm, `shadowtime trace sacct --print-command` prints how to export one.",
    )


def _delimited(
    blocks: Iterator[bytes],
    number: int,
    delimiter: str,
    columns: tuple[str, ...],
    *,
    trailing: bool,
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

    def pieces(self, blocks: Iterator[bytes], number: int) -> Iterator[Piece | BadRow]:
        """All rows; ``number`` is that of the first line."""
        text = next(blocks, None)
        while text is not None:
            following = next(blocks, None)
            whole = following is None or self._begins(_text(following.partition(b"\n")[0]))
            block = Block(text, b"\n")
            cut = _Cut(block, self.delimiter, len(self.columns) + self.trailing)
            alone = cut.regular if self.columns and cut.width > 1 else np.zeros(len(cut), bool)
            if self.trailing:
                alone &= cut.empty_last()
            if self.delimiter.isspace():
                alone &= cut.visible()  # an empty line looks like a row
            odd, begins = np.flatnonzero(~alone), alone.copy()
            begins[odd] = [self._begins(cut.line(line)) for line in odd.tolist()]
            alone &= np.append(begins[1:], whole)
            rows = list(self._by_line(cut, np.flatnonzero(~alone).tolist(), number))
            yield from self._together(cut, np.flatnonzero(alone), rows, number)
            number += len(cut)
            text = following
        yield from pieces_of(self._finished(), len(self.columns))

    def _begins(self, line: str) -> bool:
        """Does a row begin here?"""
        word, there, _ = line.partition(self.delimiter)
        # A bare number is more likely part of a name than a job of which all else is lost.
        return line.count(self.delimiter) >= len(self.columns) - 1 or bool(
            self.id_first and there and looks_like_id(word)
        )

    def _by_line(self, cut: _Cut, lines: Sequence[int], number: int) -> Iterator[Row]:
        """The rows that end among these lines, those that are no rows of their own."""
        before = -1
        for at in lines:
            if at > before + 1:  # a row of its own lies between
                yield from self._finished()
            before = at
            line = cut.line(at)
            if self._begins(line) or not self.text:
                yield from self._finished()
                if line.strip():
                    self.at, self.text = number + at, [line]
            else:
                self.text.append(line)
                self.found.joined += bool(line.strip())
        if before + 1 < len(cut):
            yield from self._finished()

    def _together(
        self, cut: _Cut, alone: Ints, rows: Sequence[Row], number: int
    ) -> Iterator[Piece | BadRow]:
        """The lines that are rows of their own and the other rows, in their order."""
        width = len(self.columns)
        before, end = (places[:, :width] for places in cut.fields(alone))
        lines, block = number + alone, cut.block
        good = [(line, row) for line, row in rows if not isinstance(row, str)]
        if good:
            text = block.raw[block.first : -block.first]
            block, *more = packed([row for _, row in good], width, text)
            lines = np.append(lines, [line for line, _ in good])
            order = np.argsort(lines)
            lines = lines[order]
            before = np.concatenate([before, more[0]])[order]
            end = np.concatenate([end, more[1]])[order]
        piece = Piece(lines, block, before, end)
        done = 0
        for line, why in rows:
            if isinstance(why, str):
                here = int(np.searchsorted(lines, line))
                if here > done:
                    yield piece[done:here]
                yield BadRow(line, why)
                done = here
        if done < len(piece):
            yield piece[done:] if done else piece

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
            fields = merged(fields, self.columns, self.delimiter)
        yield self.at, fields if len(fields) == n else f"expected {n} columns, found {len(fields)}"


class _Cut:
    """The lines of a block, each of which ends with a line end, cut at the delimiters."""

    def __init__(self, block: Block, delimiter: str, width: int) -> None:
        self.block, self.width = block, width
        data = block.data
        marks = data == ord("\n")
        count = int(np.count_nonzero(marks))
        marks |= data == ord(delimiter)
        self._ends = np.flatnonzero(marks)
        """Where fields end."""
        last = self._ends[width - 1 :: width]
        if len(self._ends) == width * count and bool((data[last] == ord("\n")).all()):
            self._last = np.arange(width - 1, len(self._ends), width)
            self.regular = np.ones(count, bool)
        else:
            self._last = np.flatnonzero(data[self._ends] == ord("\n"))
            self.regular = np.diff(self._last, prepend=-1) == width
        """The last field of each line, as a place in ``_ends``; lines with as many as there
        should be."""

    def __len__(self) -> int:
        return len(self.regular)

    def line(self, at: int) -> str:
        """The text of a line."""
        begin = int(self._ends[self._last[at - 1]]) + 1 if at else self.block.first
        return _text(self.block.raw[begin : int(self._ends[self._last[at]])])

    def fields(self, lines: Ints) -> tuple[Ints, Ints]:
        """Where the byte before and the byte after each field of regular lines are."""
        marks = np.append(self.block.first - 1, self._ends)
        if len(lines) == len(self):
            return marks[:-1].reshape(-1, self.width), marks[1:].reshape(-1, self.width)
        places = self._last[lines][:, None] + np.arange(1 - self.width, 1)
        return marks[places], marks[places + 1]

    def empty_last(self) -> AnyArray:
        """Lines whose last field is empty."""
        before = np.append(self.block.first - 1, self._ends)[self._last]
        empty: AnyArray = self._ends[self._last] == before + 1
        return empty

    def visible(self) -> AnyArray:
        """Lines that begin with an ASCII character which can be seen."""
        begin = np.append(self.block.first, self._ends[self._last[:-1]] + 1)
        first = self.block.data[begin]
        seen: AnyArray = (first > ord(" ")) & (first < 127)
        return seen


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
    return Rows(tuple(name.lower() for name in cut(head)), pieces_of(rows, len(spans)))
