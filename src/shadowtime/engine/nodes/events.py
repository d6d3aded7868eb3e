"""The event loop of a world whose ends move at rates (spec: algorithms 1.1 and 4.5)."""

from __future__ import annotations

from shadowtime.engine import events
from shadowtime.engine.nodes.rates import (
    Rates,
    conclude,
    find_end,
    find_ends,
    refresh,
    set_out,
    will_end,
)
from shadowtime.engine.nodes.running_table import Table, vacate
from shadowtime.kernel import registers as r
from shadowtime.kernel.estimates import FIXED, learn_end
from shadowtime.kernel.fields import ENDS_AT, RANK, WHICH
from shadowtime.kernel.fields import START as BEGAN
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.state import State, World


@routine
def advance(state: State, world: World, table: Table, rates: Rates) -> int:
    """Go to the next instant and carry out its events: PASS_DUE, or DONE when nothing is left.

    ROOM_NEEDED: a checkpoint is to be written first.
    """
    reg = state.reg
    if events.to_be_saved(reg):
        return events.ROOM_NEEDED
    events.drop_stale_ends(state, world)
    now = events.next_instant(state, world)
    if now >= r.NEVER:
        return events.DONE
    reg[r.NOW] = now
    reg[r.DECISIONS] = 0
    reg[r.ENDED] = 0
    carry_out_ends(state, world, table, rates, now)
    events.admit(state, world, now)
    reg[r.PASSES] += 1
    return events.PASS_DUE


@kernel
def carry_out_ends(state: State, world: World, table: Table, rates: Rates, now: int) -> None:
    """End what ends now, by job id; the jobs that stay speed up."""
    reg = state.reg
    mask = (1 << reg[r.BITS]) - 1
    cores = table.par["cores"][0]
    while reg[r.ENDS] > 0 and world.ends[0] >> reg[r.BITS] == now:
        job = world.of_rank[world.ends[0] & mask]
        reg[r.ENDS] = pop(world.ends, reg[r.ENDS])
        if world.truth[job, ENDS_AT] != now:
            continue
        world.truth[job, ENDS_AT] = -1
        state.ended[reg[r.ENDED]] = job
        reg[r.ENDED] += 1
        conclude(table, rates, job, now)
        vacate(table, job)
        p = table.job["first"][job]
        while p >= 0:
            refresh(table, rates, p // cores, now)
            p = table.proc["next"][p]
        find_ends(table, rates, now)
        queue_ends(state, world, table, rates)
        if reg[r.LEARNER] != FIXED:
            state.job[job, BEGAN] = table.job["start"][job]
            learn_end(state, job)
        reg[r.EVENTS] += 1
        table.par["stale"][0] = 1


@routine
def queue_ends(state: State, world: World, table: Table, rates: Rates) -> None:
    """Put the ends that moved into the heap; the old ones go stale."""
    reg = state.reg
    for i in range(rates.par["moved"][0]):
        job = rates.moved[i]
        end = will_end(table, rates, job)
        if end != world.truth[job, ENDS_AT]:
            world.truth[job, ENDS_AT] = end
            if reg[r.ENDS] == world.ends.shape[0]:
                events.compact(state, world)
            reg[r.ENDS] = push(world.ends, reg[r.ENDS], end << reg[r.BITS] | world.truth[job, RANK])
    rates.par["moved"][0] = 0


@routine
def carry_out_starts(state: State, world: World, table: Table, rates: Rates) -> None:
    """Let the jobs run that the pass started: all their parts first, then the rates."""
    now = state.reg[r.NOW]
    count = state.reg[r.DECISIONS]
    cores = table.par["cores"][0]
    for i in range(count):
        set_out(table, rates, state.did[WHICH, i], now)
    for i in range(count):
        job = state.did[WHICH, i]
        p = table.job["first"][job]
        while p >= 0:
            refresh(table, rates, p // cores, now)
            p = table.proc["next"][p]
        queue_ends(state, world, table, rates)
    for i in range(count):
        job = state.did[WHICH, i]
        find_end(table, rates, job, now)
        rates.moved[0] = job
        rates.par["moved"][0] = 1
        queue_ends(state, world, table, rates)
