"""Conservative backfilling on nodes: every job holds a reservation in the table (spec 1.3, 4.2).

As on a pool (engine/passes/conservative.py): promises outlive the pass; after early ends one sweep
in submit order moves them forward. Here a promise is an allocation, chosen by the place part, and a
sweep asks that part again among the starts up to the promised one. By first fit with requests as
limits a job gains only from processors that came free since it was placed, so few are asked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shadowtime.engine.events import DONE, PASS_DUE, ROOM_NEEDED
from shadowtime.engine.nodes.events import advance, carry_out_starts
from shadowtime.engine.nodes.passes import choose_threshold, greet, move_overdue
from shadowtime.engine.nodes.promises import (
    begin,
    book,
    length_of,
    promise_anew,
    still_holds,
    write_plan,
)
from shadowtime.engine.nodes.seek import assess, seek
from shadowtime.kernel import fields
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.nodes.booking import change, free_slot, get_slot
from shadowtime.kernel.nodes.fields import (
    BY_LOAD,
    PLAN_START,
    PROCS,
    RUNNING,
    SEARCH,
    STRETCHED,
    ZERO,
)
from shadowtime.kernel.nodes.fields import FIRST_FIT as LOWEST
from shadowtime.kernel.nodes.fields import NOW as TABLE_NOW
from shadowtime.kernel.nodes.ledger import (
    BEGIN,
    COMPRESS,
    COUNT,
    DUE,
    GAIN,
    LEFT,
    PIECES,
    PLACE,
    RESUME,
    SOONEST,
    UNTIL,
    clear,
    forget_past,
    lacks_room,
)
from shadowtime.kernel.nodes.table import end_at, job_at
from shadowtime.kernel.nodes.window import first_room
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
    SHIFT,
    SLIPPED,
    VOLATILE,
    WAITING,
    WAKE,
)
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED

BLOCKED_AT, PROMISED, REASON = fields.BLOCKED_AT, fields.PROMISED, fields.REASON
WIDTH = fields.PROCS
"""Row of the queue's mirrors."""


class Units(NamedTuple):
    """What the pass calls through pointers."""

    change: Any
    first_room: Any
    assess: Any
    seek: Any


UNITS = Units(change, first_room, assess, seek)


@entry
def run(s: Any, w: Any, t: Any, r: Any, b: Any, k: Any) -> int:
    """The event loop with this pass."""
    while True:
        if b.par[RESUME] == 0 and advance(s, w, t, r) != PASS_DUE:
            return DONE
        b.par[RESUME] = 0
        if lacks_room(b, t.par[RUNNING] + s.reg[WAITING]):
            b.par[RESUME] = 1
            return ROOM_NEEDED
        t.par[TABLE_NOW] = s.reg[NOW]
        greet(s, t)
        decide(s, t, b, k)
        carry_out_starts(s, w, t, r)


@routine
def decide(s: Any, t: Any, b: Any, k: Any) -> None:
    """One pass."""
    now = s.reg[NOW]
    forget_past(b, now)
    early = book_out_ended(s, t, b, k, now)
    if t.par[BY_LOAD] != 0:
        choose_threshold(t)
    if s.reg[VOLATILE] != 0 and t.par[RUNNING] > 0 and end_at(t, ZERO) <= now:
        move_overdue(t)
        rebuild(s, t, b, k)
    if early and b.par[COMPRESS] != 0:
        compress(s, t, b, k)
    for job in range(s.reg[FRESH], s.reg[ARRIVED]):
        get_slot(b, job)
        promise_anew(t, b, k, job)
        s.job[job, PROMISED] = b.job[job, DUE]
    start_due(s, t, b, k, now)
    s.reg[WAKE] = b.par[SOONEST]


# ------------------------------------------------------------------------- promises
@kernel
def book_out_ended(s: Any, t: Any, b: Any, k: Any, now: int) -> bool:
    """Free what early ends leave of their time in the table; True if there was one."""
    early = False
    for i in range(s.reg[ENDED]):
        job = s.ended[i]
        until = b.job[job, UNTIL]
        if until > now:
            k.change(b, t, job, now, until, 1, COUNT | PLACE)
            b.par[GAIN] = max(b.par[GAIN], until)
            early = True
        free_slot(b, job)
    return early


@kernel
def widest_before(b: Any, before: int) -> int:
    """The most processors that are free at once before an instant."""
    most = 0
    at = 0
    while at < b.par[PIECES] and b.line[BEGIN, at] < before:
        most = max(most, b.line[LEFT, at])
        at += 1
    return most


