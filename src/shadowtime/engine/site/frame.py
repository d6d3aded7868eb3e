"""The general pass on a site: order, plans for the first blocked jobs, backfilling in phases.

The steps are those of engine/passes/frame.py; what differs is that a place is tasks on named nodes,
that jobs may be put aside (limits, closed nodes), and that tiers come first in every order.
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
"""1 if there is a phase of backfilling, 0 if nobody overtakes."""
TEST = 3
KEY = 4
AT_MOST = 5
KEPT_HEAD, KEPT_START, KEPT_AT, KEPT_CHANGES, KEPT_LAST = 0, 1, 2, 3, 4
"""Places in ``kept``: the head, its start, when the plan was made (releases, changes of nodes), and
the head whose plan was given up in this pass."""
PLAN_NODES = 6
"""Most nodes that the plans of a pass can hold."""


class Frame(NamedTuple):
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


def make_frame(
    *,
    n: int,
    order: int,
    weight: tuple[float, float, float],
    depth: int,
    phase: tuple[int, int, int] | None,
    scale: Any,
    widest: int,
    own: Any,
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
        fact=own.fact,
        memory=own.memory,
        scale=scale,
        frozen=np.zeros(2, np.int64),
        planned=np.empty(depth + 1, np.int64),
        kept=np.array([-1, 0, 0, 0, -1], np.int64),
    )


@entry
def run(s: Any, w: Any, g: Any, e: Any, f: Any, custom: Any) -> int:
    """The event loop with this pass."""
    while True:
        code = next_pass(s, w, g, e, f.par[PLAN_NODES])
        if code != PASS_DUE:
            return int(code)
        decide(s, g, f, custom)
        carry_out_decisions(s, w, g, e)


@entry
def decide_once(s: Any, g: Any, f: Any, custom: Any) -> int:
    """One pass, for a live scheduler."""
    if lacks_room(s, g, f.par[PLAN_NODES]):
        return ROOM_NEEDED
    decide(s, g, f, custom)
    return DONE


@routine
def decide(s: Any, g: Any, f: Any, custom: Any) -> None:
    """One pass."""
    if s.reg[VOLATILE] != 0:
        extend_overdue(s, g)
    if s.reg[WAITING] == 0:
        return
    first_entry = g.mark[ENTRIES]
    size = in_order(s, g, f, custom)
    keeps = may_keep(s, g, f)
    f.kept[KEPT_LAST] = -1
    if keeps and f.kept[KEPT_HEAD] >= 0:
        if plan_stands(s, g, f, size):
            size = behind_head(s, g, f, size)
            if size > 0:
                fill(s, g, f, size)
            return
        give_plan_up(s, g, f)
    plans, size = start_and_plan(s, g, f, size)
    if keeps and plans > 0:
        if size > 0:
            fill(s, g, f, size)
        keep_plan(s, g, f)
        return
    if size > 0:
        if f.par[TEST] == FITS:
            plans = drop_plans(s, g, f, plans)
        fill(s, g, f, size)
    if plans > 0:
        drop_plans(s, g, f, plans)
        close_gaps(s, g, first_entry)


@kernel
def may_keep(s: Any, g: Any, f: Any) -> bool:
    """True where the head's plan outlives a pass in which nothing was released: it stays right.

    One reservation in order of arrival, nobody outlives its estimate, and nothing but ends lets
    a job in or keeps it out. What starts leaves the plan its nodes: its start stays the earliest.
    """
    return bool(
        f.par[DEPTH] == 1
        and f.par[PHASES] != 0
        and f.par[TEST] != FITS
        and sorted_already(g, f)
        and s.reg[VOLATILE] == 0
        and g.mark[HAS_LIMITS] == 0
        and g.mark[ANY_CLOSING] == 0
    )


@kernel
def keep_plan(s: Any, g: Any, f: Any) -> None:
    """Remember the plan of this pass."""
    job = f.planned[0]
    f.kept[KEPT_HEAD] = job
    f.kept[KEPT_START] = g.job[job, DUE]
    f.kept[KEPT_AT] = g.mark[RELEASED]


@routine
def give_plan_up(s: Any, g: Any, f: Any) -> None:
    """Drop the plan that was kept; its start remains known."""
    job = f.kept[KEPT_HEAD]
    start = g.job[job, DUE]
    if start < NEVER:
        end = start + s.job[job, ESTIMATE]
        hold_plan(g, job, s.reg[NOW], start, end, number(1))
        g.job[job, DUE] = NEVER
        g.mark[RELEASED] += 1
    f.kept[KEPT_HEAD] = -1
    f.kept[KEPT_LAST] = job


@kernel
def plan_stands(s: Any, g: Any, f: Any, size: int) -> bool:
    """True if nothing was released since the plan was made and the head is the same."""
    if f.kept[KEPT_AT] != g.mark[RELEASED]:
        return False
    at = 0
    while at < size and not fits_somewhere(g, f.jobs[at]):
        at += 1
    return bool(at < size and f.jobs[at] == f.kept[KEPT_HEAD])


@kernel
def fits_somewhere(g: Any, job: int) -> bool:
    """True if one of the job's shapes fits on the empty nodes."""
    ask = g.job[job, ASK]
    at = g.ask[ask, 0]
    while at < g.ask[ask, 1] and g.shape[g.alt[at, ALT_SHAPE], PLACEABLE] == 0:
        at += 1
    return bool(at < g.ask[ask, 1])


