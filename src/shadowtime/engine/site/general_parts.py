"""What the general pass on a site works with: its parameters and scratch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

ORDER_KIND = 0
DEPTH = 1
PHASES = 2
"""1 if there is a phase of backfilling, 0 if no job overtakes."""
TEST = 3
KEY = 4
AT_MOST = 5
PLAN_NODES = 6
"""Most nodes that the plans of a pass can hold."""
KEPT_HEAD, KEPT_START, KEPT_AT, KEPT_CHANGES, KEPT_LAST = 0, 1, 2, 3, 4
"""Places in ``kept``: the head, its start, when the plan was made (releases, changes of nodes), and
the head whose plan was given up in this pass."""


class General(NamedTuple):
    """The pass's parameters and scratch."""

    par: Any  # int64[8]
    weight: Any  # float64[3]
    jobs: Any  # int64[n]: candidates
    heap: Any  # int64[n]: candidates still to be tried, as places in jobs
    key: Any  # float64[n]
    fact: Any  # int64[n, FACTS]: kernel/record.py, for an order of the user's own
    memory: Any  # float64[rows, numbers]
    scale: Any  # int64[R + 1]: kernel/balance.py
    frozen: Any  # int64[2]
    planned: Any  # int64[depth]: jobs with a plan in this pass
    kept: Any  # int64[5]: the head's plan that is kept while nothing is released


def make_general(
    *,
    n: int,
    order: int,
    weight: tuple[float, float, float],
    depth: int,
    plan_nodes: int,
    phase: tuple[int, int, int] | None,
    scale: Any,
    own: Any,
) -> General:
    """Parameters and room for a run of ``n`` jobs."""
    depth = min(depth, n)
    test, key, at_most = phase if phase is not None else (0, 0, 0)
    return General(
        par=np.array(
            [order, depth, phase is not None, test, key, at_most, plan_nodes, 0], np.int64
        ),
        weight=np.array(weight, np.float64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        fact=own.fact,
        memory=own.memory,
        scale=scale,
        frozen=np.zeros(2, np.int64),
        planned=np.empty(depth + 1, np.int64),
        kept=np.array([-1, 0, 0, 0, -1], np.int64),
    )
