"""A part of a workload: by number of jobs or by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from shadowtime.workload.workload import Workload


def first_jobs(workload: Workload, count: int) -> Workload:
    """The first ``count`` jobs; all of them if there are fewer.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10, 20], run=[1, 1, 1], procs=[1, 1, 1])
    >>> first_jobs(w, 2).job_id.tolist()
    [1, 2]
    """
    return job_range(workload, 0, count)


def job_range(workload: Workload, start: int, stop: int) -> Workload:
    """The jobs at the places start, start + 1, ... stop - 1, counted from 0 in (submit, id) order.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10, 20], run=[1, 1, 1], procs=[1, 1, 1])
    >>> job_range(w, 1, 3).job_id.tolist()
    [2, 3]
    """
    if not 0 <= start <= stop:
        raise UsageError(f"jobs {start} to {stop} are no range; give 0 <= start <= stop")
    return workload.take(np.arange(start, max(start, min(stop, len(workload)))))


def time_window(workload: Workload, start: int, end: int) -> Workload:
    """The jobs submitted at start <= time < end, in seconds of the trace; times stay as they are.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 10, 20], run=[1, 1, 1], procs=[1, 1, 1])
    >>> time_window(w, 10, 20).job_id.tolist()
    [2]
    """
    if start > end:
        raise UsageError(f"the window {start} to {end} s ends before it starts")
    at = np.searchsorted(workload.submit, [start, end], side="left")
    return workload.take(np.arange(at[0], at[1]))
