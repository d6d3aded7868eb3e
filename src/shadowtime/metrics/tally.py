"""Columns and sums behind the metrics per job: jobs.py and statistics.py for a whole schedule."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shadowtime.kernel.columns import numbers_of
from shadowtime.metrics import _job_kernel as of
from shadowtime.metrics._job_kernel import DEPTH
from shadowtime.metrics.jobs import TAU, Jobs
from shadowtime.metrics.statistics import ranks_of
from shadowtime.types import AnyArray, Floats, Ints

MOST = (1 << 63) - 1
"""The largest sum of whole numbers."""


class Tally(NamedTuple):
    """Columns of some jobs with their statistics; the rows and sums are named in _job_kernel.py."""

    table: Floats
    """Wait, response, slowdown, bounded slowdown, the same per processor, PV-EASY's form, a row
    each; the rows behind them are room."""
    statistics: list[list[float]]
    """Of each of these columns but the last: mean, median, 95th and 99th percentile, maximum."""
    sums: dict[str, int]
    """Of whole numbers: run times, processors, processor-seconds."""
    paper: float
    """Sum of PV-EASY's form of the bounded slowdown."""
    by_procs: float
    """The same, each job weighed by its processors."""
    bounded: float
    """Sum of the bounded slowdowns, each weighed by its processor-seconds."""
    response: float
    """Sum of the responses, weighed likewise."""


def tally(jobs: Jobs) -> Tally | None:
    """Columns and sums of these jobs; None if there are none.

    Examples
    --------
    >>> from shadowtime.metrics.jobs import Jobs
    >>> found = tally(Jobs(wait=np.array([10]), run=np.array([5]), procs=np.array([2])))
    >>> found.table[:6].tolist(), found.by_procs, found.statistics[of.WAIT]
    ([[10.0], [15.0], [3.0], [1.5], [1.0], [2.0]], 4.0, [10.0, 10.0, 10.0, 10.0, 10.0])
    """
    n = len(jobs)
    if n == 0:
        return None
    wait, run, procs = as_row(jobs.wait), as_row(jobs.run), as_row(jobs.procs)
    ranks = _ranks(n)
    table, sums = np.empty((of.ROWS, n)), np.empty(1, of.SUMS)
    found = np.empty((of.ROWS, of.RANKED + len(ranks)))
    of.score_jobs(wait, run, procs, TAU, ranks, table, sums, found, *room_for_sums())
    whole, made = numbers_of(sums), found.tolist()
    exact = n * whole["longest"] * whole["largest"] <= MOST  # else it may have left 64 bits
    return Tally(
        table,
        made[: of.PAPER],
        whole,
        made[of.PAPER][of.MEAN],
        made[of.WIDE][of.MEAN],
        made[of.WORKED][of.MEAN],
        float(whole["product"]) if exact else made[of.WEIGHED][of.MEAN],
    )


@lru_cache(maxsize=16)
def _ranks(n: int) -> Ints:
    return np.array(ranks_of(n), np.int64)


def room_for_sums() -> tuple[Ints, Floats]:
    """What pairwise_sum needs."""
    return np.empty(DEPTH, np.int64), np.empty(DEPTH)


def as_row(column: AnyArray) -> Ints:
    """A column as compiled code takes it."""
    return np.ascontiguousarray(column, np.int64)
