"""Strict fairness: no later job holds what the first waiting job needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.check.report import Proof, not_made, proved, such, violated

if TYPE_CHECKING:
    from shadowtime.schedule.check.case import Case
    from shadowtime.types import Ints


def strictly_fair(case: Case) -> Proof:
    """After every pass, free and shadow processors together are less than the head needs.

    The head is the first waiting job by (submit, id). A running job is shadow while the head
    came before it, sunny otherwise. With several resources the head must be short of at least
    one of them even if every shadow job were gone. A sunny job that is preempted and goes back
    into the queue was delayed by later jobs too, which is a violation in itself.

    References
    ----------
    Yuan et al. 2010, sections 3.1 and 4.2.
    """
    name = "strictly-fair"
    if case.cluster.shape != "pool":
        return not_made(name, "it is defined on a pool only")
    if case.lost_are_missing:
        return not_made(name, "jobs were preempted, and the file of their attempts is missing")
    back = going_back(case)
    if back:
        return violated(name, back)
    at = np.flatnonzero(case.blocked)
    head = case.head[at]
    left = case.capacity - sunny(case)[at]
    unfair = np.flatnonzero((case.demand[head] <= left).all(axis=1))
    if len(unfair):
        k, row = int(unfair[0]), int(head[unfair[0]])
        free = case.capacity - case.used[at[k]]
        return violated(
            name,
            f"at {case.at[at[k]]} s {case.name(row)} waits for {case.demand[row, 0]} processors "
            f"with {free[0]} free and {left[k, 0] - free[0]} held by later jobs"
            f"{_such_as(case, int(case.at[at[k]]), row)}{such(len(unfair), 'instants')}",
        )
    return proved(name, f"{len(at)} instants with a queue, none unfair to its first job")


def filled_head(case: Case) -> Ints:
    """The head at each instant; where the queue is empty, the next job to be submitted."""
    submitted = np.searchsorted(case.workload.submit, case.at, side="right")
    return np.where(case.blocked, case.head, submitted)


def going_back(case: Case) -> str:
    """The first instant at which the head gives way to an earlier job, as a sentence; or nothing.

    Jobs come in order, so an earlier job can only come back from running: it was preempted
    though no job ahead of it was waiting.
    """
    head = filled_head(case)
    drop = np.flatnonzero(head[1:] < head[:-1])
    if len(drop) == 0:
        return ""
    k = int(drop[0])
    return (
        f"at {case.at[k + 1]} s {case.name(int(head[k + 1]))} is back in the queue, though at "
        f"{case.at[k]} s it was running and no earlier job was waiting"
    )


def sunny(case: Case) -> Ints:
    """What the jobs ahead of the head hold at each instant (where the queue is empty: all jobs).

    The head never gives way to an earlier job (checked before), so a run is sunny from the
    first instant at which the head is behind it until it ends.
    """
    head, runs = filled_head(case), case.runs
    since = np.searchsorted(head, runs.row, side="right")
    first = np.maximum(np.searchsorted(case.at, runs.since), since)
    last = np.searchsorted(case.at, runs.until)
    change = np.zeros((len(case.at) + 1, case.demand.shape[1]), np.int64)
    lit = first < last
    np.add.at(change, first[lit], case.demand[runs.row[lit]])
    np.subtract.at(change, last[lit], case.demand[runs.row[lit]])
    held: Ints = np.cumsum(change[:-1], axis=0)
    return held


def _such_as(case: Case, now: int, head: int) -> str:
    runs = case.runs
    shadow = runs.row[(runs.since <= now) & (now < runs.until) & (runs.row > head)]
    return f", such as {case.name(int(shadow.max()))}" if len(shadow) else ""


def sunny_absorbing(case: Case) -> Proof:
    """Every preempted attempt was shadow until it was stopped: an earlier job was waiting.

    Once no earlier job waits, none can come back into the queue (only jobs of the shadow are
    preempted, by earlier ones), so a job that has become sunny stays so. It is enough to look at
    the last pass before each preemption: had the job been sunny by then, it would have had to
    stay.

    References
    ----------
    Yuan et al. 2010, section 4.1 (every regular job is sunny for life; shadow turns to sunny).
    """
    name = "sunny-absorbing"
    if case.lost_are_missing:
        return not_made(name, "jobs were preempted, and the file of their attempts is missing")
    lost = case.lost
    if len(lost) == 0:
        return proved(name, "no job was preempted")
    before = np.searchsorted(case.at, lost.until) - 1
    wrong = np.flatnonzero(case.head[np.maximum(before, 0)] > lost.row)
    if len(wrong):
        first = int(wrong[np.argmin(lost.until[wrong])])
        return violated(
            name,
            f"{case.name(int(lost.row[first]))} was preempted at {lost.until[first]} s, though at "
            f"{case.at[before[first]]} s no earlier job was waiting",
        )
    return proved(name, f"{len(lost)} preempted runs, each with an earlier job waiting")
