"""Jobs that have left the schedd's queue: condor_history."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shadowtime.errors import InputError
from shadowtime.printable import shown
from shadowtime.trace._bytes import refuse_choice
from shadowtime.trace.condor_jobs import CondorJob, CondorJobs, Expression, split_ads
from shadowtime.types import UNKNOWN
from shadowtime.workload import raw as swf
from shadowtime.workload.raw import RawTrace

if TYPE_CHECKING:
    from shadowtime.trace.swf import BadLines

REMOVED, COMPLETED = 3, 4
RUNNING = (2, 6, 7)
"""JobStatus: running, sending its output back, suspended."""

OFF_THE_POOL = {1: "standard PVM", 7: "scheduler", 9: "grid", 12: "local"}
"""Universes whose jobs run beside the schedd or elsewhere, not on the pool's slots."""

TIME_LIMITS = (
    ("allowedexecuteduration", 1),
    ("allowedjobduration", 1),
    ("maxruntime", 1),
    ("maxwalltimemins", 60),
)
"""Attributes that bound a run, of which the first present one counts, and their units in seconds:
HTCondor's own two, then two that sites define."""

HINT = "Fix or delete it, or skip and count such jobs with --bad-lines drop."
_SCHEDD = re.compile(r"(.*)#\d+\.\d+#\d+")


def is_history(first: str) -> bool:
    """Does a file that begins like this contain ClassAds?"""
    return first[:1] in ("[", "{") or re.match(r"[A-Za-z_]\w* = ", first) is not None


def parse_condor_history(
    text: str,
    *,
    name: str,
    path: str | None = None,
    unlimited: int | None = None,
    bad_lines: BadLines = "refuse",
) -> RawTrace:
    """The jobs of ``condor_history -json``, ``-jsonl``, ``-long`` or of a history file.

    Rules
    -----
    The run is the last one (JobCurrentStartDate to CompletionDate, or to EnteredCurrentStatus of
    a job removed while it ran); jobs that had more than one are counted. A job removed while it
    waited or was held was cancelled; with a signal or a code other than 0 it failed.
    Processors are CpusProvisioned, else RequestCpus, times MaxHosts for the parallel universe;
    memory RequestMemory, else MemoryProvisioned; likewise GPUs and every other RequestXxx.
    Expressions count as unknown. The time limit is the first of AllowedExecuteDuration,
    AllowedJobDuration, MaxRuntime (seconds) and MaxWallTimeMins; ``unlimited`` seconds stand in
    where there is none. Jobs that still are in the queue, jobs of the scheduler, local and grid
    universes, and repetitions (rotated files overlap) are dropped, each counted. The number of a
    job is its cluster's, where that has one job only; others get new numbers.

    Examples
    --------
    >>> raw = parse_condor_history('''[{"ClusterId": 7, "ProcId": 0, "JobStatus": 4, "QDate": 100,
    ... "JobCurrentStartDate": 130, "CompletionDate": 190, "ExitCode": 0, "RequestCpus": 2}]''',
    ... name="one")
    >>> {f: int(raw[f][0]) for f in ("job_id", "wait", "run", "requested_procs", "status")}
    {'job_id': 7, 'wait': 30, 'run': 60, 'requested_procs': 2, 'status': 1}
    """
    refuse_choice(bad_lines)
    jobs = CondorJobs()
    for line, ad in split_ads(text):
        try:
            if isinstance(ad, str):
                raise ValueError(ad)
            _take(jobs, line, ad, UNKNOWN if unlimited is None else unlimited)
        except ValueError as error:
            if bad_lines == "refuse":
                raise InputError(str(error), path=path, line=line, hint=HINT) from None
            jobs.counts["bad_lines_dropped"] += 1
    return jobs.trace(name, path, source="condor_history", zone="UTC")


