"""The jobs of a schedd's queue as waiting and running jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.live.condor.conditions import disk_of
from shadowtime.live.condor.gate import MANAGED, ORIGINAL, PLACE, REASON, SUBMITTED_ON_HOLD, parent
from shadowtime.live.condor.slots import DISK, Slots
from shadowtime.live.port import RunningJob, WaitingJob
from shadowtime.trace.condor_history import TIME_LIMITS
from shadowtime.types import MAX_SPAN

if TYPE_CHECKING:
    from shadowtime.live.condor.client import Ad

IDLE, RUNNING, REMOVED, COMPLETED, HELD, SENDING, SUSPENDED = range(1, 8)
VANILLA, PARALLEL = 5, 11
JOB_ATTRIBUTES = (
    "ClusterId", "ProcId", "JobStatus", "JobUniverse", "QDate", "Owner", "RequestCpus",
    "RequestMemory", "MinHosts", "MaxHosts", "HoldReason", "HoldReasonCode", "RemoteHost",
    "RemoteHosts", "JobCurrentStartDate", "EnteredCurrentStatus", "CpusProvisioned",
    "MemoryProvisioned", "Requirements", "AllowedExecuteDuration", "AllowedJobDuration",
    "MaxRuntime", "MaxWallTimeMins", "RequestDisk", "DiskProvisioned", "ConcurrencyLimits",
    MANAGED, PLACE, ORIGINAL,
)  # fmt: skip
CONSTRAINT = "(JobUniverse == 5 || JobUniverse == 11) && (JobStatus <= 2 || JobStatus >= 5)"

MAX_HOSTS = 1 << 20
LARGEST = 1 << 40
"""Beyond every amount and time that a pool has."""
QUANTUM = 128
"""A startd allocates memory in steps of this many MB (MODIFY_REQUEST_EXPR_REQUESTMEMORY)."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How jobs are read; all values are in seconds.

    The default time limit, the time that a start takes, and how long a released job may take to
    start before it is reconsidered.
    """

    default_request: int = 3600
    overhead: int = 2
    patience: int = 60


def whole(ad: Ad, name: str, default: int) -> int:
    """A whole number in an ad: users may write anything into theirs, or leave it undefined.

    Examples
    --------
    >>> whole({"maxhosts": 3.0}, "maxhosts", 1), whole({"maxhosts": "x"}, "maxhosts", 1)
    (3, 1)
    """
    value = ad.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return int(value) if -LARGEST <= value <= LARGEST else default  # NaN is not


SCHEDD = "schedd#"
"""Where a client of several schedds records the schedd of an ad; no attribute has such a name."""


def job_id(ad: Ad) -> str:
    """``cluster.proc``, with several schedds ``schedd#cluster.proc`` as in a GlobalJobId.

    Examples
    --------
    >>> job_id({"clusterid": 7, "procid": 0}), job_id({"clusterid": 7, "procid": 0, SCHEDD: "a"})
    ('7.0', 'a#7.0')
    """
    name = f"{ad['clusterid']}.{ad['procid']}"
    return f"{ad[SCHEDD]}#{name}" if SCHEDD in ad else name


def managed(ad: Ad) -> bool:
    """True for jobs that the loop may start and stop."""
    return ad.get(MANAGED.lower()) is True


def gated(ad: Ad) -> bool:
    """True for jobs that wait at our gate, not on another user's hold."""
    ours = str(ad.get("holdreason", "")).startswith(REASON)
    return ad.get("jobstatus") == HELD and (ours or ad.get("holdreasoncode") == SUBMITTED_ON_HOLD)


def about_to_start(ad: Ad, slots: Slots, now: int, reading: Reading) -> bool:
    """Released by us to slots that still exist, and not too long ago."""
    place = str(ad.get(PLACE.lower(), ""))
    hosts = {host.name for host in slots.cluster.hosts}
    return (
        ad.get("jobstatus") == IDLE
        and bool(place)
        and all(slot in hosts for slot in place.split(","))
        and now - whole(ad, "enteredcurrentstatus", now) <= reading.patience
    )


