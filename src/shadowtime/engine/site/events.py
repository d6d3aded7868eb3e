"""The event loop on a site: ends, failures, closings, cancellations, arrivals, one pass.

The order within an instant is that of docs/decisions/site.md. Ends, corrections, learning and the
queue are those of every other machine.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.corrections import correct, first_correction
from shadowtime.engine.events import DONE, PASS_DUE, ROOM_NEEDED, compact, drop_stale_ends
from shadowtime.engine.site.gone import note_gone
from shadowtime.kernel.estimates import FIXED, LAST, learn_end, learn_submit, repredict
from shadowtime.kernel.fields import (
    ENDS_AT,
    ESTIMATE,
    EXPECTED,
    LIMIT,
    RANK,
    RUN,
    START,
    SUBMIT,
    WHICH,
)
from shadowtime.kernel.fields import FREE as TOTAL_FREE
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue, enqueue
from shadowtime.kernel.registers import (
    ARRIVED,
    ATTEMPTS,
    BITS,
    CHANGED,
    CORRECTIONS,
    DECISIONS,
    ENDS,
    EVENTS,
    KILLS,
    LEARNER,
    NEVER,
    NOW,
    PASSES,
    RUNNING,
    WAKE,
)
from shadowtime.kernel.running import job_at
from shadowtime.kernel.site.fields import (
    AFTER_START,
    AHEAD,
    ARRAY,
    BEGIN_AT,
    BEGINS,
    CANCEL,
    CANCELLED,
    CANCELS,
    CLOSINGS_AT,
    COMING,
    DUE,
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
    OVER_AT,
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
    WIDTH,
)
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.start import (
    COMPRESSED,
    give_up,
    hold_place,
    hold_plan,
    note_gain,
    stop_run,
)

AFTER, AFTER_ANY, AFTER_OK, AFTER_NOT_OK = 0, 1, 2, 3
"""Kinds of dependencies; aftercorr is AFTER_OK, singleton AFTER_ANY."""

LEFT, READY = 0, 1
"""Places in ``count``: jobs that are not over, entries in the heap of jobs that may be ready."""
WELL, ONE_MET, STARTED_ONCE = 1, 2, 4
"""Bits of ``well``: ends well if it ends; one of several dependencies is met; it has started."""

GROUP_JOB, GROUP_LEFT, GROUP_ANY = 0, 1, 2
ARRAY_MOST, ARRAY_USED, ARRAY_FROM, ARRAY_BEHIND, ARRAY_NEXT = 0, 1, 2, 3, 4


@routine
def advance(state: Any, world: Any, ground: Any, e: Any) -> int:
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
def next_instant(state: Any, world: Any, ground: Any, e: Any) -> int:
    """Time of the next event of any kind."""
    reg = state.reg
    now = reg[WAKE]
    if reg[ENDS] > 0:
        now = min(now, world.ends[0] >> reg[BITS])
    if reg[CORRECTIONS] > 0:
        now = min(now, world.corrections[0] >> reg[BITS])
    if reg[ARRIVED] < state.job.shape[0]:
        now = min(now, state.job[reg[ARRIVED], SUBMIT])
    if ground.mark[BEGINS] > 0:
        now = min(now, e.begins[0] >> reg[BITS])
    if ground.mark[CANCELS] > 0:
        now = min(now, e.cancels[0] >> reg[BITS])
    if ground.mark[CLOSINGS_AT] < e.times.shape[0]:
        now = min(now, e.times[ground.mark[CLOSINGS_AT]])
    return int(now)


@kernel
def drop_stale_cancels(state: Any, ground: Any, e: Any) -> None:
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
def carry_out_ends(state: Any, world: Any, ground: Any, e: Any, now: int) -> bool:
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
        reg[EVENTS] += 1
        be_over(state, ground, e, job, number(ENDED), now)
        any_end = True
    if any_end:
        reg[CHANGED] = 1
    return any_end


@routine
def carry_out_corrections(state: Any, world: Any, ground: Any, now: int) -> None:
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
def carry_out_failures(state: Any, world: Any, ground: Any, e: Any, now: int) -> bool:
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
def to_queue(state: Any, ground: Any, job: int) -> None:
    """The job waits from now on."""
    ground.job[job, PHASE] = QUEUED
    ground.job[job, DUE] = NEVER
    ground.mark[WIDE] += ground.job[job, WIDTH]
    enqueue(state, job)


@routine
def carry_out_closings(state: Any, ground: Any, e: Any, now: int) -> bool:
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
def carry_out_cancels(state: Any, ground: Any, e: Any, now: int) -> bool:
    """Jobs that leave the queue unstarted."""
    reg = state.reg
    mask = (1 << reg[BITS]) - 1
    any_cancel = False
    while ground.mark[CANCELS] > 0 and e.cancels[0] >> reg[BITS] <= now:
        job = e.cancels[0] & mask
        phase = ground.job[job, PHASE]
        ground.mark[CANCELS] = pop(
            e.cancels, ground.mark[CANCELS]
        )  # if it is COMING, admit sees to it
        if phase == QUEUED:
            leave_queue(state, ground, job, now)
        if PENDING <= phase <= QUEUED:
            ground.mark[CANCELLED] += 1
            be_over(state, ground, e, job, number(GONE_CANCELLED), now)
            reg[CHANGED] = 1
            any_cancel = True
    return any_cancel


@routine
def leave_queue(state: Any, ground: Any, job: int, now: int) -> None:
    """A waiting job goes; what was planned for it comes free."""
    dequeue(state, job)
    ground.mark[WIDE] -= ground.job[job, WIDTH]
    due = ground.job[job, DUE]
    if due < NEVER:
        end = due + state.job[job, ESTIMATE]
        hold_plan(ground, job, now, due, end, number(1))
        note_gain(ground, job, due, end)
        ground.job[job, DUE] = NEVER
        ground.mark[EARLY] = 1
        ground.mark[RELEASED] += 1


@routine
def admit(state: Any, ground: Any, e: Any, now: int) -> bool:
    """Jobs submitted now, and those whose begin time has come."""
    reg = state.reg
    any_arrival = False
    while reg[ARRIVED] < state.job.shape[0] and state.job[reg[ARRIVED], SUBMIT] <= now:
        job = reg[ARRIVED]
        reg[ARRIVED] += 1
        if reg[LEARNER] != FIXED:
            learn_submit(state, job)
        reg[EVENTS] += 1
        any_arrival = True
        if 0 <= ground.job[job, CANCEL] <= now:
            ground.mark[CANCELLED] += 1
            be_over(state, ground, e, job, number(GONE_CANCELLED), now)
            continue
        ground.job[job, PHASE] = PENDING
        if ground.job[job, BEGIN_AT] > now:
            ground.mark[BEGINS] = push(
                e.begins, ground.mark[BEGINS], ground.job[job, BEGIN_AT] << reg[BITS] | job
            )
        elif ground.job[job, AHEAD] == 0:
            e.count[READY] = push(e.ready, e.count[READY], job)
    mask = (1 << reg[BITS]) - 1
    while ground.mark[BEGINS] > 0 and e.begins[0] >> reg[BITS] <= now:
        job = e.begins[0] & mask
        ground.mark[BEGINS] = pop(e.begins, ground.mark[BEGINS])
        if ground.job[job, PHASE] == PENDING:
            any_arrival = True
            if ground.job[job, AHEAD] == 0:
                e.count[READY] = push(e.ready, e.count[READY], job)
    return any_arrival


@routine
def enter_queue(state: Any, ground: Any, e: Any, now: int) -> None:
    """Jobs whose begin time, dependencies and array allow it enter the queue, by index."""
    while e.count[READY] > 0:
        job = e.ready[0]
        e.count[READY] = pop(e.ready, e.count[READY])
        array = ground.job[job, ARRAY]
        if is_ready(ground, job, now):
            if array >= 0:
                if e.array[array, ARRAY_USED] >= e.array[array, ARRAY_MOST]:
                    continue
                e.array[array, ARRAY_USED] += 1
            if state.reg[LEARNER] == LAST and state.job[job, SUBMIT] < now:
                repredict(state, job)  # what was learned while it was not in the queue
            to_queue(state, ground, job)
        if array >= 0:
            call_next(ground, e, array, now)


@kernel
def is_ready(ground: Any, job: int, now: int) -> bool:
    """True if nothing but its array's throttle keeps a job out of the queue."""
    return bool(
        ground.job[job, PHASE] == PENDING
        and ground.job[job, BEGIN_AT] <= now
        and ground.job[job, AHEAD] == 0
    )


