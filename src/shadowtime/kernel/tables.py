"""The tables of a run filled from a workload's columns, and its results taken out: row by row.

A row of the table of jobs is two or three cache lines. Written column by column, each of them is
loaded many times; written row by row, once.
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel import fields as f
from shadowtime.kernel.jit import entry
from shadowtime.kernel.vector import ONE
from shadowtime.types import Ints, SmallInts

FIRST = np.uint64(0)

START_ROW, PROMISED_ROW, BLOCKED_ROW, KILLS_ROW, END_ROW, WIDE = 0, 1, 2, 3, 4, 5
"""Rows of ``wide``, and how many."""
REASON_ROW, KILLED_ROW, NARROW = 0, 1, 2
"""Rows of ``narrow``, and how many."""


@entry
def fill_tables(
    submit: Ints,
    request: Ints,
    limit: Ints,
    estimate: Ints,
    run: Ints,
    demand: Ints,
    place: Ints,
    job: Ints,
    truth: Ints,
    of_rank: Ints,
) -> None:
    """Write the rows of fresh jobs, whose ids ascend, and of the truth about them.

    ``place`` is the column of ``demand`` that holds each resource of the machine, -1 if none does.
    """
    at, end = FIRST, np.uint64(len(submit))
    width, resources = np.uint64(job.shape[1]), np.uint64(len(place))
    need = np.uint64(f.NEED)
    while at < end:
        column = FIRST
        while column < width:
            job[at, column] = -1
            column += ONE
        job[at, f.SUBMIT] = submit[at]
        job[at, f.REQUEST] = request[at]
        job[at, f.LIMIT] = limit[at]
        job[at, f.ESTIMATE] = estimate[at]
        job[at, f.HOST] = job[at, f.REASON] = job[at, f.KILLS] = job[at, f.STEPS] = 0
        job[at, f.EXCLUSIVE] = job[at, f.CLASS] = job[at, f.AHEAD] = 0
        k = FIRST
        while k < resources:
            job[at, need + k] = demand[at, place[k]] if place[k] >= 0 else 0
            k += ONE
        truth[at, f.RUN] = run[at]
        truth[at, f.ENDS_AT] = -1
        truth[at, f.RANK] = of_rank[at] = np.int64(at)
        at += ONE


@entry
def read_results(job: Ints, run: Ints, limit: Ints, wide: Ints, narrow: SmallInts) -> bool:
    """Take the columns of a schedule out of the table of jobs; True if a job was ever stopped."""
    stopped = False
    at, end = FIRST, np.uint64(len(run))
    while at < end:
        start = job[at, f.START]
        wide[START_ROW, at] = start
        wide[PROMISED_ROW, at] = job[at, f.PROMISED]
        wide[BLOCKED_ROW, at] = job[at, f.BLOCKED_AT]
        wide[KILLS_ROW, at] = job[at, f.KILLS]
        # What earlier attempts left behind is 0 where there was none.
        wide[END_ROW, at] = start + min(run[at], limit[at]) - job[at, f.AHEAD]
        narrow[REASON_ROW, at] = job[at, f.REASON]
        narrow[KILLED_ROW, at] = run[at] > limit[at]
        stopped |= job[at, f.KILLS] != 0
        at += ONE
    return stopped
