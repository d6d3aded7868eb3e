"""From the text of an sacct export to rows of fields.

Job names (and comments, constraints ...) may hold the delimiter and line breaks, which sacct
does not mark. A line that does not start a job belongs to the name before it; a line with too
many fields had the delimiter in one of the free texts: the reading in which the other fields
make sense is taken.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field

from shadowtime.errors import InputError
from shadowtime.trace.sacct_sense import looks_like_id, most, sense

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
_KNOWN = {name for layout in LAYOUTS for name in layout} | set(_FREE)


@dataclass
class Rows:
    """The fields of every row, with its line; a bad row is a sentence instead of fields."""

    columns: tuple[str, ...]
    rows: list[tuple[int, list[str] | str]] = field(default_factory=list)
    joined: int = 0


def split_rows(text: str, *, path: str | None = None) -> Rows:
    """Columns (lower case) and rows of an sacct export.

    The delimiter is found in the header; without a header the layout is told by the number and
    kind of the fields. A table in fixed columns (sacct without -P) is read by its line of dashes.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise InputError("the file is empty", path=path, hint="Was it written to the end?")
    below = lines[first + 1].strip() if first + 1 < len(lines) else ""
    if "---" in below and set(below) <= {"-", " "}:
        return _fixed(lines, first)
    head = lines[first]
    delimiter = _delimiter(head)
    names = tuple(name.strip().strip('"').lower() for name in head.split(delimiter))
    if len(_KNOWN.intersection(names)) < 2:
        columns = _layout(lines, first, delimiter, path)
        return _delimited(lines, first, delimiter, columns, trailing=False)
    trailing = names[-1] == ""  # sacct -p ends every line with the delimiter
    columns = names[:-1] if trailing else names
    if delimiter == ",":
        return _quoted(lines, first, columns)
    return _delimited(lines, first + 1, delimiter, columns, trailing=trailing)


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
    lines: list[str], start: int, delimiter: str, columns: tuple[str, ...], *, trailing: bool
) -> Rows:
    found = Rows(columns)
    n = len(columns)
    id_first = columns[0] in ("jobid", "jobidraw")
    at, text = 0, ""

    def finish() -> None:
        if not text.strip():
            return
        body = text.removesuffix(delimiter) if trailing else text
        fields = body.split(delimiter)
        if len(fields) > n:
            fields = _merged(fields, columns, delimiter)
        found.rows.append(
            (at, fields if len(fields) == n else f"expected {n} columns, found {len(fields)}")
        )

    for number, line in enumerate(lines[start:], start + 1):
        word, mark, _ = line.partition(delimiter)
        # A bare number is more likely part of a name than a job of which all else is lost.
        begins = line.count(delimiter) >= n - 1 or (id_first and mark and looks_like_id(word))
        if begins or not text.strip():
            finish()
            at, text = number, line
        else:
            text = f"{text}\n{line}"
            found.joined += bool(line.strip())
    finish()
    return found


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


def _quoted(lines: list[str], first: int, columns: tuple[str, ...]) -> Rows:
    """Comma-separated with quotes, as a spreadsheet writes it."""
    found = Rows(columns)
    n = len(columns)
    try:
        reader = csv.reader(lines[first + 1 :])
        for fields in reader:
            if any(part.strip() for part in fields):
                told: list[str] | str = fields
                if len(fields) != n:
                    told = f"expected {n} columns, found {len(fields)} (commas must be quoted)"
                found.rows.append((first + 1 + reader.line_num, told))
    except csv.Error as error:
        found.rows.append((first + 1 + reader.line_num, str(error)))
    return found


def _fixed(lines: list[str], first: int) -> Rows:
    spans = [match.span() for match in re.finditer("-+", lines[first + 1])]

    def cut(line: str) -> list[str]:
        return [line[a:b].strip() for a, b in spans]

    found = Rows(tuple(name.lower() for name in cut(lines[first])))
    for number, line in enumerate(lines[first + 2 :], first + 3):
        if line.strip():
            found.rows.append((number, cut(line)))
    return found
