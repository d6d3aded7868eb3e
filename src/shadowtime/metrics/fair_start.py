"""Fair start times: when a blocked job would have started had no job been let in ahead of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.frozen import dataclass
from shadowtime.metrics.measure import matched
from shadowtime.schedule.active import running_at
from shadowtime.schedule.runs import lost_runs, row_of, runs, started
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload import Workload


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
    """FST2 and FST of every blocked job.

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
    blocked = np.flatnonzero(started(schedule) & (schedule.blocked_at != UNKNOWN))
    moments = schedule.blocked_at[blocked]
    going = runs(schedule)
    undisturbed, backfilled = _undisturbed(schedule, workload)
    procs, total = workload.procs, cluster.procs
    fst2, fst = np.empty(len(blocked), np.int64), np.empty(len(blocked), np.int64)
    for k, found in running_at(going, moments):
        now, job = moments[k], blocked[k]
        there = found[~(backfilled[found] & (going.since[found] == now))]
        rows, ends = going.row[there], undisturbed[there]
        fst2[k] = earliest(now, ends, procs[rows], total - procs[job])
        earlier = rows < job
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
        row = row_of(schedule, attempts.job_id)
        stopped = (attempts.killed == 1) & (row != UNKNOWN) & (attempts.end >= attempts.start)
        restart = int(attempts.overhead.max(initial=0))  # a stop may cut it short
        again = np.isin(np.arange(len(attempts)), _first_of(attempts.job_id), invert=True)
        whole += np.where(again, restart, 0)[stopped] - attempts.before[stopped]
    ends = np.concatenate([schedule.end[final], whole])
    by_backfilling = schedule.reason[final] == Reason.BACKFILLED
    return ends, np.concatenate([by_backfilling, np.ones(len(lost), bool)])
