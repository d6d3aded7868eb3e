"""The one event loop: from instant to instant, and what each decision does to the world.

At one instant (spec: algorithms 1.1): ends and kills by job id, prediction corrections, submissions
by id, timers, then one pass. An instant with corrections only has no pass.
"""

from __future__ import annotations

from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.estimates import FIXED, learn_end, learn_submit
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import enqueue
from shadowtime.kernel.running import (
    correct,
    end_at,
    find,
    first_correction,
    give_back,
    job_at,
    remove,
)
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
    if reg[r.BY_EVENT] != 0:
        return advance_by_event(state, world)
    while True:
        drop_stale_ends(state, world)
        now = next_instant(state, world)
        if now >= r.NEVER:
            return DONE
        reg[r.NOW] = now
        reg[r.ENDED] = 0
        reg[r.DECISIONS] = 0
        due = carry_out_ends(state, world, now)
        carry_out_corrections(state, world, now)
        due |= admit(state, world, now)
        if reg[r.WAKE] <= now:
            reg[r.WAKE] = r.NEVER
            due = True
        if due:
            reg[r.PASSES] += 1
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
    if now >= r.NEVER:
        return DONE
    reg[r.NOW], reg[r.ENDED], reg[r.DECISIONS], reg[r.FRESH] = now, 0, 0, reg[r.ARRIVED]
    mask = (1 << reg[r.BITS]) - 1
    first = -1
    if reg[r.ENDS] > 0 and world.ends[0] >> reg[r.BITS] == now:
        first = world.of_rank[world.ends[0] & mask]
    at = 0
    while at < reg[r.RUNNING] and end_at(state, at) <= now:
        job = job_at(state, at)
        if world.truth[job, f.ENDS_AT] == now:
            end_job(state, world, job)
        else:
            at += 1
    was_expected = first >= 0 and world.truth[first, f.ENDS_AT] != now
    drop_stale_ends(state, world)
    if reg[r.ARRIVED] < state.job.shape[0] and state.job[reg[r.ARRIVED], f.SUBMIT] <= now:
        reg[r.ARRIVED] += 1
        enqueue(state, reg[r.FRESH])
        reg[r.EVENTS] += 1
    elif not was_expected and reg[r.ENDS] > 0 and world.ends[0] >> reg[r.BITS] == now:
        end_job(state, world, world.of_rank[world.ends[0] & mask])
        reg[r.ENDS] = pop(world.ends, reg[r.ENDS])
    if reg[r.WAKE] <= now:
        reg[r.WAKE] = r.NEVER
    reg[r.PASSES] += 1
    return PASS_DUE


@kernel
def end_job(state: State, world: World, job: int) -> None:
    """A running job is over."""
    reg = state.reg
    remove(state, find(state, job))
    state.ended[reg[r.ENDED]] = job
    reg[r.ENDED] += 1
    give_back(state, job)
    world.truth[job, f.ENDS_AT] = -1
    reg[r.EVENTS] += 1
    reg[r.CHANGED] = 1


@kernel
def next_instant(state: State, world: World) -> int:
    """Time of the next event of any kind."""
    reg = state.reg
    now = reg[r.WAKE]
    if reg[r.ENDS] > 0:
        now = min(now, world.ends[0] >> reg[r.BITS])
    if reg[r.CORRECTIONS] > 0:
        now = min(now, world.corrections[0] >> reg[r.BITS])
    if reg[r.ARRIVED] < state.job.shape[0]:
        now = min(now, state.job[reg[r.ARRIVED], f.SUBMIT])
    return now


@kernel
def drop_stale_ends(state: State, world: World) -> None:
    """Forget ends that were overtaken by a preemption or a new end."""
    reg = state.reg
    mask = (1 << reg[r.BITS]) - 1
    while (
        reg[r.ENDS] > 0
        and world.truth[world.of_rank[world.ends[0] & mask], f.ENDS_AT]
        != world.ends[0] >> reg[r.BITS]
    ):
        reg[r.ENDS] = pop(world.ends, reg[r.ENDS])


@kernel
def carry_out_ends(state: State, world: World, now: int) -> bool:
    """End what ends now, by job id; the estimates learn from each."""
    any_end = False
    while True:
        job = next_end(state, world, now)
        if job < 0:
            return any_end
        end_job(state, world, job)
        if state.reg[r.LEARNER] != FIXED:
            learn_end(state, job)
        any_end = True


