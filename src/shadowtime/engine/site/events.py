"""The event loop on a site: ends, failures, closings, cancellations, arrivals, one pass.

The order within an instant is that of docs/decisions/site.md. Ends, corrections, learning and the
queue are those of every other machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.corrections import correct, first_correction
from shadowtime.engine.events import (
    DONE,
    PASS_DUE,
    ROOM_NEEDED,
    compact,
    drop_stale_ends,
    to_be_saved,
)
from shadowtime.engine.events import next_instant as next_of_jobs
from shadowtime.engine.site.entering import (
    LEFT,
    admit,
    be_over,
    enter_queue,
    leave_queue,
    note_start,
    to_queue,
)
from shadowtime.engine.site.gone import note_gone
from shadowtime.kernel.estimates import FIXED, learn_end
from shadowtime.kernel.fields import AHEAD as WORK_BEHIND
from shadowtime.kernel.fields import ENDS_AT, ESTIMATE, EXPECTED, LIMIT, RANK, RUN, START, WHICH
from shadowtime.kernel.fields import FREE as TOTAL_FREE
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import (
    ARRIVED,
    ATTEMPTS,
    BITS,
    CHANGED,
    COARSE,
    CORRECTIONS,
    DECISIONS,
    ENDS,
    EVENTS,
    FRESH,
    KILLS,
    LEARNER,
    NEVER,
    NOW,
    PASSES,
    RUNNING,
    WAKE,
)
from shadowtime.kernel.registers import ENDED as ENDED_NOW
from shadowtime.kernel.running import job_at
from shadowtime.kernel.site.fields import (
    AFTER_START,
    AMOUNTS,
    BEGINS,
    CANCELLED,
    CANCELS,
    CLOSINGS_AT,
    COMING,
    EARLY,
    ENDED,
    ENTRIES,
    FAILURES_AT,
    GAINS,
    GAINS_FROM,
    GONE_CANCELLED,
    GONE_LOST,
    HELD,
    KEEPS,
    LOST,
    PASS_PENDING,
    PENDING,
    PHASE,
    PLACE_COUNT,
    PLACE_FROM,
    QUEUED,
    RELEASED,
    REPAIR,
    REQUEUE,
    STEPS_SPARE,
    WIDE,
)
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.start import COMPRESSED, give_up, hold_place, stop_run

if TYPE_CHECKING:
    from shadowtime.engine.site.world import Events
    from shadowtime.kernel.site.fields import Ground
    from shadowtime.kernel.state import State, World


@routine
def advance(state: State, world: World, ground: Ground, e: Events) -> int:
    """Go to the next instant and carry out its events: PASS_DUE, or DONE when nothing is left."""
    reg = state.reg
    while True:
        drop_stale_ends(state, world)
        drop_stale_cancels(state, ground, e)
        now = next_instant(state, world, ground, e)
        if now >= NEVER or e.count[LEFT] == 0:
            return DONE
        reg[NOW] = now
        reg[DECISIONS] = 0
        reg[FRESH] = reg[ARRIVED]
        reg[ENDED_NOW] = 0
        due = carry_out_ends(state, world, ground, e, now)
        carry_out_corrections(state, world, ground, now)
        due |= carry_out_failures(state, world, ground, e, now)
        due |= carry_out_closings(state, ground, e, now)
        due |= carry_out_cancels(state, ground, e, now)
        due |= admit(state, ground, e, now)
        enter_queue(state, ground, e, now)
        if reg[WAKE] <= now:
            reg[WAKE] = NEVER
            due = True
        if due:
            reg[PASSES] += 1
            return PASS_DUE


@kernel
def next_instant(state: State, world: World, ground: Ground, e: Events) -> int:
    """Time of the next event of any kind."""
    reg = state.reg
    now = next_of_jobs(state, world)
    if ground.mark[BEGINS] > 0:
        now = min(now, e.begins[0] >> reg[BITS])
    if ground.mark[CANCELS] > 0:
        now = min(now, e.cancels[0] >> reg[BITS])
    if ground.mark[CLOSINGS_AT] < e.times.shape[0]:
        now = min(now, e.times[ground.mark[CLOSINGS_AT]])
    return int(now)


@kernel
def drop_stale_cancels(state: State, ground: Ground, e: Events) -> None:
    """Forget cancellations of jobs that do not wait at that time."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    while ground.mark[CANCELS] > 0:
        phase = ground.job[e.cancels[0] & mask, PHASE]
        if PENDING <= phase <= QUEUED:
            return
        if phase == COMING:
            return
        if phase < ENDED and e.cancels[0] >> reg[BITS] > reg[NOW]:
            return  # it runs, and may be back in the queue by then
        ground.mark[CANCELS] = pop(e.cancels, ground.mark[CANCELS])


