"""What the general pass on a site works with: its parameters and scratch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.slots import TIME_WORDS, TIMERS, TIMES_FROM
from shadowtime.types import Floats, Ints

ORDER_KIND = 0
DEPTH = 1
PHASES = 2
"""1 if there is a phase of backfilling, 0 if no job overtakes."""
TEST = 3
KEY = 4
AT_MOST = 5
PLAN_NODES = 7
"""Most nodes that the plans of a pass can hold. The places 6 (slots in use) and from 9 on (timers)
are those of kernel/slots.py."""
KEPT_HEAD, KEPT_START, KEPT_AT, KEPT_CHANGES, KEPT_LAST = 0, 1, 2, 3, 4
"""Places in ``kept``: the head, its start, when the plan was made (releases, changes of nodes), and
the head whose plan was given up in this pass."""


class General(NamedTuple):
    """The pass's parameters and scratch."""

    par: Ints  # int64[TIMES_FROM + 3 TIMERS]
    weight: Floats  # float64[3]
    jobs: Ints  # int64[n]: candidates
    heap: Ints  # int64[n]: candidates still to be tried, as places in jobs
    key: Floats  # float64[n]
    fact: Ints  # int64[n, FACTS]: kernel/record.py, for functions of the user's own
    memory: Floats  # float64[rows, numbers]: what such functions remember
    series: Floats  # float64[words]: values over time, kernel/curve.py
    asked: Ints  # int64[n]: jobs, or rows of the memory, for which one is asked
    answer: Floats  # float64[1, n]: what it returns
    scale: Ints  # int64[R + 1]: kernel/balance.py
    frozen: Ints  # int64[2]
    planned: Ints  # int64[depth]: jobs with a plan in this pass
    kept: Ints  # int64[5]: the head's plan that is kept while nothing is released


def make_general(
    *,
    n: int,
    order: int = 0,
    weight: tuple[float, float, float] = (0.0, 0.0, 0.0),
    depth: int,
    plan_nodes: int = 0,
    phase: tuple[int, int, int] | None = None,
    scale: Any = None,
    own: Any,
) -> General:
    """Parameters and room for a run of ``n`` jobs."""
    depth = min(depth, n)
    test, key, at_most = phase if phase is not None else (0, 0, 0)
    asked = max(n, len(own.memory)) + 1 if own.bits else 1
    par = np.zeros(TIMES_FROM + TIMERS * TIME_WORDS, np.int64)
    par[:8] = order, depth, phase is not None, test, key, at_most, own.bits, plan_nodes
    timers = [word for timer in own.timers for word in timer]
    par[TIMES_FROM : TIMES_FROM + len(timers)] = timers
    return General(
        par=par,
        weight=np.array(weight, np.float64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        fact=own.fact,
        memory=own.memory,
        series=own.series,
        asked=np.zeros(asked, np.int64),
        answer=np.zeros((1, asked), np.float64),
        scale=np.zeros(2, np.int64) if scale is None else scale,
        frozen=np.zeros(2, np.int64),
        planned=np.empty(depth + 1, np.int64),
        kept=np.array([-1, 0, 0, 0, -1], np.int64),
    )