@routine
def call_next(ground: Any, e: Any, array: int, now: int) -> None:
    """Call the array's next task that is ready, if the throttle has room."""
    if e.array[array, ARRAY_USED] >= e.array[array, ARRAY_MOST]:
        return
    at = e.array[array, ARRAY_NEXT]
    behind = e.array[array, ARRAY_BEHIND]
    while at < behind and ground.job[e.member[at], PHASE] > PENDING:
        at += 1
    e.array[array, ARRAY_NEXT] = at
    while at < behind:
        if is_ready(ground, e.member[at], now):
            e.count[READY] = push(e.ready, e.count[READY], e.member[at])
            return
        at += 1


@routine
def be_over(state: Any, ground: Any, e: Any, job: int, phase: int, now: int) -> None:
    """A job is done for good: its array and the jobs that depend on it learn so."""
    array = ground.job[job, ARRAY]
    if array >= 0 and ground.job[job, PHASE] >= QUEUED:
        e.array[array, ARRAY_USED] -= 1
    ground.job[job, PHASE] = phase
    ground.job[job, OVER_AT] = now
    e.count[LEFT] -= 1
    if array >= 0:
        call_next(ground, e, array, now)
    well = phase == ENDED and e.well[job] & WELL != 0
    for at in range(e.first[job], e.first[job + 1]):
        kind = e.edge[at, 1]
        if kind == AFTER and state.job[job, START] >= 0:
            continue  # met when it started
        if (kind == AFTER_OK and not well) or (kind == AFTER_NOT_OK and well):
            continue
        meet(ground, e, e.edge[at, 0], now)


