"""Accounting logs of PBS Professional, OpenPBS and Torque.

A record is ``MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key=value ...``; a job that ended has one of
type E, with seconds since 1970 for its times. Only these are jobs; other types are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.errors import InputError
from shadowtime.trace._bytes import FIX_LINE, MAX_SIZE, load, refuse_choice, warn_cut
from shadowtime.trace.header import converted
from shadowtime.types import MAX_SPAN, UNKNOWN
from shadowtime.workload import raw as swf
from shadowtime.workload.raw import RawTrace

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines

_DATE = "00/00/0000 00:00:00"
_RECORD = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Za-z]+);([^;]*);(.*)")
_PAIR = re.compile(r"(?:^|\s)([A-Za-z_][\w.]*)=((?:\"[^\"]*\")|(?:'[^']*')|\S*)")
_SIZE = re.compile(r"(\d{1,15})\s*([kmgtp]?)([bw]?)", re.IGNORECASE)
_ID = re.compile(r"(\d{1,15})(\[\d*\])?(?:-\d+)?(?:\..*)?")
_POWERS = {"": 1 / 1024, "k": 1, "m": 1024, "g": 1024**2, "t": 1024**3, "p": 1024**4}


def is_pbs(first_line: str) -> bool:
    """Is this a record of PBS accounting?

    Examples
    --------
    >>> is_pbs("04/01/2024 00:00:12;Q;123.server;queue=batch"), is_pbs("JobID|User")
    (True, False)
    """
    return _RECORD.fullmatch(first_line.strip()) is not None


def read_pbs(
    paths: Sequence[str], *, name: str, path: str, bad_lines: BadLines = "refuse",
    max_size: int = MAX_SIZE,
) -> RawTrace:  # fmt: skip
    """The jobs of a log, or of the days of a folder as one log. See :func:`parse_pbs`."""
    texts = ((one, load(one, max_size=max_size).decode("utf-8", "replace")) for one in paths)
    return _jobs(texts, name=name, path=path, bad_lines=bad_lines)


def parse_pbs(
    text: str, *, name: str, path: str | None = None, bad_lines: BadLines = "refuse"
) -> RawTrace:
    """The jobs that ended, in the order of the file.

    Rules
    -----
    Submission is ``qtime`` (when it entered the queue), else ``ctime``; the run is end - start.
    Processors are ``Resource_List.ncpus``, else those of ``exec_host``, of ``nodes=N:ppn=P``, of
    ``procs``, else the nodes; memory is ``Resource_List.mem`` of the whole job. A job with several
    end records was run again: the last one counts. A record that breaks off before its end is
    left out, counted and named. Parts of an array are jobs; if ids are not
    plain numbers, all jobs are numbered by their order.

    Examples
    --------
    >>> line = ("04/01/2024 01:00:00;E;17.host;user=eva group=hep queue=batch qtime=1711900000 "
    ...         "start=1711900100 end=1711903700 Resource_List.ncpus=8 "
    ...         "Resource_List.walltime=02:00:00 Exit_status=0")
    >>> raw = parse_pbs(line, name="one")
    >>> raw["run"].tolist(), raw["wait"].tolist(), raw["request"].tolist()
    ([3600], [100], [7200])
    """
    return _jobs([(path, text)], name=name, path=path, bad_lines=bad_lines)


def _jobs(
    texts: Iterable[tuple[str | None, str]], *, name: str, path: str | None, bad_lines: BadLines
) -> RawTrace:
    refuse_choice(bad_lines)
    counts = {
        "bad_lines_dropped": 0, "cut_lines_dropped": 0, "other_records_skipped": 0,
        "requeued_joined": 0,
    }  # fmt: skip
    ended: dict[str, _Ended] = {}
    for file, text in texts:
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            match = _RECORD.fullmatch(line.strip())
            if match is not None and match[2] != "E":
                counts["other_records_skipped"] += 1
                continue
            pairs = {} if match is None else _pairs(match[4])
            try:
                if match is None:
                    raise ValueError("this is no record of PBS accounting")
                _times(pairs)
            except ValueError as error:
                cut = _is_cut(line, pairs)
                _skip(error, _Ended(file, number, pairs), counts, cut=cut, bad_lines=bad_lines)
                continue
            counts["requeued_joined"] += match[3] in ended
            ended[match[3]] = _Ended(file, number, pairs)
    if not ended:
        raise InputError(
            "there is no ended job in it", path=path, hint="Jobs are the records of type E."
        )
    return _trace(ended, counts, name=name, path=path, bad_lines=bad_lines)


class _Ended(NamedTuple):
    """A record of a job's end: where it stands and what it says."""

    path: str | None
    line: int
    pairs: dict[str, str]