@routine
def carry_out_ends(state: State, world: World, ground: Ground, e: Events, now: int) -> bool:
    """End what ends now, by job id; the estimates learn from each."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    any_end = False
    while reg[ENDS] > 0 and world.ends[0] >> reg[BITS] == now:
        job = world.of_rank[world.ends[0] & mask]
        reg[ENDS] = pop(world.ends, reg[ENDS])
        if world.truth[job, ENDS_AT] != now:
            continue
        give_up(state, ground, job)
        world.truth[job, ENDS_AT] = -1
        if reg[LEARNER] != FIXED:
            learn_end(state, job)
        state.ended[reg[ENDED_NOW]] = job
        reg[ENDED_NOW] += 1
        reg[EVENTS] += 1
        be_over(state, ground, e, job, number(ENDED), now)
        any_end = True
    if any_end:
        reg[CHANGED] = 1
    return any_end


@routine
def carry_out_corrections(state: State, world: World, ground: Ground, now: int) -> None:
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
            before = state.job[job, EXPECTED]
            correct(state, world, job)
            hold_place(ground, job, now, max(before, now), state.job[job, EXPECTED], number(-1))
            reg[EVENTS] += 1
            reg[CHANGED] = 1


@routine
def carry_out_failures(state: State, world: World, ground: Ground, e: Events, now: int) -> bool:
    """Stop the jobs on nodes that fail now: they return to the queue, or are lost."""
    any_failure = False
    while (
        ground.mark[FAILURES_AT] < e.failures.shape[0]
        and e.failures[ground.mark[FAILURES_AT], 0] <= now
    ):
        node = e.failures[ground.mark[FAILURES_AT], 1]
        ground.mark[FAILURES_AT] += 1
        any_failure = True
        struck = 0
        for at in range(state.reg[RUNNING]):
            job = job_at(state, at)
            first = ground.job[job, PLACE_FROM]
            for entry in range(first, first + ground.job[job, PLACE_COUNT]):
                if ground.place[entry] >> 32 == node:
                    e.found[struck] = job
                    struck += 1
        for at in range(struck):
            job = e.found[at]
            ground.mark[EARLY] = 1
            world.truth[job, ENDS_AT] = -1
            state.reg[EVENTS] += 1
            state.reg[CHANGED] = 1
            if ground.job[job, REQUEUE] != 0:
                stop_run(state, ground, job)
                state.reg[KILLS] += 1
                to_queue(state, ground, job)
            else:
                give_up(state, ground, job)
                ground.mark[LOST] += 1
                be_over(state, ground, e, job, number(GONE_LOST), now)
    return any_failure


@routine
def carry_out_closings(state: State, ground: Ground, e: Events, now: int) -> bool:
    """A node closes or opens, or that becomes known: whatever was refused is asked again."""
    any_closing = False
    while ground.mark[CLOSINGS_AT] < e.times.shape[0] and e.times[ground.mark[CLOSINGS_AT]] <= now:
        ground.mark[CLOSINGS_AT] += 1
        any_closing = True
    if any_closing:
        ground.mark[RELEASED] += 1
        ground.mark[REPAIR] = 1
        state.reg[CHANGED] = 1
        note_gone(ground, now)
    return any_closing


@routine
def carry_out_cancels(state: State, ground: Ground, e: Events, now: int) -> bool:
    """Jobs that leave the queue unstarted."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    any_cancel = False
    while ground.mark[CANCELS] > 0 and e.cancels[0] >> reg[BITS] <= now:
        job = e.cancels[0] & mask
        phase = ground.job[job, PHASE]
        ground.mark[CANCELS] = pop(
            e.cancels, ground.mark[CANCELS]
        )  # if it is COMING, admit handles it
        if phase == QUEUED:
            leave_queue(state, ground, job, now)
        if PENDING <= phase <= QUEUED:
            ground.mark[CANCELLED] += 1
            be_over(state, ground, e, job, number(GONE_CANCELLED), now)
            reg[CHANGED] = 1
            any_cancel = True
    return any_cancel


