"""Fairness: when a blocked job would have started if no job had overtaken it, which jobs delayed
which, and promises broken by jobs that overtook meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.metrics.jobs import TAU
from shadowtime.metrics.measure import matched
from shadowtime.schedule import Schedule
from shadowtime.schedule.runs import lost_runs, running_at, runs, started, stopped
from shadowtime.types import UNKNOWN, AnyArray, Floats, Ints, Reason
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


@dataclass(frozen=True, eq=False, kw_only=True)
class FairStarts:
    """Blocked jobs and their fair starts: ``row`` in the schedule, then a time each."""

    row: Ints
    start: Ints
    fst2: Ints
    fst: Ints

    @property
    def delay2(self) -> Ints:
        """How much later than FST2 each job started."""
        late: Ints = np.maximum(self.start - self.fst2, 0)
        return late

    @property
    def delay(self) -> Ints:
        """How much later than FST each job started."""
        late: Ints = np.maximum(self.start - self.fst, 0)
        return late


def fair_starts(schedule: Schedule, workload: Workload, cluster: Cluster) -> FairStarts:
    """FST2 and FST of every blocked job (spec: algorithms 2.6).

    Rules
    -----
    For a job blocked first at b, take the runs in progress at b after the jobs at the head of the
    queue have started and before any job is backfilled: start <= b < end, without those started
    at b by backfilling (a preempted attempt always started by backfilling). **FST2** is the
    earliest time from b on at which enough processors are free if nothing else starts: only jobs
    backfilled since can delay the job beyond it. **FST** is the same with the runs of earlier
    jobs alone, as if later jobs could be stopped: strict fairness. Runs end when they really
    ended; a run that was preempted would have ended after its whole run time.

    References
    ----------
    Yuan et al. 2010, table 1.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 0, 0], run=[3, 4, 5], procs=[3, 4, 1], recorded_start=[0, 5, 0])
    >>> s = Schedule.recorded(w).replace(
    ...     blocked_at=np.array([-1, 0, -1]), reason=np.array([1, 2, 3], np.int8))
    >>> f = fair_starts(s, w, Cluster.pool(4))
    >>> f.row.tolist(), f.fst2.tolist(), f.delay2.tolist()
    ([1], [3], [2])
    """
    schedule = matched(schedule, workload)
    if schedule.blocked_at is None:
        raise UsageError("fair start times need the column blocked_at, which the schedule lacks")
    if cluster.shape != "pool":
        raise UsageError("fair start times are defined on a pool of processors only")
    if schedule.attempts.procs is not None:
        raise UsageError("fair start times are defined where running jobs keep their size")
    blocked = np.flatnonzero(started(schedule) & (schedule.blocked_at != UNKNOWN))
    moments = schedule.blocked_at[blocked]
    going = runs(schedule)
    undisturbed, backfilled = _undisturbed(schedule, workload)
    procs, total = workload.procs, cluster.procs
    fst2, fst = np.empty(len(blocked), np.int64), np.empty(len(blocked), np.int64)
    for k, found in running_at(going, moments):
        now, job = moments[k], blocked[k]
        # Between the head's step and backfilling: what this very pass backfilled is not there yet.
        there = found[~(backfilled[found] & (going.since[found] == now))]
        rows, ends = going.row[there], undisturbed[there]
        fst2[k] = earliest(now, ends, procs[rows], total - procs[job])
        earlier = rows < job  # rows are in (submit, id) order, which is the priority
        fst[k] = earliest(now, ends[earlier], procs[rows[earlier]], total - procs[job])
    return FairStarts(row=blocked, start=schedule.start[blocked], fst2=fst2, fst=fst)


def earliest(now: int, ends: Ints, procs: Ints, room: int) -> int:
    """The first time from ``now`` on at which the runs still going take no more than ``room``.

    Examples
    --------
    >>> earliest(0, np.array([9, 4]), np.array([2, 3]), 2)
    4
    """
    over = int(procs.sum()) - room
    if over <= 0:
        return int(now)
    order = np.argsort(ends, kind="stable")
    freed = np.cumsum(procs[order])
    return int(ends[order[np.searchsorted(freed, over)]])


def fairness(schedule: Schedule, workload: Workload, cluster: Cluster) -> dict[str, float]:
    """How many blocked jobs later jobs delayed, and by how much: by FST2 and by FST."""
    found = fair_starts(schedule, workload, cluster)
    result: dict[str, float] = {"blocked": len(found.row)}
    for name, delay in (("fst2", found.delay2), ("fst", found.delay)):
        late = delay[delay > 0]
        result[f"{name}_delayed"] = len(late)
        if len(late):
            result[f"{name}_delay_mean_s"] = float(late.mean())
            result[f"{name}_delay_max_s"] = int(late.max())
    return result


def _first_of(job_id: Ints) -> Ints:
    """The places of each job's first attempt: they lie in time order."""
    return np.unique(job_id, return_index=True)[1]


def _undisturbed(schedule: Schedule, workload: Workload) -> tuple[Ints, AnyArray]:
    """The end that each run has if nothing else starts, and which runs began by backfilling."""
    final = np.flatnonzero(started(schedule))
    lost = lost_runs(schedule)
    whole = lost.since + workload.effective_run[lost.row]
    attempts = schedule.attempts
    if attempts.kept is not None and attempts.overhead is not None:
        restart = int(attempts.overhead.max(initial=0))  # a stop may cut it short
        again = np.isin(np.arange(len(attempts)), _first_of(attempts.job_id), invert=True)
        whole += (np.where(again, restart, 0) - attempts.before)[stopped(schedule)[1]]
    ends = np.concatenate([schedule.end[final], whole])
    by_backfilling = schedule.reason[final] == Reason.BACKFILLED
    return ends, np.concatenate([by_backfilling, np.ones(len(lost), bool)])


