"""The jobs that the simulator pyss counts in its statistics (spec: algorithms 1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.runs import started

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray
    from shadowtime.workload import Workload


def pyss_filter(schedule: Schedule, workload: Workload) -> AnyArray:
    """Mask of the jobs that pyss would count, for comparing with results made by it.

    Rules
    -----
    Walk the jobs by end (ties by submit, then id), counting them. A tiny job (1 processor,
    estimate 1 s) is never scored and makes the size of the workload, at first the number of jobs,
    one smaller. A job is skipped while its count is at most floor(size / 100). The walk stops at
    the first end after the last submission.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 5], run=[3, 3], procs=[1, 1], recorded_start=[0, 5])
    >>> pyss_filter(Schedule.recorded(w), w).tolist()
    [True, False]
    """
    rows = np.flatnonzero(started(schedule))
    order = rows[np.lexsort((workload.job_id[rows], workload.submit[rows], schedule.end[rows]))]
    tiny = (workload.procs[order] == 1) & (workload.request[order] == 1)
    size = len(order) - np.cumsum(tiny)
    # As pyss counts: tiny jobs are not in the size that is compared, but they are in the count.
    count = np.arange(1, len(order) + 1)
    in_time = schedule.end[order] <= workload.submit.max(initial=0)
    mask = np.zeros(len(schedule), bool)
    mask[order] = ~tiny & (count > size // 100) & in_time
    return mask
