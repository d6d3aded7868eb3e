"""Conservative backfilling on a site: every job in the queue holds a plan that outlives the pass.

One pass: promises that no longer hold are given anew; after an early release one sweep in queue
order moves promises to earlier starts; newcomers get theirs; who is due starts. The sweep looks
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
from shadowtime.kernel.registers import BITS, NEVER, NOW, SLIPPED, VOLATILE, WAITING, WAKE
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


class Kept(NamedTuple):
    """The pass's parameters and scratch."""

    par: Any  # int64[4]
    jobs: Any  # int64[n]: the queue in order
    heap: Any  # int64[n]


def make_kept(*, n: int, compress: bool, effort: int = 0) -> Kept:
    """Parameters and room for a run of ``n`` jobs."""
    return Kept(
        par=np.array([compress, effort, 0, 0], np.int64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
    )


@entry
def run(s: Any, w: Any, g: Any, e: Any, f: Any) -> int:
    """The event loop with this pass."""
    while True:
        code = next_pass(s, w, g, e, number(0))
        if code != PASS_DUE:
            return int(code)
        decide(s, g, f)
        carry_out_decisions(s, w, g, e)


@entry
def decide_once(s: Any, g: Any, f: Any) -> int:
    """One pass, for a live scheduler, over what seat and once.py have put into the tables."""
    if lacks_room(s, g, number(0)):
        return ROOM_NEEDED
    decide(s, g, f)
    return DONE


@routine
def decide(s: Any, g: Any, f: Any) -> None:
    """One pass."""
    now = s.reg[NOW]
    if s.reg[VOLATILE] != 0:
        extend_overdue(s, g)
    count = 0
    if s.reg[WAITING] > 0:
        count = in_order(s, g, f)
    if g.mark[REPAIR] != 0 or g.mark[NEGATIVE] != 0:
        repair(s, g, f, count)
    g.mark[REPAIR] = 0
    g.mark[NEGATIVE] = 0
    if g.mark[EARLY] != 0 and f.par[COMPRESS] != 0:
        sweep(s, g, f, count)
    g.mark[EARLY] = 0
    for i in range(count):
        job = f.jobs[i]
        withdrawn = g.job[job, WITHDRAWN] == g.mark[LEFT] + 1
        if g.job[job, DUE] == NEVER and g.job[job, BROKEN] == 0 and not withdrawn:
            give(s, g, job)
            if g.job[job, DUE] < NEVER and s.job[job, PROMISED] < 0:
                s.job[job, PROMISED] = g.job[job, DUE]
        g.job[job, BROKEN] = 0
    start_due(s, g, f, count)
    s.reg[WAKE] = g.mark[SOONEST]
    if g.mark[EARLY] != 0 or f.par[UNFINISHED] != 0:
        s.reg[WAKE] = now + 1


@kernel
def in_order(s: Any, g: Any, f: Any) -> int:
    """The queue by (tier, arrival)."""
    count = gather(s, f.jobs)
    if g.mark[TIERS] == 0:
        return count
    bits = s.reg[BITS]
    size = 0
    for i in range(count):
        job = f.jobs[i]
        size = push(f.heap, size, (HIGHEST - g.job[job, TIER]) << bits | job)
    mask = (1 << bits) - 1
    for i in range(count):
        f.jobs[i] = f.heap[0] & mask
        size = pop(f.heap, size)
    return count


@routine
def promise(s: Any, g: Any, job: int, start: int, alt: int) -> None:
    """Hold the placement found last for a job."""
    keep_place(g, job, alt)
    g.job[job, DUE] = start
    g.mark[SOONEST] = min(g.mark[SOONEST], start)
    hold_plan(g, job, s.reg[NOW], start, start + s.job[job, ESTIMATE], number(-1))


@routine
def give(s: Any, g: Any, job: int) -> None:
    """Promise a job its earliest start, if it is considered and there is one."""
    start, alt = ask_earliest(s, g, job, s.reg[NOW], number(NEVER), number(1))
    if alt >= 0:
        promise(s, g, job, start, alt)
        g.job[job, ASKED] = g.mark[GAINS]


@kernel
def let_go(s: Any, g: Any, job: int) -> None:
    """Take a promise back: its nodes come free."""
    due = g.job[job, DUE]
    end = due + s.job[job, ESTIMATE]
    hold_plan(g, job, s.reg[NOW], due, end, number(1))
    note_gain(g, job, due, end)
    g.job[job, DUE] = NEVER


@routine
def repair(s: Any, g: Any, f: Any, count: int) -> None:
    """Promises that still hold around the running jobs stay, in queue order; others are anew."""
    now = s.reg[NOW]
    for i in range(count):
        job = f.jobs[i]
        due = g.job[job, DUE]
        if due < NEVER:
            hold_plan(g, job, now, due, due + s.job[job, ESTIMATE], number(1))
    for i in range(count):
        job = f.jobs[i]
        due = g.job[job, DUE]
        if due == NEVER:
            continue
        end = due + s.job[job, ESTIMATE]
        if promise_holds(s, g, job, due):
            hold_plan(g, job, now, due, end, number(-1))
        else:
            note_gain(g, job, due, end)
            g.job[job, DUE] = NEVER
            g.job[job, BROKEN] = 1
    for i in range(count):
        job = f.jobs[i]
        if g.job[job, BROKEN] != 0:
            s.reg[SLIPPED] += 1
            give(s, g, job)
    g.mark[SOONEST] = min(g.mark[SOONEST], now)  # the last one may have been given anew


@kernel
def promise_holds(s: Any, g: Any, job: int, due: int) -> bool:
    """True if the promised nodes are still free and open for the whole estimate."""
    now = s.reg[NOW]
    shape = g.job[job, SHAPE]
    end = due + s.job[job, ESTIMATE]
    named = g.shape[shape, RESERVATION]
    if due < now:
        return False
    if named >= 0 and (
        g.reservation[named, RES_KNOWN] > now
        or g.reservation[named, RES_BEGIN] > due
        or g.reservation[named, RES_END] < end
    ):
        return False
    resources = g.step.shape[1] - LEVEL
    first = g.job[job, PLACE_FROM]
    for at in range(first, first + g.job[job, PLACE_COUNT]):
        node, tasks = g.place[at] >> 32, g.place[at] & 0xFFFFFFFF
        if closed(g, now, shape, node, due, end):
            return False
        step = current(g, node, now)
        following = g.step[step, NEXT]
        while step >= 0 and g.step[step, TIME] < end:
            if following < 0 or g.step[following, TIME] > due:
                for k in range(resources):
                    if g.step[step, LEVEL + k] < amount(g, shape, node, tasks, k):
                        return False
            step = following
            following = g.step[step, NEXT] if step >= 0 else -1
    return True


@routine
def sweep(s: Any, g: Any, f: Any, count: int) -> None:
    """One sweep in queue order: promises to their earliest start, never later."""
    begin = g.mark[GAINS]
    spent = 0
    f.par[UNFINISHED] = 0
    for i in range(count):
        job = f.jobs[i]
        due = g.job[job, DUE]
        if due == NEVER:
            continue
        asked = g.job[job, ASKED]
        if asked == g.mark[GAINS]:
            continue
        if f.par[EFFORT] > 0 and spent >= f.par[EFFORT]:
            f.par[UNFINISHED] = 1
            return  # the log of gains stays as it is: the others have not been asked
        g.job[job, ASKED] = g.mark[GAINS]
        since, until = gain_for(s, g, job, due, asked)
        spent += min(g.mark[GAINS] - asked, MANY_GAINS)
        if since < until:
            improve(s, g, job, since, until)
            spent += A_SEARCH
    # Everybody has been asked about what came before: only what was given up meanwhile stays.
    shift = begin - g.mark[GAINS_FROM]
    for row in range(shift, g.mark[GAINS] - g.mark[GAINS_FROM]):
        for k in range(3):
            g.gain[row - shift, k] = g.gain[row, k]
    g.mark[GAINS_FROM] = begin


@kernel
def gain_for(s: Any, g: Any, job: int, due: int, asked: int) -> tuple[int, int]:
    """Starts from ``since`` to before ``until`` may have become possible, no others."""
    now = s.reg[NOW]
    length = s.job[job, ESTIMATE]
    ask = g.job[job, ASK]
    first = asked - g.mark[GAINS_FROM]
    behind = g.mark[GAINS] - g.mark[GAINS_FROM]
    if behind - first > MANY_GAINS or first < 0:
        return now, due
    since, until = NEVER, 0
    for row in range(first, behind):
        node = g.gain[row, 0]
        begin = max(now, g.gain[row, 1] - length + 1)
        stop = min(due, g.gain[row, 2])
        if begin >= stop or (begin >= since and stop <= until):
            continue
        for alt in range(g.ask[ask, 0], g.ask[ask, 1]):
            shape = g.alt[alt, ALT_SHAPE]
            if not in_mask(g, shape, node):
                continue
            start = opening(g, now, shape, node, begin, length, stop, due)
            if start < stop:
                since = min(since, start)
                until = max(until, stop)
    return since, until


@kernel
def opening(
    g: Any, now: int, shape: int, node: int, start: int, length: int, before: int, own: int
) -> int:
    """The first start before an instant at which the node holds a task until ``own`` at least.

    From ``own`` on the job's own promise may be what keeps the node. NEVER if there is none.
    """
    step = current(g, node, now)
    while start < before:
        while g.step[step, NEXT] >= 0 and g.step[g.step[step, NEXT], TIME] <= start:
            step = g.step[step, NEXT]
        end = min(start + length, own)
        behind = -1
        at = step
        while at >= 0 and (at == step or g.step[at, TIME] < end):
            if holds(g, shape, node, g.step, at, LEVEL) == 0:
                behind = g.step[g.step[at, NEXT], TIME] if g.step[at, NEXT] >= 0 else NEVER
            at = g.step[at, NEXT]
        if behind < 0:
            return start
        start = behind
    return NEVER


@routine
def improve(s: Any, g: Any, job: int, since: int, until: int) -> None:
    """Ask for an earlier start, the job's own promise taken out."""
    now = s.reg[NOW]
    due = g.job[job, DUE]
    end = due + s.job[job, ESTIMATE]
    hold_plan(g, job, now, due, end, number(1))
    start, alt = ask_earliest(s, g, job, since, min(due, until), number(0))
    if alt < 0:
        hold_plan(g, job, now, due, end, number(-1))
        return
    note_gain(g, job, due, end)
    promise(s, g, job, start, alt)
    g.job[job, ASKED] = g.mark[GAINS]


@routine
def start_due(s: Any, g: Any, f: Any, count: int) -> None:
    """Start who is due now; without compression also who fits before its promise."""
    now = s.reg[NOW]
    if g.mark[SOONEST] > now and f.par[COMPRESS] != 0:
        for i in range(count):
            job = f.jobs[i]
            if g.job[job, DUE] < NEVER:
                if s.job[job, BLOCKED_AT] < 0:
                    s.job[job, BLOCKED_AT] = now
                break
        return
    ahead = False
    soonest = NEVER
    for i in range(count):
        job = f.jobs[i]
        due = g.job[job, DUE]
        if due == NEVER:
            continue
        if due > now and f.par[COMPRESS] == 0 and might_start(s, g, job):
            start_early(s, g, job)
            due = g.job[job, DUE]
        if due > now:
            if not ahead and s.job[job, BLOCKED_AT] < 0:
                s.job[job, BLOCKED_AT] = now
            ahead = True
            soonest = min(soonest, due)
            continue
        if g.mark[HAS_LIMITS] != 0 and not within(s, g, job, g.job[job, ALT], number(IN_PLACE)):
            let_go(s, g, job)
            g.job[job, WITHDRAWN] = g.mark[LEFT] + 1
            s.reg[SLIPPED] += 1
            g.mark[EARLY] = 1
            continue
        g.job[job, DUE] = NEVER
        count_plan(g, job, 1)
        reason = HEAD if s.job[job, BLOCKED_AT] < 0 else RESERVED
        begin_here(s, g, job, BACKFILLED if ahead else reason)
    g.mark[SOONEST] = soonest


@routine
def start_early(s: Any, g: Any, job: int) -> None:
    """Move the promise to now if the job fits now around all others."""
    now = s.reg[NOW]
    due, length = g.job[job, DUE], s.job[job, ESTIMATE]
    hold_plan(g, job, now, due, due + length, number(1))
    ask = g.job[job, ASK]
    for alt in range(g.ask[ask, 0], g.ask[ask, 1]):
        shape = g.alt[alt, ALT_SHAPE]
        if not open_for(g, now, shape, length):
            continue
        named = g.shape[shape, RESERVATION]
        if named >= 0 and g.reservation[named, RES_BEGIN] > now:
            continue
        if g.mark[HAS_LIMITS] != 0 and not within(s, g, job, alt, number(ASKED_FOR)):
            continue
        if choose(g, now, shape, now, length) and (
            g.mark[HAS_LIMITS] == 0 or within(s, g, job, alt, number(IN_SCRATCH))
        ):
            promise(s, g, job, now, alt)
            return
    hold_plan(g, job, now, due, due + length, number(-1))


__all__ = ["Kept", "decide", "make_kept", "run"]