def _skip(
    error: ValueError, record: _Ended, counts: dict[str, int], *, cut: bool, bad_lines: BadLines
) -> None:
    """Count a record that cannot be read; refuse it if it was not cut off and nothing allows it."""
    if cut:
        counts["cut_lines_dropped"] += 1
        warn_cut(record.path, record.line)
    elif bad_lines == "refuse":
        raise InputError(str(error), path=record.path, line=record.line, hint=FIX_LINE) from None
    else:
        counts["bad_lines_dropped"] += 1


def _pairs(text: str) -> dict[str, str]:
    return {key: value.strip("\"'") for key, value in _PAIR.findall(text)}


def _is_cut(line: str, pairs: dict[str, str]) -> bool:
    """Does the line begin like a record and break off before the exit status of the job?

    A full disk or a crash of the server leaves such lines behind.
    """
    begins = re.sub(r"\d", "0", line.strip()[: len(_DATE)])
    return _DATE.startswith(begins) and "Exit_status" not in pairs


def _trace(
    ended: dict[str, _Ended], counts: dict[str, int], *, name: str,
    path: str | None, bad_lines: BadLines,
) -> RawTrace:  # fmt: skip
    names: dict[str, dict[str, int]] = {kind: {"": 0} for kind in ("user", "group", "queue")}
    rows, lines, memory, ids = [], [], [], []
    for job, record in ended.items():
        pairs = record.pairs
        try:
            submit, start, end = _times(pairs)
            procs = processors(pairs)
            asked = _clock(pairs.get("Resource_List.walltime", ""))
            size = kilobytes(pairs.get("Resource_List.mem", ""))
            _bounded(run=(end - start, MAX_SPAN), processors=(procs, swf.MAX_PROCS),
                     walltime=(asked, MAX_SPAN), memory=(size, swf.MAX_AMOUNT))  # fmt: skip
        except ValueError as error:
            _skip(error, record, counts, cut="Exit_status" not in pairs, bad_lines=bad_lines)
            continue
        numbers = {
            kind: known.setdefault(pairs.get(kind, ""), len(known)) or UNKNOWN
            for kind, known in names.items()
        }
        status = swf.STATUS_COMPLETED if pairs.get("Exit_status", "0") == "0" else swf.STATUS_FAILED
        values = dict.fromkeys(swf.FIELDS, UNKNOWN) | {
            "submit": submit, "wait": start - submit, "run": end - start, "procs": procs,
            "requested_procs": procs, "request": asked, "status": status, **numbers,
        }  # fmt: skip
        rows.append([values[field] for field in swf.FIELDS])
        lines.append(record.line)
        memory.append(size)
        ids.append(job)
    if not rows:
        raise InputError("none of its jobs can be read", path=path, hint="See --bad-lines refuse.")
    table = np.array(rows, np.int64).reshape(len(rows), len(swf.FIELDS)).T.copy()
    table[swf.FIELDS.index("job_id")] = _numbered(ids)
    origin = int(table[swf.FIELDS.index("submit")].min())
    table[swf.FIELDS.index("submit")] -= origin
    known = any(size >= 0 for size in memory)
    return RawTrace(
        name=name, table=table, line=np.array(lines, np.int64), path=path,
        header=converted("PBS accounting", origin),
        counts=counts, names={kind: tuple(known) for kind, known in names.items()},
        demands={"memory": np.array(memory, np.int64)} if known else {}, epoch=origin,
    )  # fmt: skip


