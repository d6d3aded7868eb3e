"""Standard Workload Format, version 2.2: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html

One line per job, 18 numbers between blanks, -1 for 'unknown'; ``;`` starts a comment and the
comments are the header. Bytes are parsed by a compiled kernel that is imported when parsing starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.trace._bytes import count_lines, load, stem
from shadowtime.trace.header import machine
from shadowtime.trace.swf_extra import extra_names, read_extra
from shadowtime.types import MAX_SPAN
from shadowtime.workload.raw import FIELDS, MAX_AMOUNT, MAX_PROCS, MAX_TIME, RawTrace

if TYPE_CHECKING:
    import os

    from shadowtime.types import Ints

BadLines = Literal["refuse", "drop"]

_HIGHEST = {
    "submit": MAX_TIME,
    "wait": MAX_TIME,
    "run": MAX_SPAN,
    "request": MAX_SPAN,
    "procs": MAX_PROCS,
    "requested_procs": MAX_PROCS,
}
_TIMES = ("submit", "wait", "run", "request", "think_time")


def read_swf(path: str | os.PathLike[str], *, bad_lines: BadLines = "refuse") -> RawTrace:
    """Read an SWF file, plain or gzip.

    See :func:`parse_swf` for the rules and :func:`shadowtime.trace.read` for jobs that are
    ready to be scheduled.
    """
    return parse_swf(load(path), name=stem(path), path=str(path), bad_lines=bad_lines)


def parse_swf(
    data: bytes, *, name: str, path: str | None = None, bad_lines: BadLines = "refuse"
) -> RawTrace:
    """The jobs and the header of an SWF file's bytes.

    Rules
    -----
    Blanks, tabs and carriage returns separate; empty lines do not count; a ``;`` ends a line.
    Columns beyond the 18th that the header names (see :mod:`shadowtime.trace.swf_extra`) are read
    into ``extra``; others are ignored and counted. Fractions of times and memory are rounded
    half up and counted by the job; other fields must be whole numbers. Times must lie below
    2**39 s, run and request below 2**31 s (68 years), processors below 2**31.
    On a line without a run or a submission, which cleaning drops, values behind the run that lie
    beyond these bounds are cut to them and counted. Any other line that is not 18 such numbers is
    refused with its place, or with ``bad_lines="drop"`` left out and counted.

    Examples
    --------
    >>> text = b"; MaxProcs: 8\\n1 0 5 9.5 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\\n"
    >>> raw = parse_swf(text, name="one")
    >>> raw["run"].tolist(), raw["request"].tolist(), dict(raw.machine)
    ([10], [60], {'procs': 8})
    >>> parse_swf(b"1 0 5\\n", name="bad", path="bad.swf")
    Traceback (most recent call last):
    ...
    shadowtime.errors.InputError: bad.swf, line 1: expected 18 columns, found 3. Fix or delete ...
    """
    if bad_lines not in ("refuse", "drop"):
        raise UsageError(f"bad_lines must be refuse or drop, not {bad_lines!r}")
    from shadowtime.trace import _swf_kernel as k

    lines = count_lines(data) + 1
    room = min(lines, len(data) // (2 * len(FIELDS)) + 1)  # a line has a digit and a blank a field
    table = np.empty((len(FIELDS), room), np.int64)
    where = np.empty(room, np.int64)
    comments = np.empty(min(lines, len(data) // 2 + 1), np.int64)
    found = np.zeros(k.FINDINGS, np.int64)
    high = np.array([_HIGHEST.get(field, MAX_AMOUNT) for field in FIELDS], np.int64)
    kinds = {"cpu_time": k.CPU, "used_memory": k.MEMORY, "requested_memory": k.MEMORY}
    kinds.update(dict.fromkeys(_TIMES, k.TIME))
    kind = np.array([kinds.get(field, k.WHOLE) for field in FIELDS], np.int64)
    k.scan(
        np.frombuffer(data, np.uint8), -high, high, kind, bad_lines == "drop",
        table, where, comments, found,
    )  # fmt: skip

    if found[k.BAD_LINES] and bad_lines == "refuse":
        raise _complaint(data, found, path)
    rows = int(found[k.ROWS])
    if rows == 0:
        dropped = int(found[k.BAD_LINES])
        what = f"no job in it: {dropped} bad lines dropped" if dropped else "there is no job in it"
        raise InputError(what, path=path, hint="An SWF file has a line of 18 numbers per job.")
    header = tuple(_text(data, int(at)) for at in comments[: found[k.COMMENTS]])
    table, where = table[:, :rows], where[:rows]
    dropped, left_over = int(found[k.BAD_LINES]), int(found[k.EXTRA_COLUMNS])
    extra: dict[str, Ints] = {}
    if names := extra_names(header, path):
        more, good = read_extra(data, where, names, path=path, drop=bad_lines == "drop")
        table, where, more = table[:, good], where[good], more[:, good]
        dropped += int((~good).sum())
        extra = dict(zip(names, more, strict=True))
        left_over = 0
    return RawTrace(
        name=name,
        table=table,
        line=where,
        path=path,
        header=header,
        counts={
            "bad_lines_dropped": dropped,
            "extra_columns_ignored": left_over,
            "times_rounded": int(found[k.ROUNDED + k.TIME]),
            "cpu_time_rounded": int(found[k.ROUNDED + k.CPU]),
            "memory_rounded": int(found[k.ROUNDED + k.MEMORY]),
            "out_of_range_cut": int(found[k.EXCUSED]),
        },
        machine=machine(header),
        extra=extra,
    )


def _text(data: bytes, start: int) -> str:
    """The comment line that starts here, as it stands; old headers may be Latin-1."""
    end = data.find(b"\n", start)
    line = data[start : end if end >= 0 else len(data)].rstrip(b"\r")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _complaint(data: bytes, found: Ints, path: str | None) -> InputError:
    """What is wrong with the first bad line, in words."""
    from shadowtime.trace import _swf_kernel as k

    field, code = int(found[k.BAD_FIELD]), int(found[k.BAD_CODE])
    start, end = int(found[k.BAD_START]), int(found[k.BAD_END])
    token = data[start:end][:30].decode("utf-8", "backslashreplace")
    hint = "Fix or delete the line, or skip and count such lines with --bad-lines drop."
    label = f"field {field + 1} ({FIELDS[field].replace('_', ' ')})"
    if code == k.TOO_FEW:
        what = f"expected {len(FIELDS)} columns, found {field}"
    elif code == k.OUT_OF_RANGE:
        highest = _HIGHEST.get(FIELDS[field], MAX_AMOUNT)
        what = f"{label} is {token}, beyond +-{highest}"
    elif code == k.NOT_WHOLE:
        what = f"{label} must be a whole number, not {token!r}"
    else:
        what = f"{label} must be a number, not {token!r}"
        if b"\0" in data[start : start + 4096]:
            what, hint = "this is not text", "An SWF file has a line of 18 numbers per job."
        elif int(found[k.ROWS]) == 0 and (b"|" in data[start:end] or b"," in data[start:end]):
            hint = "This does not look like SWF: for sacct output name the file *.psv or *.csv."
    return InputError(what, path=path, line=int(found[k.BAD_LINE]), hint=hint)
