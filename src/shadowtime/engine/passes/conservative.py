"""Conservative backfilling: every waiting job holds a promise that outlives the pass.

spec: algorithms 1.3.

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
    ASK_ALL,
    BEGINS_AT,
    COMPRESS,
    DUE,
    EDGE,
    ENDS_AT,
    FIRST,
    GAPS,
    HOLDS,
    HOLDS_FEW,
    KNOWN,
    LENGTH_OF,
    LEVEL,
    LINE,
    LISTED,
    LISTED_AT,
    NEEDS,
    NEXT,
    RISES,
    SOONEST,
    STARTS,
    STEPS,
    TIME,
    book,
    drop_if_idle,
    empty,
    find_start,
    forget_past,
    holds_from,
    insert,
    make_availability,
    renew_near,
    seek_start,
    step_before,
    unlink,
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
from shadowtime.kernel.holes import bound_is_stale, divide_time, find_holes, may_jump
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.line import (
    JUMP,
    KIND,
    SLIDE,
    WIDTH,
    close_gaps,
    leave_line,
    mark_jumps,
    next_asked,
    note_latest,
    stand_in_line,
)
from shadowtime.kernel.promises import jump, move, promise, release, slide
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


# The parts of every pass are kernels: with short queues, to hand all these arrays on from call to
# call would take longer than what is done with them.
@kernel
def decide(state: Any, b: Any) -> None:
    """One pass."""
    now = state.reg[NOW]
    forget_past(b, now)
    early = book_out_ended(state, b, now)
    if state.reg[VOLATILE] != 0:
        forget_overdue(state)
        rebuild(state, b)
    if b.mark[HOLDS] > HOLDS_FEW + (b.mark[STEPS] >> 1):
        renew_near(b)
    if early and b.mark[COMPRESS] != 0:
        compress(state, b)
    for job in range(state.reg[FRESH], state.reg[ARRIVED]):
        describe(state, b, job)
        need = b.job[job, NEEDS:]
        at = find_start(b, need, b.job[job, LENGTH_OF])
        if at != EDGE:  # a live pass has set aside what the hosts of now could never hold
            promise(b, job, need, at)
            stand_in_line(b, job)
        state.job[job, PROMISED] = b.job[job, DUE]
    if b.mark[COMPRESS] != 0:
        start_due(state, b, now)
    else:
        start_around(state, b, now)
    state.reg[WAKE] = max(b.mark[SOONEST], now + 1)  # time passes, whatever was promised


@kernel
def book_out_ended(state: Any, b: Any, now: int) -> bool:
    """Free what early ends leave of their expected time; True if there was one."""
    early = False
    for i in range(state.reg[ENDED]):
        job = state.ended[i]
        if state.job[job, EXPECTED] > now:
            early = True
            if state.reg[VOLATILE] == 0:  # else the book is made anew
                release(b, state.job[job, NEED:], b.mark[FIRST], b.job[job, ENDS_AT])
    return early


@kernel
def describe(state: Any, b: Any, job: int) -> None:
    """Note what the book must know of a job."""
    b.job[job, LENGTH_OF] = state.job[job, ESTIMATE]
    for k in range(NEEDS, b.job.shape[1]):
        b.job[job, k] = state.job[job, NEED + k - NEEDS]


@kernel
def compress(state: Any, b: Any) -> None:
    """One sweep in submit order: every promise to its earliest start, never later."""
    if b.mark[GAPS] > b.mark[LISTED] >> 2:
        close_gaps(b)
    few = state.reg[WAITING] <= b.mark[ASK_ALL]
    if few:
        b.mark[KNOWN] = 0
    now = b.step[TIME, b.mark[FIRST]]
    listed = b.mark[LISTED]
    for block in range(0, listed, BLOCK):
        place, beyond, rises = block, min(block + BLOCK, listed), -1
        while place < beyond:
            if not few:
                if b.mark[RISES] != rises:
                    if bound_is_stale(b):
                        find_holes(b)
                    mark_jumps(b, place)
                    rises = b.mark[RISES]
                place = next_asked(b, place, beyond)
                if place == beyond:
                    break
            job = b.listed[LINE, place]
            if job >= 0:
                move_earlier(b, job, place, now, few)
            place += 1


@kernel
def move_earlier(b: Any, job: int, place: int, now: int, few: bool) -> None:
    """Move a promise to its earliest start, if that is one of those its line gives reason for."""
    ask = b.ask[place]
    b.ask[place] = ask & WIDTH
    length = b.job[job, LENGTH_OF]
    latest = b.job[job, DUE] - length
    if few:
        jumps = latest > now
    else:
        jumps = ask & JUMP != 0 and may_jump(b, ask >> KIND, latest, length)
    need = b.job[job, NEEDS:]
    to = b.job[job, BEGINS_AT]
    if ask & SLIDE != 0:
        to = slide(b, job, need)
    if jumps:
        found = jump(b, job, need, to)
        if found != EDGE:
            to = found
    if to != b.job[job, BEGINS_AT]:
        move(b, job, need, to)


@kernel
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
            leave_line(b, job)
            if first_waiting(state) < job:
                begin(state, job, 0, BACKFILLED)
            else:
                begin_first(state, job, 0)
        at = b.step[NEXT, b.mark[FIRST]]
        while at != EDGE and b.step[LISTED_AT, at] < 0:
            at = b.step[NEXT, at]
        b.mark[SOONEST] = b.step[TIME, at]
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
    b.step[LISTED_AT, b.mark[FIRST]] = -1
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
    need, own, first = b.job[job, NEEDS:], b.job[job, BEGINS_AT], b.mark[FIRST]
    length = b.job[job, LENGTH_OF]
    at, _ = seek_start(b.step, first, need, length, now + 1, b.job[job, DUE])
    if at != first:
        return False
    end = b.job[job, ENDS_AT]
    unlink(b, job)
    release(b, need, own, end)
    promise(b, job, need, first)
    drop_if_idle(b, own)
    return True


@routine
def rebuild(state: Any, b: Any) -> None:
    """A job may have outlived its estimate: book everything again.

    In submit order, promises that still hold around the running jobs stay; those that do not
    are given again afterwards, in the same order, and counted as slipped.
    """
    now = state.reg[NOW]
    empty(b, now)
    first = b.mark[FIRST]
    for k in range(LEVEL, b.step.shape[0]):
        b.step[k, first] = state.host[CAPACITY, 0, k - LEVEL]
    for at in range(state.reg[RUNNING]):
        job = job_at(state, at)
        book(b, state.job[job, NEED:], first, max(end_at(state, at), now + 1), job)
    fresh, last = state.reg[FRESH], now
    job = first_waiting(state)
    while 0 <= job < fresh:
        last = max(last, b.job[job, DUE])
        job = next_waiting(state, job + 1)
    divide_time(b, now, last)
    b.near[:] = first
    slipped = 0
    job = first_waiting(state)
    while 0 <= job < fresh:
        describe(state, b, job)
        need, due = b.job[job, NEEDS:], b.job[job, DUE]
        at = step_before(b, due)
        if holds_from(b, need, at, due + b.job[job, LENGTH_OF]):
            if b.step[TIME, at] != due:
                at = insert(b, at, due)
            promise(b, job, need, at)
        else:
            b.job[job, DUE] = -1
            slipped += 1
        stand_in_line(b, job)
        job = next_waiting(state, job + 1)
    for place in range(b.mark[LISTED]):
        job = b.listed[LINE, place]
        if b.job[job, DUE] < 0:
            need = b.job[job, NEEDS:]
            promise(b, job, need, find_start(b, need, b.job[job, LENGTH_OF]))
            note_latest(b, job)
        b.ask[place] |= SLIDE
    state.reg[SLIPPED] += slipped


__all__ = ["decide", "make_availability", "run"]