def _times(pairs: dict[str, str]) -> tuple[int, int, int]:
    found = []
    for what, keys in (("qtime", ("qtime", "ctime")), ("start", ("start",)), ("end", ("end",))):
        word = next((pairs[key] for key in keys if pairs.get(key)), "")
        if not re.fullmatch(r"\d{1,11}", word):
            raise ValueError(f"the record has no {what} in seconds since 1970")
        found.append(int(word))
    submit, start, end = found
    if start < submit or end < start:
        raise ValueError("the job starts before it is queued, or ends before it starts")
    return submit, start, end


def _bounded(**values: tuple[int, int]) -> None:
    for what, (value, most) in values.items():
        if value > most:
            raise ValueError(
                f"the job's {what} is {str(value)[:30]}, and at most {most} is possible"
            )


def processors(pairs: dict[str, str]) -> int:
    """Processors of a job, from the first field that has them.

    Examples
    --------
    >>> processors({"exec_host": "n1/0*4+n2/0*4"}), processors({"exec_host": "n1/0+n1/1+n2/0-3"})
    (8, 6)
    >>> processors({"Resource_List.nodes": "2:ppn=8+1:ppn=4"})
    20
    """
    if re.fullmatch(r"\d{1,9}", pairs.get("Resource_List.ncpus", "")):
        return int(pairs["Resource_List.ncpus"])
    if pairs.get("exec_host"):
        return sum(map(_of_host, pairs["exec_host"].split("+")))
    if pairs.get("Resource_List.nodes"):
        return sum(map(_of_nodes, pairs["Resource_List.nodes"].split("+")))
    for key in ("Resource_List.procs", "Resource_List.nodect"):
        if re.fullmatch(r"\d{1,9}", pairs.get(key, "")):
            return int(pairs[key])
    raise ValueError("the record does not say how many processors the job had")


def _of_host(text: str) -> int:
    """``n1/0*4``: four; ``n1/0-3,6``: five; ``n1/0``: one."""
    cores = text.partition("/")[2]
    if match := re.fullmatch(r"\d+\*(\d{1,9})", cores):
        return int(match[1])
    total = 0
    for part in cores.split(","):
        low, dash, high = part.partition("-")
        if not re.fullmatch(r"\d{1,9}", low) or (dash and not re.fullmatch(r"\d{1,9}", high)):
            raise ValueError(f"cannot read the host {text[:60]!r}")
        some = int(high) - int(low) + 1 if dash else 1
        if some < 1:
            raise ValueError(f"cannot read the host {text[:60]!r}")
        total += some
    return total


def _of_nodes(text: str) -> int:
    """``2:ppn=8``: sixteen; ``node17:ppn=4``: four."""
    count, *rest = text.split(":")
    each = next((part[4:] for part in rest if part.startswith("ppn=")), "1")
    if not re.fullmatch(r"\d{1,9}", each):
        raise ValueError(f"cannot read the nodes {text[:60]!r}")
    return (int(count) if re.fullmatch(r"\d{1,9}", count) else 1) * int(each)


def kilobytes(text: str) -> int:
    """A size of PBS in KB, rounded up; -1 if there is none.

    Examples
    --------
    >>> kilobytes("2gb"), kilobytes("1500b"), kilobytes("")
    (2097152, 2, -1)
    """
    if not text:
        return UNKNOWN
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"cannot read the size {text[:30]!r}")
    words = 8 if match[3].lower() == "w" else 1
    return -int(-(int(match[1]) * words * _POWERS[match[2].lower()]) // 1)


def _clock(text: str) -> int:
    if not text:
        return UNKNOWN
    if re.fullmatch(r"\d{1,10}", text):
        return int(text)
    match = re.fullmatch(r"(?:(\d{1,9}):)?(\d{1,9}):(\d\d):(\d\d)|(\d{1,9}):(\d\d)", text)
    if match is None:
        raise ValueError(f"cannot read the walltime {text[:30]!r}")
    if match[5] is not None:
        return int(match[5]) * 60 + int(match[6])
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _numbered(ids: list[str]) -> list[int]:
    """The numbers of the jobs; their order if ids are not plain or not unique."""
    found = [_ID.fullmatch(one) for one in ids]
    plain = [int(one[1]) for one in found if one is not None and not one[2]]
    return plain if len(set(plain)) == len(ids) else list(range(1, len(ids) + 1))
