"""The compiled part of the metrics per job: every column in one walk, and counts of jobs.

Each value is made by the same operations on the same numbers as in jobs.py, so it is the same to
the last bit; the tests compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.jit import entry
from shadowtime.types import UNKNOWN, Reason

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Floats, Ints, SmallInts

WAIT, RESPONSE = 0, 1
"""Rows of ``times``."""
SLOWDOWN, BOUNDED, PER_PROCESSOR, PAPER = 0, 1, 2, 3
"""Rows of ``ratios``."""
PROCS, AREA = 0, 1
"""Rows of ``weights``."""

RUN_SUM, PROCS_SUM, AREA_SUM, RESPONSE_SUM, LONGEST, LARGEST, SUMS = 0, 1, 2, 3, 4, 5, 6
"""Places in ``sums``, and how many: sums of runs, processors, areas, of responses times areas; the
longest response and the largest area, which bound that last sum."""

SCHEDULED, BEHIND, KILLED, BLOCKED, PROMISED, LATE, COUNTS = 0, 1, 2, 3, 4, 5, 6
"""Places in ``found``, and how many."""

_RECORDED, _BACKFILLED = int(Reason.RECORDED), int(Reason.BACKFILLED)


@entry
def fill_columns(
    wait: Ints,
    run: Ints,
    procs: Ints,
    tau: int,
    times: Ints,
    ratios: Floats,
    weights: Floats,
    sums: Ints,
) -> None:
    """Response, slowdowns and weights of every job, and the sums that weights need."""
    lasted = wide = area = weighed = longest = largest = 0
    at, end = np.uint64(0), np.uint64(len(wait))
    one = np.uint64(1)
    while at < end:
        response = wait[at] + run[at]
        counted = max(run[at], tau)
        work = procs[at] * run[at]
        times[WAIT, at] = wait[at]
        times[RESPONSE, at] = response
        ratios[SLOWDOWN, at] = float(response) / float(max(run[at], 1))
        ratios[BOUNDED, at] = max(1.0, float(response) / float(counted))
        ratios[PER_PROCESSOR, at] = max(1.0, float(response) / float(procs[at] * counted))
        ratios[PAPER, at] = float(wait[at] + counted) / float(counted)
        weights[PROCS, at] = float(procs[at])
        weights[AREA, at] = float(work)
        lasted += run[at]
        wide += procs[at]
        area += work
        weighed += response * work
        longest = max(longest, response)
        largest = max(largest, work)
        at += one
    sums[RUN_SUM] = lasted
    sums[PROCS_SUM] = wide
    sums[AREA_SUM] = area
    sums[RESPONSE_SUM] = weighed
    sums[LONGEST] = longest
    sums[LARGEST] = largest


@entry
def count_jobs(
    which: AnyArray,
    reason: SmallInts,
    killed: SmallInts,
    start: Ints,
    blocked_at: Ints,
    promised: Ints,
    found: Ints,
) -> None:
    """How many of these jobs were scheduled by a policy, backfilled, killed, blocked, promised."""
    at, end = np.uint64(0), np.uint64(len(which))
    one = np.uint64(1)
    while at < end:
        if which[at]:
            found[SCHEDULED] += reason[at] != _RECORDED
            found[BEHIND] += reason[at] == _BACKFILLED
            found[KILLED] += killed[at] == 1
            found[BLOCKED] += blocked_at[at] != UNKNOWN
            found[PROMISED] += promised[at] != UNKNOWN
            found[LATE] += promised[at] != UNKNOWN and start[at] > promised[at]
        at += one
