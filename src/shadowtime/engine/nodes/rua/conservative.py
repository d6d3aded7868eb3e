"""Conservative backfilling on nodes: every job holds a reservation in the table.

spec: algorithms 1.3, 4.2.

As on a pool (engine/passes/conservative.py): promises outlive the pass; after early ends one sweep
in submit order moves them forward. Here a promise is an allocation, chosen by the place part, and a
sweep asks that part again among the starts up to the promised one. By first fit with requests as
limits a job gains only from processors that came free since it was placed, so few are asked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.nodes.events import advance, carry_out_starts
from shadowtime.engine.nodes.fields import FIRST_FIT as LOWEST
from shadowtime.engine.nodes.fields import (
    ZERO,
)
from shadowtime.engine.nodes.rates import Rates
from shadowtime.engine.nodes.rua import promises
from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.passes import admit, choose_threshold, move_overdue
from shadowtime.engine.nodes.rua.promises import change, free_slot, get_slot
from shadowtime.engine.nodes.rua.seek import assess, seek
from shadowtime.engine.nodes.rua.window import first_room
from shadowtime.engine.nodes.running_table import Table, end_at, job_at
from shadowtime.kernel import fields
from shadowtime.kernel import registers as r
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import first_waiting, next_waiting
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.state import State, World

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
def run(state: State, world: World, table: Table, rates: Rates, b: tl.Plan, k: Any) -> int:
    """The event loop with this pass."""
    while True:
        if b.par["resume"][0] == 0:
            code = advance(state, world, table, rates)
            if code != PASS_DUE:
                return int(code)
        b.par["resume"][0] = 0
        if tl.lacks_room(b, table.par["running"][0] + state.reg[r.WAITING]):
            b.par["resume"][0] = 1
            return ROOM_NEEDED
        table.par["now"][0] = state.reg[r.NOW]
        admit(state, table)
        decide(state, table, b, k)
        carry_out_starts(state, world, table, rates)


@routine
def decide(state: State, table: Table, b: tl.Plan, k: Any) -> None:
    """One pass."""
    now = state.reg[r.NOW]
    tl.forget_past(b, now)
    early = book_out_ended(state, table, b, k, now)
    if table.par["by_load"][0] != 0:
        choose_threshold(table)
    if state.reg[r.VOLATILE] != 0 and table.par["running"][0] > 0 and end_at(table, ZERO) <= now:
        move_overdue(table)
        rebuild(state, table, b, k)
    if early and b.par["compress"][0] != 0:
        compress(state, table, b, k)
    for job in range(state.reg[r.FRESH], state.reg[r.ARRIVED]):
        get_slot(b, job)
        promises.promise_anew(table, b, k, job)
        state.job[job, PROMISED] = b.job["due"][job]
    start_due(state, table, b, k, now)
    state.reg[r.WAKE] = b.par["soonest"][0]


# ------------------------------------------------------------------------- promises
@kernel
def book_out_ended(state: State, table: Table, b: tl.Plan, k: Any, now: int) -> bool:
    """Free what early ends leave of their time in the table; True if there was one."""
    early = False
    for i in range(state.reg[r.ENDED]):
        job = state.ended[i]
        until = b.job["until"][job]
        if until > now:
            k.change(b, table, job, now, until, 1, tl.COUNT | tl.PLACE)
            b.par["gain"][0] = max(b.par["gain"][0], until)
            early = True
        free_slot(b, job)
    return early


@kernel
def widest_before(b: tl.Plan, before: int) -> int:
    """The most processors that are free at once before an instant."""
    most = 0
    at = 0
    while at < b.par["pieces"][0] and b.line["begin"][at] < before:
        most = max(most, b.line["left"][at])
        at += 1
    return most


@routine
def compress(state: State, table: Table, b: tl.Plan, k: Any) -> None:
    """One sweep in submit order: every job to the start its place part now finds, never later."""
    by_gain = table.par["search"][0] == LOWEST and table.par["stretched"][0] == 0
    gain = b.par["gain"][0] if by_gain else r.NEVER
    moved_until = 0
    fresh = state.reg[r.FRESH]
    widest = widest_before(b, gain)
    for block in range(state.reg[r.QUEUE_FROM] >> r.SHIFT, (fresh + r.BLOCK - 1) >> r.SHIFT):
        if state.least[WIDTH, block] > widest:
            continue
        for job in range(block * r.BLOCK, min(fresh, block * r.BLOCK + r.BLOCK)):
            if state.wait[WIDTH, job] > widest:  # tombstones are wider than anything
                continue
            due = b.job["due"][job]
            before = min(due, gain)
            # With its own time left aside: a job that finds no room so finds none.
            at = k.first_room(b, table, job, ZERO, before, due)
            if at < 0:
                continue
            freed = due + promises.length_of(table, b, job)
            promises.book(table, b, k, job, 1)
            if k.seek(b, table, k.first_room, k.assess, job, at, due, before):
                promises.write_plan(table, b, job)
                moved_until = max(moved_until, freed)
                gain = max(gain, moved_until)
            promises.book(table, b, k, job, -1)
            widest = widest_before(b, gain)
    # What later jobs gave up in this sweep is all that earlier ones have not been asked about.
    b.par["gain"][0] = moved_until


@routine
def rebuild(state: State, table: Table, b: tl.Plan, k: Any) -> None:
    """A job has outlived its end in the table: book everything again.

    In submit order, reservations that still hold around the running jobs stay; those that do not
    are given again afterwards, in the same order, and counted as slipped.
    """
    now = state.reg[r.NOW]
    tl.clear(b, table)
    b.par["soonest"][0] = r.NEVER
    for at in range(table.par["running"][0]):
        job = job_at(table, at)
        b.job["until"][job] = end_at(table, at)
        k.change(b, table, job, now, end_at(table, at), -1, tl.COUNT | tl.PLACE)
    fresh = state.reg[r.FRESH]
    job = first_waiting(state)
    while 0 <= job < fresh:
        if promises.still_holds(table, b, job):
            promises.book(table, b, k, job, -1)
        else:
            b.job["due"][job] = -1
        job = next_waiting(state, job + 1)
    job = first_waiting(state)
    while 0 <= job < fresh:
        if b.job["due"][job] < 0:
            promises.promise_anew(table, b, k, job)
            state.reg[r.SLIPPED] += 1
        job = next_waiting(state, job + 1)
    b.par["gain"][0] = r.NEVER


# ------------------------------------------------------------------------- starts
@routine
def start_due(state: State, table: Table, b: tl.Plan, k: Any, now: int) -> None:
    """Start jobs that are due now; without compression also those the place part puts now."""
    head = first_waiting(state)
    if head < 0:
        b.par["soonest"][0] = r.NEVER
        return
    if b.par["soonest"][0] > now and b.par["compress"][0] != 0:
        block_head(state, head, now)
        return
    head = -1
    soonest = r.NEVER
    arrived = state.reg[r.ARRIVED]
    for block in range(state.reg[r.QUEUE_FROM] >> r.SHIFT, (arrived + r.BLOCK - 1) >> r.SHIFT):
        if state.least[WIDTH, block] == r.BIG:
            continue
        for job in range(block * r.BLOCK, min(arrived, block * r.BLOCK + r.BLOCK)):
            if state.wait[WIDTH, job] == r.BIG:
                continue
            if b.job["due"][job] == now or may_start_early(table, b, k, job, now):
                # The reason of a job that starts behind a job that stays is known at once.
                state.job[job, REASON] = BACKFILLED
                if head < 0:
                    state.job[job, REASON] = HEAD if state.job[job, BLOCKED_AT] < 0 else RESERVED
                promises.begin(state, table, b, k, job, now)
                continue
            soonest = min(soonest, b.job["due"][job])
            if head < 0:
                head = job
    b.par["soonest"][0] = soonest
    if head >= 0:
        block_head(state, head, now)


@kernel
def block_head(state: State, head: int, now: int) -> None:
    """Note the first pass at which a job was first in the queue and could not start."""
    if state.job[head, BLOCKED_AT] < 0:
        state.job[head, BLOCKED_AT] = now


@kernel
def may_start_early(table: Table, b: tl.Plan, k: Any, job: int, now: int) -> bool:
    """Without compression: the place part, asked again, answers now; the job is booked so."""
    if b.par["compress"][0] != 0 or b.line["left"][0] < table.job["procs"][job]:
        return False
    promises.book(table, b, k, job, 1)
    due = b.job["due"][job]
    sooner = k.seek(b, table, k.first_room, k.assess, job, ZERO, due, due)
    sooner = sooner and table.par["plan_start"][0] == now
    if sooner:
        promises.write_plan(table, b, job)
    promises.book(table, b, k, job, -1)
    return sooner
