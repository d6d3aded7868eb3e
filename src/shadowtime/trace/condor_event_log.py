"""Jobs from the events that HTCondor wrote about them (the job event log, or user log).

An event begins with ``005 (7.000.000) 2026-11-15 05:57:10.468 Job terminated.`` and ends with a
line of three dots. Old logs leave the year out; the JSON form has an object per event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from shadowtime.cluster.site_folder import zone_of
from shadowtime.errors import InputError
from shadowtime.slurmtext.times import parse_stamp
from shadowtime.trace._bytes import refuse_choice
from shadowtime.trace.condor_history import HINT, resources_of, time_limit, whole
from shadowtime.trace.condor_jobs import CondorJob, CondorJobs, long_value, split_ads
from shadowtime.types import UNKNOWN
from shadowtime.workload.raw import STATUS_CANCELLED, STATUS_COMPLETED, STATUS_FAILED, RawTrace

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines


_HEAD = re.compile(
    r"(\d{3}) \((-?\d{1,15})\.(-?\d{1,15})\.(-?\d{1,15})\) "
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\d\d/\d\d \d\d:\d\d:\d\d)"
    r"(?:\.\d+)?(Z|[-+]\d\d:?\d\d)? ?(.*)"
)
_ATTRIBUTE = re.compile(r"\s*([A-Za-z_]\w*) = (.*)")
_TABLE = re.compile(r"\s*Partitionable Resources\s*:")
_FIRST_YEAR = 2000
_HALF_A_YEAR = 15_552_000


@dataclass
class Event:
    """One event; ``table`` has (used, requested, allocated) by resource, None where blank."""

    line: int
    number: int
    cluster: int
    proc: int
    node: int
    at: int
    text: str
    attributes: dict[str, Any] = field(default_factory=dict)
    table: dict[str, tuple[int | None, int | None, int | None]] = field(default_factory=dict)


@dataclass
class Clock:
    """Times of events in seconds since 1970; years are counted where the log leaves them out."""

    zone: tzinfo
    year: int = _FIRST_YEAR
    last: int = 0
    without_year: int = 0

    def read(self, stamp: str, offset: str | None) -> int:
        """The time of an event, a fraction of a second cut off."""
        if offset:
            iso = stamp.replace(" ", "T") + ("+00:00" if offset == "Z" else offset)
            return int(datetime.fromisoformat(iso).timestamp())
        if "/" not in stamp:
            return parse_stamp(stamp.replace(" ", "T"), self.zone)
        self.without_year += 1
        month, day = stamp[:2], stamp[3:5]
        at = parse_stamp(f"{self.year}-{month}-{day}T{stamp[6:]}", self.zone)
        if at < self.last - _HALF_A_YEAR:  # the year has changed
            self.year += 1
            at = parse_stamp(f"{self.year}-{month}-{day}T{stamp[6:]}", self.zone)
        self.last = max(self.last, at)
        return at


def is_event_log(first: str) -> bool:
    """Does a file with this first line look like a job event log?

    Examples
    --------
    >>> is_event_log("000 (7.000.000) 2026-11-15 05:57:07 Job submitted from host: <...>")
    True
    """
    return _HEAD.fullmatch(first.strip()) is not None


def split_events(text: str, clock: Clock) -> Iterator[Event | tuple[int, str]]:
    """Every event of the log; (line, message) for one that is invalid."""
    if text.lstrip()[:1] in ("[", "{"):
        yield from _json_events(text, clock)
        return
    block: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.rstrip() == "...":
            if block:
                yield _event(block, first, clock)
            block = []
        elif block or line.strip():
            first = first if block else number
            block.append(line)
    if block:  # the log is still being written, or was cut
        yield _event(block, first, clock)


def _event(block: list[str], line: int, clock: Clock) -> Event | tuple[int, str]:
    match = _HEAD.fullmatch(block[0].strip())
    if match is None:
        return line, f"expected an event like 000 (7.000.000) ..., found {block[0].strip()[:40]!r}"
    number, cluster, proc, node = (int(match[group]) for group in (1, 2, 3, 4))
    try:
        at = clock.read(match[5], match[6])
    except ValueError as error:
        return line, str(error)
    event = Event(line, number, cluster, proc, node, at, "\n".join([match[7], *block[1:]]))
    ends: list[int] = []
    for row in block[1:]:
        if _TABLE.match(row):
            ends = [row.find(word) + len(word) for word in ("Usage", "Request", "Allocated")]
        elif ends and ":" in row:
            _table_row(event, row, ends)
        elif found := _ATTRIBUTE.fullmatch(row):
            event.attributes[found[1].lower()] = long_value(found[2])
            ends = []
        else:
            ends = []
    return event


def _table_row(event: Event, row: str, ends: list[int]) -> None:
    """A line such as ``   Memory (MB)          :        5     1000      1024``."""
    name = row.partition(":")[0].partition("(")[0].strip().lower()
    cells: list[int | None] = [None, None, None]
    for found in re.finditer(r"(?<!\S)[0-9]{1,15}(?:\.[0-9]+)?(?!\S)", row):
        nearest = min(range(3), key=lambda column: abs(ends[column] - found.end()))
        if abs(ends[nearest] - found.end()) <= 2 and found.start() > row.index(":"):
            cells[nearest] = int(float(found[0]) + 0.5)
    event.table[name] = (cells[0], cells[1], cells[2])


def _json_events(text: str, clock: Clock) -> Iterator[Event | tuple[int, str]]:
    for line, ad in split_ads(text):
        if isinstance(ad, str):
            yield line, ad
            continue
        try:
            stamp = re.fullmatch(
                r"(\S{10}T\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[-+]\d\d:?\d\d)?", str(ad["eventtime"])
            )
            if stamp is None:
                raise ValueError(f"{ad['eventtime']!r} is not the time of an event")
            yield Event(
                line,
                int(ad["eventtypenumber"]),
                int(ad["cluster"]),
                int(ad.get("proc", 0)),
                int(ad.get("subproc", ad.get("node", 0)) or 0),
                clock.read(stamp[1], stamp[2]),
                "",
                attributes=ad,
            )
        except KeyError as missing:
            yield line, f"the event has no {missing}"
        except (TypeError, ValueError, OverflowError) as error:
            yield line, str(error)


SUBMIT, EXECUTE, EVICTED, TERMINATED, IMAGE_SIZE, SHADOW_EXCEPTION = 0, 1, 4, 5, 6, 7
ABORTED, HELD, NODE_EXECUTE, RECONNECT_FAILED, JOB_AD = 9, 12, 14, 24, 28
STOPS_THE_RUN = (EVICTED, SHADOW_EXCEPTION, HELD, RECONNECT_FAILED)
REMOVAL = 2
"""A job that is removed while it runs is evicted first, at most this many seconds before."""


@dataclass
class _Open:
    """What is known of a job that has not left the queue yet."""

    line: int
    submit: int
    start: int = UNKNOWN
    stopped: tuple[int, int] = (UNKNOWN, UNKNOWN)
    """Begin and end of the last run that did not complete."""
    runs: int = 0
    nodes: set[int] = field(default_factory=set)
    used: int = UNKNOWN
    ad: dict[str, Any] = field(default_factory=dict)
    """What the job requested and was given, under the names of its attributes."""


def parse_event_log(
    text: str,
    *,
    name: str,
    path: str | None = None,
    tz: str | None = None,
    unlimited: int | None = None,
    bad_lines: BadLines = "refuse",
) -> RawTrace:
    """The jobs of a job event log, text or JSON.

    Rules
    -----
    Times without an offset are local times of ``tz`` (left out: UTC, and counted); logs without
    years count them from 2000. The run is the last one; an eviction, a hold, a lost connection or
    a failure of the shadow ends a run whose job then waits again. A job counts as removed while
    it ran if it was evicted at most two seconds before. Processors and memory are those requested
    and allocated in the table at the end, else those of the slot, times the nodes of a parallel
    job. A time limit is known only if the log is configured to contain it
    (job_ad_information_attrs). Jobs that have not ended and jobs whose submission is not in the log
    are dropped and counted.

    Examples
    --------
    >>> raw = parse_event_log('''000 (7.000.000) 2026-11-15 05:57:07 Job submitted from host: <>
    ... ...
    ... 001 (7.000.000) 2026-11-15 05:57:09 Job executing on host: <>
    ... \tCpus = 2
    ... ...
    ... 005 (7.000.000) 2026-11-15 05:58:09 Job terminated.
    ... \t(1) Normal termination (return value 0)
    ... ...
    ... ''', name="one")
    >>> {f: int(raw[f][0]) for f in ("job_id", "wait", "run", "procs", "status")}
    {'job_id': 7, 'wait': 2, 'run': 60, 'procs': 2, 'status': 1}
    """
    refuse_choice(bad_lines)
    clock = Clock(zone_of(tz))
    log = _Log(tz_told=tz is not None, unlimited=UNKNOWN if unlimited is None else unlimited)
    for event in split_events(text, clock):
        try:
            if isinstance(event, tuple):
                raise ValueError(event[1])
            log.take(event)
        except ValueError as error:
            line = event[0] if isinstance(event, tuple) else event.line
            if bad_lines == "refuse":
                raise InputError(str(error), path=path, line=line, hint=HINT) from None
            log.jobs.counts["bad_lines_dropped"] += 1
    log.jobs.counts["unfinished_dropped"] += len(log.open)
    log.jobs.counts["dates_without_year"] = clock.without_year
    return log.jobs.trace(name, path, source="a job event log", zone=tz or "UTC")


class _Log:
    """The jobs whose events have been read so far."""

    def __init__(self, *, tz_told: bool, unlimited: int) -> None:
        self.tz_told, self.unlimited = tz_told, unlimited
        self.jobs = CondorJobs()
        self.jobs.counts["no_submission_dropped"] = 0
        self.open: dict[tuple[int, int], _Open] = {}

    def take(self, event: Event) -> None:
        """Apply an event."""
        if event.cluster < 0 or event.proc < 0:
            return  # about a whole cluster, or DAGMan's own notes
        key = (event.cluster, event.proc)
        if event.number == SUBMIT:
            self.open[key] = _Open(event.line, event.at)
            return
        job = self.open.get(key)
        if job is None:
            self.jobs.counts["no_submission_dropped"] += event.number in (TERMINATED, ABORTED)
            return
        _note(job, event)
        if event.number == EXECUTE:
            job.start, job.runs = event.at, job.runs + 1
        elif event.number == NODE_EXECUTE:
            job.nodes.add(event.node)
        elif event.number in STOPS_THE_RUN and job.start >= 0:
            job.stopped, job.start = (job.start, event.at), UNKNOWN
        elif event.number in (TERMINATED, ABORTED):
            del self.open[key]
            self.jobs.add(job.line, self._ended(job, event))

    def _ended(self, job: _Open, event: Event) -> CondorJob:
        start, end = job.start, event.at
        if event.number == ABORTED and start < 0 and 0 <= event.at - job.stopped[1] <= REMOVAL:
            start, end = job.stopped
        if event.number == TERMINATED and start < 0:
            raise ValueError("the job terminates without having been executed")
        counts = self.jobs.counts
        request = time_limit(job.ad)
        counts["request_unlimited"] += request == UNKNOWN
        counts["several_runs"] += job.runs > 1
        counts["local_times_as_utc"] += not self.tz_told
        hosts = max(len(job.nodes), 1)

        def total(attribute: str, factor: int) -> int:
            amount = job.ad.get(attribute)
            return amount * factor if isinstance(amount, int) and amount > 0 else UNKNOWN

        asked = total("requestmemory", hosts * 1024)
        return CondorJob(
            cluster=event.cluster,
            proc=event.proc,
            schedd="",
            submit=job.submit,
            start=start,
            end=end,
            status=_status(event),
            procs=total("cpus", hosts),
            requested_procs=total("requestcpus", hosts),
            nodes=hosts,
            request=self.unlimited if request == UNKNOWN else request,
            memory=asked if asked > 0 else total("memory", hosts * 1024),
            used_memory=job.used * hosts if job.used > 0 else UNKNOWN,
            resources={"gpus": max(total("gpus", hosts), 0), **resources_of(job.ad, hosts)},
            user=str(job.ad.get("owner") or ""),
            executable=str(job.ad.get("cmd") or ""),
        )


def _note(job: _Open, event: Event) -> None:
    """Record what an event reports about resources."""
    if event.number in (EXECUTE, JOB_AD, NODE_EXECUTE):
        job.ad.update(event.attributes)
    for resource, (_, requested, allocated) in event.table.items():
        if requested is not None:
            job.ad[f"request{resource}"] = requested
        if allocated is not None:
            job.ad[resource] = allocated
    if event.number == IMAGE_SIZE:
        size = re.search(r"(?<!\d)([0-9]{1,15})[ \t]+-[ \t]+ResidentSetSize", event.text)
        used = int(size[1]) if size else whole(event.attributes, "ResidentSetSize")
        job.used = max(job.used, used)
    if event.number == TERMINATED and "requestcpus" in event.attributes:  # the JSON spelling
        job.ad.update(event.attributes)


def _status(event: Event) -> int:
    if event.number == ABORTED:
        return STATUS_CANCELLED
    if not event.text:
        normally = event.attributes.get("terminatednormally") is True
        good = normally and event.attributes.get("returnvalue") in (0, None)
    else:
        found = re.search(r"Normal termination \(return value (-?[0-9]{1,15})\)", event.text)
        good = found is not None and int(found[1]) == 0
    return STATUS_COMPLETED if good else STATUS_FAILED
