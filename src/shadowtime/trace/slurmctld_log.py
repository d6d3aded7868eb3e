"""slurmctld's log as a job log, where a site has nothing else.

It names submissions, starts with their nodes, and ends; not users, accounts and time limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import median_low
from typing import Any

from shadowtime.cluster.site_folder import zone_of
from shadowtime.errors import ClusterError, InputError
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.log import Event, events_of, job_number
from shadowtime.trace.job_table import raw_of
from shadowtime.workload.raw import STATUS_CANCELLED, STATUS_COMPLETED, STATUS_FAILED, RawTrace

_LINE = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\] \S")
_ENDS = ("done", "over", "killed", "requeued")


def is_slurmctld_log(first_line: str, head: bytes) -> bool:
    """Is this slurmctld's log?

    Examples
    --------
    >>> line = "[2026-11-17T19:01:55.085] _job_complete: JobId=106 done"
    >>> is_slurmctld_log(line, line.encode()), is_slurmctld_log("JobId=1", b"")
    (True, False)
    """
    told = rb"slurmctld|_slurm_rpc_|sched: |sched/backfill: |_job_complete: |Recovered JobId"
    return _LINE.match(first_line) is not None and re.search(told, head) is not None


@dataclass
class _Job:
    """What the log says of one job; the last of several runs counts."""

    number: int
    submit: float | None
    priority: int | None = None
    start: float | None = None
    end: float | None = None
    cpus: int | None = None
    nodes: str = ""
    partition: str = ""
    code: str = "0"
    line: int = 0
    killed: bool = False


def parse_slurmctld_log(
    data: bytes, *, name: str, path: str | None = None, tz: str | None = None
) -> RawTrace:
    """The jobs that were submitted and ended in a log.

    Rules
    -----
    Times are local times of ``tz`` (left out: UTC). A job that is cancelled before it starts is
    in the queue until then. A backfilled job's line names its nodes but no processors: it gets as
    many per node as jobs of its partition whose lines name them, the middle one (counted). A job
    whose submission or end lies outside of the log is left out and counted.

    Examples
    --------
    >>> raw = parse_slurmctld_log(b'''
    ... [2026-01-01T00:00:00.5] _slurm_rpc_submit_batch_job: JobId=7 InitPrio=99 usec=5
    ... [2026-01-01T00:00:09.1] sched: Allocate JobId=7 NodeList=n[1-2] #CPUs=8 Partition=batch
    ... [2026-01-01T00:01:09.1] _job_complete: JobId=7 WEXITSTATUS 0
    ... [2026-01-01T00:01:09.1] _job_complete: JobId=7 done
    ... ''', name="log")
    >>> raw["wait"].tolist(), raw["run"].tolist(), raw["procs"].tolist()
    ([9], [60], [8])
    """
    jobs: dict[int, _Job] = {}
    for event in events_of(iter(data.decode("utf-8", "replace").splitlines()), {}):
        _take(jobs, event)
    zone = zone_of(tz)

    def clock(seconds: float) -> int:
        moment = datetime.fromtimestamp(int(seconds), UTC)
        return int(moment.replace(tzinfo=zone).timestamp())

    begun = [one for one in jobs.values() if one.start is not None or one.end is not None]
    known = [one for one in begun if one.submit is not None]
    ended = [one for one in known if one.end is not None]
    if not ended:
        raise InputError(
            "no job is submitted and ends in this log", path=path,
            hint="Is it slurmctld's, with SlurmctldDebug=info or more?",
        )  # fmt: skip
    inferred = _processors(ended)
    columns: dict[str, list[Any]] = {
        "job_id": [one.number for one in ended],
        "submit": [clock(one.submit or 0) for one in ended],
        "start": [None if one.start is None else clock(one.start) for one in ended],
        "run": [
            None if one.start is None or one.end is None else clock(one.end) - clock(one.start)
            for one in ended
        ],
        "cancel_at": [clock(one.end or 0) if one.start is None else None for one in ended],
        "status": [_status(one) for one in ended],
        "procs": [one.cpus for one in ended],
        "nodes": [len(_hosts(one.nodes)) or None for one in ended],
        "partition": [one.partition for one in ended],
        "node_list": [one.nodes for one in ended],
        "priority": [one.priority for one in ended],
    }
    raw = raw_of(columns, name=name, path=path)
    counts = {
        "procs_of_others": inferred,
        "no_submission_dropped": len(begun) - len(known),
        "unfinished_dropped": len(known) - len(ended),
    }
    return replace(raw, counts=counts)


def _take(jobs: dict[int, _Job], event: Event) -> None:
    """Note what an event says of its job."""
    kinds = ("submit", "main", "backfill", "unnamed", "status", "kill", *_ENDS)
    if event.kind not in kinds:
        return
    try:
        number, array, _ = job_number(event.fields[0])
    except InputError:
        return
    if number not in jobs:
        whole = jobs.get(array)
        submitted = event.time if event.kind == "submit" else whole.submit if whole else None
        priority = whole.priority if whole else None
        jobs[number] = _Job(number=number, submit=submitted, priority=priority)
    job = jobs[number]
    match event.kind:
        case "submit":
            job.priority = int(event.fields[1])
        case "main" | "backfill" | "unnamed":
            job.start, job.end, job.killed, job.cpus = event.time, None, False, None
            if event.kind == "main":
                job.nodes, job.cpus = event.fields[1], int(event.fields[2])
                job.partition = event.fields[3]
            else:
                job.partition = event.fields[1]
                job.nodes = event.fields[2] if len(event.fields) > 2 else ""
        case "status":
            job.code = event.fields[1]
        case "requeued":
            job.start = job.end = None
        case "kill":
            job.killed = True
            if job.start is None:
                job.end = event.time
        case _:
            job.end = event.time if job.start is not None else job.end


def _hosts(text: str) -> list[str]:
    try:
        return list(expand(text)) if text else []
    except ClusterError:
        return []


def _processors(jobs: list[_Job]) -> int:
    """Give processors to those whose lines name none; how many these are."""
    each: dict[str, list[int]] = {}
    for one in jobs:
        if one.cpus and one.nodes:
            share = max(one.cpus // max(len(_hosts(one.nodes)), 1), 1)
            for partition in (one.partition, ""):
                each.setdefault(partition, []).append(share)
    lacking = [one for one in jobs if one.cpus is None]
    for one in lacking:
        some = each.get(one.partition) or each.get("") or [1]
        one.cpus = median_low(some) * max(len(_hosts(one.nodes)), 1)
    return len(lacking)


def _status(job: _Job) -> int:
    if job.killed:
        return STATUS_CANCELLED
    return STATUS_COMPLETED if job.code == "0" else STATUS_FAILED