@kernel
def coarse(ahead: int) -> int:
    """A time as one of 16 to 32 in each octave, the nearest: far ahead few instants are left.

    Examples
    --------
    >>> [coarse(ahead) for ahead in (-3, 31, 101, 5000, 90_000)]
    [-3, 31, 100, 5120, 90112]
    """
    unit = 1
    while 32 * unit <= ahead:
        unit *= 2
    return (ahead + unit // 2) // unit * unit


@routine
def carry_out_decisions(state: State, world: World, ground: Ground, e: Events) -> None:
    """Carry out the starts that the pass decided."""
    reg = state.reg
    now = reg[NOW]
    for i in range(reg[DECISIONS]):
        job = state.did[WHICH, i]
        whole = min(world.truth[job, RUN], state.job[job, LIMIT])
        end = now + whole - state.job[job, WORK_BEHIND]
        if reg[COARSE] > 0:
            end = max(now + 1, reg[COARSE] + coarse(end - reg[COARSE]))
        world.truth[job, ENDS_AT] = end
        if reg[ENDS] == world.ends.shape[0]:
            compact(state, world)
        reg[ENDS] = push(world.ends, reg[ENDS], end << reg[BITS] | world.truth[job, RANK])
        if reg[LEARNER] != FIXED:
            first_correction(state, world, job)
        note_start(ground, e, job, now)
    reg[CHANGED] = 0
    if ground.mark[AFTER_START] != 0:
        reg[WAKE] = min(reg[WAKE], now + 1)
        ground.mark[AFTER_START] = 0


@routine
def next_pass(state: State, world: World, ground: Ground, e: Events, plans: int) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED to be called again."""
    if ground.mark[PASS_PENDING] == 0:
        if to_be_saved(state.reg) or lacks_room(state, ground, plans):
            return ROOM_NEEDED
        if advance(state, world, ground, e) != PASS_DUE:
            return DONE
        ground.mark[PASS_PENDING] = 1
    if lacks_room(state, ground, plans):
        return ROOM_NEEDED
    ground.mark[PASS_PENDING] = 0
    return PASS_DUE


@kernel
def lacks_room(state: State, ground: Ground, plans: int) -> bool:
    """True when a table might overflow in the next instant or pass.

    ``plans``: most nodes that the plans of a pass can hold.
    """
    wide = ground.mark[WIDE]
    starts = min(wide, state.host[TOTAL_FREE, 0, 0] + ground.mark[HELD])
    steps = 2 * min(wide, plans) + starts
    entries = starts + min(wide, plans) + 64
    if ground.mark[KEEPS] != 0:
        steps += 2 * wide
        entries += 2 * wide
        gains = ground.mark[GAINS] - ground.mark[GAINS_FROM] + 2 * wide + ground.mark[HELD] + 64
        if ground.mark[KEEPS] == COMPRESSED and gains > ground.gain.shape[0]:
            return True
    steps = (1 + ground.mark[AMOUNTS]) * steps + 64
    return bool(
        state.reg[ATTEMPTS] + state.reg[RUNNING] > state.tried.shape[1]
        or ground.mark[STEPS_SPARE] < steps
        or ground.mark[ENTRIES] + entries > ground.place.shape[0]
    )


__all__ = [
    "DONE", "PASS_DUE", "ROOM_NEEDED", "carry_out_decisions", "coarse", "lacks_room", "next_pass",
]  # fmt: skip
