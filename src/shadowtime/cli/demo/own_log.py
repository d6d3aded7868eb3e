"""A few jobs of a log as the lesson of demo --step."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.study.lesson import Job

if TYPE_CHECKING:
    from shadowtime.workload import Workload

MOST = len(ascii_uppercase)
"""A job is a letter."""


def lesson_jobs(workload: Workload, first: int, last: int | None) -> dict[str, tuple[int, Job]]:
    """The jobs from a place to before another, by letter, each with its number in the log.

    Times are minutes from the first of them on, rounded up, so that none ends before it has.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> log = Workload.build(job_id=[7, 9], submit=[600, 690], run=[61, 60], procs=[2, 1])
    >>> lesson_jobs(log, 0, None)["B"]
    (9, Job(name='B', submit=2, procs=1, request=1, run=1))
    """
    rows = range(len(workload))[first : first + MOST if last is None else last]
    if not rows:
        raise UsageError(f"--jobs: {workload.name} has {len(workload):,} jobs: take some of them")
    if len(rows) > MOST:
        raise UsageError(f"--jobs: at most {MOST} can be watched at once, not {len(rows):,}")
    zero = int(workload.submit[rows[0]])
    found = {}
    for letter, row in zip(ascii_uppercase, rows, strict=False):
        seconds = [int(workload.submit[row]) - zero, int(workload.request[row])]
        submit, request = (int(-(-one // 60)) for one in seconds)
        run = int(np.ceil(min(int(workload.run[row]), int(workload.request[row])) / 60))
        procs = int(workload.procs[row])
        job = Job(letter, submit, procs, max(1, request), max(1, run))
        found[letter] = (int(workload.job_id[row]), job)
    return found
