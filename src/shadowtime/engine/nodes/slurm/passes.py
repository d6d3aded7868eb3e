"""Slurm's scheduler on nodes: plans for all queued jobs at every pass (spec 6.3).

In arrival order every job gets the earliest start at which its nodes have, for its whole limit,
the cores it needs and (LessC, HPerf) the bandwidth it is counted with; nodes are filled in index
order. A job that can start now does. Under HPerf a finished job leaves a record of its tag behind.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import DONE, PASS_DUE, ROOM_NEEDED
from shadowtime.engine.nodes import fields as nodes
from shadowtime.engine.nodes.events import advance, carry_out_starts
from shadowtime.engine.nodes.running_table import claim, enlist
from shadowtime.engine.nodes.slurm.availability import (
    BEGIN,
    BY_RATE,
    BY_TAG,
    COUNT,
    FREE,
    FROM,
    LATE,
    LENGTH,
    LOOKED,
    MEASURED,
    NODES,
    PLACE_BITS,
    PLACES,
    PROCS,
    RECORDS,
    RESUME,
    ROW,
    RUNNING,
    SEGMENTS,
    SUM,
    TAG,
    TAKE,
    UNTIL,
    WISH,
    clear,
    cut,
    look_up,
    share_of,
    write_on,
)
from shadowtime.engine.nodes.slurm.earliest import earliest_start
from shadowtime.engine.nodes.slurm.startable import HORIZON, last_that_may_start
from shadowtime.kernel import fields
from shadowtime.kernel.fields import ENDS_AT, WHICH
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import dequeue, gather
from shadowtime.kernel.registers import ARRIVED, DECISIONS, NEVER, STARTED, WAITING
from shadowtime.kernel.registers import NOW as CLOCK
from shadowtime.kernel.running import BACKFILLED, RESERVED, log
from shadowtime.kernel.running import HEAD as AS_HEAD

BLOCKED_AT, PROMISED, REASON = fields.BLOCKED_AT, fields.PROMISED, fields.REASON


@entry
def run(state: Any, world: Any, table: Any, rates: Any, b: Any) -> int:
    """The event loop with this pass."""
    while b.par[RESUME] != 0 or advance(state, world, table, rates) == PASS_DUE:
        now = state.reg[CLOCK]
        table.par[nodes.NOW] = now
        if b.par[RESUME] == 0:
            forget_ended(world, table, rates, b, now)
            look_up_arrivals(state, b)
        if state.reg[WAITING] > 0:
            if 2 * (b.par[RUNNING] + state.reg[WAITING]) + 3 > b.when.shape[1]:
                b.par[RESUME] = 1
                return ROOM_NEEDED  # more segments in the book
            b.par[RESUME] = 0
            decide(state, b, now)
            occupy(state, table, b, now)
            carry_out_starts(state, world, table, rates)
    return DONE


@routine
def decide(state: Any, b: Any, now: int) -> None:
    """One pass: touches the queue, the log of decisions and the book alone.

    Plans only matter to later jobs that could start now, so the pass ends with the last of them;
    which one becomes clear as plans are made, and is asked again after 1, 2, 4, ... jobs. No job
    is harmed by a plan that begins when all of those would have ended (HORIZON): such a job is put
    off, until a job comes whose own plan might meet it.
    """
    count = gather(state, b.found)
    fill(b, now)
    if b.par[LATE] != 0:
        for i in range(count):
            look_up(b, b.found[i])
    last = last_that_may_start(b, 0, count - 1, 1)
    ask = 1
    blocked = False
    planned = 0
    off = -1  # the first job that is put off; the others follow by COUNT
    tail = -1
    bound = NEVER  # none of them starts before this
    for i in range(count):
        job = b.found[i]
        if i == ask:
            ask *= 2
            last = last_that_may_start(b, i, last, b.par[SEGMENTS])
        if i > last and (blocked or state.job[job, BLOCKED_AT] >= 0):
            break
        at = earliest_start(b, job, planned, b.par[HORIZON] if blocked else NEVER)
        if at < 0:
            bound = min(bound, b.par[HORIZON])
            b.job[job, COUNT] = -1
            if off < 0:
                off = job
            else:
                b.job[tail, COUNT] = job
            tail = job
            continue
        start = b.when[BEGIN, at]
        if start > now and start + b.job[job, LENGTH] > bound:
            planned = plan_all(b, off, planned)
            off = -1
            bound = NEVER
            at = earliest_start(b, job, planned, NEVER)
            start = b.when[BEGIN, at]
        book_taken(b, job, at, start + b.job[job, LENGTH])
        if start == now:
            reason = AS_HEAD if state.job[job, BLOCKED_AT] < 0 else RESERVED
            state.job[job, REASON] = BACKFILLED if blocked else reason
            begin(state, b, job, now)
            while last > i and b.job[b.found[last], PROCS] > b.when[FREE, b.when[ROW, 0]]:
                last -= 1
            continue
        b.job[job, FROM] = start
        b.found[planned] = job  # those in front of i are done with
        planned += 1
        if not blocked:
            blocked = True
            if state.job[job, BLOCKED_AT] < 0:
                state.job[job, BLOCKED_AT] = now
                state.job[job, PROMISED] = start


@routine
def plan_all(b: Any, job: int, planned: int) -> int:
    """Plan the jobs that were put off, in their order; returns how many plans there are now."""
    while job >= 0:
        at = earliest_start(b, job, planned, NEVER)
        start = b.when[BEGIN, at]
        book_taken(b, job, at, start + b.job[job, LENGTH])
        b.job[job, FROM] = start
        b.found[planned] = job
        planned += 1
        job = b.job[job, COUNT]
    return planned


@kernel
def fill(b: Any, now: int) -> None:
    """Write the running jobs into the book: until their limits, or the next second if past."""
    clear(b, now)
    for i in range(b.par[RUNNING]):
        job = b.running[i]
        last = cut(b, max(b.job[job, UNTIL], now + 1))
        for p in range(b.job[job, FROM], b.job[job, FROM] + b.job[job, COUNT]):
            node = b.places[p] >> PLACE_BITS
            some = b.places[p] & ((1 << PLACE_BITS) - 1)
            write_on(b, node, some, b.job[job, WISH], 0, last)


@kernel
def book_taken(b: Any, job: int, at: int, end: int) -> None:
    """Write the plan in TAKE into the book."""
    last = cut(b, end)
    for node in range(b.par[NODES]):
        if b.node[TAKE, node] > 0:
            write_on(b, node, b.node[TAKE, node], b.job[job, WISH], at, last)


@kernel
def begin(state: Any, b: Any, job: int, now: int) -> None:
    """Start a job now where TAKE says."""
    par = b.par
    b.job[job, UNTIL] = now + b.job[job, LENGTH]
    b.job[job, FROM] = par[PLACES]
    for node in range(par[NODES]):
        if b.node[TAKE, node] > 0:
            b.places[par[PLACES]] = node << PLACE_BITS | b.node[TAKE, node]
            par[PLACES] += 1
    b.job[job, COUNT] = par[PLACES] - b.job[job, FROM]
    b.running[par[RUNNING]] = job
    par[RUNNING] += 1
    dequeue(state, job)
    log(state, STARTED, job)


@routine
def occupy(state: Any, table: Any, b: Any, now: int) -> None:
    """The jobs that were started take their processors in the world."""
    for i in range(state.reg[DECISIONS]):
        job = state.did[WHICH, i]
        until = b.job[job, UNTIL]
        for p in range(b.job[job, FROM], b.job[job, FROM] + b.job[job, COUNT]):
            node = b.places[p] >> PLACE_BITS
            claim(
                table,
                job,
                node,
                b.places[p] & ((1 << PLACE_BITS) - 1),
                until,
                table.par[nodes.HOLD],
            )
        enlist(table, job, until)
        table.job[job, nodes.START] = now


# ---------------------------------------------------------------------------- learning
@routine
def forget_ended(world: Any, table: Any, rates: Any, b: Any, now: int) -> None:
    """Take ended jobs off the running list; what they drew becomes a record of their tag."""
    kept = 0
    for i in range(b.par[RUNNING]):
        job = b.running[i]
        if world.truth[job, ENDS_AT] >= 0:
            b.running[kept] = job
            kept += 1
        elif b.par[BY_TAG] != 0 and b.job[job, TAG] >= 0:
            tag = b.job[job, TAG]
            b.tag[tag, SUM] += measured(table, rates, b, job, now)
            b.tag[tag, RECORDS] += 1
    b.par[RUNNING] = kept


@kernel
def measured(table: Any, rates: Any, b: Any, job: int, now: int) -> int:
    """What the counters say of an ended job, in grains; its own slowdown counts if BY_RATE."""
    amount = b.job[job, MEASURED]
    elapsed = now - table.job[job, nodes.START]
    if b.par[BY_RATE] == 0 or elapsed == 0:
        return amount
    unit = rates.par[nodes.UNIT]
    work = 0
    p = table.job[job, nodes.FIRST]
    for i in range(b.job[job, FROM], b.job[job, FROM] + b.job[job, COUNT]):
        some = b.places[i] & ((1 << PLACE_BITS) - 1)
        work += some * (rates.job[job, nodes.RUN] * unit - rates.part[p, nodes.LEFT])
        p = table.proc[p, nodes.NEXT]
    return share_of(amount, work, b.job[job, PROCS] * unit * elapsed)


@kernel
def look_up_arrivals(state: Any, b: Any) -> None:
    """The demand of every new job, by its tag; frozen unless predict=start."""
    if b.par[BY_TAG] != 0:
        for job in range(b.par[LOOKED], state.reg[ARRIVED]):
            look_up(b, job)
    b.par[LOOKED] = state.reg[ARRIVED]