@routine
def compress(s: Any, t: Any, b: Any, k: Any) -> None:
    """One sweep in submit order: every job to the start its place part now finds, never later."""
    by_gain = t.par[SEARCH] == LOWEST and t.par[STRETCHED] == 0
    gain = b.par[GAIN] if by_gain else NEVER
    moved_until = 0
    fresh = s.reg[FRESH]
    widest = widest_before(b, gain)
    for block in range(s.reg[QUEUE_FROM] >> SHIFT, (fresh + BLOCK - 1) >> SHIFT):
        if s.least[WIDTH, block] > widest:
            continue
        for job in range(block * BLOCK, min(fresh, block * BLOCK + BLOCK)):
            if s.wait[WIDTH, job] > widest:  # tombstones are wider than anything
                continue
            due = b.job[job, DUE]
            before = min(due, gain)
            # With its own time left aside: who finds no room so finds none.
            at = k.first_room(b, t, job, ZERO, before, due)
            if at < 0:
                continue
            freed = due + length_of(t, b, job)
            book(t, b, k, job, 1)
            if k.seek(b, t, k.first_room, k.assess, job, at, due, before):
                write_plan(t, b, job)
                moved_until = max(moved_until, freed)
                gain = max(gain, moved_until)
            book(t, b, k, job, -1)
            widest = widest_before(b, gain)
    # What later jobs gave up in this sweep is all that earlier ones have not been asked about.
    b.par[GAIN] = moved_until


@routine
def rebuild(s: Any, t: Any, b: Any, k: Any) -> None:
    """Somebody has outlived its end in the table: book everything anew.

    In submit order, reservations that still hold around the running jobs stay; those that do not
    are given anew afterwards, in the same order, and counted as slipped.
    """
    now = s.reg[NOW]
    clear(b, t)
    b.par[SOONEST] = NEVER
    for at in range(t.par[RUNNING]):
        job = job_at(t, at)
        b.job[job, UNTIL] = end_at(t, at)
        k.change(b, t, job, now, end_at(t, at), -1, COUNT | PLACE)
    fresh = s.reg[FRESH]
    job = first_waiting(s)
    while 0 <= job < fresh:
        if still_holds(t, b, job):
            book(t, b, k, job, -1)
        else:
            b.job[job, DUE] = -1
        job = next_waiting(s, job + 1)
    job = first_waiting(s)
    while 0 <= job < fresh:
        if b.job[job, DUE] < 0:
            promise_anew(t, b, k, job)
            s.reg[SLIPPED] += 1
        job = next_waiting(s, job + 1)
    b.par[GAIN] = NEVER


# ------------------------------------------------------------------------- starts
@routine
def start_due(s: Any, t: Any, b: Any, k: Any, now: int) -> None:
    """Start who is due now; without compression also whose place part would have it now."""
    head = first_waiting(s)
    if head < 0:
        b.par[SOONEST] = NEVER
        return
    if b.par[SOONEST] > now and b.par[COMPRESS] != 0:
        block_head(s, head, now)
        return
    head = -1
    soonest = NEVER
    arrived = s.reg[ARRIVED]
    for block in range(s.reg[QUEUE_FROM] >> SHIFT, (arrived + BLOCK - 1) >> SHIFT):
        if s.least[WIDTH, block] == BIG:
            continue
        for job in range(block * BLOCK, min(arrived, block * BLOCK + BLOCK)):
            if s.wait[WIDTH, job] == BIG:
                continue
            if b.job[job, DUE] == now or may_start_early(t, b, k, job, now):
                # The reason of whoever starts behind a job that stays is known at once.
                s.job[job, REASON] = BACKFILLED
                if head < 0:
                    s.job[job, REASON] = HEAD if s.job[job, BLOCKED_AT] < 0 else RESERVED
                begin(s, t, b, k, job, now)
                continue
            soonest = min(soonest, b.job[job, DUE])
            if head < 0:
                head = job
    b.par[SOONEST] = soonest
    if head >= 0:
        block_head(s, head, now)


@kernel
def block_head(s: Any, head: int, now: int) -> None:
    """Note the first pass at which a job was first in the queue and could not start."""
    if s.job[head, BLOCKED_AT] < 0:
        s.job[head, BLOCKED_AT] = now


@kernel
def may_start_early(t: Any, b: Any, k: Any, job: int, now: int) -> bool:
    """Without compression: the place part, asked again, answers now; the job is booked so."""
    if b.par[COMPRESS] != 0 or b.line[LEFT, 0] < t.job[job, PROCS]:
        return False
    book(t, b, k, job, 1)
    due = b.job[job, DUE]
    sooner = k.seek(b, t, k.first_room, k.assess, job, ZERO, due, due)
    sooner = sooner and t.par[PLAN_START] == now
    if sooner:
        write_plan(t, b, job)
    book(t, b, k, job, -1)
    return sooner
