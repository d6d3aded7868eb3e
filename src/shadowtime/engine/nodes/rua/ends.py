"""Ends of jobs among jobs that slow each other down (spec 4.5).

When a job ends, all the nodes it was on work faster at once, and a neighbour may share many of
them. So the rates come first and every neighbour whose last part gained is looked at once behind
them: looking again at every shared node costs the square of the nodes.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import DONE as NOTHING_LEFT
from shadowtime.engine.events import PASS_DUE, admit, drop_stale_ends, next_instant
from shadowtime.engine.nodes.events import queue_ends
from shadowtime.engine.nodes.fields import (
    BASE,
    CORES,
    DONE,
    FIRST,
    MOVED,
    NEXT,
    OVER,
    OWNER,
    PIN,
    PROCESSES,
    RATE,
    STALE,
    START,
    UNIT,
)
from shadowtime.engine.nodes.rates import conclude, find_end, over_on, settle
from shadowtime.engine.nodes.running_table import vacate
from shadowtime.kernel.estimates import FIXED, learn_end
from shadowtime.kernel.fields import ENDS_AT
from shadowtime.kernel.fields import START as BEGAN
from shadowtime.kernel.heap import pop
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import (
    BITS,
    DECISIONS,
    ENDED,
    ENDS,
    EVENTS,
    LEARNER,
    NEVER,
    NOW,
    PASSES,
)

UNKNOWN = -1
"""PIN of a job whose last part gained: which one is the last now is to be found."""


@routine
def advance(state: Any, world: Any, table: Any, rates: Any) -> int:
    """As nodes/events.advance, with the ends carried out as below."""
    reg = state.reg
    drop_stale_ends(state, world)
    now = next_instant(state, world)
    if now >= NEVER:
        return NOTHING_LEFT
    reg[NOW] = now
    reg[DECISIONS] = 0
    reg[ENDED] = 0
    carry_out_ends(state, world, table, rates, now)
    admit(state, world, now)
    reg[PASSES] += 1
    return PASS_DUE


@kernel
def carry_out_ends(state: Any, world: Any, table: Any, rates: Any, now: int) -> None:
    """End what ends now, by job id; the jobs that stay speed up."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    cores = table.par[CORES]
    while reg[ENDS] > 0 and world.ends[0] >> reg[BITS] == now:
        job = world.of_rank[world.ends[0] & mask]
        reg[ENDS] = pop(world.ends, reg[ENDS])
        if world.truth[job, ENDS_AT] != now:
            continue
        world.truth[job, ENDS_AT] = -1
        state.ended[reg[ENDED]] = job
        reg[ENDED] += 1
        conclude(table, rates, job, now)
        vacate(table, job)
        p = table.job[job, FIRST]
        while p >= 0:
            slacken(table, rates, p // cores, now)
            p = table.proc[p, NEXT]
        find_ends(table, rates, now)
        queue_ends(state, world, table, rates)
        if reg[LEARNER] != FIXED:
            state.job[job, BEGAN] = table.job[job, START]
            learn_end(state, job)
        reg[EVENTS] += 1
        table.par[STALE] = 1


@kernel
def slacken(table: Any, rates: Any, node: int, now: int) -> None:
    """Less is drawn on a node: its new rate, and the jobs whose last part lies there."""
    over = over_on(table, rates, node)
    before = rates.node[node, OVER]
    if over == before:
        return
    rate = rates.node[node, RATE]
    rates.node[node, OVER] = over
    rates.node[node, RATE] = rates.par[UNIT] * table.par[BASE] // (table.par[BASE] + over)
    cores = table.par[CORES]
    for p in range(node * cores, node * cores + cores):
        job = table.proc[p, OWNER]
        if job < 0 or table.proc[p, PROCESSES] == 0:
            continue
        settle(table, rates, p, job, before, rate, now)
        if rates.job[job, PIN] == p:
            rates.job[job, PIN] = UNKNOWN
            rates.moved[rates.par[MOVED]] = job
            rates.par[MOVED] += 1


@kernel
def find_ends(table: Any, rates: Any, now: int) -> None:
    """Look at all parts of the jobs found; those that end when they did move nothing."""
    count = rates.par[MOVED]
    moved = 0
    for i in range(count):
        job = rates.moved[i]
        known = rates.job[job, DONE]
        find_end(table, rates, job, now)
        if rates.job[job, DONE] != known:
            rates.moved[moved] = job
            moved += 1
    rates.par[MOVED] = moved
