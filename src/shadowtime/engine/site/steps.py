"""The event loop on a site one step at a time: for policies written in Python, and PV-EASY."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.engine.passes import learning
from shadowtime.engine.site import entering, events
from shadowtime.engine.site.candidates import General
from shadowtime.engine.site.head_plan import drop_plan, make_plan
from shadowtime.engine.site.world import Events
from shadowtime.kernel.fields import ENDS_AT, EXPECTED
from shadowtime.kernel.jit import entry, routine
from shadowtime.kernel.registers import KILLS, NEVER, NOW
from shadowtime.kernel.site import start
from shadowtime.kernel.site.fields import RELEASED, Ground, number
from shadowtime.kernel.state import State, World
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.kernel.slots import OwnPointer

STARTED = 0


@entry
def go_to_pass(state: State, world: World, ground: Ground, e: Events) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED."""
    return int(events.next_pass(state, world, ground, e, number(0)))


FITS_NOW, BEGIN, FITS_WITHOUT, EARLIEST_WITHOUT, PLAN, DROP = range(6)
NO_JOBS = np.zeros(0, np.int64)
NO_ANSWERS = np.zeros(0, np.int8)


def fits_now(state: State, ground: Ground, jobs: Ints, fits: AnyArray) -> None:
    """Which of the waiting jobs could start now, each by itself: 1 or 0.

    -1: a limit or a closed node keeps it, so that it gets no plan and others need not wait for it.
    """
    place(state, ground, FITS_NOW, -1, 0, jobs, fits)


def begin_job(state: State, ground: Ground, job: int, reason: int) -> int:
    """Start a waiting job where the place rule puts it: STARTED; else start.BLOCKED or ASIDE."""
    return int(place(state, ground, BEGIN, job, reason, NO_JOBS, NO_ANSWERS))


def plan_job(state: State, ground: Ground, job: int) -> int:
    """Hold nodes for a waiting job from its earliest start on; NEVER if there is none."""
    return int(place(state, ground, PLAN, job, 0, NO_JOBS, NO_ANSWERS))


def drop_planned(state: State, ground: Ground, job: int) -> None:
    """Give back what a plan holds."""
    place(state, ground, DROP, job, 0, NO_JOBS, NO_ANSWERS)


def fits_without(state: State, ground: Ground, job: int, others: Ints) -> bool:
    """True if a waiting job could start now, were some running jobs gone."""
    return bool(place(state, ground, FITS_WITHOUT, job, 0, others, NO_ANSWERS))


def earliest_without(state: State, ground: Ground, job: int, others: Ints) -> int:
    """The earliest start of a waiting job, were some running jobs gone; NEVER if there is none."""
    return int(place(state, ground, EARLIEST_WITHOUT, job, 0, others, NO_ANSWERS))


@entry
def place(
    state: State, ground: Ground, question: int, job: int, reason: int, jobs: Ints, fits: AnyArray
) -> int:
    """The questions above in one entry: all of them compile the rules of places, once so."""
    if question == FITS_NOW:
        for i in range(jobs.shape[0]):
            alt = start.ask_start(state, ground, jobs[i])
            fits[i] = -1 if alt == start.ASIDE else alt >= 0
        return 0
    if question == BEGIN:
        alt = start.ask_start(state, ground, job)
        if alt < 0:
            return int(alt)
        start.begin_placed(state, ground, job, alt, reason)
        return STARTED
    if question == PLAN:
        when, alt = start.ask_earliest(state, ground, job, state.reg[NOW], number(NEVER), number(1))
        if alt >= 0:
            make_plan(state, ground, job, alt, when)
        return int(when)
    if question == DROP:
        drop_plan(state, ground, job)
        ground.mark[RELEASED] += 1
        return 0
    lift(state, ground, jobs, number(1))
    if question == FITS_WITHOUT:
        answer = int(start.ask_start(state, ground, job) >= 0)
    else:
        when, _ = start.ask_earliest(state, ground, job, state.reg[NOW], number(NEVER), number(1))
        answer = int(when)
    lift(state, ground, jobs, number(-1))
    return answer


@routine
def lift(state: State, ground: Ground, others: Ints, sign: int) -> None:
    """Take running jobs off their nodes (+1), or put them back (-1)."""
    now = state.reg[NOW]
    for i in range(others.shape[0]):
        job = others[i]
        end = max(state.job[job, EXPECTED], now + 1)
        start.occupy(state, ground, job, sign)
        start.hold_place(ground, job, now, now, end, sign)
    ground.mark[RELEASED] += 1  # what was refused before may fit, and the reverse


@entry
def stop_job(state: State, world: World, ground: Ground, job: int) -> None:
    """Stop a running job: it waits again, its work is lost."""
    now = state.reg[NOW]
    world.truth[job, ENDS_AT] = -1
    if state.job[job, EXPECTED] <= now:  # it is overdue and taken to hold its nodes for a second
        start.hold_place(ground, job, now, now, now + 1, number(1))
    start.stop_run(state, ground, job)
    state.reg[KILLS] += 1
    entering.to_queue(state, ground, job)


@entry
def finish_pass(state: State, world: World, ground: Ground, e: Events) -> None:
    """Carry out what was decided."""
    events.carry_out_decisions(state, world, ground, e)


@entry
def update_expected(state: State, ground: Ground) -> None:
    """Give running jobs that outlived their expected end a new one."""
    start.extend_overdue(state, ground)


@entry
def report_news(state: State, f: General, custom: OwnPointer) -> None:
    """Let functions of the user's own learn of ends and submissions, and predict."""
    learning.learn(state, f, custom)


@entry
def report_starts(state: State, f: General, custom: OwnPointer) -> None:
    """Let them learn of what the pass started."""
    learning.learn_starts(state, f, custom)
