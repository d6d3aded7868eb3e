"""Jobs that never started: how many, how long they waited at the least, and missed promises.

They are no part of means and percentiles, which are over the jobs that started: a wait that has not
ended has no value, only a lower bound. So two policies are compared by those only if they start
equally many jobs (report/verdict.py, study/comparison.py).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shadowtime.schedule import Schedule
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload, site_requests

NAMES = ("unstarted", "unstarted_wait_mean_s", "unstarted_wait_max_s")
"""The metrics of the jobs that never started."""


@dataclass(frozen=True, kw_only=True)
class Unstarted:
    """Jobs that never started for the same cause; waits are lower bounds."""

    why: str
    jobs: int
    wait_mean_s: float
    wait_max_s: int
    first: tuple[int, ...]
    """The ids of the first of them."""

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return asdict(self) | {"first": list(self.first)}


def waited_until(schedule: Schedule, workload: Workload) -> Ints:
    """Until when each job that never started is known to have waited.

    Rules
    -----
    Until it was cancelled, else until the last submission or end of the run: after that nothing
    happened any more. Never before its submission.
    """
    last = max(int(schedule.end.max(initial=0)), int(schedule.submit.max(initial=0)))
    cancelled = site_requests.cancelled_at(workload)
    until: Ints = np.where(cancelled >= 0, np.minimum(cancelled, last), last)
    return np.maximum(until, schedule.submit)


def unstarted_metrics(
    schedule: Schedule, workload: Workload, inside: AnyArray
) -> tuple[dict[str, float], int]:
    """The metrics of the jobs at these rows that never started, and their missed promises.

    A promise is missed unless the job was cancelled before it fell due.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.types import Reason
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 5], run=[60, 60], procs=[1, 8], recorded_start=[0, -1])
    >>> never = np.array([Reason.HEAD, Reason.UNSTARTED], np.int8)
    >>> s = Schedule.recorded(w).replace(reason=never, promised=np.array([-1, 30]))
    >>> found, missed = unstarted_metrics(s, w, np.array([True, True]))
    >>> found, missed
    ({'unstarted': 1, 'unstarted_wait_mean_s': 55.0, 'unstarted_wait_max_s': 55}, 1)
    """
    which = inside & schedule.unstarted
    if not which.any():
        return {"unstarted": 0}, 0
    waited = (waited_until(schedule, workload) - schedule.submit)[which]
    missed = 0
    if schedule.promised is not None:
        promised, gone = schedule.promised[which], site_requests.cancelled_at(workload)[which]
        missed = int(((promised != UNKNOWN) & ((gone < 0) | (promised < gone))).sum())
    count, mean, longest = int(which.sum()), float(waited.mean()), int(waited.max())
    return dict(zip(NAMES, (count, mean, longest), strict=True)), missed
