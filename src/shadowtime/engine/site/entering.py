"""Jobs that enter the queue and leave it: begin times, dependencies, arrays with a throttle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.estimates import FIXED, LAST, learn_submit, repredict
from shadowtime.kernel.fields import ESTIMATE, START, SUBMIT
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import dequeue, enqueue, gather
from shadowtime.kernel.registers import ARRIVED, BITS, EVENTS, FAILED, LEARNER, NEVER, NOW
from shadowtime.kernel.running import insert
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.limits import account_start
from shadowtime.kernel.site.start import hold_place, hold_plan, note_gain, occupy
from shadowtime.kernel.slots import BEGIN, ask_one
from shadowtime.types import SINCE_END, SINCE_SUBMISSION

if TYPE_CHECKING:
    from shadowtime.engine.site.candidates import General
    from shadowtime.engine.site.world import Events
    from shadowtime.kernel.site.fields import Ground
    from shadowtime.kernel.slots import OwnPointer
    from shadowtime.kernel.state import State
    from shadowtime.types import Ints

AFTER, AFTER_ANY, AFTER_OK, AFTER_NOT_OK = 0, 1, 2, 3
"""Kinds of dependencies; aftercorr is AFTER_OK, singleton AFTER_ANY."""

LEFT, READY = 0, 1
"""Places in ``count``: jobs that are not over, entries in the heap of jobs that may be ready."""
WELL, ONE_MET, STARTED_ONCE, ASKED_ONCE = 1, 2, 4, 8
"""Bits of ``well``: ends well if it ends; one of several dependencies is met; it has started; a
function was asked when it may begin."""
LATEST_BEGIN = 1 << 39
"""In seconds: no log is longer."""

GROUP_JOB, GROUP_LEFT, GROUP_ANY = 0, 1, 2
UNMET, LATEST, BEGIN_LATER, CANCEL_LATER, FOLLOW_WORDS = 0, 1, 2, 3, 4
"""Of a job where some follow others: relations that are not met yet, the latest instant of those
that are, and by how much its begin time and cancellation are behind its submission."""
ARRAY_MOST, ARRAY_USED, ARRAY_FROM, ARRAY_BEHIND, ARRAY_NEXT = 0, 1, 2, 3, 4


@routine
def to_queue(state: State, ground: Ground, job: int) -> None:
    """The job waits from now on."""
    ground.job[job, sf.PHASE] = sf.QUEUED
    ground.job[job, sf.DUE] = NEVER
    ground.mark[sf.WIDE] += ground.job[job, sf.WIDTH]
    enqueue(state, job)


@routine
def leave_queue(state: State, ground: Ground, job: int, now: int) -> None:
    """A waiting job goes; what was planned for it comes free."""
    dequeue(state, job)
    ground.mark[sf.WIDE] -= ground.job[job, sf.WIDTH]
    due = ground.job[job, sf.DUE]
    if due < NEVER:
        end = due + state.job[job, ESTIMATE]
        hold_plan(ground, job, now, due, end, sf.number(1))
        note_gain(ground, job, due, end)
        ground.job[job, sf.DUE] = NEVER
        ground.mark[sf.EARLY] = 1
        ground.mark[sf.RELEASED] += 1


@routine
def admit(state: State, ground: Ground, e: Events, now: int) -> bool:
    """Jobs submitted now, and those whose begin time has come."""
    reg = state.reg
    any_arrival = False
    while reg[ARRIVED] < state.job.shape[0] and state.job[reg[ARRIVED], SUBMIT] <= now:
        job = reg[ARRIVED]
        reg[ARRIVED] += 1
        if e.follow.shape[0] > 0:
            continue  # it is submitted when its time has come, or those that it follows say so
        be_submitted(state, ground, e, job, now)
        any_arrival = True
    mask = (1 << reg[BITS]) - 1
    while ground.mark[sf.BEGINS] > 0 and e.begins[0] >> reg[BITS] <= now:
        job = e.begins[0] & mask
        ground.mark[sf.BEGINS] = pop(e.begins, ground.mark[sf.BEGINS])
        if ground.job[job, sf.PHASE] == sf.COMING:
            follow_up(state, ground, e, job, now)
            any_arrival = True
        elif ground.job[job, sf.PHASE] == sf.PENDING:
            any_arrival = True
            if ground.job[job, sf.AHEAD] == 0:
                e.count[READY] = push(e.ready, e.count[READY], job)
    return any_arrival


@routine
def be_submitted(state: State, ground: Ground, e: Events, job: int, now: int) -> None:
    """A job is submitted now."""
    reg = state.reg
    if reg[LEARNER] != FIXED:
        learn_submit(state, job)
    reg[EVENTS] += 1
    if e.follow.shape[0] > 0:
        tell_followers(state, ground, e, job, sf.number(SINCE_SUBMISSION), now)
    if 0 <= ground.job[job, sf.CANCEL] <= now:
        ground.mark[sf.CANCELLED] += 1
        be_over(state, ground, e, job, sf.number(sf.GONE_CANCELLED), now)
        return
    ground.job[job, sf.PHASE] = sf.PENDING
    if ground.job[job, sf.BEGIN_AT] > now:
        ground.mark[sf.BEGINS] = push(
            e.begins, ground.mark[sf.BEGINS], ground.job[job, sf.BEGIN_AT] << reg[BITS] | job
        )
    elif ground.job[job, sf.AHEAD] == 0:
        e.count[READY] = push(e.ready, e.count[READY], job)


@routine
def follow_up(state: State, ground: Ground, e: Events, job: int, now: int) -> None:
    """A job's time has come: those that it follows have ended, and its user has thought."""
    state.job[job, SUBMIT] = now
    ground.job[job, sf.BEGIN_AT] = now + e.follow[job, BEGIN_LATER]
    if e.follow[job, CANCEL_LATER] >= 0:
        ground.job[job, sf.CANCEL] = now + e.follow[job, CANCEL_LATER]
        ground.mark[sf.CANCELS] = push(
            e.cancels, ground.mark[sf.CANCELS], ground.job[job, sf.CANCEL] << state.reg[BITS] | job
        )
    be_submitted(state, ground, e, job, now)


