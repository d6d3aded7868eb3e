"""The general pass on a site: order, plans for the first blocked jobs, backfilling in phases.

The steps are those of engine/passes/frame.py; what differs is that a place is tasks on named nodes,
that jobs may be put aside (limits, closed nodes), and that tiers come first in every order.
Plans are dropped at the end of the pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.engine.events import ROOM_NEEDED
from shadowtime.engine.passes.phases import (
    BALANCE,
    FITS,
    NOT_WORSE,
    SHORTEST,
    keeps_balance,
    scores_better,
)
from shadowtime.engine.site.events import (
    DONE,
    PASS_DUE,
    advance,
    carry_out_decisions,
    lacks_room,
)
from shadowtime.kernel.balance import fullest_with, least_used, sum_with
from shadowtime.kernel.fields import BLOCKED_AT, ESTIMATE, NEED, PROMISED, SUBMIT, WHICH
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.order import CUSTOM, FCFS, fill_keys
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import DECISIONS, NEVER, NOW, VOLATILE, WAITING
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.site.fields import (
    DUE,
    ENTRIES,
    PASS_PENDING,
    PLACE_COUNT,
    PLACE_FROM,
    RELEASED,
    TIER,
    TIERS,
)
from shadowtime.kernel.site.start import (
    ASIDE,
    BLOCKED,
    ask_earliest,
    ask_start,
    begin_placed,
    extend_overdue,
    hold_place,
    keep_place,
    might_start,
)

ORDER_KIND = 0
DEPTH = 1
PHASES = 2
"""1 if there is a phase of backfilling, 0 if nobody overtakes."""
TEST = 3
KEY = 4
AT_MOST = 5
PLAN_NODES = 6
"""Most nodes that the plans of a pass can hold."""


class Frame(NamedTuple):
    """The pass's parameters and scratch."""

    par: Any  # int64[8]
    weight: Any  # float64[3]
    jobs: Any  # int64[n]: candidates
    heap: Any  # int64[n]: candidates still to be tried, as places in jobs
    key: Any  # float64[n]
    column: Any  # int64[3, n]: submit, estimate and processors for a custom order
    scale: Any  # int64[R + 1]: kernel/balance.py
    frozen: Any  # int64[2]
    planned: Any  # int64[depth]: jobs with a plan in this pass


