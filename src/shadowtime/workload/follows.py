"""Work that follows work: jobs that are submitted when others have ended, after a think time.

``Workload.follows`` has a row for every such relation: the job, the one it follows (ids), seconds,
and whether they count from the other's end (ENDED) or from its submission (SUBMITTED). Workflows,
SWF's preceding jobs and users' sessions are all written so.

Rules
-----
A job that follows others is submitted at the latest of their instants plus seconds, whatever its
own ``submit`` says. That one counts where the workload has none of the jobs that it follows. Its
begin time and cancellation keep their distance from the submission. A job that is cancelled or lost
counts as ended then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.types import (
    MAX_SPAN,
    NO_LIMIT,
    SINCE_END,
    SINCE_SUBMISSION,
    UNKNOWN,
    AnyArray,
    Ints,
)
from shadowtime.workload.site_requests import cancelled_at
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule

ENDED, SUBMITTED = SINCE_END, SINCE_SUBMISSION
CHILD, PARENT, SECONDS, SINCE = range(4)


def follow_table(rows: Iterable[tuple[int, int, int, int]]) -> Ints:
    """Rows of (job, the one it follows, seconds, ENDED or SUBMITTED) as a workload holds them."""
    return np.array(list(rows), np.int64).reshape(-1, 4)


def relations_of(workload: Workload) -> Ints:
    """The relations among jobs of a workload, by row instead of id; a cycle is refused.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> chain = follow_table([(2, 1, 30, ENDED), (2, 9, 0, ENDED)])
    >>> jobs = Workload.build(submit=[0, 0], run=[9, 9], procs=[1, 1], follows=chain)
    >>> relations_of(jobs).tolist()
    [[1, 0, 30, 0]]
    """
    given = workload.follows
    if not len(given):
        return given
    odd = (given[:, SECONDS] < 0) | (given[:, SECONDS] > MAX_SPAN)
    odd |= ~np.isin(given[:, SINCE], (ENDED, SUBMITTED))
    if odd.any():
        job, other, seconds, since = given[np.argmax(odd)].tolist()
        raise InputError(
            f"job {job} of {workload.name} follows job {other} by {seconds} s since {since}",
            hint="Give seconds from 0, since its end (0) or its submission (1).",
        )
    place = np.argsort(workload.job_id, kind="stable")
    ids = workload.job_id[place]
    at = np.minimum(np.searchsorted(ids, given[:, :SECONDS]), max(len(ids) - 1, 0))
    both = (ids[at] == given[:, :SECONDS]).all(axis=1) if len(ids) else np.zeros(len(given), bool)
    found: Ints = np.column_stack([place[at[both]], given[both, SECONDS:]]).astype(np.int64)
    left = set(range(len(workload))) - set(_in_turn(len(workload), found))
    if left:
        raise InputError(
            f"job {workload.job_id[min(left)]} of {workload.name} follows itself by way of others",
            hint="Leave out one of the relations of the cycle.",
        )
    return found


def _in_turn(count: int, relation: Ints) -> list[int]:
    """The rows, each behind those that it follows; those of a cycle are left out."""
    relation = relation[np.argsort(relation[:, PARENT], kind="stable")]
    first = np.searchsorted(relation[:, PARENT], np.arange(count + 1)).tolist()
    child = relation[:, CHILD].tolist()
    open_yet = np.bincount(relation[:, CHILD], minlength=count).tolist()
    turn = [row for row in range(count) if open_yet[row] == 0]
    for row in turn:
        for one in child[first[row] : first[row + 1]]:
            open_yet[one] -= 1
            if open_yet[one] == 0:
                turn.append(one)
    return turn


def follows_some(workload: Workload, relation: Ints | None = None) -> AnyArray:
    """Mask of the jobs that follow another one of the workload."""
    found = np.zeros(len(workload), bool)
    found[(relations_of(workload) if relation is None else relation)[:, CHILD]] = True
    return found


COMES_AT = "comes_at"
"""Column of a released workload: when a job that follows none is submitted, -1 where it does."""


def released(workload: Workload) -> tuple[Workload, Ints]:
    """The workload as an engine takes it, and the row of each of its jobs: all are there from the
    first submission on, by id, and those that follow none come by COMES_AT."""
    first = int(workload.submit.min(initial=NO_LIMIT))
    comes = np.where(follows_some(workload), UNKNOWN, workload.submit)
    made, order = moved(workload, np.full(len(workload), first))
    return made.replace(extra={**made.extra, COMES_AT: comes[order]}), order


def submissions(workload: Workload, schedule: Schedule) -> Ints:
    """When each job is submitted if the jobs end as in a schedule, whose rows are the workload's.

    A job behind one that never ended keeps its own submission.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 3], run=[9, 9], procs=[1, 1], recorded_start=[0, 40],
    ...                       follows=follow_table([(2, 1, 30, ENDED)]))
    >>> submissions(jobs, Schedule.recorded(jobs)).tolist()
    [0, 39]
    """
    relation = relations_of(workload)
    child, parent, seconds, since = relation.T
    mine = follows_some(workload, relation)
    left = cancelled_at(workload)
    left = np.where((left >= 0) & mine, left - workload.submit + schedule.submit, left)
    over = np.where(schedule.end >= 0, schedule.end, np.where(left >= 0, left, NO_LIMIT))
    found = np.where(mine, UNKNOWN, workload.submit)
    by_end = since == ENDED
    np.maximum.at(found, child[by_end], over[parent[by_end]] + seconds[by_end])
    for row in np.argsort(np.argsort(_in_turn(len(workload), relation))[child], kind="stable"):
        if since[row] == SUBMITTED:
            found[child[row]] = max(found[child[row]], found[parent[row]] + seconds[row])
    return np.where(found >= NO_LIMIT, workload.submit, found)


def as_submitted(workload: Workload, submit: Ints) -> tuple[Workload, Ints]:
    """The jobs at the submissions that a run found, row by row, as a log would have them: they
    follow none. What functions know of workflows becomes columns; also the rows they come from.

    A run with these gives the same schedule: so it is checked.
    """
    made, order = moved(workload, submit)
    known = {name: find(workload)[order] for name, find in COLUMNS.items()}
    none = np.empty((0, 4), np.int64)
    return made.replace(follows=none, extra={**known, **made.extra}), order


def moved(workload: Workload, submit: Ints) -> tuple[Workload, Ints]:
    """The jobs at other submissions, in order, and the rows they come from; see the rules."""
    by = submit - workload.submit

    def along(instant: Ints) -> Ints:
        return np.where(instant < 0, instant, instant + by)

    extra, asked = dict(workload.extra), workload.requests
    if "cancel_at" in extra:
        extra["cancel_at"] = along(extra["cancel_at"])
    if asked is not None:
        asked = replace(asked, begin=along(asked.begin), cancel_at=along(asked.cancel_at))
    order = np.lexsort((workload.job_id, submit))
    return workload.replace(submit=submit, extra=extra, requests=asked).take(order), order


def remaining_path(workload: Workload) -> Ints:
    """Requested seconds on the longest path from each job to the end of its workflow, its own
    included.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> fork = follow_table([(2, 1, 0, ENDED), (3, 1, 0, ENDED)])
    >>> jobs = Workload.build(submit=[0, 0, 0], run=[5, 7, 9], procs=[1, 1, 1], follows=fork)
    >>> remaining_path(jobs).tolist(), children(jobs).tolist(), workflows(jobs).tolist()
    ([14, 7, 9], [2, 0, 0], [1, 1, 1])
    """
    relation = relations_of(workload)
    longest = workload.request.tolist()
    behind: dict[int, list[int]] = {}
    for child, parent in relation[:, :SECONDS].tolist():
        behind.setdefault(parent, []).append(child)
    for row in reversed(_in_turn(len(workload), relation)):
        longest[row] += max((longest[one] for one in behind.get(row, ())), default=0)
    return np.array(longest, np.int64)


def children(workload: Workload) -> Ints:
    """How many jobs follow each job."""
    return np.bincount(relations_of(workload)[:, PARENT], minlength=len(workload))


def workflows(workload: Workload) -> Ints:
    """The workflow of each job: a column of that name, or the least id among the jobs that
    relations connect it with, -1 where it has none."""
    if "workflow" in workload.extra:
        return np.asarray(workload.extra["workflow"], np.int64)
    relation = relations_of(workload)
    found = workload.job_id.copy()
    ends = relation[:, :SECONDS]
    while len(ends):
        least = found[ends].min(axis=1)
        if (found[ends] == least[:, None]).all():
            break
        np.minimum.at(found, ends.ravel(), np.repeat(least, 2))
    alone = np.ones(len(workload), bool)
    alone[ends.ravel()] = False
    return np.where(alone, UNKNOWN, found)


def alone(workload: Workload) -> tuple[Ints, Ints]:
    """Submission and end of each job if none ever waited for the machine.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[5, 0], run=[9, 9], procs=[1, 1], job_id=[1, 2],
    ...                       follows=follow_table([(2, 1, 30, ENDED)]))
    >>> [column.tolist() for column in alone(jobs)]
    [[44, 5], [53, 14]]
    """
    relation = relations_of(workload)
    ahead: dict[int, list[tuple[int, int, int]]] = {}
    for child, parent, seconds, since in relation.tolist():
        ahead.setdefault(child, []).append((parent, seconds, since))
    submit, end = workload.submit.tolist(), workload.effective_run.tolist()
    for row in _in_turn(len(workload), relation):
        if row in ahead:
            submit[row] = max(
                (end if since == ENDED else submit)[parent] + seconds
                for parent, seconds, since in ahead[row]
            )
        end[row] += submit[row]
    return np.array(submit, np.int64), np.array(end, np.int64)


COLUMNS = {"remaining_path": remaining_path, "children": children, "workflow": workflows}
"""What functions of a policy may know of a job's workflow, by name."""


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
