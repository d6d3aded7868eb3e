"""The one event loop: from instant to instant, and what each decision does to the world.

At one instant (spec: algorithms 1.1): ends and kills by job id, prediction corrections, submissions
by id, timers, then one pass. An instant with corrections only has no pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.corrections import correct, first_correction
from shadowtime.kernel.estimates import FIXED, learn_end, learn_submit
from shadowtime.kernel.fields import (
    AHEAD,
    ENDS_AT,
    ESTIMATE,
    KIND,
    LIMIT,
    RANK,
    RUN,
    START,
    SUBMIT,
    WHICH,
)
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import enqueue
from shadowtime.kernel.registers import (
    ARRIVED,
    ATTEMPTS,
    BITS,
    BY_EVENT,
    CHANGED,
    CORRECTIONS,
    DECISIONS,
    ENDED,
    ENDS,
    EVENTS,
    FRESH,
    KILLED,
    KILLS,
    LEARNER,
    NEVER,
    NOW,
    PASSES,
    PAUSE,
    RUNNING,
    STARTS,
    WAKE,
)
from shadowtime.kernel.running import end_at, find, give_back, job_at, remove

if TYPE_CHECKING:
    from shadowtime.kernel.state import State, World
    from shadowtime.types import Ints

DONE = 0
PASS_DUE = 1
ROOM_NEEDED = 2
BROKEN = 3
"""A function of the user's own failed for the job in the register FAILED (fillers.py)."""
NEVER_FITS = 4
"""Bounds that change never let the first waiting job start, which a pool has no answer to."""


@kernel
def advance(state: State, world: World) -> int:
    """Go to the next instant and carry out its events: PASS_DUE, or DONE when nothing is left."""
    reg = state.reg
    if reg[BY_EVENT] != 0:
        return advance_by_event(state, world)
    while True:
        drop_stale_ends(state, world)
        now = next_instant(state, world)
        if now >= NEVER:
            return DONE
        reg[NOW] = now
        reg[ENDED] = 0
        reg[DECISIONS] = 0
        due = carry_out_ends(state, world, now)
        carry_out_corrections(state, world, now)
        due |= admit(state, world, now)
        if reg[WAKE] <= now:
            reg[WAKE] = NEVER
            due = True
        if due:
            reg[PASSES] += 1
            return PASS_DUE


@routine
def advance_by_event(state: State, world: World) -> int:
    """Go to the next event instead: submissions come before ends, and each has its own pass.

    This is the order of the simulator pyss. A job that ends just when expected is gone for all
    passes of that instant: pyss plans with expected ends. Ends come in the order of the starts; one
    that was expected and comes first has a pass before the next one.
    """
    reg = state.reg
    drop_stale_ends(state, world)
    now = next_instant(state, world)
    if now >= NEVER:
        return DONE
    reg[NOW], reg[ENDED], reg[DECISIONS], reg[FRESH] = now, 0, 0, reg[ARRIVED]
    mask = (1 << reg[BITS]) - 1
    first = -1
    if reg[ENDS] > 0 and world.ends[0] >> reg[BITS] == now:
        first = world.of_rank[world.ends[0] & mask]
    at = 0
    while at < reg[RUNNING] and end_at(state, at) <= now:
        job = job_at(state, at)
        if world.truth[job, ENDS_AT] == now:
            end_job(state, world, job)
        else:
            at += 1
    was_expected = first >= 0 and world.truth[first, ENDS_AT] != now
    drop_stale_ends(state, world)
    if reg[ARRIVED] < state.job.shape[0] and state.job[reg[ARRIVED], SUBMIT] <= now:
        reg[ARRIVED] += 1
        enqueue(state, reg[FRESH])
        reg[EVENTS] += 1
    elif not was_expected and reg[ENDS] > 0 and world.ends[0] >> reg[BITS] == now:
        end_job(state, world, world.of_rank[world.ends[0] & mask])
        reg[ENDS] = pop(world.ends, reg[ENDS])
    if reg[WAKE] <= now:
        reg[WAKE] = NEVER
    reg[PASSES] += 1
    return PASS_DUE


@kernel
def end_job(state: State, world: World, job: int) -> None:
    """A running job is over."""
    reg = state.reg
    remove(state, find(state, job))
    state.ended[reg[ENDED]] = job
    reg[ENDED] += 1
    give_back(state, job)
    world.truth[job, ENDS_AT] = -1
    reg[EVENTS] += 1
    reg[CHANGED] = 1


