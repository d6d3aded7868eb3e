"""Conservative backfilling on a site: every job in the queue holds a plan that outlives the pass.

One pass: promises that no longer hold are given again; after an early release one sweep in queue
order moves promises to earlier starts; newcomers get theirs; due jobs start. The sweep looks
at few jobs: a job can gain only from nodes that came free since it was last asked, in a window that
touches what came free.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.engine.site.events import (
    DONE,
    PASS_DUE,
    ROOM_NEEDED,
    carry_out_decisions,
    lacks_room,
    next_pass,
)
from shadowtime.kernel.fields import BLOCKED_AT, ESTIMATE, PROMISED
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import BITS, FAILED, NEVER, NOW, SLIPPED, VOLATILE, WAITING, WAKE
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.site.choose import choose
from shadowtime.kernel.site.fields import (
    ALT,
    ALT_SHAPE,
    ASK,
    ASKED,
    BROKEN,
    DUE,
    EARLY,
    GAINS,
    GAINS_FROM,
    HAS_LIMITS,
    LEFT,
    LEVEL,
    NEGATIVE,
    NEXT,
    PLACE_COUNT,
    PLACE_FROM,
    REPAIR,
    RES_BEGIN,
    RES_END,
    RES_KNOWN,
    RESERVATION,
    SHAPE,
    SOONEST,
    TIER,
    TIERS,
    TIME,
    WITHDRAWN,
)
from shadowtime.kernel.site.limits import ASKED_FOR, IN_PLACE, IN_SCRATCH, within
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.room import closed, holds, in_mask
from shadowtime.kernel.site.start import (
    ask_earliest,
    begin_here,
    count_plan,
    extend_overdue,
    hold_plan,
    keep_place,
    might_start,
    note_gain,
    open_for,
)
from shadowtime.kernel.site.steps import amount, current

COMPRESS = 0
EFFORT = 1
"""How much a sweep may look at, in gains; 0: all there is. The rest is left to the next pass."""
UNFINISHED = 2
"""1 if the sweep was left unfinished."""
MANY_GAINS = 256
"""With more gains than these a job is asked about all nodes at once."""
A_SEARCH = 1000
"""What a search for an earlier start costs, in gains looked at (measured, about)."""
HIGHEST = 1 << 20
"""More than any tier."""


class ConservativeState(NamedTuple):
    """The pass's parameters and scratch."""

    par: Any  # int64[4]
    jobs: Any  # int64[n]: the queue in order
    heap: Any  # int64[n]


