"""How jobs use their time limits: the measures of the HPerf thesis (spec: algorithms 6.4)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule
    from shadowtime.workload import Workload


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """Sums over all jobs in seconds; running + extra_requested is the sum of the limits, always.

    ``first_waiting`` is the smallest rank by submission of a job that waited, 0 if none did.
    """

    duration: int
    running: int
    extra_requested: int
    waiting: int
    extra_used: int
    killed: int
    first_waiting: int

    def as_dict(self) -> dict[str, int]:
        """By name, in the order of the thesis' tables."""
        return asdict(self)


def limit_use(schedule: Schedule, workload: Workload) -> LimitUse:
    """What became of the requested times.

    Rules
    -----
    The limit is the request; running past it is extra use, ending before it leaves requested time
    unused. ``killed`` counts jobs stopped at their limit and the grace.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 1], run=[50, 90], procs=[1, 1], request=[60, 60],
    ...                    limit=[90, 90], recorded_start=[0, 50])
    >>> use = limit_use(Schedule.recorded(w), w)
    >>> use.running, use.extra_requested, use.extra_used, use.waiting, use.first_waiting
    (110, 10, 30, 49, 2)
    """
    elapsed = schedule.end - schedule.start
    limit = np.maximum(workload.request, 1)
    waited = np.flatnonzero(schedule.start > workload.submit)
    return LimitUse(
        duration=int(schedule.end.max() - workload.submit.min()),
        running=int(np.minimum(elapsed, limit).sum()),
        extra_requested=int(np.maximum(0, limit - elapsed).sum()),
        waiting=int((schedule.start - workload.submit).sum()),
        extra_used=int(np.maximum(0, elapsed - limit).sum()),
        killed=int((schedule.killed == 1).sum()),
        first_waiting=int(waited[0]) + 1 if len(waited) else 0,
    )
