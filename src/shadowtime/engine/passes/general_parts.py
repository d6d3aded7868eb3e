"""What the general pass works with: its parameters and scratch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.engine.partitions import every_host, hosts_with_a_tier, most_reservations
from shadowtime.engine.passes.phases import ORDER
from shadowtime.kernel.order import FCFS
from shadowtime.kernel.profile import make_profile
from shadowtime.kernel.record import FACTS
from shadowtime.kernel.slots import TIME_WORDS, TIMERS

ORDER_KIND = 0
DEPTH = 1
SUNNY_ONLY = 2
"""1: the reservation looks at running jobs that outrank the head alone (PV-EASY)."""
PREEMPT = 3
PRUNE = 4
PHASES = 5
"""Number of rows of ``phase`` in use."""

LASTING, KEYED = 7, 8
"""1 if the keys of a user's own order are taken once; the jobs whose keys were taken."""


class General(NamedTuple):
    """The pass's parameters and scratch."""

    par: Any  # int64[TIMES_FROM + 3 TIMERS]
    weight: Any  # float64[3]
    phase: Any  # int64[phases, 3]: test, key, at most (0: no bound)
    profile: Any  # Profile
    jobs: Any  # int64[n]: candidates
    heap: Any  # int64[n]: candidates still to be tried, as a heap of places in jobs
    key: Any  # float64[n]
    fact: Any  # int64[n, FACTS]: kernel/record.py
    memory: Any  # float64[rows, numbers]: what such functions remember of each user
    series: Any  # float64[words]: values over time, kernel/curve.py
    asked: Any  # int64[n]: jobs for which one is asked
    answer: Any  # float64[2, n]: what it returns; keys that stay as they are while a job waits
    scale: Any  # int64[K + 1]: balance.py
    tier: Any  # int64[2, classes, H]: place.py
    among: Any  # int64[2, classes, H + 1]: hosts with a tier, and last how many
    group: Any  # int64[H]: partition of a host
    cap: Any  # int64[groups, 2]: bounds of its reservations
    booked: Any  # int64[H + groups, K]: reserved in this pass on each host; then by group, counted
    frozen: Any  # int64[2]: fullest share and sum of shares at the beginning of a phase
    able: Any  # int8[n]: 1 for candidates that fit on some host at the beginning of the walk
    room: Any  # int64[K + 1]: most that is free of each resource on any host; idle hosts
    refused: Any  # int64[2 classes, K]: a need for which no reservation was allowed any more


def make_general(
    *,
    n: int,
    capacity: Any,
    order: int = FCFS,
    weight: tuple[float, float, float] = (0.0, 0.0, 0.0),
    depth: int = 1,
    sunny_only: bool = False,
    preempt: bool = False,
    prune: bool = False,
    phases: Any = ((0, ORDER, 0),),
    scale: Any = None,
    tables: Any = None,
    own: Any = None,
) -> General:
    """Parameters and room for a run of ``n`` jobs; ``own`` as engine/custom.py makes it."""
    asked = n + 1 if own is not None and own.bits else 1
    in_use = (0, 0) if own is None else (own.bits, int(own.lasting))
    timers = [word for timer in (own.timers if own is not None else ()) for word in timer]
    timers += [0] * (TIMERS * TIME_WORDS - len(timers))
    hosts, resources = capacity.shape
    tier = np.zeros((2, 1, hosts), np.int64) if tables is None else tables.tier
    depth = min(depth, n)
    widest = int(capacity[:, 0].max())
    most = depth if tables is None else min(n, most_reservations(tables.cap, widest))
    steps = 2 * min(n, widest) + 2 * most + 8
    return General(
        par=np.array(
            [order, depth, sunny_only, preempt, prune, len(phases), *in_use, 0, *timers],
            dtype=np.int64,
        ),
        weight=np.array(weight, np.float64),
        phase=np.array(phases, np.int64).reshape(-1, 3),
        profile=make_profile(hosts, steps, resources),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        fact=np.zeros((1, FACTS), np.int64) if own is None else own.fact,
        memory=np.zeros((1, 1)) if own is None else own.memory,
        series=np.zeros(1) if own is None else own.series,
        asked=np.zeros(asked, np.int64),
        answer=np.zeros((2, asked), np.float64),
        scale=np.zeros(resources + 1, np.int64) if scale is None else scale,
        tier=tier,
        among=every_host(hosts) if tables is None else hosts_with_a_tier(tier),
        group=np.zeros(hosts, np.int64) if tables is None else tables.group,
        cap=np.array([[depth, 0]], np.int64) if tables is None else tables.cap,
        booked=np.zeros((hosts + (1 if tables is None else len(tables.cap)), resources), np.int64),
        frozen=np.zeros(2, np.int64),
        able=np.zeros(n + 1, np.int8),
        room=np.zeros(resources + 1, np.int64),
        refused=np.zeros(
            (2 * (1 if tables is None else tables.tier.shape[1]), resources), np.int64
        ),
    )