def request_of(ad: Ad, reading: Reading) -> int:
    """Seconds the job may run, with what a start costs on top."""
    for attribute, seconds in TIME_LIMITS:
        value = whole(ad, attribute, 0)
        if value > 0:
            return min(value * seconds, MAX_SPAN - reading.overhead) + reading.overhead
    return reading.default_request + reading.overhead


def hosts_wanted(ad: Ad) -> int:
    """Slots a job takes: one, or the machine count of a parallel job."""
    return (
        min(max(1, whole(ad, "maxhosts", 1)), MAX_HOSTS) if ad.get("jobuniverse") == PARALLEL else 1
    )


def need_of(ad: Ad, slots: Slots, *, static: bool) -> tuple[int, ...]:
    """What a job counts for, all its slots together.

    All processors of a static slot are taken, however many are requested; memory and other
    resources count as requested.
    """
    wanted = hosts_wanted(ad)
    amounts = []
    for name in slots.cluster.resources:
        if name == "procs":
            each = max(1, whole(ad, "requestcpus", 1))
            if static:
                each = max(host.capacity[0] for host in slots.cluster.hosts)
        elif name == "memory":
            each = -(-max(0, whole(ad, "requestmemory", 0)) // QUANTUM) * QUANTUM * 1024
        elif name == DISK:
            each = 0 if static else disk_of(ad)
        else:
            each = max(0, whole(ad, f"request{name}", 0))
        amounts.append(min(each * wanted, LARGEST))
    return tuple(amounts)


def waiting_of(ad: Ad, slots: Slots, reading: Reading) -> WaitingJob:
    """A job at the gate."""
    static = takes_whole_slots(ad, slots)
    return WaitingJob(
        id=job_id(ad),
        submit=whole(ad, "qdate", 0),
        need=need_of(ad, slots, static=static),
        request=request_of(ad, reading),
        user=str(ad.get("owner", "")),
        nodes=hosts_wanted(ad),
        alone=static,
    )


def running_of(ad: Ad, slots: Slots, reading: Reading, now: int) -> RunningJob | None:
    """A job that holds slots, or is about to; None if these no longer belong to the cluster."""
    hosts_text = ad.get("remotehosts") or ad.get("remotehost") or ad.get(PLACE.lower()) or ""
    start = whole(ad, "jobcurrentstartdate", now)
    if ad.get("jobstatus") == IDLE:
        hosts_text, start = ad.get(PLACE.lower(), ""), now
    names = [parent(name) for name in str(hosts_text).split(",") if name]
    static = takes_whole_slots(ad, slots)
    need = need_of(ad, slots, static=static)
    capacity = {host.name: host.capacity for host in slots.cluster.hosts}
    order = {name: at for at, name in enumerate(capacity)}
    here = sorted((name for name in names if name in capacity), key=order.__getitem__)
    if not here:
        return None
    share = [-(-amount // len(names)) for amount in need]
    held = tuple((name, capacity[name] if name in slots.static else tuple(share)) for name in here)
    return RunningJob(
        id=job_id(ad),
        submit=whole(ad, "qdate", 0),
        # What lies on slots outside the cluster does not count against it.
        need=tuple(amount * len(here) for amount in share),
        request=request_of(ad, reading),
        start=min(start, now),
        place=tuple((name, share[0]) for name in here),
        user=str(ad.get("owner", "")),
        ours=managed(ad),
        alone=static,
        held=held,
    )


def takes_whole_slots(ad: Ad, slots: Slots) -> bool:
    """True if the pool consists of static slots, and for parallel jobs, which need them."""
    every = len(slots.static) == len(slots.cluster.hosts)
    return every or (ad.get("jobuniverse") == PARALLEL and bool(slots.static))