@routine
def meet(ground: Any, e: Any, group: int, now: int) -> None:
    """One of the jobs that a dependency names has done what was asked."""
    e.group[group, GROUP_LEFT] -= 1
    if e.group[group, GROUP_LEFT] != 0:
        return
    job = e.group[group, GROUP_JOB]
    if e.group[group, GROUP_ANY] != 0:
        if e.well[job] & ONE_MET != 0:
            return  # another one of several has been met before
        e.well[job] |= ONE_MET
    ground.job[job, AHEAD] -= 1
    if is_ready(ground, job, now):
        e.count[READY] = push(e.ready, e.count[READY], job)


@routine
def carry_out_decisions(state: Any, world: Any, ground: Any, e: Any) -> None:
    """Let the starts that the pass decided happen."""
    reg = state.reg
    now = reg[NOW]
    for i in range(reg[DECISIONS]):
        job = state.did[WHICH, i]
        end = now + min(world.truth[job, RUN], state.job[job, LIMIT])
        world.truth[job, ENDS_AT] = end
        if reg[ENDS] == world.ends.shape[0]:
            compact(state, world)
        reg[ENDS] = push(world.ends, reg[ENDS], end << reg[BITS] | world.truth[job, RANK])
        if reg[LEARNER] != FIXED:
            first_correction(state, world, job)
        if e.first[job] != e.first[job + 1] and e.well[job] & STARTED_ONCE == 0:
            e.well[job] |= STARTED_ONCE
            for at in range(e.first[job], e.first[job + 1]):
                if e.edge[at, 1] == AFTER:
                    waits_for = e.group[e.edge[at, 0], GROUP_JOB]
                    if ground.job[waits_for, PHASE] == PENDING:
                        ground.mark[AFTER_START] = 1
                    meet(ground, e, e.edge[at, 0], now)
    reg[CHANGED] = 0
    if ground.mark[AFTER_START] != 0:
        reg[WAKE] = min(reg[WAKE], now + 1)
        ground.mark[AFTER_START] = 0


@routine
def next_pass(state: Any, world: Any, ground: Any, e: Any, plans: int) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED to be called again."""
    if ground.mark[PASS_PENDING] == 0:
        if lacks_room(state, ground, plans):
            return ROOM_NEEDED
        if advance(state, world, ground, e) != PASS_DUE:
            return DONE
        ground.mark[PASS_PENDING] = 1
    if lacks_room(state, ground, plans):
        return ROOM_NEEDED
    ground.mark[PASS_PENDING] = 0
    return PASS_DUE


@kernel
def lacks_room(state: Any, ground: Any, plans: int) -> bool:
    """True when a table might overflow in the next instant or pass.

    ``plans``: most nodes that the plans of a pass can hold.
    """
    wide = ground.mark[WIDE]
    starts = min(wide, state.host[TOTAL_FREE, 0, 0] + ground.mark[HELD])
    steps = 2 * min(wide, plans) + starts + 64
    entries = starts + min(wide, plans) + 64
    if ground.mark[KEEPS] != 0:
        steps += 2 * wide
        entries += 2 * wide
        gains = ground.mark[GAINS] - ground.mark[GAINS_FROM] + 2 * wide + ground.mark[HELD] + 64
        if ground.mark[KEEPS] == COMPRESSED and gains > ground.gain.shape[0]:
            return True
    return bool(
        state.reg[ATTEMPTS] + state.reg[RUNNING] > state.tried.shape[1]
        or ground.mark[STEPS_SPARE] < steps
        or ground.mark[ENTRIES] + entries > ground.place.shape[0]
    )


__all__ = ["DONE", "PASS_DUE", "ROOM_NEEDED", "carry_out_decisions", "lacks_room", "next_pass"]
