"""Conservative backfilling on a site: every job in the queue holds a plan that outlives the pass.

One pass: promises that no longer hold are given again; after an early release one sweep in queue
order moves promises to earlier starts; newcomers get theirs; due jobs start. With a priority order
the sweep is made in every pass, newcomers included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.site import events, promises
from shadowtime.engine.site.candidates import in_order, removed_first, sorted_already
from shadowtime.engine.site.promises import ConservativeState, make_conservative
from shadowtime.engine.site.world import Events
from shadowtime.kernel.fields import BLOCKED_AT, ESTIMATE
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.registers import FAILED, NEVER, NOW, SLIPPED, VOLATILE, WAITING, WAKE
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.fields import Ground, number
from shadowtime.kernel.site.limits import IN_PLACE, within
from shadowtime.kernel.site.room import holds, in_mask
from shadowtime.kernel.site.start import (
    ask_earliest,
    ask_start,
    begin_here,
    count_plan,
    extend_overdue,
    hold_plan,
    may_start,
    might_start,
    note_gain,
)
from shadowtime.kernel.site.steps import current, takes_amounts
from shadowtime.kernel.state import State, World

if TYPE_CHECKING:
    from shadowtime.kernel.slots import OwnPointer


@entry
def run(
    state: State, world: World, ground: Ground, e: Events, f: ConservativeState, custom: OwnPointer
) -> int:
    """The event loop with this pass."""
    while True:
        code = events.next_pass(state, world, ground, e, number(0))
        if code != events.PASS_DUE:
            return int(code)
        decide(state, ground, f, custom)
        if state.reg[FAILED] >= 0:
            return events.DONE
        events.carry_out_decisions(state, world, ground, e)


@entry
def decide_once(state: State, ground: Ground, f: ConservativeState, custom: OwnPointer) -> int:
    """One pass, for a live scheduler, over the tables that live_pass.py has filled."""
    if events.lacks_room(state, ground, number(0)):
        return events.ROOM_NEEDED
    decide(state, ground, f, custom)
    return events.DONE


@routine
def decide(state: State, ground: Ground, f: ConservativeState, custom: OwnPointer) -> None:
    """One pass."""
    now = state.reg[NOW]
    if state.reg[VOLATILE] != 0:
        extend_overdue(state, ground)
    count = 0
    if state.reg[WAITING] > 0:
        count = line_up(state, ground, f, custom)
    if ground.mark[sf.REPAIR] != 0 or ground.mark[sf.NEGATIVE] != 0:
        promises.repair(state, ground, f, count)
    ground.mark[sf.REPAIR] = 0
    ground.mark[sf.NEGATIVE] = 0
    if f.par[promises.COMPRESS] != 0 and (
        ground.mark[sf.EARLY] != 0 or f.par[promises.EVERY_PASS] != 0
    ):
        sweep(state, ground, f, count)
    ground.mark[sf.EARLY] = 0
    for i in range(count):
        job = f.line[i]
        promises.give_first(state, ground, job)
        ground.job[job, sf.BROKEN] = 0
    start_due(state, ground, f, count)
    state.reg[WAKE] = ground.mark[sf.SOONEST]
    if ground.mark[sf.EARLY] != 0 or f.par[promises.UNFINISHED] != 0:
        state.reg[WAKE] = now + 1


@routine
def line_up(state: State, ground: Ground, f: ConservativeState, custom: OwnPointer) -> int:
    """List the queue by (tier, key, arrival); returns how many wait."""
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
def start_due(state: State, ground: Ground, f: ConservativeState, count: int) -> None:
    """Start jobs that are due now; without compression also those that fit before their promise."""
    now = state.reg[NOW]
    if ground.mark[sf.SOONEST] > now and f.par[promises.COMPRESS] != 0:
        for i in range(count):
            job = f.line[i]
            if ground.job[job, sf.DUE] < NEVER:
                if state.job[job, BLOCKED_AT] < 0:
                    state.job[job, BLOCKED_AT] = now
                break
        return
    ahead = False
    soonest = NEVER
    for i in range(count):
        job = f.line[i]
        due = ground.job[job, sf.DUE]
        if due == NEVER:
            continue
        if due > now and f.par[promises.COMPRESS] == 0 and might_start(state, ground, job):
            promises.start_early(state, ground, job)
            due = ground.job[job, sf.DUE]
        if due > now:
            if not ahead and state.job[job, BLOCKED_AT] < 0:
                state.job[job, BLOCKED_AT] = now
            ahead = True
            soonest = min(soonest, due)
            continue
        if ground.mark[sf.HAS_LIMITS] != 0 and not within(
            state, ground, job, ground.job[job, sf.ALT], number(IN_PLACE)
        ):
            promises.let_go(state, ground, job)
            ground.job[job, sf.WITHDRAWN] = ground.mark[sf.LEFT] + 1
            state.reg[SLIPPED] += 1
            ground.mark[sf.EARLY] = 1
            continue
        ground.job[job, sf.DUE] = NEVER
        count_plan(ground, job, 1)
        reason = HEAD if state.job[job, BLOCKED_AT] < 0 else RESERVED
        begin_here(state, ground, job, BACKFILLED if ahead else reason)
    ground.mark[sf.SOONEST] = soonest


__all__ = ["ConservativeState", "decide", "make_conservative", "run"]


@routine
def sweep(state: State, ground: Ground, f: ConservativeState, count: int) -> None:
    """One sweep in queue order: promises to their earliest start, never later."""
    begin = ground.mark[sf.GAINS]
    spent = 0
    f.par[promises.UNFINISHED] = 0
    for i in range(count):
        job = f.line[i]
        due = ground.job[job, sf.DUE]
        if due == NEVER:
            if f.par[promises.EVERY_PASS] != 0:
                promises.give_first(state, ground, job)
            continue
        asked = ground.job[job, sf.ASKED]
        if asked == ground.mark[sf.GAINS]:
            continue
        if f.par[promises.EFFORT] > 0 and spent >= f.par[promises.EFFORT]:
            f.par[promises.UNFINISHED] = 1
            fill_idle(state, ground, f, i, count)
            return  # the log of gains stays as it is: the others have not been asked
        ground.job[job, sf.ASKED] = ground.mark[sf.GAINS]
        since, until = gain_for(state, ground, job, due, asked)
        spent += min(ground.mark[sf.GAINS] - asked, promises.MANY_GAINS)
        if since < until:
            improve(state, ground, job, since, until)
            spent += promises.A_SEARCH
    # Every job has been asked about what came before: only what was given up meanwhile stays.
    shift = begin - ground.mark[sf.GAINS_FROM]
    for row in range(shift, ground.mark[sf.GAINS] - ground.mark[sf.GAINS_FROM]):
        for k in range(3):
            ground.gain[row - shift, k] = ground.gain[row, k]
    ground.mark[sf.GAINS_FROM] = begin


@routine
def fill_idle(state: State, ground: Ground, f: ConservativeState, first: int, count: int) -> None:
    """Jobs that the sweep has not reached start now if they fit beside all plans, their own too.

    Otherwise nodes would stay idle until the sweep has come to a job that can use them.
    """
    now = state.reg[NOW]
    ground.mark[sf.RELEASED] += 1  # with the plans as they are nothing has been refused yet
    for i in range(first, count):
        job = f.line[i]
        due = ground.job[job, sf.DUE]
        if due <= now or due == NEVER or not may_start(state, ground, job):
            continue
        alt = ask_start(state, ground, job)
        if alt < 0:
            continue
        end = due + state.job[job, ESTIMATE]
        hold_plan(ground, job, now, due, end, number(1))
        note_gain(ground, job, due, end)
        promises.promise(state, ground, job, now, alt)
        ground.mark[sf.RELEASED] += 1


@kernel
def gain_for(state: State, ground: Ground, job: int, due: int, asked: int) -> tuple[int, int]:
    """Starts from ``since`` to before ``until`` may have become possible, no others."""
    now = state.reg[NOW]
    length = state.job[job, ESTIMATE]
    ask = ground.job[job, sf.ASK]
    counted = ground.mark[sf.AMOUNTS] != 0 and takes_amounts(ground, ground.job[job, sf.ALT])
    first = asked - ground.mark[sf.GAINS_FROM]
    behind = ground.mark[sf.GAINS] - ground.mark[sf.GAINS_FROM]
    if behind - first > promises.MANY_GAINS:
        return now, due
    since, until = NEVER, 0
    for row in range(first, behind):
        node = ground.gain[row, 0]
        begin = max(now, ground.gain[row, 1] - length + 1)
        stop = min(due, ground.gain[row, 2])
        if begin >= stop or (begin >= since and stop <= until):
            continue
        if counted:  # whatever left this node may have held what the job lacks elsewhere
            since = min(since, begin)
            until = max(until, stop)
            continue
        for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
            shape = ground.alt[alt, sf.ALT_SHAPE]
            if not in_mask(ground, shape, node):
                continue
            start = opening(ground, now, shape, node, begin, length, stop, due)
            if start < stop:
                since = min(since, start)
                until = max(until, stop)
    return since, until


@kernel
def opening(
    ground: Ground, now: int, shape: int, node: int, start: int, length: int, before: int, own: int
) -> int:
    """The first start before an instant at which the node holds a task until ``own`` at least.

    From ``own`` on the job's own promise may be what keeps the node. NEVER if there is none.
    """
    step = current(ground, node, now)
    while start < before:
        while (
            ground.step[step, sf.NEXT] >= 0
            and ground.step[ground.step[step, sf.NEXT], sf.TIME] <= start
        ):
            step = ground.step[step, sf.NEXT]
        end = min(start + length, own)
        behind = -1
        at = step
        while at >= 0 and (at == step or ground.step[at, sf.TIME] < end):
            if holds(ground, shape, node, ground.step, at, sf.LEVEL) == 0:
                behind = (
                    ground.step[ground.step[at, sf.NEXT], sf.TIME]
                    if ground.step[at, sf.NEXT] >= 0
                    else NEVER
                )
            at = ground.step[at, sf.NEXT]
        if behind < 0:
            return start
        start = behind
    return NEVER


@routine
def improve(state: State, ground: Ground, job: int, since: int, until: int) -> None:
    """Ask for an earlier start, the job's own promise taken out."""
    now = state.reg[NOW]
    due = ground.job[job, sf.DUE]
    end = due + state.job[job, ESTIMATE]
    hold_plan(ground, job, now, due, end, number(1))
    start, alt = ask_earliest(state, ground, job, since, min(due, until), number(0))
    if alt < 0:
        hold_plan(ground, job, now, due, end, number(-1))
        return
    note_gain(ground, job, due, end)
    promises.promise(state, ground, job, start, alt)
    ground.job[job, sf.ASKED] = ground.mark[sf.GAINS]
