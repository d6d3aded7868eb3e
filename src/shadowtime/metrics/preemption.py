"""What preemption cost: which jobs it hit, how often, and the work that was lost."""

from __future__ import annotations

import numpy as np

from shadowtime.schedule import Schedule, runs
from shadowtime.types import AnyArray, Ints


def preemption_of(
    schedule: Schedule, which: AnyArray, *, jobs: int, kills: int, scored: int
) -> dict[str, float]:
    """Preempted jobs among these, their kills, and the run time that was lost.

    The caller has counted the preempted jobs, their preemptions, and all these jobs. MKT = kills /
    preempted jobs. RTW of a job = (all its run times - its last) / its last; the mean is over
    preempted jobs. Where stopped jobs keep their work, RTW is what was lost over what was worked,
    and ``restarting_s`` is there: the seconds that went into starting again.

    References
    ----------
    Yuan et al. 2010, equation 3 and table 6.

    Examples
    --------
    >>> from shadowtime.schedule import Attempts, Schedule
    >>> ints = lambda *values: np.array(values, np.int64)
    >>> s = Schedule(
    ...     job_id=ints(1), submit=ints(0), start=ints(9), end=ints(19), procs=ints(1),
    ...     reason=ints(1), kills=ints(2), killed=ints(0), attempts=Attempts(
    ...         job_id=ints(1, 1, 1), start=ints(0, 5, 9), end=ints(3, 7, 19), killed=ints(1, 1, 0)
    ...     ))
    >>> preemption_of(s, np.array([True]), jobs=1, kills=2, scored=1)
    {'preempted_jobs': 1, 'preempted_share': 1.0, 'kills': 2, 'mkt': 2.0, 'rtw_mean': 0.5}
    """
    result: dict[str, float] = {"preempted_jobs": jobs}
    if scored:
        result["preempted_share"] = jobs / scored
    result["kills"] = kills
    if jobs == 0:
        return result
    result["mkt"] = kills / jobs
    if len(schedule.attempts):
        hit = which & (schedule.kills > 0)
        run = schedule.worked[hit]
        vain = lost_seconds(schedule)[hit]
        result["rtw_mean"] = float((vain / np.maximum(run, 1)).mean())
    again = runs.restarts(schedule)
    if schedule.attempts.overhead is not None:
        result["restarting_s"] = int((again.until - again.since)[which[again.row]].sum())
    return result


def lost_seconds(schedule: Schedule) -> Ints:
    """Seconds of lost runs of each job."""
    lost = runs.lost_parts(schedule)
    vain = np.zeros(len(schedule), np.int64)
    np.add.at(vain, lost.row, lost.until - lost.since)
    return vain


def lost_work(schedule: Schedule) -> tuple[Ints, Ints]:
    """Lost work over time: the moments of preemption and the processor-seconds lost by then.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0], run=[1], procs=[1], recorded_start=[0])
    >>> [column.tolist() for column in lost_work(Schedule.recorded(w))]
    [[], []]
    """
    lost = runs.lost_parts(schedule)
    order = np.argsort(lost.until, kind="stable")
    area = (lost.taken(schedule.procs) * (lost.until - lost.since))[order]
    moments = lost.until[order]
    last = np.ones(len(moments), bool)
    last[:-1] = moments[1:] != moments[:-1]
    total: Ints = np.cumsum(area)
    return moments[last], total[last]
