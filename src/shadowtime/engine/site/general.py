"""The general pass on a site: order, plans for the first blocked jobs, backfilling in phases.

The steps are those of engine/passes/general.py; what differs is that a place is tasks on named
nodes, that jobs may be put aside (limits, closed nodes), and that tiers come first in every order.
Plans are dropped at the end of the pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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
    ROOM_NEEDED,
    carry_out_decisions,
    lacks_room,
    next_pass,
)
from shadowtime.kernel.balance import fullest_with, least_used, sum_with
from shadowtime.kernel.fields import BLOCKED_AT, ESTIMATE, PROMISED, WHICH
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.order import CUSTOM, FCFS, fill_keys
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import DECISIONS, NEVER, NOW, VOLATILE, WAITING
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.site.choose import choose
from shadowtime.kernel.site.fields import (
    ALT,
    ALT_SHAPE,
    ANY_CLOSING,
    ASK,
    CHANGES,
    CHOSEN,
    DUE,
    ENTRIES,
    FIRST_FIT,
    GIVEN,
    HAS_LIMITS,
    PLACE_COUNT,
    PLACE_FROM,
    PLACE_RULE,
    PLACEABLE,
    PLACED,
    RELEASED,
    SHAPE,
    TIER,
    TIERS,
)
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.start import (
    ASIDE,
    BLOCKED,
    ask_earliest,
    ask_start,
    begin_placed,
    extend_overdue,
    hold_plan,
    hopeful,
    keep_place,
    might_start,
)
from shadowtime.kernel.slots import ORDER, ask

ORDER_KIND = 0
DEPTH = 1
PHASES = 2
"""1 if there is a phase of backfilling, 0 if no job overtakes."""
TEST = 3
KEY = 4
AT_MOST = 5
KEPT_HEAD, KEPT_START, KEPT_AT, KEPT_CHANGES, KEPT_LAST = 0, 1, 2, 3, 4
"""Places in ``kept``: the head, its start, when the plan was made (releases, changes of nodes), and
the head whose plan was given up in this pass."""
PLAN_NODES = 6
"""Most nodes that the plans of a pass can hold."""


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
    phase: tuple[int, int, int] | None,
    scale: Any,
    widest: int,
    own: Any,
) -> General:
    """Parameters and room for a run of ``n`` jobs."""
    depth = min(depth, n)
    test, key, at_most = phase if phase is not None else (0, 0, 0)
    plan_nodes = min(depth * widest, 1 << 40)
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


@entry
def run(state: Any, world: Any, ground: Any, e: Any, f: Any, custom: Any) -> int:
    """The event loop with this pass."""
    while True:
        code = next_pass(state, world, ground, e, f.par[PLAN_NODES])
        if code != PASS_DUE:
            return int(code)
        decide(state, ground, f, custom)
        carry_out_decisions(state, world, ground, e)


@entry
def decide_once(state: Any, ground: Any, f: Any, custom: Any) -> int:
    """One pass, for a live scheduler."""
    if lacks_room(state, ground, f.par[PLAN_NODES]):
        return ROOM_NEEDED
    decide(state, ground, f, custom)
    return DONE


@routine
def decide(state: Any, ground: Any, f: Any, custom: Any) -> None:
    """One pass."""
    if state.reg[VOLATILE] != 0:
        extend_overdue(state, ground)
    if state.reg[WAITING] == 0:
        return
    first_entry = ground.mark[ENTRIES]
    size = in_order(state, ground, f, custom)
    keeps = may_keep(state, ground, f)
    f.kept[KEPT_LAST] = -1
    if keeps and f.kept[KEPT_HEAD] >= 0:
        if plan_stands(state, ground, f, size):
            size = behind_head(state, ground, f, size)
            if size > 0:
                fill(state, ground, f, size)
            return
        give_plan_up(state, ground, f)
    plans, size = start_and_plan(state, ground, f, size)
    if keeps and plans > 0:
        if size > 0:
            fill(state, ground, f, size)
        keep_plan(state, ground, f)
        return
    if size > 0:
        if f.par[TEST] == FITS:
            plans = drop_plans(state, ground, f, plans)
        fill(state, ground, f, size)
    if plans > 0:
        drop_plans(state, ground, f, plans)
        close_gaps(state, ground, first_entry)


@kernel
def may_keep(state: Any, ground: Any, f: Any) -> bool:
    """True where the head's plan outlives a pass in which nothing was released: it stays right.

    One reservation in order of arrival, no job outlives its estimate, and nothing but ends lets
    a job in or keeps it out. What starts leaves the plan its nodes: its start stays the earliest.
    """
    return bool(
        f.par[DEPTH] == 1
        and f.par[PHASES] != 0
        and f.par[TEST] != FITS
        and sorted_already(ground, f)
        and state.reg[VOLATILE] == 0
        and ground.mark[HAS_LIMITS] == 0
        and ground.mark[ANY_CLOSING] == 0
    )


@kernel
def keep_plan(state: Any, ground: Any, f: Any) -> None:
    """Remember the plan of this pass."""
    job = f.planned[0]
    f.kept[KEPT_HEAD] = job
    f.kept[KEPT_START] = ground.job[job, DUE]
    f.kept[KEPT_AT] = ground.mark[RELEASED]


@routine
def give_plan_up(state: Any, ground: Any, f: Any) -> None:
    """Drop the plan that was kept; its start remains known."""
    job = f.kept[KEPT_HEAD]
    start = ground.job[job, DUE]
    if start < NEVER:
        end = start + state.job[job, ESTIMATE]
        hold_plan(ground, job, state.reg[NOW], start, end, number(1))
        ground.job[job, DUE] = NEVER
        ground.mark[RELEASED] += 1
    f.kept[KEPT_HEAD] = -1
    f.kept[KEPT_LAST] = job


@kernel
def plan_stands(state: Any, ground: Any, f: Any, size: int) -> bool:
    """True if nothing was released since the plan was made and the head is the same."""
    if f.kept[KEPT_AT] != ground.mark[RELEASED]:
        return False
    at = 0
    while at < size and not fits_somewhere(ground, f.jobs[at]):
        at += 1
    return bool(at < size and f.jobs[at] == f.kept[KEPT_HEAD])


@kernel
def fits_somewhere(ground: Any, job: int) -> bool:
    """True if one of the job's shapes fits on the empty nodes."""
    ask = ground.job[job, ASK]
    at = ground.ask[ask, 0]
    while at < ground.ask[ask, 1] and ground.shape[ground.alt[at, ALT_SHAPE], PLACEABLE] == 0:
        at += 1
    return bool(at < ground.ask[ask, 1])


