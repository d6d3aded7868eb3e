"""Reservation violations: promises to blocked jobs broken by jobs that were let in meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.frozen import dataclass
from shadowtime.metrics.jobs import TAU
from shadowtime.metrics.measure import matched
from shadowtime.schedule.active import running_at
from shadowtime.schedule.runs import runs, started
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.types import Floats, Ints
    from shadowtime.workload import Workload


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
    a job otherwise (earlier jobs that outlive their prediction) is benign.

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
