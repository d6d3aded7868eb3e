"""The general pass on a site: order, plans for the first blocked jobs, backfilling in phases.

The steps are those of engine/passes/general.py; what differs is that a place is tasks on named
nodes, that jobs may be put aside (limits, closed nodes), and that tiers come first in every order.
Plans are dropped at the end of the pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.passes import phases as ph
from shadowtime.engine.passes.learning import learn, learn_starts, learns
from shadowtime.engine.site import candidates as parts
from shadowtime.engine.site import events, head_plan
from shadowtime.engine.site.candidates import (
    General,
    in_order,
    make_general,
    make_heap,
    removed_first,
    sorted_already,
)
from shadowtime.engine.site.entering import hold_back
from shadowtime.engine.site.world import Events
from shadowtime.kernel import slots
from shadowtime.kernel.balance import fullest_with, least_used, sum_with
from shadowtime.kernel.fields import BLOCKED_AT, ESTIMATE, PROMISED, WHICH
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.registers import DECISIONS, FAILED, NEVER, NOW, SHADOW, VOLATILE, WAITING
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.fields import Ground, number
from shadowtime.kernel.site.start import (
    ASIDE,
    ask_earliest,
    ask_start,
    begin_placed,
    extend_overdue,
    may_start,
    might_start,
)
from shadowtime.kernel.slots import ask_one, asks
from shadowtime.kernel.state import State, World

if TYPE_CHECKING:
    from shadowtime.kernel.slots import OwnPointer


@entry
def run(
    state: State, world: World, ground: Ground, e: Events, f: General, custom: OwnPointer
) -> int:
    """The event loop with this pass."""
    while True:
        code = events.next_pass(state, world, ground, e, f.par[parts.PLAN_NODES])
        if code != events.PASS_DUE:
            return int(code)
        if learns(f):
            learn(state, f, custom)
            if asks(f, slots.BEGIN):
                hold_back(state, ground, e, f, custom)
        decide(state, ground, f, custom)
        if asks(f, slots.LEARN_START):
            learn_starts(state, f, custom)
        if state.reg[FAILED] >= 0:
            return events.DONE
        events.carry_out_decisions(state, world, ground, e)


@entry
def decide_once(state: State, ground: Ground, f: General, custom: OwnPointer) -> int:
    """One pass, for a live scheduler."""
    if events.lacks_room(state, ground, f.par[parts.PLAN_NODES]):
        return events.ROOM_NEEDED
    decide(state, ground, f, custom)
    return events.DONE


@routine
def decide(state: State, ground: Ground, f: General, custom: OwnPointer) -> None:
    """One pass."""
    if state.reg[VOLATILE] != 0:
        extend_overdue(state, ground)
    if state.reg[WAITING] == 0:
        return
    first_entry = ground.mark[sf.ENTRIES]
    size = in_order(state, ground, f, custom)
    keeps = head_plan.may_keep(state, ground, f)
    f.kept[parts.KEPT_LAST] = -1
    if keeps and f.kept[parts.KEPT_HEAD] >= 0:
        if head_plan.plan_stands(state, ground, f, size):
            state.reg[SHADOW] = f.kept[parts.KEPT_START]
            size = head_plan.behind_head(state, ground, f, size)
            if size > 0:
                fill(state, ground, f, size, custom)
            return
        head_plan.give_plan_up(state, ground, f)
    plans, size = start_and_plan(state, ground, f, size, custom)
    if keeps and plans > 0:
        if size > 0:
            fill(state, ground, f, size, custom)
        head_plan.keep_plan(state, ground, f)
        return
    if size > 0:
        if f.par[parts.TEST] == ph.FITS:
            plans = drop_plans(state, ground, f, plans)
        fill(state, ground, f, size, custom)
    if plans > 0:
        drop_plans(state, ground, f, plans)
        close_gaps(state, ground, first_entry)


@routine
def start_and_plan(
    state: State, ground: Ground, f: General, size: int, custom: OwnPointer
) -> tuple[int, int]:
    """In order: start jobs that fit, plan for blocked ones up to the depth.

    Returns how many plans there are and how many candidates are left in the heap.
    """
    plans = 0
    blocked = False
    simple = sorted_already(ground, f)
    at = 0
    while at < size and (not blocked or (plans < f.par[parts.DEPTH] and f.par[parts.PHASES] != 0)):
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(state, ground, f, size, number(0))
        alt = ask_start(state, ground, job)
        if alt >= 0 and blocked and not passes(state, f, job, custom):
            continue  # it may not overtake, and nothing keeps it but that
        if alt >= 0:
            reason = HEAD if state.job[job, BLOCKED_AT] < 0 else RESERVED
            begin_placed(state, ground, job, alt, BACKFILLED if blocked else reason)
            continue
        if alt == ASIDE:
            continue
        if blocked:
            plans += plan(state, ground, f, job, plans, custom) < NEVER
            continue
        blocked = True
        first_time = state.job[job, BLOCKED_AT] < 0
        if first_time:
            state.job[job, BLOCKED_AT] = state.reg[NOW]
        owed = asks(f, slots.RESERVE) and state.job[job, PROMISED] < 0
        in_vain = f.par[parts.PHASES] == 0 or not any_might_start(state, ground, f, at, size)
        if in_vain and not first_time and not owed:
            return 0, 0
        state.reg[SHADOW] = NEVER
        if f.par[parts.DEPTH] > 0:
            start = plan(state, ground, f, job, plans, custom)
            state.reg[SHADOW] = start
            if start < NEVER and (first_time or owed):
                state.job[job, PROMISED] = start
            plans += start < NEVER
    if f.par[parts.PHASES] == 0:
        return plans, 0
    for i in range(at, size):
        f.heap[i - at] = f.heap[i]
    return plans, size - at


@kernel
def passes(state: State, f: General, job: int, custom: OwnPointer) -> bool:
    """True unless a test of the user's own forbids the job to overtake."""
    return not asks(f, slots.BACKFILL_TEST) or bool(
        ask_one(state, f, custom, slots.BACKFILL_TEST, job, float(state.reg[SHADOW])) != 0.0
    )


