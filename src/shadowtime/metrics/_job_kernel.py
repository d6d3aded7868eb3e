"""The compiled part of the metrics per job: every column in one walk, and what is made of them.

Each value is made by the same operations on the same numbers as in jobs.py and statistics.py, so
it is the same to the last bit; the tests compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.jit import entry, kernel
from shadowtime.metrics._rank_kernel import ranked_all
from shadowtime.metrics._sum_kernel import pairwise_sum

if TYPE_CHECKING:
    from shadowtime.types import Floats, Ints

WAIT, RESPONSE, SLOWDOWN, BOUNDED, PER_PROCESSOR, PAPER = 0, 1, 2, 3, 4, 5
"""Rows of ``table``; all but the last are reported as distributions."""
WIDE, WORKED, WEIGHED, ROWS = 6, 7, 8, 9
"""Products in ``table``, room for sorting later: PAPER x processors, BOUNDED x processor-seconds,
response x processor-seconds; and how many rows."""

WAITED, RESPONDED, LASTED, PROCS, AREA, PRODUCT, LONGEST, LARGEST, SUMS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Places in ``sums``, and how many: sums of waits, responses, runs, processors, areas, of responses
times areas; the longest response and the largest area, which bound that last sum."""

MEAN, RANKED = 0, 1
"""Columns of ``found`` for a distribution: its mean, then the values of ``ranks``."""


@entry
def score_jobs(
    wait: Ints,
    run: Ints,
    procs: Ints,
    tau: int,
    ranks: Ints,
    table: Floats,
    sums: Ints,
    found: Floats,
    sizes: Ints,
    firsts: Floats,
) -> None:
    """Columns of one job at least, their sums and values by rank.

    ``found`` has the row of every distribution, and in the rows PAPER, WIDE, WORKED and WEIGHED
    the sums of those columns. ``sizes`` and ``firsts`` are room for sums.
    """
    n = len(wait)
    _fill_columns(wait, run, procs, tau, table, sums)
    for row in range(SLOWDOWN, ROWS):
        found[row, MEAN] = pairwise_sum(table[row], 0, n, sizes, firsts)
    found[WAIT, MEAN], found[RESPONSE, MEAN] = float(sums[WAITED]), float(sums[RESPONDED])
    for row in range(PAPER):
        found[row, MEAN] /= float(n)
        ranked_all(
            table[row], ranks, table[WIDE], table[WORKED], table[WEIGHED], found[row, RANKED:]
        )


@kernel
def _fill_columns(wait: Ints, run: Ints, procs: Ints, tau: int, table: Floats, sums: Ints) -> None:
    """Response, slowdowns and products of every job, and sums of whole numbers."""
    waited = responded = lasted = wide = area = product = longest = largest = 0
    at, end = np.uint64(0), np.uint64(len(wait))
    one = np.uint64(1)
    while at < end:
        response = wait[at] + run[at]
        counted = max(run[at], tau)
        work = procs[at] * run[at]
        bounded = max(1.0, float(response) / float(counted))
        paper = float(wait[at] + counted) / float(counted)
        table[WAIT, at] = float(wait[at])
        table[RESPONSE, at] = float(response)
        table[SLOWDOWN, at] = float(response) / float(max(run[at], 1))
        table[BOUNDED, at] = bounded
        table[PER_PROCESSOR, at] = max(1.0, float(response) / float(procs[at] * counted))
        table[PAPER, at] = paper
        table[WIDE, at] = paper * float(procs[at])
        table[WORKED, at] = bounded * float(work)
        table[WEIGHED, at] = float(response) * float(work)
        waited += wait[at]
        responded += response
        lasted += run[at]
        wide += procs[at]
        area += work
        product += response * work
        longest = max(longest, response)
        largest = max(largest, work)
        at += one
    sums[WAITED] = waited
    sums[RESPONDED] = responded
    sums[LASTED] = lasted
    sums[PROCS] = wide
    sums[AREA] = area
    sums[PRODUCT] = product
    sums[LONGEST] = longest
    sums[LARGEST] = largest
