"""The compiled part of counting: which jobs are scored, how many were backfilled, killed or late,
and fairness between users: their means, Jain's index, the Gini coefficient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.columns import whole
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry
from shadowtime.metrics._job_kernel import pairwise_sum
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Floats, Ints, Rows, SmallInts


COUNTS = whole(
    "inside",  # jobs in the window
    "scored",  # those of them that have run
    "started",  # all that have run
    "ever",  # of these: preempted
    # Of the scored jobs:
    "scheduled",  # started by a policy
    "behind",  # started by backfilling
    "killed",  # at the limit
    "blocked",  # at the head of the queue
    "promised",  # a start
    "late",  # started later than that
    "stopped",  # preempted,
    "stops",  # and how often
)

_RECORDED, _BACKFILLED = int(Reason.RECORDED), int(Reason.BACKFILLED)


@entry
def count_jobs(
    inside: AnyArray,
    start: Ints,
    end: Ints,
    reason: SmallInts,
    killed: SmallInts,
    kills: Ints,
    blocked_at: Ints,
    promised: Ints,
    which: AnyArray,
    found: Rows,
) -> None:
    """Mark in ``which`` the jobs in the window that have a start and an end, and count."""
    at, last = np.uint64(0), np.uint64(len(inside))
    one = np.uint64(1)
    while at < last:
        ran = start[at] >= 0 and end[at] >= start[at]
        which[at] = inside[at] and ran
        found["inside"][0] += inside[at]
        found["started"][0] += ran
        found["ever"][0] += ran and kills[at] > 0
        if which[at]:
            found["scored"][0] += 1
            found["scheduled"][0] += reason[at] != _RECORDED
            found["behind"][0] += reason[at] == _BACKFILLED
            found["killed"][0] += killed[at] == 1
            found["blocked"][0] += blocked_at[at] != UNKNOWN
            found["promised"][0] += promised[at] != UNKNOWN
            found["late"][0] += promised[at] != UNKNOWN and start[at] > promised[at]
            found["stopped"][0] += kills[at] > 0
            found["stops"][0] += kills[at]
        at += one


SUM, MEANS, HEAP, TABLES = 0, 1, 2, 3
"""Rows of ``table``: a sum for each number of a user, means of users, the same as a heap."""
JAIN, GINI, RESULTS = 0, 1, 2
"""Places in ``found``, and how many."""
SPARSE = -1


@entry
def fairness_indexes(
    values: Floats,
    user: Ints,
    table: Floats,
    jobs: Ints,
    found: Floats,
    sizes: Ints,
    firsts: Floats,
) -> int:
    """Indexes of the users' mean values; how many users are known, SPARSE if ``jobs`` is too short.

    ``jobs`` has a place for each number of a user, and so have the rows of ``table``; ``sizes``
    and ``firsts`` are room for sums.
    """
    numbers = 0
    for at in range(len(user)):
        numbers = max(numbers, user[at] + 1)
    if numbers > len(jobs):
        return SPARSE
    sums, means, heap = table[SUM], table[MEANS], table[HEAP]
    for number in range(numbers):
        sums[number] = 0.0
        jobs[number] = 0
    for at in range(len(user)):
        if user[at] > UNKNOWN:
            sums[user[at]] += values[at]
            jobs[user[at]] += 1
    users = 0
    for number in range(numbers):
        if jobs[number] > 0:
            means[users] = sums[number] / float(jobs[number])
            users += 1
    if users == 0:
        return 0
    total = pairwise_sum(means, 0, users, sizes, firsts)
    size = 0
    for k in range(users):
        size = push(heap, size, means[k])
        sums[k] = means[k] * means[k]
    squares = pairwise_sum(sums, 0, users, sizes, firsts)
    for k in range(users):
        sums[k] = heap[0] * float(2 * (k + 1) - users - 1)
        size = pop(heap, size)
    apart = pairwise_sum(sums, 0, users, sizes, firsts)
    found[JAIN] = total * total / (float(users) * squares)
    found[GINI] = apart / (float(users) * total)
    return users