@routine
def behind_head(state: Any, ground: Any, f: Any, size: int) -> int:
    """The candidates behind the head whose plan stands; its nodes are chosen again after starts."""
    head = f.kept[KEPT_HEAD]
    if f.kept[KEPT_CHANGES] != ground.mark[CHANGES] and ground.mark[PLACE_RULE] != FIRST_FIT:
        now = state.reg[NOW]
        length = state.job[head, ESTIMATE]
        start = f.kept[KEPT_START]
        hold_plan(ground, head, now, start, start + length, number(1))
        choose(ground, now, ground.job[head, SHAPE], start, length)
        if moved(ground, head):
            if ground.mark[PLACED] > ground.job[head, PLACE_COUNT]:
                keep_place(ground, head, ground.job[head, ALT])
            else:
                first = ground.job[head, PLACE_FROM]
                for at in range(ground.mark[PLACED]):
                    ground.place[first + at] = (
                        ground.scratch[CHOSEN, at] << 32 | ground.scratch[GIVEN, at]
                    )
                ground.job[head, PLACE_COUNT] = ground.mark[PLACED]
            ground.mark[RELEASED] += 1
            f.kept[KEPT_AT] = ground.mark[RELEASED]
        hold_plan(ground, head, now, start, start + length, number(-1))
        f.kept[KEPT_CHANGES] = ground.mark[CHANGES]
    count = 0
    for i in range(size):
        if f.jobs[i] > head:
            f.heap[count] = i
            count += 1
    return count