@kernel
def next_end(state: State, world: World, now: int) -> int:
    """Take the next job that ends now, by job id, from the heap; -1 if there is none left."""
    reg = state.reg
    mask = (1 << reg[r.BITS]) - 1
    while reg[r.ENDS] > 0 and world.ends[0] >> reg[r.BITS] == now:
        job = world.of_rank[world.ends[0] & mask]
        reg[r.ENDS] = pop(world.ends, reg[r.ENDS])
        if world.truth[job, f.ENDS_AT] == now:
            return int(job)
    return -1


@kernel
def carry_out_corrections(state: State, world: World, now: int) -> None:
    """Raise the predictions that running jobs have outlived."""
    while True:
        job = next_outlived(state, world, now)
        if job < 0:
            return
        correct(state, world, job)


@kernel
def next_outlived(state: State, world: World, now: int) -> int:
    """Take the next job that has outlived its prediction from the heap; -1 if there is none left.

    It counts as an event: its prediction is raised next.
    """
    reg = state.reg
    mask = (1 << reg[r.BITS]) - 1
    while reg[r.CORRECTIONS] > 0 and world.corrections[0] >> reg[r.BITS] <= now:
        job = world.of_rank[world.corrections[0] & mask]
        when = world.corrections[0] >> reg[r.BITS]
        reg[r.CORRECTIONS] = pop(world.corrections, reg[r.CORRECTIONS])
        if (
            world.truth[job, f.ENDS_AT] >= 0
            and state.job[job, f.START] + state.job[job, f.ESTIMATE] == when
        ):
            reg[r.EVENTS] += 1
            reg[r.CHANGED] = 1
            return int(job)
    return -1


@kernel
def admit(state: State, world: World, now: int) -> bool:
    """Queue what is submitted now."""
    reg = state.reg
    reg[r.FRESH] = reg[r.ARRIVED]
    n = state.job.shape[0]
    while reg[r.ARRIVED] < n and state.job[reg[r.ARRIVED], f.SUBMIT] <= now:
        job = reg[r.ARRIVED]
        reg[r.ARRIVED] += 1
        if reg[r.LEARNER] != FIXED:
            learn_submit(state, job)
        enqueue(state, job)
        reg[r.EVENTS] += 1
    return reg[r.FRESH] != reg[r.ARRIVED]


@kernel
def carry_out_decisions(state: State, world: World) -> None:
    """Carry out the decisions of the pass: ends of started jobs, lost attempts of stopped ones."""
    reg = state.reg
    now = reg[r.NOW]
    for i in range(reg[r.DECISIONS]):
        job = state.did[f.WHICH, i]
        if state.did[f.KIND, i] == r.KILLED:
            world.truth[job, f.ENDS_AT] = -1
            reg[r.KILLS] += 1
        else:
            end = (
                now
                + min(world.truth[job, f.RUN], state.job[job, f.LIMIT])
                - state.job[job, f.AHEAD]
            )
            world.truth[job, f.ENDS_AT] = end
            if reg[r.BY_EVENT] != 0:  # ends of an instant come in the order of the starts
                world.truth[job, f.RANK] = reg[r.STARTS]
                world.of_rank[reg[r.STARTS]] = job
                reg[r.STARTS] += 1
            if reg[r.ENDS] == world.ends.shape[0]:
                compact(state, world)
            reg[r.ENDS] = push(
                world.ends, reg[r.ENDS], end << reg[r.BITS] | world.truth[job, f.RANK]
            )
            if reg[r.LEARNER] != FIXED:
                first_correction(state, world, job)
    reg[r.CHANGED] = 0


@kernel
def compact(state: State, world: World) -> None:
    """Rebuild the heap of ends without the stale entries."""
    reg = state.reg
    mask = (1 << reg[r.BITS]) - 1
    kept = 0
    for i in range(reg[r.ENDS]):
        key = world.ends[i]
        if world.truth[world.of_rank[key & mask], f.ENDS_AT] == key >> reg[r.BITS]:
            kept = push(world.ends, kept, key)
    reg[r.ENDS] = kept


@kernel
def lacks_room(state: State) -> bool:
    """True when the log of attempts might overflow in the next pass, or the loop shall return."""
    full = state.reg[r.ATTEMPTS] + state.reg[r.RUNNING] > state.tried.shape[1]
    return bool(full or to_be_saved(state.reg))


@kernel
def to_be_saved(reg: Ints) -> bool:
    """True when the loop shall return before the next pass, for a checkpoint."""
    return bool(0 < reg[r.PAUSE] <= reg[r.PASSES] + 1)