def make_conservative(*, n: int, compress: bool, effort: int = 0) -> ConservativeState:
    """Parameters and room for a run of ``n`` jobs."""
    return ConservativeState(
        par=np.array([compress, effort, 0, 0], np.int64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
    )


@entry
def run(state: Any, world: Any, ground: Any, e: Any, f: Any) -> int:
    """The event loop with this pass."""
    while True:
        code = next_pass(state, world, ground, e, number(0))
        if code != PASS_DUE:
            return int(code)
        decide(state, ground, f)
        if state.reg[FAILED] >= 0:
            return DONE
        carry_out_decisions(state, world, ground, e)


@entry
def decide_once(state: Any, ground: Any, f: Any) -> int:
    """One pass, for a live scheduler, over the tables that seat.py and live_pass.py have filled."""
    if lacks_room(state, ground, number(0)):
        return ROOM_NEEDED
    decide(state, ground, f)
    return DONE


@routine
def decide(state: Any, ground: Any, f: Any) -> None:
    """One pass."""
    now = state.reg[NOW]
    if state.reg[VOLATILE] != 0:
        extend_overdue(state, ground)
    count = 0
    if state.reg[WAITING] > 0:
        count = in_order(state, ground, f)
    if ground.mark[REPAIR] != 0 or ground.mark[NEGATIVE] != 0:
        repair(state, ground, f, count)
    ground.mark[REPAIR] = 0
    ground.mark[NEGATIVE] = 0
    if ground.mark[EARLY] != 0 and f.par[COMPRESS] != 0:
        sweep(state, ground, f, count)
    ground.mark[EARLY] = 0
    for i in range(count):
        job = f.jobs[i]
        withdrawn = ground.job[job, WITHDRAWN] == ground.mark[LEFT] + 1
        if ground.job[job, DUE] == NEVER and ground.job[job, BROKEN] == 0 and not withdrawn:
            give(state, ground, job)
            if ground.job[job, DUE] < NEVER and state.job[job, PROMISED] < 0:
                state.job[job, PROMISED] = ground.job[job, DUE]
        ground.job[job, BROKEN] = 0
    start_due(state, ground, f, count)
    state.reg[WAKE] = ground.mark[SOONEST]
    if ground.mark[EARLY] != 0 or f.par[UNFINISHED] != 0:
        state.reg[WAKE] = now + 1


@kernel
def in_order(state: Any, ground: Any, f: Any) -> int:
    """The queue by (tier, arrival)."""
    count = gather(state, f.jobs)
    if ground.mark[TIERS] == 0:
        return count
    bits = state.reg[BITS]
    size = 0
    for i in range(count):
        job = f.jobs[i]
        size = push(f.heap, size, (HIGHEST - ground.job[job, TIER]) << bits | job)
    mask = (1 << bits) - 1
    for i in range(count):
        f.jobs[i] = f.heap[0] & mask
        size = pop(f.heap, size)
    return count


@routine
def promise(state: Any, ground: Any, job: int, start: int, alt: int) -> None:
    """Hold the placement found last for a job."""
    keep_place(ground, job, alt)
    ground.job[job, DUE] = start
    ground.mark[SOONEST] = min(ground.mark[SOONEST], start)
    hold_plan(ground, job, state.reg[NOW], start, start + state.job[job, ESTIMATE], number(-1))


@routine
def give(state: Any, ground: Any, job: int) -> None:
    """Promise a job its earliest start, if it is considered and there is one."""
    start, alt = ask_earliest(state, ground, job, state.reg[NOW], number(NEVER), number(1))
    if alt >= 0:
        promise(state, ground, job, start, alt)
        ground.job[job, ASKED] = ground.mark[GAINS]


@kernel
def let_go(state: Any, ground: Any, job: int) -> None:
    """Take a promise back: its nodes come free."""
    due = ground.job[job, DUE]
    end = due + state.job[job, ESTIMATE]
    hold_plan(ground, job, state.reg[NOW], due, end, number(1))
    note_gain(ground, job, due, end)
    ground.job[job, DUE] = NEVER


@routine
def repair(state: Any, ground: Any, f: Any, count: int) -> None:
    """Promises that hold around the running jobs stay, in queue order; others are made again."""
    now = state.reg[NOW]
    for i in range(count):
        job = f.jobs[i]
        due = ground.job[job, DUE]
        if due < NEVER:
            hold_plan(ground, job, now, due, due + state.job[job, ESTIMATE], number(1))
    for i in range(count):
        job = f.jobs[i]
        due = ground.job[job, DUE]
        if due == NEVER:
            continue
        end = due + state.job[job, ESTIMATE]
        if promise_holds(state, ground, job, due):
            hold_plan(ground, job, now, due, end, number(-1))
        else:
            note_gain(ground, job, due, end)
            ground.job[job, DUE] = NEVER
            ground.job[job, BROKEN] = 1
    for i in range(count):
        job = f.jobs[i]
        if ground.job[job, BROKEN] != 0:
            state.reg[SLIPPED] += 1
            give(state, ground, job)
    ground.mark[SOONEST] = min(ground.mark[SOONEST], now)  # the last one may have been given again


@kernel
def promise_holds(state: Any, ground: Any, job: int, due: int) -> bool:
    """True if the promised nodes are still free and open for the whole estimate."""
    now = state.reg[NOW]
    shape = ground.job[job, SHAPE]
    end = due + state.job[job, ESTIMATE]
    named = ground.shape[shape, RESERVATION]
    if due < now:
        return False
    if named >= 0 and (
        ground.reservation[named, RES_KNOWN] > now
        or ground.reservation[named, RES_BEGIN] > due
        or ground.reservation[named, RES_END] < end
    ):
        return False
    resources = ground.step.shape[1] - LEVEL
    first = ground.job[job, PLACE_FROM]
    for at in range(first, first + ground.job[job, PLACE_COUNT]):
        node, tasks = ground.place[at] >> 32, ground.place[at] & 0xFFFFFFFF
        if closed(ground, now, shape, node, due, end):
            return False
        step = current(ground, node, now)
        following = ground.step[step, NEXT]
        while step >= 0 and ground.step[step, TIME] < end:
            if following < 0 or ground.step[following, TIME] > due:
                for k in range(resources):
                    if ground.step[step, LEVEL + k] < amount(ground, shape, node, tasks, k):
                        return False
            step = following
            following = ground.step[step, NEXT] if step >= 0 else -1
    return True


@routine
def sweep(state: Any, ground: Any, f: Any, count: int) -> None:
    """One sweep in queue order: promises to their earliest start, never later."""
    begin = ground.mark[GAINS]
    spent = 0
    f.par[UNFINISHED] = 0
    for i in range(count):
        job = f.jobs[i]
        due = ground.job[job, DUE]
        if due == NEVER:
            continue
        asked = ground.job[job, ASKED]
        if asked == ground.mark[GAINS]:
            continue
        if f.par[EFFORT] > 0 and spent >= f.par[EFFORT]:
            f.par[UNFINISHED] = 1
            return  # the log of gains stays as it is: the others have not been asked
        ground.job[job, ASKED] = ground.mark[GAINS]
        since, until = gain_for(state, ground, job, due, asked)
        spent += min(ground.mark[GAINS] - asked, MANY_GAINS)
        if since < until:
            improve(state, ground, job, since, until)
            spent += A_SEARCH
    # Every job has been asked about what came before: only what was given up meanwhile stays.
    shift = begin - ground.mark[GAINS_FROM]
    for row in range(shift, ground.mark[GAINS] - ground.mark[GAINS_FROM]):
        for k in range(3):
            ground.gain[row - shift, k] = ground.gain[row, k]
    ground.mark[GAINS_FROM] = begin


@kernel
def gain_for(state: Any, ground: Any, job: int, due: int, asked: int) -> tuple[int, int]:
    """Starts from ``since`` to before ``until`` may have become possible, no others."""
    now = state.reg[NOW]
    length = state.job[job, ESTIMATE]
    ask = ground.job[job, ASK]
    first = asked - ground.mark[GAINS_FROM]
    behind = ground.mark[GAINS] - ground.mark[GAINS_FROM]
    if behind - first > MANY_GAINS or first < 0:
        return now, due
    since, until = NEVER, 0
    for row in range(first, behind):
        node = ground.gain[row, 0]
        begin = max(now, ground.gain[row, 1] - length + 1)
        stop = min(due, ground.gain[row, 2])
        if begin >= stop or (begin >= since and stop <= until):
            continue
        for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
            shape = ground.alt[alt, ALT_SHAPE]
            if not in_mask(ground, shape, node):
                continue
            start = opening(ground, now, shape, node, begin, length, stop, due)
            if start < stop:
                since = min(since, start)
                until = max(until, stop)
    return since, until


@kernel
def opening(
    ground: Any, now: int, shape: int, node: int, start: int, length: int, before: int, own: int
) -> int:
    """The first start before an instant at which the node holds a task until ``own`` at least.

    From ``own`` on the job's own promise may be what keeps the node. NEVER if there is none.
    """
    step = current(ground, node, now)
    while start < before:
        while ground.step[step, NEXT] >= 0 and ground.step[ground.step[step, NEXT], TIME] <= start:
            step = ground.step[step, NEXT]
        end = min(start + length, own)
        behind = -1
        at = step
        while at >= 0 and (at == step or ground.step[at, TIME] < end):
            if holds(ground, shape, node, ground.step, at, LEVEL) == 0:
                behind = (
                    ground.step[ground.step[at, NEXT], TIME]
                    if ground.step[at, NEXT] >= 0
                    else NEVER
                )
            at = ground.step[at, NEXT]
        if behind < 0:
            return start
        start = behind
    return NEVER


@routine
def improve(state: Any, ground: Any, job: int, since: int, until: int) -> None:
    """Ask for an earlier start, the job's own promise taken out."""
    now = state.reg[NOW]
    due = ground.job[job, DUE]
    end = due + state.job[job, ESTIMATE]
    hold_plan(ground, job, now, due, end, number(1))
    start, alt = ask_earliest(state, ground, job, since, min(due, until), number(0))
    if alt < 0:
        hold_plan(ground, job, now, due, end, number(-1))
        return
    note_gain(ground, job, due, end)
    promise(state, ground, job, start, alt)
    ground.job[job, ASKED] = ground.mark[GAINS]


@routine
def start_due(state: Any, ground: Any, f: Any, count: int) -> None:
    """Start jobs that are due now; without compression also those that fit before their promise."""
    now = state.reg[NOW]
    if ground.mark[SOONEST] > now and f.par[COMPRESS] != 0:
        for i in range(count):
            job = f.jobs[i]
            if ground.job[job, DUE] < NEVER:
                if state.job[job, BLOCKED_AT] < 0:
                    state.job[job, BLOCKED_AT] = now
                break
        return
    ahead = False
    soonest = NEVER
    for i in range(count):
        job = f.jobs[i]
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


@routine
def start_early(state: Any, ground: Any, job: int) -> None:
    """Move the promise to now if the job fits now around all others."""
    now = state.reg[NOW]
    due, length = ground.job[job, DUE], state.job[job, ESTIMATE]
    hold_plan(ground, job, now, due, due + length, number(1))
    ask = ground.job[job, ASK]
    for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
        shape = ground.alt[alt, ALT_SHAPE]
        if not open_for(ground, now, shape, length):
            continue
        named = ground.shape[shape, RESERVATION]
        if named >= 0 and ground.reservation[named, RES_BEGIN] > now:
            continue
        if ground.mark[HAS_LIMITS] != 0 and not within(state, ground, job, alt, number(ASKED_FOR)):
            continue
        if choose(state, ground, job, shape, now, length) and (
            ground.mark[HAS_LIMITS] == 0 or within(state, ground, job, alt, number(IN_SCRATCH))
        ):
            promise(state, ground, job, now, alt)
            return
    hold_plan(ground, job, now, due, due + length, number(-1))


__all__ = ["ConservativeState", "decide", "make_conservative", "run"]