@kernel
def any_might_start(state: State, ground: Ground, f: General, first: int, size: int) -> bool:
    """False if none of the candidates can start now, whatever is planned."""
    at = first
    while at < size and not might_start(state, ground, f.jobs[f.heap[at]]):
        at += 1
    return at < size


@routine
def plan(state: State, ground: Ground, f: General, job: int, plans: int, custom: OwnPointer) -> int:
    """Hold nodes for a blocked job from its earliest start on; NEVER if it gets no plan.

    A function of the user's own may deny it the plan, or put that off: the plan then is the
    earliest start from that instant on. The earliest start is returned all the same.
    """
    if asks(f, slots.RESERVE) and ask_one(state, f, custom, slots.RESERVE, job, 0.0) == 0.0:
        return NEVER
    before = number(NEVER)
    if f.kept[parts.KEPT_LAST] == job and state.reg[DECISIONS] == 0:
        before = f.kept[parts.KEPT_START] + 1  # it was the earliest, and no job has taken its nodes
    start, alt = ask_earliest(state, ground, job, state.reg[NOW], before, number(1))
    if alt < 0:
        return NEVER
    at = start
    if asks(f, slots.PLAN):
        at, alt = put_off(state, ground, f, job, start, custom)
    head_plan.make_plan(state, ground, job, alt, at)
    f.planned[plans] = job
    f.kept[parts.KEPT_CHANGES] = ground.mark[
        sf.CHANGES
    ]  # later starts in this pass move the choice
    return start


@routine
def put_off(
    state: State, ground: Ground, f: General, job: int, start: int, custom: OwnPointer
) -> tuple[int, int]:
    """(start, alternative) of the plan that a function wants not before an instant, placed.

    Where there is no start from then on, or the function fails, it is the earliest one.
    """
    now = state.reg[NOW]
    latest = float(NEVER - 1 - state.job[job, ESTIMATE])
    wanted = ask_one(state, f, custom, slots.PLAN, job, float(start))
    if state.reg[FAILED] < 0 and wanted > start:
        at = int(min(wanted, latest))
        later, alt = ask_earliest(state, ground, job, max(at, start), number(NEVER), number(1))
        if alt >= 0:
            return later, alt
    return ask_earliest(state, ground, job, now, start + 1, number(1))


