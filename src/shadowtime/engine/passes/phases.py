"""Backfilling in phases: which of the rest may start, in what order.

Behind the phases, what the general pass works with: its parameters and scratch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.partitions import hosts_with_a_tier, most_reservations
from shadowtime.kernel import balance
from shadowtime.kernel.fields import ESTIMATE, NEED
from shadowtime.kernel.general import General
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.order import FCFS, heapify, pop_first
from shadowtime.kernel.place import host_around, host_now, keep_able
from shadowtime.kernel.profile import make_profile, occupy
from shadowtime.kernel.record import FACTS
from shadowtime.kernel.registers import FAILED, NOW, SHADOW
from shadowtime.kernel.running import BACKFILLED, begin
from shadowtime.kernel.slots import BACKFILL_KEY, BACKFILL_TEST, TIME_WORDS, TIMERS, ask, asks
from shadowtime.kernel.state import State
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.engine.site.candidates import General as SiteGeneral
    from shadowtime.kernel.slots import OwnPointer

AROUND = 0
"""Test: fits now and for its whole estimate around every reservation."""
BY_SHADOW = 1
"""Test: fits now and is expected to end by the shadow time (PV-EASY's first phase)."""
FITS = 2
"""Test: fits now, whatever its estimate (greedy; PV-EASY's second phase)."""

NOT_WORSE = 3
"""Test: AROUND, and the resources are used no less evenly than now (IBB)."""
NOT_WORSE_FROZEN = 4
"""Test: the same against the balance at the beginning of the phase."""
LITERAL = 5
"""Test: AROUND, and the average use does not grow: Algorithm 1 of the IBB paper to the letter."""

ORDER = 0
"""Key: the queue's own order."""
SHORTEST = 1
"""Key: estimate ascending, then the queue's order."""
BALANCE = 2
"""Key: BB's score, taken again after each start."""
LEAST_USED = 3
"""Key: the largest request for the least used resource (BL), taken again after each start."""

OWN = 4
"""Key: a function of the user's own, higher first."""

TEST, KEY, AT_MOST = 0, 1, 2


@kernel
def run_phases(state: State, f: General, size: int, custom: OwnPointer) -> None:
    """Try the candidates in the heap, phase by phase; what does not start is tried in the next."""
    for number in range(f.par[PHASES]):
        test = f.phase[number, TEST]
        shortest = f.phase[number, KEY] == SHORTEST
        size = keep_able(state, f, size)
        if size == 0:
            return
        if asks(f, BACKFILL_TEST):
            size = keep_passing(state, f, size, custom)
        if f.phase[number, KEY] == OWN:
            fill_own_keys(state, f, size, custom)
        if state.reg[FAILED] >= 0:
            return
        f.frozen[0] = balance.fullest_with(state, f.scale, -1)
        f.frozen[1] = balance.sum_with(state, f.scale, -1)
        if f.phase[number, KEY] == BALANCE or f.phase[number, KEY] == LEAST_USED:
            size = run_by_score(state, f, size, number)
        else:
            size = run_in_order(state, f, size, test, shortest)


@kernel
def list_candidates(f: General | SiteGeneral, size: int) -> None:
    """List the jobs in the heap, to ask for them."""
    for i in range(size):
        f.asked[i] = f.jobs[f.heap[i]]


@kernel
def keep_passing(state: State, f: General | SiteGeneral, size: int, custom: OwnPointer) -> int:
    """Drop the candidates that a test of the user's own turns down."""
    list_candidates(f, size)
    f.answer[0, :size] = float(state.reg[SHADOW])
    ask(state, f, custom, BACKFILL_TEST, f.asked[:size], f.answer[0, :size])
    kept = 0
    for i in range(size):
        if f.answer[0, i] != 0.0:
            f.heap[kept] = f.heap[i]
            kept += 1
    return kept


@kernel
def fill_own_keys(state: State, f: General | SiteGeneral, size: int, custom: OwnPointer) -> None:
    """Give the candidates the keys that a function of the user's own returns."""
    list_candidates(f, size)
    ask(state, f, custom, BACKFILL_KEY, f.asked[:size], f.answer[0, :size])
    for i in range(size):
        f.key[f.heap[i]] = f.answer[0, i]


@kernel
def host_by_test(state: State, f: General, job: int, test: int) -> int:
    """Where the job may start now under a test, -1 if it may not."""
    if test == AROUND:
        return host_around(state, f, job, state.job[job, ESTIMATE])
    if test >= NOT_WORSE:
        if not keeps_balance(state, f, job, test):
            return -1
        return host_around(state, f, job, state.job[job, ESTIMATE])
    if test == BY_SHADOW and state.reg[NOW] + state.job[job, ESTIMATE] > state.reg[SHADOW]:
        return -1
    return host_now(state, f, job)


@kernel
def keeps_balance(state: State, f: General | SiteGeneral, job: int, test: int) -> bool:
    """IBB's test in its three readings."""
    if test == LITERAL:
        return balance.sum_with(state, f.scale, job) <= f.frozen[1]
    if test == NOT_WORSE_FROZEN:
        return balance.not_worse(state, f.scale, job, f.frozen[0], f.frozen[1])
    return balance.not_worse(
        state,
        f.scale,
        job,
        balance.fullest_with(state, f.scale, -1),
        balance.sum_with(state, f.scale, -1),
    )


@kernel
def start_backfilled(state: State, f: General, job: int, host: int, test: int) -> None:
    """Start a job ahead of the blocked ones."""
    if test == AROUND or test >= NOT_WORSE:
        now = state.reg[NOW]
        occupy(state, f.profile, job, host, now, now + state.job[job, ESTIMATE])
    begin(state, job, host, BACKFILLED)


@kernel
def run_in_order(state: State, f: General, size: int, test: int, shortest: bool) -> int:
    """Each candidate once, in order; those that do not start are kept for the next phase."""
    heapify(state, f.heap, size, f.jobs, f.key, shortest)
    total, kept = size, 0
    while size > 0:
        place = f.heap[0]
        job = f.jobs[place]
        size = pop_first(state, f.heap, size, f.jobs, f.key, shortest)
        host = host_by_test(state, f, job, test)
        if host >= 0:
            start_backfilled(state, f, job, host, test)
        else:  # the heap has shrunk by at least as much as is kept: the ends never meet
            kept += 1
            f.heap[total - kept] = place
    for i in range(kept):
        f.heap[i] = f.heap[total - kept + i]
    return kept


@kernel
def run_by_score(state: State, f: General, size: int, number: int) -> int:
    """The best candidate by a score that every start changes, again and again."""
    test, key = f.phase[number, TEST], f.phase[number, KEY]
    left = f.phase[number, AT_MOST]
    while True:
        size = keep_startable(state, f, size, test)
        if size == 0:
            return 0
        best = 0
        resource = balance.least_used(state, f.scale)
        for i in range(1, size):
            if scores_better(state, f, f.jobs[f.heap[i]], f.jobs[f.heap[best]], key, resource):
                best = i
        job = f.jobs[f.heap[best]]
        start_backfilled(state, f, job, host_by_test(state, f, job, test), test)
        size -= 1
        f.heap[best] = f.heap[size]
        left -= 1
        if left == 0:
            return size


@kernel
def keep_startable(state: State, f: General, size: int, test: int) -> int:
    """Drop the candidates that may not start; what is free only shrinks during a phase."""
    kept = 0
    for i in range(size):
        place = f.heap[i]
        if host_by_test(state, f, f.jobs[place], test) >= 0:
            f.heap[kept] = place
            kept += 1
    return kept


@kernel
def scores_better(
    state: State, f: General | SiteGeneral, a: int, b: int, key: int, resource: int
) -> bool:
    """True if job ``a`` is to be taken before job ``b``; ties go to arrival."""
    if key == BALANCE:
        if balance.balances_better(state, f.scale, a, b):
            return True
        if balance.balances_better(state, f.scale, b, a):
            return False
    elif state.job[a, NEED + resource] != state.job[b, NEED + resource]:
        return state.job[a, NEED + resource] > state.job[b, NEED + resource]
    return a < b


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
        among=hosts_with_a_tier(tier),
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
