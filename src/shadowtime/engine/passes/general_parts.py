"""What the general pass works with: its parameters and scratch."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.engine.partitions import every_host, hosts_with_a_tier, most_reservations
from shadowtime.engine.passes.phases import ORDER
from shadowtime.kernel.general import General
from shadowtime.kernel.order import FCFS
from shadowtime.kernel.profile import make_profile
from shadowtime.kernel.record import FACTS
from shadowtime.kernel.slots import TIME_WORDS, TIMERS
from shadowtime.types import Ints

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


def make_general(
    *,
    n: int,
    capacity: Ints,
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