@dataclass(frozen=True, eq=False, kw_only=True)
class Delays:
    """Pairs of rows: a delayed job and a later job that held processors at its fair start."""

    delayed: Ints
    by: Ints
    fair_start: Ints
    until: Ints
    """When the later job's run ended."""

    def __len__(self) -> int:
        return len(self.delayed)


def delayed_by(schedule: Schedule, workload: Workload, cluster: Cluster) -> Delays:
    """For every job that started after its strictly fair start (FST): the later jobs running then.

    Without them the job could have started at that moment. Pairs are sorted by the delayed job,
    then by the later one.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 0, 0], run=[3, 4, 5], procs=[3, 4, 1], recorded_start=[0, 5, 0])
    >>> s = Schedule.recorded(w).replace(
    ...     blocked_at=np.array([-1, 0, -1]), reason=np.array([1, 2, 3], np.int8))
    >>> found = delayed_by(s, w, Cluster.pool(4))
    >>> found.delayed.tolist(), found.by.tolist(), found.fair_start.tolist()
    ([1], [2], [3])
    """
    schedule = matched(schedule, workload)
    fair = fair_starts(schedule, workload, cluster)
    late = np.flatnonzero(fair.delay > 0)
    going = runs(schedule)
    jobs, culprits = [fair.row[:0]], [fair.row[:0]]  # concatenate() refuses an empty list
    for k, found in running_at(going, fair.fst[late]):
        later = found[going.row[found] > fair.row[late[k]]]
        jobs.append(np.full(len(later), late[k]))
        culprits.append(later)
    of, run = np.concatenate(jobs), np.concatenate(culprits)
    order = np.lexsort((going.row[run], fair.row[of]))
    of, run = of[order], run[order]
    return Delays(
        delayed=fair.row[of], by=going.row[run], fair_start=fair.fst[of], until=going.until[run]
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Violations:
    """Violated jobs: ``row`` in the schedule, the broken promise, what it cost them."""

    row: Ints
    promised: Ints
    delay: Ints
    """Start - first promise (DTR)."""
    increment: Floats
    """Delay / max(run, 10 s): the slowdown increment (SI)."""
    procs: Ints

    def summary(self) -> dict[str, float]:
        """The row of the paper's table 2."""
        result: dict[str, float] = {"violations": len(self.row)}
        if len(self.row):
            result |= {
                "violation_procs_mean": float(self.procs.mean()),
                "violation_delay_mean_s": float(self.delay.mean()),
                "violation_delay_max_s": int(self.delay.max()),
                "violation_si_mean": float(self.increment.mean()),
                "violation_si_max": float(self.increment.max()),
            }
        return result


def reservation_violations(
    schedule: Schedule, workload: Workload, cluster: Cluster, *, prediction: Ints
) -> Violations:
    """Jobs that start after their first promise because of later jobs predicted to be gone by then.

    Rules
    -----
    Job h was blocked first at b and promised r. It is violated iff it starts after r and, at r,
    the free processors together with those of running later jobs that started at or after b and
    were predicted to end by r would have held it. The state at r is the one before that
    instant's pass: a job that ends at r is gone, one that starts at r is not there yet. What keeps
    a job otherwise (earlier jobs that outlive their prediction) is benign (spec: algorithms 2.7).

    ``prediction`` holds for each job of the workload the run time that was predicted when it
    started; for a preempted attempt the same is taken.

    References
    ----------
    Yuan et al. 2010, section 3.2 and table 2.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 0, 0], run=[3, 4, 6], procs=[3, 4, 1], recorded_start=[0, 6, 0])
    >>> s = Schedule.recorded(w).replace(
    ...     blocked_at=np.array([-1, 0, -1]), promised=np.array([-1, 3, -1]))
    >>> v = reservation_violations(s, w, Cluster.pool(4), prediction=np.array([3, 4, 2]))
    >>> v.row.tolist(), v.delay.tolist(), v.increment.tolist()
    ([1], [3], [0.3])
    """
    schedule = matched(schedule, workload)
    if schedule.blocked_at is None or schedule.promised is None:
        raise UsageError("reservation violations need the columns promised and blocked_at")
    if cluster.shape != "pool":
        raise UsageError("reservation violations are defined on a pool of processors only")
    promised, blocked_at, procs = schedule.promised, schedule.blocked_at, workload.procs
    given = started(schedule) & (promised != UNKNOWN) & (blocked_at != UNKNOWN)
    late = np.flatnonzero(given & (schedule.start > promised))
    going = runs(schedule)
    guilty = []
    for k, found in running_at(going, promised[late]):
        job = late[k]
        there = found[going.since[found] < promised[job]]
        row, since = going.row[there], going.since[there]
        culprit = (row > job) & (since >= blocked_at[job])
        culprit &= since + prediction[row] <= promised[job]
        # Free processors and those of the culprits are all but what the others hold.
        kept = int(procs[row[~culprit]].sum())
        if procs[job] <= cluster.procs - kept:
            guilty.append(int(job))
    rows = np.array(sorted(guilty), np.int64)
    delay = schedule.start[rows] - promised[rows]
    run = schedule.worked[rows]
    return Violations(
        row=rows,
        promised=promised[rows],
        delay=delay,
        increment=delay / np.maximum(run, TAU),
        procs=procs[rows],
    )