@routine
def drop_plans(state: State, ground: Ground, f: General, plans: int) -> int:
    """Forget the plans of this pass."""
    for i in range(plans):
        head_plan.drop_plan(state, ground, f.planned[i])
    if plans > 0:
        ground.mark[sf.RELEASED] += 1
    return 0


@routine
def close_gaps(state: State, ground: Ground, first: int) -> None:
    """Move the places of started jobs over those of the plans that were dropped."""
    at = first
    for i in range(state.reg[DECISIONS]):
        job = state.did[WHICH, i]
        source = ground.job[job, sf.PLACE_FROM]
        ground.job[job, sf.PLACE_FROM] = at
        for k in range(ground.job[job, sf.PLACE_COUNT]):
            ground.place[at + k] = ground.place[source + k]
        at += ground.job[job, sf.PLACE_COUNT]
    ground.mark[sf.ENTRIES] = at


__all__ = ["General", "decide", "decide_once", "make_general", "run"]


@routine
def fill(state: State, ground: Ground, f: General, size: int, custom: OwnPointer) -> None:
    """Backfilling: which of the rest may start, in what order."""
    thinned = asks(f, slots.BACKFILL_TEST) or asks(f, slots.BACKFILL_KEY)
    if thinned:
        size = keep_able(state, ground, f, size)
        if asks(f, slots.BACKFILL_TEST):
            size = ph.keep_passing(state, f, size, custom)
        if asks(f, slots.BACKFILL_KEY):
            ph.fill_own_keys(state, f, size, custom)
        if state.reg[FAILED] >= 0:
            return
    f.frozen[0] = fullest_with(state, f.scale, -1)
    f.frozen[1] = sum_with(state, f.scale, -1)
    if f.par[parts.KEY] == ph.BALANCE or f.par[parts.KEY] == ph.LEAST_USED:
        fill_by_score(state, ground, f, size)
        return
    shortest = int(f.par[parts.KEY] == ph.SHORTEST)
    simple = sorted_already(ground, f) and shortest == 0 and f.par[parts.KEY] != ph.OWN
    if shortest != 0 or (thinned and not simple):
        make_heap(state, ground, f, size, shortest)
    at = 0
    while at < size:
        if simple:
            job = f.jobs[f.heap[at]]
            at += 1
        else:
            job = f.jobs[f.heap[0]]
            size = removed_first(state, ground, f, size, shortest)
        if not may_start(state, ground, job):
            continue
        if f.par[parts.TEST] >= ph.NOT_WORSE and not ph.keeps_balance(
            state, f, job, f.par[parts.TEST]
        ):
            continue
        alt = ask_start(state, ground, job)
        if alt >= 0:
            begin_placed(state, ground, job, alt, number(BACKFILLED))


@kernel
def keep_able(state: State, ground: Ground, f: General, size: int) -> int:
    """Drop the candidates that cannot start now, before functions are asked for the others."""
    kept = 0
    for i in range(size):
        if may_start(state, ground, f.jobs[f.heap[i]]):
            f.heap[kept] = f.heap[i]
            kept += 1
    return kept


@routine
def fill_by_score(state: State, ground: Ground, f: General, size: int) -> None:
    """The best candidate by a score that every start changes, again and again."""
    left = f.par[parts.AT_MOST]
    while True:
        kept = 0
        for i in range(size):
            job = f.jobs[f.heap[i]]
            if may_start(state, ground, job) and ask_start(state, ground, job) >= 0:
                f.heap[kept] = f.heap[i]
                kept += 1
        size = kept
        if size == 0:
            return
        best = 0
        resource = least_used(state, f.scale)
        for i in range(1, size):
            if ph.scores_better(
                state, f, f.jobs[f.heap[i]], f.jobs[f.heap[best]], f.par[parts.KEY], resource
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
