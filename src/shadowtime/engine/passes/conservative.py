"""Conservative backfilling: every waiting job holds a promise that outlives the pass (spec 1.3).

With compression, an instant with an early end sweeps the waiting jobs once in submit order and
moves promises earlier. The sweep looks at few of them: those that are due where processors came
free since they were last asked, and those for which there may be a hole (kernel/holes.py).
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import (
    DONE,
    PASS_DUE,
    ROOM_NEEDED,
    advance,
    carry_out_decisions,
    lacks_room,
)
from shadowtime.kernel.availability import (
    AFTER,
    ASK,
    ASK_ALL,
    CLASS_OF,
    COMPRESS,
    DUE,
    DUE_OF,
    FIRST,
    GONE,
    LAST_STEP,
    LENGTH_OF,
    LEVEL,
    LINE,
    LISTED,
    LISTED_AT,
    SOONEST,
    STARTS,
    TIME,
    book,
    class_of,
    find_start,
    forget_past,
    holds_at,
    last_step_before,
    make_availability,
    make_room,
    tidy,
)
from shadowtime.kernel.fields import (
    BLOCKED_AT,
    CAPACITY,
    ESTIMATE,
    EXPECTED,
    NEED,
    PROCS,
    PROMISED,
)
from shadowtime.kernel.holes import IN_VAIN, find_holes, may_jump, release
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.promises import jump, move, note_due, slide
from shadowtime.kernel.queue import first_waiting, next_waiting
from shadowtime.kernel.registers import (
    ARRIVED,
    BIG,
    BLOCK,
    ENDED,
    FRESH,
    NEVER,
    NOW,
    QUEUE_FROM,
    RUNNING,
    SHIFT,
    SLIPPED,
    VOLATILE,
    WAITING,
    WAKE,
)
from shadowtime.kernel.running import (
    BACKFILLED,
    begin,
    begin_first,
    end_at,
    fits,
    forget_overdue,
    job_at,
)


@entry
def run(state: Any, world: Any, b: Any) -> int:
    """The event loop with this pass."""
    while not lacks_room(state):
        if advance(state, world) != PASS_DUE:
            return DONE
        decide(state, b)
        carry_out_decisions(state, world)
    return ROOM_NEEDED


@routine
def decide(state: Any, b: Any) -> None:
    """One pass."""
    now = state.reg[NOW]
    forget_past(b, now)
    early = book_out_ended(state, b, now)
    if state.reg[VOLATILE] != 0:
        forget_overdue(state)
        rebuild(state, b)
    if early and b.mark[COMPRESS] != 0:
        compress(state, b)
    for job in range(state.reg[FRESH], state.reg[ARRIVED]):
        start = find_start(b, state.job[job, NEED:], state.job[job, ESTIMATE], NEVER, NEVER)
        stand_in_line(state, b, job, start)
        promise(state, b, job, start)
        state.job[job, PROMISED] = start
    if b.mark[COMPRESS] != 0:
        start_due(state, b, now)
    else:
        start_around(state, b, now)
    state.reg[WAKE] = max(b.mark[SOONEST], now + 1)  # time goes on, whatever was promised


@kernel
def book_out_ended(state: Any, b: Any, now: int) -> bool:
    """Free what early ends leave of their expected time; True if there was one."""
    early = False
    for i in range(state.reg[ENDED]):
        job = state.ended[i]
        end = state.job[job, EXPECTED]
        if end > now:
            release(b, state.job[job, NEED:], now, end, False)
            early = True
    return early


@kernel
def promise(state: Any, b: Any, job: int, start: int) -> None:
    """Book a waiting job in."""
    note_due(b, job, start)
    listed = job if b.mark[COMPRESS] != 0 else -1
    book(b, state.job[job, NEED:], start, start + state.job[job, ESTIMATE], listed)


@kernel
def stand_in_line(state: Any, b: Any, job: int, due: int) -> None:
    """Put a job behind all that have a promise."""
    last = b.mark[LISTED]
    b.listed[LINE, last], b.listed[DUE_OF, last] = job, due
    b.listed[LENGTH_OF, last] = state.job[job, ESTIMATE]
    b.listed[CLASS_OF, last] = class_of(state.job[job, NEED])
    b.mark[LISTED] = last + 1


@routine
def compress(state: Any, b: Any) -> None:
    """One sweep in submit order: every promise to its earliest start, never later."""
    tidy(b)
    few = state.reg[WAITING] <= b.mark[ASK_ALL]
    if not few:
        find_holes(b)
    vain = kept = 0
    for at in range(b.mark[LISTED]):
        job, due = b.listed[LINE, at], b.listed[DUE_OF, at]
        length, kind = b.listed[LENGTH_OF, at], b.listed[CLASS_OF, at]
        ask = b.ask[job]
        if ask == GONE:
            continue
        if at > kept:
            b.listed[LINE, kept], b.listed[DUE_OF, kept] = job, due
            b.listed[LENGTH_OF, kept], b.listed[CLASS_OF, kept] = length, kind
        kept += 1
        jumps = may_jump(b, kind, due - length, length, few)
        if ask == 0 and not jumps:
            continue
        b.ask[job] = 0
        make_room(b)
        need = state.job[job, NEED:]
        own = last_step_before(b, due + 1)
        start = due
        if ask != 0:
            start = b.step[TIME, slide(b, need, own)]
        if jumps:
            start = min(start, jump(b, kind, need, length, due, start, few))
        if start < due:
            b.listed[DUE_OF, kept - 1] = start
            move(b, job, need, length, start, own, not few)
            continue
        vain += 1
        if vain == IN_VAIN and not few:
            find_holes(b)
            vain = 0
    b.mark[LISTED] = kept


@routine
def start_due(state: Any, b: Any, now: int) -> None:
    """Start jobs that are due now."""
    if b.mark[SOONEST] <= now:
        count = 0
        job = b.step[LISTED_AT, b.mark[FIRST]]
        while job >= 0:  # in submit order
            at = count
            while at > 0 and b.listed[STARTS, at - 1] > job:
                b.listed[STARTS, at] = b.listed[STARTS, at - 1]
                at -= 1
            b.listed[STARTS, at] = job
            count += 1
            job = b.job[job, AFTER]
        b.step[LISTED_AT, b.mark[FIRST]] = -1
        for at in range(count):
            # The reason of a job that starts behind a job that stays is known at once.
            job = b.listed[STARTS, at]
            b.ask[job] = GONE
            if first_waiting(state) < job:
                begin(state, job, 0, BACKFILLED)
            else:
                begin_first(state, job, 0)
        step = b.mark[FIRST] + 1
        while step <= b.mark[LAST_STEP] and b.step[LISTED_AT, step] < 0:
            step += 1
        b.mark[SOONEST] = b.step[TIME, step] if step <= b.mark[LAST_STEP] else NEVER
    head = first_waiting(state)
    if head >= 0:
        block_head(state, head, now)


@routine
def start_around(state: Any, b: Any, now: int) -> None:
    """Without compression: start jobs that are due now, and those that fit before their promise."""
    head = -1
    soonest = NEVER
    arrived = state.reg[ARRIVED]
    for block in range(state.reg[QUEUE_FROM] >> SHIFT, (arrived + BLOCK - 1) >> SHIFT):
        if state.least[PROCS, block] == BIG:
            continue
        for job in range(block * BLOCK, min(arrived, block * BLOCK + BLOCK)):
            if state.wait[PROCS, job] == BIG:
                continue
            if b.job[job, DUE] == now or may_start_early(state, b, job, now):
                if head >= 0:
                    begin(state, job, 0, BACKFILLED)
                else:
                    begin_first(state, job, 0)
                continue
            soonest = min(soonest, b.job[job, DUE])
            if head < 0:
                head = job
    b.mark[SOONEST] = soonest
    if head >= 0:
        block_head(state, head, now)


@kernel
def block_head(state: Any, head: int, now: int) -> None:
    """Note the first pass at which a job was first in the queue and could not start."""
    if state.job[head, BLOCKED_AT] < 0:
        state.job[head, BLOCKED_AT] = now


@kernel
def may_start_early(state: Any, b: Any, job: int, now: int) -> bool:
    """The job fits now for its whole estimate around all promises."""
    if not fits(state, job, 0):
        return False
    due = b.job[job, DUE]
    length = state.job[job, ESTIMATE]
    if find_start(b, state.job[job, NEED:], length, now + 1, due) != now:
        return False
    release(b, state.job[job, NEED:], due, due + length, False)
    book(b, state.job[job, NEED:], now, now + length, -1)
    return True


@routine
def rebuild(state: Any, b: Any) -> None:
    """A job may have outlived its estimate: book everything again.

    In submit order, promises that still hold around the running jobs stay; those that do not
    are given again afterwards, in the same order, and counted as slipped.
    """
    now = state.reg[NOW]
    mark = b.mark
    mark[FIRST], mark[LAST_STEP], mark[LISTED], mark[SOONEST] = 0, 0, 0, NEVER
    b.step[TIME, 0], b.step[LISTED_AT, 0] = now, -1
    for k in range(LEVEL, b.step.shape[0]):
        b.step[k, 0] = state.host[CAPACITY, 0, k - LEVEL]
    for at in range(state.reg[RUNNING]):
        job = job_at(state, at)
        book(b, state.job[job, NEED:], now, max(end_at(state, at), now + 1), -1)
    fresh = state.reg[FRESH]
    job = first_waiting(state)
    while 0 <= job < fresh:
        due = b.job[job, DUE]
        stand_in_line(state, b, job, due)
        if holds_at(b, state.job[job, NEED:], state.job[job, ESTIMATE], due):
            promise(state, b, job, due)
        else:
            b.job[job, DUE] = -1
        job = next_waiting(state, job + 1)
    for at in range(mark[LISTED]):
        job = b.listed[LINE, at]
        if b.job[job, DUE] < 0:
            start = find_start(b, state.job[job, NEED:], state.job[job, ESTIMATE], NEVER, NEVER)
            promise(state, b, job, start)
            b.listed[DUE_OF, at] = start
            state.reg[SLIPPED] += 1
        b.ask[job] = ASK


__all__ = ["decide", "make_availability", "run"]
