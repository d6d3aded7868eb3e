"""What the pass of kept promises on a site works with: its parameters and scratch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.order import FCFS
from shadowtime.types import Floats, Ints

COMPRESS = 1
"""1: promises move to earlier starts. The place 0 is that of the order (general_parts.py)."""
EFFORT = 2
"""How much a sweep may examine, in gains; 0: everything. The next pass continues with the rest."""
UNFINISHED = 3
"""1 if the sweep was left unfinished."""
EVERY_PASS = 4
"""1: there is a sweep in every pass, in which newcomers get their promise when their turn comes;
0: after early releases only, and newcomers come behind all others."""
MANY_GAINS = 256
"""With more gains than these a job is asked about all nodes at once."""
A_SEARCH = 1000
"""What a search for an earlier start costs, in gains looked at (measured, about)."""


class ConservativeState(NamedTuple):
    """The pass's parameters and scratch."""

    par: Ints  # int64[5]
    weight: Floats  # float64[3]
    line: Ints  # int64[n]: the queue in order
    jobs: Ints  # int64[n]: the queue by arrival
    heap: Ints  # int64[n]: places in jobs
    key: Floats  # float64[n]
    fact: Ints  # int64[n, FACTS]: kernel/record.py, for an order of the user's own
    memory: Floats  # float64[rows, numbers]
    series: Floats  # float64[words]: values over time, kernel/curve.py


def make_conservative(
    *,
    n: int,
    compress: bool,
    own: Any,
    order: int = FCFS,
    weight: tuple[float, float, float] = (0.0, 0.0, 0.0),
    every_pass: bool = False,
    effort: int = 0,
) -> ConservativeState:
    """Parameters and room for a run of ``n`` jobs."""
    return ConservativeState(
        par=np.array([order, compress, effort, 0, every_pass], np.int64),
        weight=np.array(weight, np.float64),
        line=np.empty(n + 1, np.int64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        fact=own.fact,
        memory=own.memory,
        series=own.series,
    )
