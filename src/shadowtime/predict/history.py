"""What had ended when a job was submitted, as the log recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.types import Ints
    from shadowtime.workload import Workload


def recorded_ends(workload: Workload) -> Ints:
    """When each job ended: recorded start + run; without a recorded start as if it never waited.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 5], run=[10, 0], procs=[1, 1], recorded_start=[3, -1])
    >>> recorded_ends(jobs).tolist()
    [13, 6]
    """
    start = np.where(workload.recorded_start >= 0, workload.recorded_start, workload.submit)
    ends: Ints = np.maximum(start, workload.submit) + np.maximum(workload.effective_run, 1)
    return ends


def news_before(workload: Workload) -> Iterator[tuple[int, Ints]]:
    """Each job in submit order with the jobs that ended since the one before, by (end, id).

    A job that ends in the second of a submission has ended by then.
    """
    ends = recorded_ends(workload)
    by_end = np.lexsort((workload.job_id, ends))
    known = np.searchsorted(ends[by_end], workload.submit, side="right")
    before = 0
    for job, count in enumerate(known.tolist()):
        yield job, by_end[before:count]
        before = count