@routine
def behind_head(s: Any, g: Any, f: Any, size: int) -> int:
    """The candidates behind the head whose plan stands; its nodes are chosen anew after starts."""
    head = f.kept[KEPT_HEAD]
    if f.kept[KEPT_CHANGES] != g.mark[CHANGES] and g.mark[PLACE_RULE] != FIRST_FIT:
        now = s.reg[NOW]
        length = s.job[head, ESTIMATE]
        start = f.kept[KEPT_START]
        hold_plan(g, head, now, start, start + length, number(1))
        choose(g, now, g.job[head, SHAPE], start, length)
        if moved(g, head):
            if g.mark[PLACED] > g.job[head, PLACE_COUNT]:
                keep_place(g, head, g.job[head, ALT])
            else:
                first = g.job[head, PLACE_FROM]
                for at in range(g.mark[PLACED]):
                    g.place[first + at] = g.scratch[CHOSEN, at] << 32 | g.scratch[GIVEN, at]
                g.job[head, PLACE_COUNT] = g.mark[PLACED]
            g.mark[RELEASED] += 1
            f.kept[KEPT_AT] = g.mark[RELEASED]
        hold_plan(g, head, now, start, start + length, number(-1))
        f.kept[KEPT_CHANGES] = g.mark[CHANGES]
    count = 0
    for i in range(size):
        if f.jobs[i] > head:
            f.heap[count] = i
            count += 1
    return count


@kernel
def moved(g: Any, job: int) -> bool:
    """True if the placement found last is not the job's own."""
    if g.mark[PLACED] != g.job[job, PLACE_COUNT]:
        return True
    first = g.job[job, PLACE_FROM]
    at = 0
    while (
        at < g.mark[PLACED]
        and g.place[first + at] == g.scratch[CHOSEN, at] << 32 | g.scratch[GIVEN, at]
    ):
        at += 1
    return bool(at < g.mark[PLACED])


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
        ask(s, f, custom, ORDER, f.jobs[:count], f.key[:count])
    else:
        fill_keys(s, f.par[ORDER_KIND], f.weight, now, f.jobs, count, f.key)
    make_heap(s, g, f, count, number(0))
    return count


@kernel
def before(s: Any, g: Any, f: Any, shortest: int, a: int, b: int) -> bool:
    """True if candidate ``a`` comes before ``b``: tier, estimate if asked, key, arrival."""
    one, other = f.jobs[a], f.jobs[b]
    if g.job[one, TIER] != g.job[other, TIER]:
        return bool(g.job[one, TIER] > g.job[other, TIER])
    if shortest != 0 and s.job[one, ESTIMATE] != s.job[other, ESTIMATE]:
        return bool(s.job[one, ESTIMATE] < s.job[other, ESTIMATE])
    if f.key[a] != f.key[b]:
        return bool(f.key[a] > f.key[b])
    return bool(one < other)


@routine
def sink(s: Any, g: Any, f: Any, size: int, at: int, shortest: int) -> None:
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
def make_heap(s: Any, g: Any, f: Any, size: int, shortest: int) -> None:
    """Make a heap of the candidates."""
    for at in range(size // 2 - 1, -1, -1):
        sink(s, g, f, size, at, shortest)


@kernel
def removed_first(s: Any, g: Any, f: Any, size: int, shortest: int) -> int:
    """Remove the first candidate of the heap; returns the new size."""
    size -= 1
    if size > 0:
        f.heap[0] = f.heap[size]
        sink(s, g, f, size, number(0), shortest)
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
            size = removed_first(s, g, f, size, number(0))
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
    before = number(NEVER)
    if f.kept[KEPT_LAST] == job and s.reg[DECISIONS] == 0:
        before = f.kept[KEPT_START] + 1  # it was the earliest, and nobody has taken its nodes
    start, alt = ask_earliest(s, g, job, s.reg[NOW], before, number(1))
    if alt < 0:
        return False
    keep_place(g, job, alt)
    g.job[job, DUE] = start
    now = s.reg[NOW]
    hold_plan(g, job, now, start, start + s.job[job, ESTIMATE], number(-1))
    f.planned[plans] = job
    f.kept[KEPT_CHANGES] = g.mark[CHANGES]  # who starts later in this pass moves the choice
    return True


@routine
def drop_plans(s: Any, g: Any, f: Any, plans: int) -> int:
    """Forget the plans of this pass."""
    now = s.reg[NOW]
    for i in range(plans):
        job = f.planned[i]
        start = g.job[job, DUE]
        hold_plan(g, job, now, start, start + s.job[job, ESTIMATE], number(1))
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
    shortest = int(f.par[KEY] == SHORTEST)
    simple = sorted_already(g, f) and shortest == 0
    if shortest != 0:
        make_heap(s, g, f, size, number(1))
    at = 0
    while at < size:
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(s, g, f, size, shortest)
        if not hopeful(s, g, job):
            continue
        if f.par[TEST] >= NOT_WORSE and not keeps_balance(s, f, job, f.par[TEST]):
            continue
        alt = ask_start(s, g, job)
        if alt >= 0:
            begin_placed(s, g, job, alt, number(BACKFILLED))


@routine
def fill_by_score(s: Any, g: Any, f: Any, size: int) -> None:
    """The best candidate by a score that every start changes, again and again."""
    left = f.par[AT_MOST]
    while True:
        kept = 0
        for i in range(size):
            job = f.jobs[f.heap[i]]
            if hopeful(s, g, job) and ask_start(s, g, job) >= 0:
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
        begin_placed(s, g, job, alt, number(BACKFILLED))
        size -= 1
        f.heap[best] = f.heap[size]
        left -= 1
        if left == 0:
            return


__all__ = ["BLOCKED", "Frame", "decide", "make_frame", "run"]
