"""The tables of a run filled from a workload's columns, and its results taken out: row by row.

A row of the table of jobs is two or three cache lines. Written column by column, each of them is
loaded many times; written row by row, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.fields import (
    AHEAD,
    BLOCKED_AT,
    CLASS,
    ENDS_AT,
    ESTIMATE,
    EXCLUSIVE,
    HOST,
    KILLS,
    LIMIT,
    NEED,
    PROMISED,
    RANK,
    REASON,
    REQUEST,
    RUN,
    START,
    STEPS,
    SUBMIT,
)
from shadowtime.kernel.jit import entry
from shadowtime.kernel.vector import ONE

if TYPE_CHECKING:
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
    need = np.uint64(NEED)
    while at < end:
        column = FIRST
        while column < width:
            job[at, column] = -1
            column += ONE
        job[at, SUBMIT] = submit[at]
        job[at, REQUEST] = request[at]
        job[at, LIMIT] = limit[at]
        job[at, ESTIMATE] = estimate[at]
        job[at, HOST] = job[at, REASON] = job[at, KILLS] = job[at, STEPS] = 0
        job[at, EXCLUSIVE] = job[at, CLASS] = job[at, AHEAD] = 0
        k = FIRST
        while k < resources:
            job[at, need + k] = demand[at, place[k]] if place[k] >= 0 else 0
            k += ONE
        truth[at, RUN] = run[at]
        truth[at, ENDS_AT] = -1
        truth[at, RANK] = of_rank[at] = np.int64(at)
        at += ONE


@entry
def read_results(job: Ints, run: Ints, limit: Ints, wide: Ints, narrow: SmallInts) -> bool:
    """Take the columns of a schedule out of the table of jobs; True if a job was ever stopped."""
    stopped = False
    at, end = FIRST, np.uint64(len(run))
    while at < end:
        start = job[at, START]
        wide[START_ROW, at] = start
        wide[PROMISED_ROW, at] = job[at, PROMISED]
        wide[BLOCKED_ROW, at] = job[at, BLOCKED_AT]
        wide[KILLS_ROW, at] = job[at, KILLS]
        # What earlier attempts left behind is 0 where there was none.
        wide[END_ROW, at] = start + min(run[at], limit[at]) - job[at, AHEAD]
        narrow[REASON_ROW, at] = job[at, REASON]
        narrow[KILLED_ROW, at] = run[at] > limit[at]
        stopped |= job[at, KILLS] != 0
        at += ONE
    return stopped
