"""Standard Workload Format, version 2.2: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html

One line per job, 18 numbers between blanks, -1 for 'unknown'; ``;`` starts a comment and the
comments are the header. Bytes are parsed by a compiled kernel that is imported when parsing starts.
What is written has the whole header (spec: formats 2.1).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

import numpy as np

from shadowtime import __version__
from shadowtime.errors import InputError, UsageError
from shadowtime.trace._bytes import count_lines, load, save, stem
from shadowtime.trace.header import extra_names, extra_to_write, machine, read_extra, with_names
from shadowtime.types import MAX_SPAN, UNKNOWN, AnyArray, Ints, Rows
from shadowtime.workload import Workload
from shadowtime.workload.raw import FIELDS, KEPT, MAX_AMOUNT, MAX_PROCS, MAX_TIME, RawTrace

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
    Columns beyond the 18th that the header names (see :mod:`shadowtime.trace.header`) are read
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
    found = np.zeros(1, k.FINDINGS)
    high = np.array([_HIGHEST.get(field, MAX_AMOUNT) for field in FIELDS], np.int64)
    kinds = {"cpu_time": k.CPU, "used_memory": k.MEMORY, "requested_memory": k.MEMORY}
    kinds.update(dict.fromkeys(_TIMES, k.TIME))
    kind = np.array([kinds.get(field, k.WHOLE) for field in FIELDS], np.int64)
    with np.errstate(over="ignore"):  # uncompiled, NumPy warns of the wrap below the digit 0
        k.scan(
            np.frombuffer(data, np.uint8), -high, high, kind, bad_lines == "drop",
            table, where, comments, found,
        )  # fmt: skip

    if found["bad_lines"][0] and bad_lines == "refuse":
        raise _complaint(data, found, path)
    rows = int(found["rows"][0])
    if rows == 0:
        dropped = int(found["bad_lines"][0])
        what = f"no job in it: {dropped} bad lines dropped" if dropped else "there is no job in it"
        raise InputError(what, path=path, hint="An SWF file has a line of 18 numbers per job.")
    header = tuple(_text(data, int(at)) for at in comments[: found["comments"][0]])
    table, where = table[:, :rows], where[:rows]
    dropped, left_over = int(found["bad_lines"][0]), int(found["extra_columns"][0])
    extra: dict[str, AnyArray] = {}
    if names := extra_names(header, path):
        extra, good = read_extra(data, where, names, path=path, drop=bad_lines == "drop")
        table, where = table[:, good], where[good]
        dropped += int((~good).sum())
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
            "times_rounded": int(found["times"][0]),
            "cpu_time_rounded": int(found["cpu_times"][0]),
            "memory_rounded": int(found["memory"][0]),
            "out_of_range_cut": int(found["excused"][0]),
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


def _complaint(data: bytes, found: Rows, path: str | None) -> InputError:
    """What is wrong with the first bad line, in words."""
    from shadowtime.trace import _swf_kernel as k

    field, code = int(found["bad_field"][0]), int(found["bad_code"][0])
    start, end = int(found["bad_start"][0]), int(found["bad_end"][0])
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
        elif int(found["rows"][0]) == 0 and (b"|" in data[start:end] or b"," in data[start:end]):
            hint = "This does not look like SWF: for sacct output name the file *.psv or *.csv."
    return InputError(what, path=path, line=int(found["bad_line"][0]), hint=hint)


NOTE = f"; Note: generated by shadowtime {__version__}"
_IN_SWF = {"procs", "memory"}


def write_swf(jobs: Workload | RawTrace, path: str | os.PathLike[str]) -> None:
    """Write an SWF file, gzip if the name ends in .gz. See :func:`to_swf`."""
    save(to_swf(jobs).encode("utf-8", "replace"), path)


def to_swf(jobs: Workload | RawTrace) -> str:
    """The jobs as SWF text, readable again without loss.

    Rules
    -----
    The header is written whole, then a note on who wrote the file; ``Version``, ``MaxJobs`` and
    the size of the machine are added where no header says them. A raw trace keeps every field. Of a
    workload SWF has no room for resources other than processors and memory (a note says so),
    nor for kill limits that are not the request, nor for starts before the submission.
    Memory is KB per processor in SWF: the share of a job is rounded up. What processes draw of
    shared resources (``extra["bandwidth"]``) goes behind the 18th field, named in the header.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0], run=[9], procs=[2], request=[60], recorded_start=[4])
    >>> print(to_swf(w.replace(header=("; Computer: toy",))))
    ; Computer: toy
    ; Note: generated by shadowtime ...
    1 0 4 9 2 -1 -1 -1 60 -1 -1 -1 -1 -1 -1 -1 -1 -1
    """
    table = jobs.table if isinstance(jobs, RawTrace) else _table(jobs)
    resources = ("procs",) if isinstance(jobs, RawTrace) else jobs.resources
    more = extra_to_write(jobs.header, jobs.extra)
    header = with_names(_header(jobs.header, jobs.machine, resources, len(jobs)), list(more))
    columns = [*table.tolist(), *(column.tolist() for column in more.values())]
    lines = (" ".join(map(str, row)) for row in zip(*columns, strict=True))
    return "\n".join([*header, *lines]) + "\n"


def _header(
    given: tuple[str, ...], size: Mapping[str, int], resources: tuple[str, ...], jobs: int
) -> list[str]:
    lines = [part for line in given for part in line.split("\n")]
    lines = [line if line.startswith(";") else f"; {line}" for line in lines]
    if not lines:
        lines = ["; Version: 2.2", f"; MaxJobs: {jobs}"]
    written = machine(lines)
    for name, key in (("nodes", "MaxNodes"), ("procs", "MaxProcs")):
        if name in size and name not in written:
            lines.append(f"; {key}: {size[name]}")
    left_out = [name for name in resources if name not in _IN_SWF]
    if left_out:
        lines.append(f"; Note: SWF has no field for {', '.join(left_out)}: left out here")
    if NOTE not in lines:
        lines.append(NOTE)
    return lines


def _table(workload: Workload) -> Ints:
    """The 18 fields of a workload's jobs."""
    n = len(workload)
    columns: dict[str, AnyArray] = {name: np.full(n, UNKNOWN, np.int64) for name in FIELDS}
    for name in ("job_id", "submit", "run", "request", "procs", "status", "user", "group"):
        columns[name] = getattr(workload, name)
    for name in ("executable", "queue", "partition"):
        columns[name] = getattr(workload, name)
    columns.update((name, workload.extra[name]) for name in KEPT if name in workload.extra)
    wait = workload.recorded_start - workload.submit
    known = (workload.recorded_start != UNKNOWN) & (wait >= 0)
    columns["wait"] = np.where(known, wait, UNKNOWN)
    if "memory" in workload.resources:
        columns["requested_memory"] = _memory_each(workload, columns)
    return np.stack([columns[name] for name in FIELDS])


def _memory_each(workload: Workload, columns: Mapping[str, AnyArray]) -> Ints:
    """Field 10 as it was where it (or field 7 in its stead) gives the demand, else a new share."""
    demand = workload.demand[:, workload.resources.index("memory")]
    asked, used = columns["requested_memory"], columns["used_memory"]
    each = np.maximum(np.where(asked > 0, asked, used), 0)
    share = -(-demand // workload.procs)
    return np.where(each * workload.procs == demand, asked, np.where(share > 0, share, UNKNOWN))
