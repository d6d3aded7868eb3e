"""Jobs of an HTCondor pool, from the attribute lists (ClassAds) of either log, as raw fields."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import InputError
from shadowtime.printable import shown
from shadowtime.trace.header import converted
from shadowtime.types import MAX_SPAN, UNKNOWN, Ints
from shadowtime.workload.raw import FIELDS, MAX_AMOUNT, MAX_PROCS, MAX_TIME, RawTrace

if TYPE_CHECKING:
    Ad = dict[str, Any]
    LogLine = tuple[int, Ad | str]


_BETWEEN = re.compile(r"[\s\[\],]*")
_NEXT = re.compile(r"\n\{")
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "undefined": None, "error": None}


class Expression(str):
    """A value that HTCondor evaluates when needed; here it stays unknown."""

    __slots__ = ()


def split_ads(text: str) -> Iterator[LogLine]:
    """Every job's attributes with the line on which they begin; a message if they are invalid.

    Examples
    --------
    >>> list(split_ads('[{"ClusterId": 7, "RequestMemory": "/Expr(ImageSize / 1024)/"}]'))
    [(1, {'clusterid': 7, 'requestmemory': 'ImageSize / 1024'})]
    >>> list(split_ads('ClusterId = 7\\nOwner = "ann"\\n*** Offset = 0 ClusterId = 7\\n'))
    [(1, {'clusterid': 7, 'owner': 'ann'})]
    """
    return _json_ads(text) if text.lstrip()[:1] in ("[", "{") else _long_ads(text)


def _json_ads(text: str) -> Iterator[LogLine]:
    decoder = json.JSONDecoder()
    at, line = 0, 1
    while True:
        between = _BETWEEN.match(text, at)
        assert between is not None  # it matches nothing, too
        line += text.count("\n", at, between.end())
        at = between.end()
        if at == len(text):
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
            where = getattr(error, "lineno", line)
            deep = isinstance(error, RecursionError)
            why = "nested too deep" if deep else getattr(error, "msg", error)
            yield where, f"this is not JSON: {why}"
            again = _NEXT.search(text, at + 1)
            end = again.start() if again else len(text)
        else:
            if isinstance(found, dict):
                yield line, {name.lower(): _json_value(value) for name, value in found.items()}
            else:
                yield line, f"expected the attributes of a job, found {str(found)[:30]!r}"
        line += text.count("\n", at, end)
        at = end


def _json_value(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("/Expr(") and value.endswith(")/"):
        return Expression(value[6:-2])
    return value


def _long_ads(text: str) -> Iterator[LogLine]:
    ad: Ad = {}
    first = 0
    wrong = ""
    for number, line in enumerate(text.splitlines(), 1):
        banner = line.startswith("***")
        if banner or not line.strip():
            if wrong or ad:
                yield first, wrong or ad
            ad, first, wrong = {}, 0, ""
            continue
        first = first or number
        match = _LINE.fullmatch(line.strip())
        if match:
            ad[match[1].lower()] = long_value(match[2])
        elif not wrong:
            first, wrong = number, f"expected Name = value, found {line.strip()[:40]!r}"
    if wrong or ad:
        yield first, wrong or ad


def long_value(text: str) -> Any:
    """A value as -long writes it.

    Examples
    --------
    >>> [long_value(text) for text in ("7", "2.5", '"ann"', "true", "undefined", "Cpus * 2")]
    [7, 2.5, 'ann', True, None, 'Cpus * 2']
    """
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    quoted = _STRING.fullmatch(word)
    if quoted:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted[1])
    try:
        return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)
    except ValueError:
        return Expression(word)


COUNTS = (
    "bad_lines_dropped",
    "unfinished_dropped",
    "not_on_the_pool_dropped",
    "repeated_line_dropped",
    "several_runs",
    "local_times_as_utc",
    "request_unlimited",
)
_HIGHEST = {
    "submit": MAX_TIME,
    "start": MAX_TIME,
    "end": MAX_TIME,
    "request": MAX_SPAN,
    "procs": MAX_PROCS,
    "requested_procs": MAX_PROCS,
    "memory": MAX_AMOUNT,
    "used_memory": MAX_AMOUNT,
    "nodes": MAX_PROCS,
    "cpu_time": MAX_AMOUNT,
    "cluster": MAX_AMOUNT,
    "proc": MAX_AMOUNT,
}


@dataclass(frozen=True, kw_only=True)
class CondorJob:
    """A job that has left the queue. Times are seconds since 1970, memory is KB of the whole job.

    ``start`` is that of the last run, -1 for a job that was not running when it left.
    """

    cluster: int
    proc: int
    schedd: str
    submit: int
    start: int
    end: int
    status: int
    procs: int = UNKNOWN
    requested_procs: int = UNKNOWN
    nodes: int = UNKNOWN
    request: int = UNKNOWN
    memory: int = UNKNOWN
    used_memory: int = UNKNOWN
    cpu_time: int = UNKNOWN
    resources: Mapping[str, int] = field(default_factory=dict)
    """The whole job's amounts of anything else: gpus, and what the site counts in addition."""
    user: str = ""
    group: str = ""
    executable: str = ""

    def __post_init__(self) -> None:
        limits = {name.replace("_", " "): getattr(self, name) for name in _HIGHEST}
        bounds = dict(zip(limits, _HIGHEST.values(), strict=True))
        for name, value in {**self.resources, **limits}.items():
            most = bounds.get(name, MAX_AMOUNT)
            if value > most:
                raise ValueError(f"the job's {name} is {shown(value)}, beyond {most}")
        if self.submit < 0:
            raise ValueError("the job has no submission time")
        if 0 <= self.start < self.submit:
            raise ValueError(f"the job starts at {self.start}, before its submission")
        if self.start >= 0 and self.end < self.start:
            raise ValueError(f"the job ends at {self.end}, before its start at {self.start}")


