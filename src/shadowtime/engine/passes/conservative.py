"""Conservative backfilling: every waiting job holds a promise that outlives the pass (spec 1.3).

With compression, an instant with an early end sweeps the waiting jobs once in submit order and
moves promises earlier. The sweep looks at few of them: a job can only gain from processors that
came free since it was placed, so a start must be sought before the end of that gain, and not at
all where the job is wider than the most that is free until then.
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
    COMPRESS,
    FIRST,
    GAIN,
    LAST_STEP,
    SOONEST,
    change,
    find_start,
    forget_past,
    holds_at,
    last_step_before,
    make_availability,
    peak_until,
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
from shadowtime.kernel.jit import entry, kernel, routine
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
        promise(state, b, job, start)
        state.job[job, PROMISED] = start
    start_due(state, b, now)
    state.reg[WAKE] = max(b.mark[SOONEST], now + 1)  # time goes on, whatever was promised


@kernel
def book_out_ended(state: Any, b: Any, now: int) -> bool:
    """Free what early ends leave of their expected time; True if there was one."""
    early = False
    for i in range(state.reg[ENDED]):
        job = state.ended[i]
        end = state.job[job, EXPECTED]
        if end > now:
            change(b, state.job[job, NEED:], now, end, 1)
            b.mark[GAIN] = max(b.mark[GAIN], end)
            early = True
    return early


@kernel
def promise(state: Any, b: Any, job: int, start: int) -> None:
    """Book a waiting job in."""
    b.due[job] = start
    b.mark[SOONEST] = min(b.mark[SOONEST], start)
    change(b, state.job[job, NEED:], start, start + state.job[job, ESTIMATE], -1)


@routine
def compress(state: Any, b: Any) -> None:
    """One sweep in submit order: every promise to its earliest start, never later."""
    gain = b.mark[GAIN]
    moved_until = 0
    fresh = state.reg[FRESH]
    widest = peak_until(b, last_step_before(b, gain))
    for block in range(state.reg[QUEUE_FROM] >> SHIFT, (fresh + BLOCK - 1) >> SHIFT):
        if state.least[PROCS, block] > widest:
            continue
        for job in range(block * BLOCK, min(fresh, block * BLOCK + BLOCK)):
            if state.wait[PROCS, job] > widest:  # tombstones are wider than anything
                continue
            due = b.due[job]
            before = min(due, gain)
            if state.job[job, NEED] > peak_until(b, last_step_before(b, before)):
                continue
            length = state.job[job, ESTIMATE]
            start = find_start(b, state.job[job, NEED:], length, before, due)
            if start < due:
                change(b, state.job[job, NEED:], due, due + length, 1)
                promise(state, b, job, start)
                moved_until = max(moved_until, due + length)
                gain = max(gain, moved_until)
                widest = peak_until(b, last_step_before(b, gain))
    # What later jobs gave up in this sweep is all that earlier ones have not been asked about.
    b.mark[GAIN] = moved_until


@routine
def start_due(state: Any, b: Any, now: int) -> None:
    """Start who is due now; without compression also who fits before its promise."""
    head = first_waiting(state)
    if head < 0:
        b.mark[SOONEST] = NEVER
        return
    if b.mark[SOONEST] > now and b.mark[COMPRESS] != 0:
        block_head(state, head, now)
        return
    head = -1
    soonest = NEVER
    arrived = state.reg[ARRIVED]
    for block in range(state.reg[QUEUE_FROM] >> SHIFT, (arrived + BLOCK - 1) >> SHIFT):
        if state.least[PROCS, block] == BIG:
            continue
        for job in range(block * BLOCK, min(arrived, block * BLOCK + BLOCK)):
            if state.wait[PROCS, job] == BIG:
                continue
            if b.due[job] == now or may_start_early(state, b, job, now):
                # The reason of a job that starts behind a job that stays is known at once.
                if head >= 0:
                    begin(state, job, 0, BACKFILLED)
                else:
                    begin_first(state, job, 0)
                continue
            soonest = min(soonest, b.due[job])
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
    """Without compression: the job fits now for its whole estimate around all promises."""
    if b.mark[COMPRESS] != 0 or not fits(state, job, 0):
        return False
    due = b.due[job]
    length = state.job[job, ESTIMATE]
    if find_start(b, state.job[job, NEED:], length, now + 1, due) != now:
        return False
    change(b, state.job[job, NEED:], due, due + length, 1)
    change(b, state.job[job, NEED:], now, now + length, -1)
    return True


@routine
def rebuild(state: Any, b: Any) -> None:
    """A job may have outlived its estimate: book everything again.

    In submit order, promises that still hold around the running jobs stay; those that do not
    are given again afterwards, in the same order, and counted as slipped.
    """
    now = state.reg[NOW]
    mark = b.mark
    mark[FIRST], mark[LAST_STEP], mark[SOONEST] = 0, 0, NEVER
    b.time[0] = now
    for k in range(b.level.shape[0]):
        b.level[k, 0] = state.host[CAPACITY, 0, k]
    for at in range(state.reg[RUNNING]):
        job = job_at(state, at)
        change(b, state.job[job, NEED:], now, max(end_at(state, at), now + 1), -1)
    fresh = state.reg[FRESH]
    job = first_waiting(state)
    while 0 <= job < fresh:
        due = b.due[job]
        if holds_at(b, state.job[job, NEED:], state.job[job, ESTIMATE], due):
            promise(state, b, job, due)
        else:
            b.due[job] = -1
        job = next_waiting(state, job + 1)
    job = first_waiting(state)
    while 0 <= job < fresh:
        if b.due[job] < 0:
            start = find_start(b, state.job[job, NEED:], state.job[job, ESTIMATE], NEVER, NEVER)
            promise(state, b, job, start)
            state.reg[SLIPPED] += 1
        job = next_waiting(state, job + 1)
    mark[GAIN] = NEVER


__all__ = ["decide", "make_availability", "run"]
