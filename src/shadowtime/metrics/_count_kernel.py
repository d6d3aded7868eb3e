"""The compiled part of counting: which jobs are scored, and how many were backfilled, killed or
late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.jit import entry
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Ints, SmallInts

INSIDE, SCORED, STARTED = 0, 1, 2
"""Places in ``found``: jobs in the window, those of them that have run, all that have run."""
SCHEDULED, BEHIND, KILLED, BLOCKED, PROMISED, LATE, STOPPED, STOPS = 3, 4, 5, 6, 7, 8, 9, 10
"""Of the scored jobs: started by a policy, by backfilling, killed at the limit, blocked at the head
of the queue, promised a start, started later than that, preempted; and how often.
"""
EVER, COUNTS = 11, 12
"""Jobs that have run and were preempted, scored or not; how many places there are."""

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
    found: Ints,
) -> None:
    """Mark in ``which`` the jobs in the window that have a start and an end, and count."""
    at, last = np.uint64(0), np.uint64(len(inside))
    one = np.uint64(1)
    while at < last:
        ran = start[at] >= 0 and end[at] >= start[at]
        which[at] = inside[at] and ran
        found[INSIDE] += inside[at]
        found[STARTED] += ran
        found[EVER] += ran and kills[at] > 0
        if which[at]:
            found[SCORED] += 1
            found[SCHEDULED] += reason[at] != _RECORDED
            found[BEHIND] += reason[at] == _BACKFILLED
            found[KILLED] += killed[at] == 1
            found[BLOCKED] += blocked_at[at] != UNKNOWN
            found[PROMISED] += promised[at] != UNKNOWN
            found[LATE] += promised[at] != UNKNOWN and start[at] > promised[at]
            found[STOPPED] += kills[at] > 0
            found[STOPS] += kills[at]
        at += one