class CondorJobs:
    """The jobs read so far, and what became of the others."""

    def __init__(self) -> None:
        self.jobs: dict[tuple[str, int, int, int], tuple[int, CondorJob]] = {}
        self.counts = dict.fromkeys(COUNTS, 0)

    def add(self, line: int, job: CondorJob) -> None:
        """Add a job; one that was added before (rotated files overlap) is only counted."""
        key = (job.schedd, job.cluster, job.proc, job.submit)
        if key in self.jobs:
            self.counts["repeated_line_dropped"] += 1
        else:
            self.jobs[key] = (line, job)

    def trace(self, name: str, path: str | None, *, source: str, zone: str) -> RawTrace:
        """All of it as a raw trace, in the order (submit, cluster, proc)."""
        if not self.jobs:
            repairs = ", ".join(f"{count} {rule}" for rule, count in self.counts.items() if count)
            raise InputError(
                f"there is no ended job in it ({repairs or 'nothing at all'})",
                path=path,
                hint="Export with `condor_history -json > history.json` where the schedd runs.",
            )
        kept = [self.jobs[key] for key in sorted(self.jobs, key=lambda k: (k[3], k[1], k[2], k[0]))]
        jobs = [job for _, job in kept]
        origin = jobs[0].submit
        names = {kind: _numbers(getattr(job, kind) for job in jobs) for kind in _NAMED}
        rows = [
            _fields(job, number, origin, names)
            for job, number in zip(jobs, _job_numbers(jobs), strict=True)
        ]
        return RawTrace(
            name=name,
            table=np.array(rows, np.int64).T.copy(),
            line=np.array([line for line, _ in kept], np.int64),
            path=path,
            header=converted(
                source, origin, zone=zone, names={one: names[one] for one in ("user", "group")}
            ),
            counts=self.counts,
            demands=_demands(jobs),
            extra={"nodes": np.array([job.nodes for job in jobs], np.int64)},
        )


_NAMED = ("user", "group", "executable")


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """Names as numbers from 1, in the order of their first appearance; the empty one is unknown."""
    found: dict[str, int] = {"": UNKNOWN}
    for name in names:
        found.setdefault(name, len(found))
    return found


def _job_numbers(jobs: list[CondorJob]) -> list[int]:
    """A number per job: its cluster's where that has one job only, else one above all clusters."""
    often = Counter(job.cluster for job in jobs)
    top = max(often)
    numbers = []
    for job in jobs:
        alone = often[job.cluster] == 1 and job.proc == 0
        top += not alone
        numbers.append(job.cluster if alone else top)
    return numbers


def _fields(
    job: CondorJob, number: int, origin: int, names: Mapping[str, Mapping[str, int]]
) -> tuple[int, ...]:
    procs = max(job.procs, job.requested_procs)

    def each(amount: int) -> int:
        return -(-amount // procs) if amount > 0 and procs > 0 else UNKNOWN

    values = {
        "job_id": number,
        "submit": job.submit - origin,
        "wait": (job.start if job.start >= 0 else max(job.end, job.submit)) - job.submit,
        "run": job.end - job.start if job.start >= 0 else UNKNOWN,
        "procs": job.procs,
        "cpu_time": job.cpu_time // procs if job.cpu_time >= 0 and procs > 0 else UNKNOWN,
        "used_memory": each(job.used_memory),
        "requested_procs": job.requested_procs,
        "request": job.request,
        "requested_memory": each(job.memory),
        "status": job.status,
        **{kind: names[kind][getattr(job, kind)] for kind in _NAMED},
    }
    return tuple(values.get(name, UNKNOWN) for name in FIELDS)


def _demands(jobs: list[CondorJob]) -> dict[str, Ints]:
    kinds = dict.fromkeys(["gpus", *(kind for job in jobs for kind in job.resources)])
    columns: dict[str, Ints] = {"memory": np.array([job.memory for job in jobs], np.int64)}
    for kind in kinds:
        amounts = [job.resources.get(kind, 0) for job in jobs]
        columns[kind] = np.array(amounts, np.int64)
    return columns