@routine
def tell_followers(state: State, ground: Ground, e: Events, job: int, since: int, now: int) -> None:
    """A job was submitted, or is over: those that only waited for it are submitted in time."""
    for at in range(e.then_from[job], e.then_from[job + 1]):
        if e.then[at, 2] != since:
            continue
        other = e.then[at, 0]
        e.follow[other, LATEST] = max(e.follow[other, LATEST], now + e.then[at, 1])
        e.follow[other, UNMET] -= 1
        if e.follow[other, UNMET] == 0:
            ground.mark[sf.BEGINS] = push(
                e.begins, ground.mark[sf.BEGINS], e.follow[other, LATEST] << state.reg[BITS] | other
            )


@routine
def enter_queue(state: State, ground: Ground, e: Events, now: int) -> None:
    """Jobs whose begin time, dependencies and array allow it enter the queue, by index."""
    while e.count[READY] > 0:
        job = e.ready[0]
        e.count[READY] = pop(e.ready, e.count[READY])
        array = ground.job[job, sf.ARRAY]
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


@routine
def hold_back(state: State, ground: Ground, e: Events, f: General, custom: OwnPointer) -> None:
    """Jobs that are new in the queue leave it until the instant that a function wants."""
    reg = state.reg
    again = True
    while again:
        again = False
        for i in range(gather(state, f.jobs)):
            job = f.jobs[i]
            if e.well[job] & ASKED_ONCE != 0:
                continue
            e.well[job] |= ASKED_ONCE
            wanted = ask_one(state, f, custom, BEGIN, job, 0.0)
            if reg[FAILED] >= 0:
                return
            begin = int(np.ceil(min(max(wanted, 0.0), float(LATEST_BEGIN))))
            if begin <= reg[NOW]:
                continue
            leave_queue(state, ground, job, reg[NOW])
            ground.job[job, sf.PHASE] = sf.PENDING
            ground.job[job, sf.BEGIN_AT] = begin
            key = begin << reg[BITS] | job
            ground.mark[sf.BEGINS] = push(e.begins, ground.mark[sf.BEGINS], key)
            array = ground.job[job, sf.ARRAY]
            if array >= 0:
                e.array[array, ARRAY_USED] -= 1
                call_next(ground, e, array, reg[NOW])
                again = True
        if again:
            enter_queue(state, ground, e, reg[NOW])


@kernel
def is_ready(ground: Ground, job: int, now: int) -> bool:
    """True if nothing but its array's throttle keeps a job out of the queue."""
    return bool(
        ground.job[job, sf.PHASE] == sf.PENDING
        and ground.job[job, sf.BEGIN_AT] <= now
        and ground.job[job, sf.AHEAD] == 0
    )


