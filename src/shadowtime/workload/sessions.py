"""Users' sessions: batches of jobs, and think times between the end of one and the next.

References
----------
E. Shmueli and D. G. Feitelson, Using site-level modeling to evaluate the performance of parallel
system schedulers, MASCOTS 2006: sessions, batches, and twenty minutes as the longest think time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import UNKNOWN
from shadowtime.workload.follows import ENDED, SUBMITTED, follow_table

if TYPE_CHECKING:
    from shadowtime.workload.workload import Workload

THINK = 20 * 60
"""The longest think time in seconds: a user who returns later begins a new session."""


def closed_loop(workload: Workload, *, think: int = THINK) -> Workload:
    """The workload in which users submit when their earlier jobs have ended.

    Rules
    -----
    Relations that the workload has stay; else those of the log's preceding jobs and think times
    (SWF's fields 17 and 18), where it gives any; else those of its sessions: a user's jobs in the
    order of submission. A job submitted before all earlier ones of the batch have ended belongs to
    the batch: the user did not wait for them, and it keeps its distance from the batch's first
    submission. One submitted later begins a batch that follows the one before, if the think time
    is at most ``think``; else a session, which comes when it came. Jobs of unknown users are
    sessions of their own, and so are jobs without a recorded start.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 5, 120, 9000], run=[60, 60, 60, 60], procs=[1] * 4,
    ...                       user=[1, 1, 1, 1], recorded_start=[0, 40, 120, 9000])
    >>> closed_loop(jobs).follows.tolist()
    [[2, 1, 5, 1], [3, 1, 20, 0], [3, 2, 20, 0]]
    """
    if len(workload.follows):
        return workload
    before = workload.extra.get("preceding_job")
    if before is not None and bool((before > 0).any()):
        seconds = np.maximum(workload.extra.get("think_time", before * 0), 0)
        rows = np.column_stack([workload.job_id, before, seconds, before * 0 + ENDED])
        return workload.replace(follows=np.ascontiguousarray(rows[before > 0]))
    return workload.replace(follows=follow_table(_of_sessions(workload, think)))


def _of_sessions(workload: Workload, think: int) -> list[tuple[int, int, int, int]]:
    known = workload.recorded_start != UNKNOWN
    if not bool(known.any()):
        raise UsageError(f"{workload.name} records no starts: what its users waited for is unknown")
    end = np.where(known, workload.recorded_start + workload.effective_run, UNKNOWN)
    found: list[tuple[int, int, int, int]] = []
    batch: dict[int, tuple[list[int], int, int]] = {}
    """User to the jobs of the current batch, its first submission and its end so far."""
    ids, users = workload.job_id.tolist(), workload.user.tolist()
    submits, ends, knows = workload.submit.tolist(), end.tolist(), known.tolist()
    for job, user, submit, until, certain in zip(ids, users, submits, ends, knows, strict=True):
        if user == UNKNOWN or not certain:
            continue
        jobs, first, ended = batch.get(user, ([], 0, -1))
        if jobs and submit < ended:
            found.append((job, jobs[0], submit - first, SUBMITTED))
            jobs.append(job)
            batch[user] = jobs, first, max(ended, until)
            continue
        if jobs and submit - ended <= think:
            found += [(job, other, submit - ended, ENDED) for other in jobs]
        batch[user] = [job], submit, until
    return found