def _take(jobs: CondorJobs, line: int, ad: Mapping[str, Any], unlimited: int) -> None:
    universe = whole(ad, "JobUniverse")
    status = whole(ad, "JobStatus")
    if universe in OFF_THE_POOL:
        jobs.counts["not_on_the_pool_dropped"] += 1
        return
    if status not in (REMOVED, COMPLETED):
        if status == UNKNOWN:
            raise ValueError("the job has no JobStatus: is this the output of condor_history?")
        jobs.counts["unfinished_dropped"] += 1
        return
    hosts = max(whole(ad, "MaxHosts"), 1)
    start, end = _last_run(ad, status)
    request = time_limit(ad)
    jobs.counts["request_unlimited"] += request == UNKNOWN
    jobs.counts["several_runs"] += whole(ad, "NumJobStarts") > 1
    job = CondorJob(
        cluster=_needed(ad, "ClusterId"),
        proc=_needed(ad, "ProcId"),
        schedd=_schedd(ad),
        submit=whole(ad, "QDate"),
        start=start,
        end=end,
        status=_status(ad, status),
        procs=_times(whole(ad, "CpusProvisioned"), hosts),
        requested_procs=_times(whole(ad, "RequestCpus"), hosts),
        nodes=hosts,
        request=unlimited if request == UNKNOWN else request,
        memory=_times(_either(ad, "RequestMemory", "MemoryProvisioned"), hosts * 1024),
        used_memory=_times(whole(ad, "ResidentSetSize"), hosts),
        cpu_time=_cpu_time(ad),
        resources=resources_of(ad, hosts),
        user=str(ad.get("owner") or ad.get("user") or ""),
        group=str(ad.get("acctgroup") or ad.get("accountinggroup") or ""),
        executable=str(ad.get("cmd") or ""),
    )
    jobs.add(line, job)


def _last_run(ad: Mapping[str, Any], status: int) -> tuple[int, int]:
    """When the last run began, -1 if the job was not running when it left; and when it left."""
    start = _either(ad, "JobCurrentStartDate", "JobStartDate")
    left = whole(ad, "EnteredCurrentStatus")
    if status == REMOVED:
        before = whole(ad, "LastJobStatus")
        ran = before in RUNNING if before != UNKNOWN else start >= 0
        return (start, left) if ran else (UNKNOWN, left)
    end = whole(ad, "CompletionDate")
    if end <= 0:
        end = left
    if start < 0 or end <= 0:
        raise ValueError("the completed job has no JobCurrentStartDate or no CompletionDate")
    return start, end


def _status(ad: Mapping[str, Any], status: int) -> int:
    if status == REMOVED:
        return swf.STATUS_CANCELLED
    if ad.get("exitbysignal") is True:
        return swf.STATUS_FAILED
    return swf.STATUS_COMPLETED if whole(ad, "ExitCode") in (0, UNKNOWN) else swf.STATUS_FAILED


def time_limit(ad: Mapping[str, Any]) -> int:
    """Seconds that the job may run, -1 if nothing bounds it."""
    for attribute, seconds in TIME_LIMITS:
        found = whole(ad, attribute)
        if found > 0:
            return found * seconds
    return UNKNOWN


def resources_of(ad: Mapping[str, Any], hosts: int) -> dict[str, int]:
    """Whatever the job requests besides processors, memory and disk: gpus, licences ..."""
    found = {}
    for attribute in ad:
        kind = attribute.removeprefix("request")
        if kind != attribute and kind not in ("cpus", "memory", "disk", "") and kind.isalnum():
            amount = _either(ad, attribute, f"{kind}provisioned")
            if amount >= 0:
                found[kind] = amount * hosts
    return found


def _schedd(ad: Mapping[str, Any]) -> str:
    """The schedd of the job: each schedd of a pool numbers its own clusters."""
    match = _SCHEDD.fullmatch(str(ad.get("globaljobid") or ""))
    return match[1] if match else ""


def _cpu_time(ad: Mapping[str, Any]) -> int:
    user, system = whole(ad, "RemoteUserCpu"), whole(ad, "RemoteSysCpu")
    return user + max(system, 0) if user >= 0 else UNKNOWN


def _either(ad: Mapping[str, Any], first: str, second: str) -> int:
    found = whole(ad, first)
    return found if found > 0 else whole(ad, second)


def _times(amount: int, factor: int) -> int:
    return amount * factor if amount >= 0 else UNKNOWN


def _needed(ad: Mapping[str, Any], attribute: str) -> int:
    found = whole(ad, attribute)
    if found == UNKNOWN:
        raise ValueError(f"the job has no {attribute}: is this the output of condor_history?")
    return found


def whole(ad: Mapping[str, Any], attribute: str) -> int:
    """A whole number, rounded; -1 where there is none, or an expression, or negative."""
    value = ad.get(attribute.lower())
    if value is None or isinstance(value, Expression | bool):
        return UNKNOWN
    try:
        number = int(value + 0.5) if isinstance(value, float) else int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{attribute} must be a number, not {shown(value)}") from None
    if number > swf.MAX_AMOUNT:
        raise ValueError(f"{attribute} is {shown(number)}, beyond {swf.MAX_AMOUNT}")
    return max(number, UNKNOWN)