@kernel
def moved(ground: Any, job: int) -> bool:
    """True if the placement found last is not the job's own."""
    if ground.mark[PLACED] != ground.job[job, PLACE_COUNT]:
        return True
    first = ground.job[job, PLACE_FROM]
    at = 0
    while (
        at < ground.mark[PLACED]
        and ground.place[first + at] == ground.scratch[CHOSEN, at] << 32 | ground.scratch[GIVEN, at]
    ):
        at += 1
    return bool(at < ground.mark[PLACED])


@kernel
def sorted_already(ground: Any, f: Any) -> bool:
    """True where the order is that of arrival."""
    return bool(f.par[ORDER_KIND] == FCFS and ground.mark[TIERS] == 0)


@routine
def in_order(state: Any, ground: Any, f: Any, custom: Any) -> int:
    """Gather the waiting jobs: ascending by arrival, or as a heap by (tier, key, arrival)."""
    now = state.reg[NOW]
    count = gather(state, f.jobs)
    for i in range(count):
        f.heap[i] = i
    if sorted_already(ground, f):
        return count
    if f.par[ORDER_KIND] == CUSTOM:
        ask(state, f, custom, ORDER, f.jobs[:count], f.key[:count])
    else:
        fill_keys(state, f.par[ORDER_KIND], f.weight, now, f.jobs, count, f.key)
    make_heap(state, ground, f, count, number(0))
    return count


@kernel
def before(state: Any, ground: Any, f: Any, shortest: int, a: int, b: int) -> bool:
    """True if candidate ``a`` comes before ``b``: tier, estimate if asked, key, arrival."""
    one, other = f.jobs[a], f.jobs[b]
    if ground.job[one, TIER] != ground.job[other, TIER]:
        return bool(ground.job[one, TIER] > ground.job[other, TIER])
    if shortest != 0 and state.job[one, ESTIMATE] != state.job[other, ESTIMATE]:
        return bool(state.job[one, ESTIMATE] < state.job[other, ESTIMATE])
    if f.key[a] != f.key[b]:
        return bool(f.key[a] > f.key[b])
    return bool(one < other)


@routine
def sink(state: Any, ground: Any, f: Any, size: int, at: int, shortest: int) -> None:
    """Let a candidate sink in the heap."""
    heap = f.heap
    place = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and before(state, ground, f, shortest, heap[child + 1], heap[child]):
            child += 1
        if before(state, ground, f, shortest, place, heap[child]):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = place