@routine
def call_next(ground: Ground, e: Events, array: int, now: int) -> None:
    """Call the array's next task that is ready, if the throttle has room."""
    if e.array[array, ARRAY_USED] >= e.array[array, ARRAY_MOST]:
        return
    at = e.array[array, ARRAY_NEXT]
    behind = e.array[array, ARRAY_BEHIND]
    while at < behind and ground.job[e.member[at], sf.PHASE] > sf.PENDING:
        at += 1
    e.array[array, ARRAY_NEXT] = at
    while at < behind:
        if is_ready(ground, e.member[at], now):
            e.count[READY] = push(e.ready, e.count[READY], e.member[at])
            return
        at += 1


@routine
def be_over(state: State, ground: Ground, e: Events, job: int, phase: int, now: int) -> None:
    """A job is over: notify its array and the jobs that depend on it."""
    array = ground.job[job, sf.ARRAY]
    if array >= 0 and ground.job[job, sf.PHASE] >= sf.QUEUED:
        e.array[array, ARRAY_USED] -= 1
    ground.job[job, sf.PHASE] = phase
    ground.job[job, sf.OVER_AT] = now
    e.count[LEFT] -= 1
    if array >= 0:
        call_next(ground, e, array, now)
    if e.follow.shape[0] > 0:
        tell_followers(state, ground, e, job, sf.number(SINCE_END), now)
    well = phase == sf.ENDED and e.well[job] & WELL != 0
    for at in range(e.first[job], e.first[job + 1]):
        kind = e.edge[at, 1]
        if kind == AFTER and state.job[job, START] >= 0:
            continue  # met when it started
        if (kind == AFTER_OK and not well) or (kind == AFTER_NOT_OK and well):
            continue
        meet(ground, e, e.edge[at, 0], now)


@routine
def meet(ground: Ground, e: Events, group: int, now: int) -> None:
    """One of the jobs that a dependency names has done what was asked."""
    e.group[group, GROUP_LEFT] -= 1
    if e.group[group, GROUP_LEFT] != 0:
        return
    job = e.group[group, GROUP_JOB]
    if e.group[group, GROUP_ANY] != 0:
        if e.well[job] & ONE_MET != 0:
            return  # another one of several has been met before
        e.well[job] |= ONE_MET
    ground.job[job, sf.AHEAD] -= 1
    if is_ready(ground, job, now):
        e.count[READY] = push(e.ready, e.count[READY], job)


@routine
def note_start(ground: Ground, e: Events, job: int, now: int) -> None:
    """A job starts for the first time: notify those that wait for its start."""
    if e.first[job] == e.first[job + 1] or e.well[job] & STARTED_ONCE != 0:
        return
    e.well[job] |= STARTED_ONCE
    for at in range(e.first[job], e.first[job + 1]):
        if e.edge[at, 1] == AFTER:
            waits_for = e.group[e.edge[at, 0], GROUP_JOB]
            if ground.job[waits_for, sf.PHASE] == sf.PENDING:
                ground.mark[sf.AFTER_START] = 1
            meet(ground, e, e.edge[at, 0], now)


@entry
def seat(state: State, ground: Ground, running: Ints, waiting: Ints, promised: Ints) -> None:
    """``running``: jobs and starts; ``waiting``: jobs; ``promised``: waiting jobs and promises.

    Their places are already in the tables, with the alternative each runs by. Promises are looked
    at again where a node may have closed or one is past; where they take more than there is, the
    steps show it.
    """
    now = state.reg[NOW]
    if ground.mark[sf.ANY_CLOSING] != 0:
        ground.mark[sf.REPAIR] = 1
    for i in range(running.shape[0]):
        job = running[i, 0]
        ground.job[job, sf.SHAPE] = ground.alt[ground.job[job, sf.ALT], sf.ALT_SHAPE]
        state.job[job, START] = running[i, 1]
        end = max(running[i, 1] + state.job[job, ESTIMATE], now + 1)
        occupy(state, ground, job, sf.number(-1))
        hold_place(ground, job, now, now, end, sf.number(-1))
        insert(state, job, end)
        ground.job[job, sf.PHASE] = sf.RUNS
        if ground.mark[sf.HAS_LIMITS] != 0:
            account_start(state, ground, job)
    for i in range(waiting.shape[0]):
        to_queue(state, ground, waiting[i])
    for i in range(promised.shape[0]):
        job = promised[i, 0]
        due = promised[i, 1]
        ground.job[job, sf.SHAPE] = ground.alt[ground.job[job, sf.ALT], sf.ALT_SHAPE]
        ground.job[job, sf.DUE] = due
        if due < now:
            ground.mark[sf.REPAIR] = 1
        ground.mark[sf.SOONEST] = min(ground.mark[sf.SOONEST], due)
        hold_plan(ground, job, now, due, due + state.job[job, ESTIMATE], sf.number(-1))