@kernel
def next_instant(state: State, world: World) -> int:
    """Time of the next event of any kind."""
    reg = state.reg
    now = reg[WAKE]
    if reg[ENDS] > 0:
        now = min(now, world.ends[0] >> reg[BITS])
    if reg[CORRECTIONS] > 0:
        now = min(now, world.corrections[0] >> reg[BITS])
    if reg[ARRIVED] < state.job.shape[0]:
        now = min(now, state.job[reg[ARRIVED], SUBMIT])
    return now


@kernel
def drop_stale_ends(state: State, world: World) -> None:
    """Forget ends that were overtaken by a preemption or a new end."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    while (
        reg[ENDS] > 0
        and world.truth[world.of_rank[world.ends[0] & mask], ENDS_AT] != world.ends[0] >> reg[BITS]
    ):
        reg[ENDS] = pop(world.ends, reg[ENDS])


@kernel
def carry_out_ends(state: State, world: World, now: int) -> bool:
    """End what ends now, by job id; the estimates learn from each."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    any_end = False
    while reg[ENDS] > 0 and world.ends[0] >> reg[BITS] == now:
        job = world.of_rank[world.ends[0] & mask]
        reg[ENDS] = pop(world.ends, reg[ENDS])
        if world.truth[job, ENDS_AT] != now:
            continue
        remove(state, find(state, job))
        state.ended[reg[ENDED]] = job
        reg[ENDED] += 1
        give_back(state, job)
        world.truth[job, ENDS_AT] = -1
        if reg[LEARNER] != FIXED:
            learn_end(state, job)
        reg[EVENTS] += 1
        any_end = True
    if any_end:
        reg[CHANGED] = 1
    return any_end


@kernel
def carry_out_corrections(state: State, world: World, now: int) -> None:
    """Raise the predictions that running jobs have outlived."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    while reg[CORRECTIONS] > 0 and world.corrections[0] >> reg[BITS] <= now:
        job = world.of_rank[world.corrections[0] & mask]
        when = world.corrections[0] >> reg[BITS]
        reg[CORRECTIONS] = pop(world.corrections, reg[CORRECTIONS])
        if (
            world.truth[job, ENDS_AT] >= 0
            and state.job[job, START] + state.job[job, ESTIMATE] == when
        ):
            correct(state, world, job)
            reg[EVENTS] += 1
            reg[CHANGED] = 1


@kernel
def admit(state: State, world: World, now: int) -> bool:
    """Queue what is submitted now."""
    reg = state.reg
    reg[FRESH] = reg[ARRIVED]
    n = state.job.shape[0]
    while reg[ARRIVED] < n and state.job[reg[ARRIVED], SUBMIT] <= now:
        job = reg[ARRIVED]
        reg[ARRIVED] += 1
        if reg[LEARNER] != FIXED:
            learn_submit(state, job)
        enqueue(state, job)
        reg[EVENTS] += 1
    return reg[FRESH] != reg[ARRIVED]


@kernel
def carry_out_decisions(state: State, world: World) -> None:
    """Carry out the decisions of the pass: ends of started jobs, lost attempts of stopped ones."""
    reg = state.reg
    now = reg[NOW]
    for i in range(reg[DECISIONS]):
        job = state.did[WHICH, i]
        if state.did[KIND, i] == KILLED:
            world.truth[job, ENDS_AT] = -1
            reg[KILLS] += 1
        else:
            end = now + min(world.truth[job, RUN], state.job[job, LIMIT]) - state.job[job, AHEAD]
            world.truth[job, ENDS_AT] = end
            if reg[BY_EVENT] != 0:  # ends of an instant come in the order of the starts
                world.truth[job, RANK] = reg[STARTS]
                world.of_rank[reg[STARTS]] = job
                reg[STARTS] += 1
            if reg[ENDS] == world.ends.shape[0]:
                compact(state, world)
            reg[ENDS] = push(world.ends, reg[ENDS], end << reg[BITS] | world.truth[job, RANK])
            if reg[LEARNER] != FIXED:
                first_correction(state, world, job)
    reg[CHANGED] = 0


@kernel
def compact(state: State, world: World) -> None:
    """Rebuild the heap of ends without the stale entries."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    kept = 0
    for i in range(reg[ENDS]):
        key = world.ends[i]
        if world.truth[world.of_rank[key & mask], ENDS_AT] == key >> reg[BITS]:
            kept = push(world.ends, kept, key)
    reg[ENDS] = kept


@kernel
def lacks_room(state: State) -> bool:
    """True when the log of attempts might overflow in the next pass, or the loop shall return."""
    full = state.reg[ATTEMPTS] + state.reg[RUNNING] > state.tried.shape[1]
    return bool(full or to_be_saved(state.reg))


@kernel
def to_be_saved(reg: Ints) -> bool:
    """True when the loop shall return before the next pass, for a checkpoint."""
    return bool(0 < reg[PAUSE] <= reg[PASSES] + 1)