def make_frame(
    *,
    n: int,
    order: int,
    weight: tuple[float, float, float],
    depth: int,
    phase: tuple[int, int, int] | None,
    scale: Any,
    widest: int,
) -> Frame:
    """Parameters and room for a run of ``n`` jobs."""
    depth = min(depth, n)
    test, key, at_most = phase if phase is not None else (0, 0, 0)
    plan_nodes = min(depth * widest, 1 << 40)
    return Frame(
        par=np.array(
            [order, depth, phase is not None, test, key, at_most, plan_nodes, 0], np.int64
        ),
        weight=np.array(weight, np.float64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        column=np.empty((3, n + 1 if order == CUSTOM else 1), np.int64),
        scale=scale,
        frozen=np.zeros(2, np.int64),
        planned=np.empty(depth + 1, np.int64),
    )


@entry
def run(s: Any, w: Any, g: Any, e: Any, f: Any, custom: Any) -> int:
    """The event loop with this pass."""
    while True:
        if g.mark[PASS_PENDING] == 0:
            if lacks_room(s, g, f.par[PLAN_NODES]):
                return ROOM_NEEDED
            if advance(s, w, g, e) != PASS_DUE:
                return DONE
            g.mark[PASS_PENDING] = 1
        if lacks_room(s, g, f.par[PLAN_NODES]):
            return ROOM_NEEDED
        g.mark[PASS_PENDING] = 0
        decide(s, g, f, custom)
        carry_out_decisions(s, w, g, e)


@routine
def decide(s: Any, g: Any, f: Any, custom: Any) -> None:
    """One pass."""
    if s.reg[VOLATILE] != 0:
        extend_overdue(s, g)
    if s.reg[WAITING] == 0:
        return
    first_entry = g.mark[ENTRIES]
    size = in_order(s, g, f, custom)
    plans, size = start_and_plan(s, g, f, size)
    if size > 0:
        if f.par[TEST] == FITS:
            plans = drop_plans(s, g, f, plans)
        fill(s, g, f, size)
    if plans > 0:
        drop_plans(s, g, f, plans)
        close_gaps(s, g, first_entry)


@kernel
def sorted_already(g: Any, f: Any) -> bool:
    """True where the order is that of arrival."""
    return bool(f.par[ORDER_KIND] == FCFS and g.mark[TIERS] == 0)


@routine
def in_order(s: Any, g: Any, f: Any, custom: Any) -> int:
    """Gather the waiting jobs: ascending by arrival, or as a heap by (tier, key, arrival)."""
    now = s.reg[NOW]
    count = gather(s, f.jobs)
    for i in range(count):
        f.heap[i] = i
    if sorted_already(g, f):
        return count
    if f.par[ORDER_KIND] == CUSTOM:
        for i in range(count):
            job = f.jobs[i]
            f.column[0, i] = s.job[job, SUBMIT]
            f.column[1, i] = s.job[job, ESTIMATE]
            f.column[2, i] = s.job[job, NEED]
        custom(now, f.column[0, :count], f.column[1, :count], f.column[2, :count], f.key[:count])
    else:
        fill_keys(s, f.par[ORDER_KIND], f.weight, now, f.jobs, count, f.key)
    make_heap(s, g, f, count, False)
    return count


@kernel
def before(s: Any, g: Any, f: Any, shortest: bool, a: int, b: int) -> bool:
    """True if candidate ``a`` comes before ``b``: tier, estimate if asked, key, arrival."""
    one, other = f.jobs[a], f.jobs[b]
    if g.job[one, TIER] != g.job[other, TIER]:
        return bool(g.job[one, TIER] > g.job[other, TIER])
    if shortest and s.job[one, ESTIMATE] != s.job[other, ESTIMATE]:
        return bool(s.job[one, ESTIMATE] < s.job[other, ESTIMATE])
    if f.key[a] != f.key[b]:
        return bool(f.key[a] > f.key[b])
    return bool(one < other)


@routine
def sink(s: Any, g: Any, f: Any, size: int, at: int, shortest: bool) -> None:
    """Let a candidate sink in the heap."""
    heap = f.heap
    place = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and before(s, g, f, shortest, heap[child + 1], heap[child]):
            child += 1
        if before(s, g, f, shortest, place, heap[child]):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = place


@routine
def make_heap(s: Any, g: Any, f: Any, size: int, shortest: bool) -> None:
    """Make a heap of the candidates."""
    for at in range(size // 2 - 1, -1, -1):
        sink(s, g, f, size, at, shortest)


@kernel
def removed_first(s: Any, g: Any, f: Any, size: int, shortest: bool) -> int:
    """Remove the first candidate of the heap; returns the new size."""
    size -= 1
    if size > 0:
        f.heap[0] = f.heap[size]
        sink(s, g, f, size, 0, shortest)
    return size


@routine
def start_and_plan(s: Any, g: Any, f: Any, size: int) -> tuple[int, int]:
    """In order: start who fits, plan for blocked ones up to the depth.

    Returns how many plans there are and how many candidates are left in the heap.
    """
    plans = 0
    blocked = False
    simple = sorted_already(g, f)
    at = 0
    while at < size and (not blocked or (plans < f.par[DEPTH] and f.par[PHASES] != 0)):
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(s, g, f, size, False)
        alt = ask_start(s, g, job)
        if alt >= 0:
            reason = HEAD if s.job[job, BLOCKED_AT] < 0 else RESERVED
            begin_placed(s, g, job, alt, BACKFILLED if blocked else reason)
            continue
        if alt == ASIDE:
            continue
        if blocked:
            plans += plan(s, g, f, job, plans)
            continue
        blocked = True
        first_time = s.job[job, BLOCKED_AT] < 0
        if first_time:
            s.job[job, BLOCKED_AT] = s.reg[NOW]
        if not first_time and (f.par[PHASES] == 0 or not anybody_might(s, g, f, at, size)):
            return 0, 0
        if f.par[DEPTH] > 0:
            made = plan(s, g, f, job, plans)
            if made and first_time:
                s.job[job, PROMISED] = g.job[job, DUE]
            plans += made
    if f.par[PHASES] == 0:
        return plans, 0
    for i in range(at, size):
        f.heap[i - at] = f.heap[i]
    return plans, size - at


@kernel
def anybody_might(s: Any, g: Any, f: Any, first: int, size: int) -> bool:
    """False if none of the candidates can start now, whatever is planned."""
    at = first
    while at < size and not might_start(s, g, f.jobs[f.heap[at]]):
        at += 1
    return at < size


@routine
def plan(s: Any, g: Any, f: Any, job: int, plans: int) -> bool:
    """Give a blocked job its earliest start; False if there is none."""
    start, alt = ask_earliest(s, g, job, s.reg[NOW], NEVER, True)
    if alt < 0:
        return False
    keep_place(g, job, alt)
    g.job[job, DUE] = start
    now = s.reg[NOW]
    hold_place(g, job, now, start, start + s.job[job, ESTIMATE], -1)
    f.planned[plans] = job
    return True


@routine
def drop_plans(s: Any, g: Any, f: Any, plans: int) -> int:
    """Forget the plans of this pass."""
    now = s.reg[NOW]
    for i in range(plans):
        job = f.planned[i]
        start = g.job[job, DUE]
        hold_place(g, job, now, start, start + s.job[job, ESTIMATE], 1)
        g.job[job, DUE] = NEVER
    if plans > 0:
        g.mark[RELEASED] += 1
    return 0


@routine
def close_gaps(s: Any, g: Any, first: int) -> None:
    """Move the places of started jobs over those of the plans that were dropped."""
    at = first
    for i in range(s.reg[DECISIONS]):
        job = s.did[WHICH, i]
        source = g.job[job, PLACE_FROM]
        g.job[job, PLACE_FROM] = at
        for k in range(g.job[job, PLACE_COUNT]):
            g.place[at + k] = g.place[source + k]
        at += g.job[job, PLACE_COUNT]
    g.mark[ENTRIES] = at


@routine
def fill(s: Any, g: Any, f: Any, size: int) -> None:
    """Backfilling: who of the rest may start, in what order."""
    f.frozen[0] = fullest_with(s, f.scale, -1)
    f.frozen[1] = sum_with(s, f.scale, -1)
    if f.par[KEY] >= BALANCE:
        fill_by_score(s, g, f, size)
        return
    shortest = f.par[KEY] == SHORTEST
    simple = sorted_already(g, f) and not shortest
    if shortest:
        make_heap(s, g, f, size, True)
    at = 0
    while at < size:
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(s, g, f, size, shortest)
        if f.par[TEST] >= NOT_WORSE and not keeps_balance(s, f, job, f.par[TEST]):
            continue
        alt = ask_start(s, g, job)
        if alt >= 0:
            begin_placed(s, g, job, alt, BACKFILLED)


@routine
def fill_by_score(s: Any, g: Any, f: Any, size: int) -> None:
    """The best candidate by a score that every start changes, again and again."""
    left = f.par[AT_MOST]
    while True:
        kept = 0
        for i in range(size):
            if ask_start(s, g, f.jobs[f.heap[i]]) >= 0:
                f.heap[kept] = f.heap[i]
                kept += 1
        size = kept
        if size == 0:
            return
        best = 0
        resource = least_used(s, f.scale)
        for i in range(1, size):
            if scores_better(s, f, f.jobs[f.heap[i]], f.jobs[f.heap[best]], f.par[KEY], resource):
                best = i
        job = f.jobs[f.heap[best]]
        alt = ask_start(s, g, job)
        begin_placed(s, g, job, alt, BACKFILLED)
        size -= 1
        f.heap[best] = f.heap[size]
        left -= 1
        if left == 0:
            return


__all__ = ["BLOCKED", "Frame", "decide", "make_frame", "run"]