@routine
def make_heap(state: Any, ground: Any, f: Any, size: int, shortest: int) -> None:
    """Make a heap of the candidates."""
    for at in range(size // 2 - 1, -1, -1):
        sink(state, ground, f, size, at, shortest)


@kernel
def removed_first(state: Any, ground: Any, f: Any, size: int, shortest: int) -> int:
    """Remove the first candidate of the heap; returns the new size."""
    size -= 1
    if size > 0:
        f.heap[0] = f.heap[size]
        sink(state, ground, f, size, number(0), shortest)
    return size


@routine
def start_and_plan(state: Any, ground: Any, f: Any, size: int) -> tuple[int, int]:
    """In order: start who fits, plan for blocked ones up to the depth.

    Returns how many plans there are and how many candidates are left in the heap.
    """
    plans = 0
    blocked = False
    simple = sorted_already(ground, f)
    at = 0
    while at < size and (not blocked or (plans < f.par[DEPTH] and f.par[PHASES] != 0)):
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(state, ground, f, size, number(0))
        alt = ask_start(state, ground, job)
        if alt >= 0:
            reason = HEAD if state.job[job, BLOCKED_AT] < 0 else RESERVED
            begin_placed(state, ground, job, alt, BACKFILLED if blocked else reason)
            continue
        if alt == ASIDE:
            continue
        if blocked:
            plans += plan(state, ground, f, job, plans)
            continue
        blocked = True
        first_time = state.job[job, BLOCKED_AT] < 0
        if first_time:
            state.job[job, BLOCKED_AT] = state.reg[NOW]
        if not first_time and (f.par[PHASES] == 0 or not anybody_might(state, ground, f, at, size)):
            return 0, 0
        if f.par[DEPTH] > 0:
            made = plan(state, ground, f, job, plans)
            if made and first_time:
                state.job[job, PROMISED] = ground.job[job, DUE]
            plans += made
    if f.par[PHASES] == 0:
        return plans, 0
    for i in range(at, size):
        f.heap[i - at] = f.heap[i]
    return plans, size - at


@kernel
def anybody_might(state: Any, ground: Any, f: Any, first: int, size: int) -> bool:
    """False if none of the candidates can start now, whatever is planned."""
    at = first
    while at < size and not might_start(state, ground, f.jobs[f.heap[at]]):
        at += 1
    return at < size


@routine
def plan(state: Any, ground: Any, f: Any, job: int, plans: int) -> bool:
    """Give a blocked job its earliest start; False if there is none."""
    before = number(NEVER)
    if f.kept[KEPT_LAST] == job and state.reg[DECISIONS] == 0:
        before = f.kept[KEPT_START] + 1  # it was the earliest, and no job has taken its nodes
    start, alt = ask_earliest(state, ground, job, state.reg[NOW], before, number(1))
    if alt < 0:
        return False
    keep_place(ground, job, alt)
    ground.job[job, DUE] = start
    now = state.reg[NOW]
    hold_plan(ground, job, now, start, start + state.job[job, ESTIMATE], number(-1))
    f.planned[plans] = job
    f.kept[KEPT_CHANGES] = ground.mark[CHANGES]  # who starts later in this pass moves the choice
    return True


@routine
def drop_plans(state: Any, ground: Any, f: Any, plans: int) -> int:
    """Forget the plans of this pass."""
    now = state.reg[NOW]
    for i in range(plans):
        job = f.planned[i]
        start = ground.job[job, DUE]
        hold_plan(ground, job, now, start, start + state.job[job, ESTIMATE], number(1))
        ground.job[job, DUE] = NEVER
    if plans > 0:
        ground.mark[RELEASED] += 1
    return 0


@routine
def close_gaps(state: Any, ground: Any, first: int) -> None:
    """Move the places of started jobs over those of the plans that were dropped."""
    at = first
    for i in range(state.reg[DECISIONS]):
        job = state.did[WHICH, i]
        source = ground.job[job, PLACE_FROM]
        ground.job[job, PLACE_FROM] = at
        for k in range(ground.job[job, PLACE_COUNT]):
            ground.place[at + k] = ground.place[source + k]
        at += ground.job[job, PLACE_COUNT]
    ground.mark[ENTRIES] = at


@routine
def fill(state: Any, ground: Any, f: Any, size: int) -> None:
    """Backfilling: who of the rest may start, in what order."""
    f.frozen[0] = fullest_with(state, f.scale, -1)
    f.frozen[1] = sum_with(state, f.scale, -1)
    if f.par[KEY] >= BALANCE:
        fill_by_score(state, ground, f, size)
        return
    shortest = int(f.par[KEY] == SHORTEST)
    simple = sorted_already(ground, f) and shortest == 0
    if shortest != 0:
        make_heap(state, ground, f, size, number(1))
    at = 0
    while at < size:
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(state, ground, f, size, shortest)
        if not hopeful(state, ground, job):
            continue
        if f.par[TEST] >= NOT_WORSE and not keeps_balance(state, f, job, f.par[TEST]):
            continue
        alt = ask_start(state, ground, job)
        if alt >= 0:
            begin_placed(state, ground, job, alt, number(BACKFILLED))


@routine
def fill_by_score(state: Any, ground: Any, f: Any, size: int) -> None:
    """The best candidate by a score that every start changes, again and again."""
    left = f.par[AT_MOST]
    while True:
        kept = 0
        for i in range(size):
            job = f.jobs[f.heap[i]]
            if hopeful(state, ground, job) and ask_start(state, ground, job) >= 0:
                f.heap[kept] = f.heap[i]
                kept += 1
        size = kept
        if size == 0:
            return
        best = 0
        resource = least_used(state, f.scale)
        for i in range(1, size):
            if scores_better(
                state, f, f.jobs[f.heap[i]], f.jobs[f.heap[best]], f.par[KEY], resource
            ):
                best = i
        job = f.jobs[f.heap[best]]
        alt = ask_start(state, ground, job)
        begin_placed(state, ground, job, alt, number(BACKFILLED))
        size -= 1
        f.heap[best] = f.heap[size]
        left -= 1
        if left == 0:
            return


__all__ = ["BLOCKED", "General", "decide", "make_general", "run"]
