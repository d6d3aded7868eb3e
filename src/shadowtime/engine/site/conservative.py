"""Conservative backfilling on a site: every job in the queue holds a plan that outlives the pass.

One pass: promises that no longer hold are given again; after an early release one sweep in queue
order moves promises to earlier starts; newcomers get theirs; due jobs start. With a priority order
the sweep is made in every pass, newcomers included.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.site.candidates import in_order, removed_first, sorted_already
from shadowtime.engine.site.conservative_parts import (
    COMPRESS,
    EVERY_PASS,
    UNFINISHED,
    ConservativeState,
    make_conservative,
)
from shadowtime.engine.site.events import (
    DONE,
    PASS_DUE,
    ROOM_NEEDED,
    carry_out_decisions,
    lacks_room,
    next_pass,
)
from shadowtime.engine.site.promises import give_first, let_go, repair, start_early
from shadowtime.engine.site.sweep import sweep
from shadowtime.kernel.fields import BLOCKED_AT
from shadowtime.kernel.jit import entry, routine
from shadowtime.kernel.registers import FAILED, NEVER, NOW, SLIPPED, VOLATILE, WAITING, WAKE
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.site.fields import (
    ALT,
    BROKEN,
    DUE,
    EARLY,
    HAS_LIMITS,
    LEFT,
    NEGATIVE,
    REPAIR,
    SOONEST,
    WITHDRAWN,
)
from shadowtime.kernel.site.limits import IN_PLACE, within
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.start import begin_here, count_plan, extend_overdue, might_start


@entry
def run(state: Any, world: Any, ground: Any, e: Any, f: Any, custom: Any) -> int:
    """The event loop with this pass."""
    while True:
        code = next_pass(state, world, ground, e, number(0))
        if code != PASS_DUE:
            return int(code)
        decide(state, ground, f, custom)
        if state.reg[FAILED] >= 0:
            return DONE
        carry_out_decisions(state, world, ground, e)


@entry
def decide_once(state: Any, ground: Any, f: Any, custom: Any) -> int:
    """One pass, for a live scheduler, over the tables that seat.py and live_pass.py have filled."""
    if lacks_room(state, ground, number(0)):
        return ROOM_NEEDED
    decide(state, ground, f, custom)
    return DONE


@routine
def decide(state: Any, ground: Any, f: Any, custom: Any) -> None:
    """One pass."""
    now = state.reg[NOW]
    if state.reg[VOLATILE] != 0:
        extend_overdue(state, ground)
    count = 0
    if state.reg[WAITING] > 0:
        count = line_up(state, ground, f, custom)
    if ground.mark[REPAIR] != 0 or ground.mark[NEGATIVE] != 0:
        repair(state, ground, f, count)
    ground.mark[REPAIR] = 0
    ground.mark[NEGATIVE] = 0
    if f.par[COMPRESS] != 0 and (ground.mark[EARLY] != 0 or f.par[EVERY_PASS] != 0):
        sweep(state, ground, f, count)
    ground.mark[EARLY] = 0
    for i in range(count):
        job = f.line[i]
        give_first(state, ground, job)
        ground.job[job, BROKEN] = 0
    start_due(state, ground, f, count)
    state.reg[WAKE] = ground.mark[SOONEST]
    if ground.mark[EARLY] != 0 or f.par[UNFINISHED] != 0:
        state.reg[WAKE] = now + 1


@routine
def line_up(state: Any, ground: Any, f: Any, custom: Any) -> int:
    """Write the queue down by (tier, key, arrival); returns how many wait."""
    count = in_order(state, ground, f, custom)
    simple = sorted_already(ground, f)
    size = count
    for i in range(count):
        if simple:
            f.line[i] = f.jobs[i]
        else:
            f.line[i] = f.jobs[f.heap[0]]
            size = removed_first(state, ground, f, size, number(0))
    return count


@routine
def start_due(state: Any, ground: Any, f: Any, count: int) -> None:
    """Start jobs that are due now; without compression also those that fit before their promise."""
    now = state.reg[NOW]
    if ground.mark[SOONEST] > now and f.par[COMPRESS] != 0:
        for i in range(count):
            job = f.line[i]
            if ground.job[job, DUE] < NEVER:
                if state.job[job, BLOCKED_AT] < 0:
                    state.job[job, BLOCKED_AT] = now
                break
        return
    ahead = False
    soonest = NEVER
    for i in range(count):
        job = f.line[i]
        due = ground.job[job, DUE]
        if due == NEVER:
            continue
        if due > now and f.par[COMPRESS] == 0 and might_start(state, ground, job):
            start_early(state, ground, job)
            due = ground.job[job, DUE]
        if due > now:
            if not ahead and state.job[job, BLOCKED_AT] < 0:
                state.job[job, BLOCKED_AT] = now
            ahead = True
            soonest = min(soonest, due)
            continue
        if ground.mark[HAS_LIMITS] != 0 and not within(
            state, ground, job, ground.job[job, ALT], number(IN_PLACE)
        ):
            let_go(state, ground, job)
            ground.job[job, WITHDRAWN] = ground.mark[LEFT] + 1
            state.reg[SLIPPED] += 1
            ground.mark[EARLY] = 1
            continue
        ground.job[job, DUE] = NEVER
        count_plan(ground, job, 1)
        reason = HEAD if state.job[job, BLOCKED_AT] < 0 else RESERVED
        begin_here(state, ground, job, BACKFILLED if ahead else reason)
    ground.mark[SOONEST] = soonest


__all__ = ["ConservativeState", "decide", "make_conservative", "run"]
