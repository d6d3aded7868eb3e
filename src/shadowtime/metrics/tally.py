"""Every column that the metrics per job are made of, at once: jobs.py for a whole schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.metrics.jobs import TAU, sum_of_products

if TYPE_CHECKING:
    from shadowtime.metrics.jobs import Jobs
    from shadowtime.types import AnyArray, Floats, Ints

MOST = (1 << 63) - 1
"""The largest sum of whole numbers."""


class Tally(NamedTuple):
    """Columns of some jobs, a row of each table a column; the rows are named in _job_kernel.py."""

    times: Ints
    """Wait, response."""
    ratios: Floats
    """Slowdown, bounded slowdown, the same per processor, PV-EASY's form."""
    weights: Floats
    """Processors, processor-seconds."""
    sums: tuple[int, int, int]
    """Of the run times, the processors, the processor-seconds."""
    weighed: float
    """Sum of responses times processor-seconds."""


def tally(jobs: Jobs) -> Tally:
    """The columns of these jobs.

    Examples
    --------
    >>> from shadowtime.metrics.jobs import Jobs
    >>> found = tally(Jobs(wait=np.array([10]), run=np.array([5]), procs=np.array([2])))
    >>> found.times.tolist(), found.ratios.tolist(), found.sums
    ([[10], [15]], [[3.0], [1.5], [1.0], [2.0]], (5, 2, 10))
    """
    from shadowtime.metrics._job_kernel import SUMS, fill_columns

    n = len(jobs)
    times, sums = np.empty((2, n), np.int64), np.empty(SUMS, np.int64)
    ratios, weights = np.empty((4, n)), np.empty((2, n))
    wait, run, procs = (as_row(column) for column in (jobs.wait, jobs.run, jobs.procs))
    fill_columns(wait, run, procs, TAU, times, ratios, weights, sums)
    lasted, wide, area, weighed, longest, largest = sums.tolist()
    exact = n * longest * largest <= MOST  # else it may have left 64 bits
    response = float(weighed) if exact else sum_of_products(times[1], weights[1])
    return Tally(times, ratios, weights, (lasted, wide, area), response)


def product_sum(a: Ints, b: Ints) -> float:
    """Sum of products of whole numbers: exact, and without the threads of BLAS, unless it is huge.

    Examples
    --------
    >>> product_sum(np.array([2, 3]), np.array([10, 100]))
    320.0
    """
    if len(a) * int(a.max(initial=0)) * int(b.max(initial=0)) > MOST:
        return sum_of_products(a, b)
    return float(a @ b)


def as_row(column: AnyArray) -> Ints:
    """A column as compiled code takes it."""
    return np.ascontiguousarray(column, np.int64)
