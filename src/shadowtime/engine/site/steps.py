"""The event loop on a site one step at a time: for policies written in Python, and PV-EASY."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.passes import learning
from shadowtime.engine.site import entering, events
from shadowtime.kernel.fields import ENDS_AT, EXPECTED
from shadowtime.kernel.jit import entry, routine
from shadowtime.kernel.registers import KILLS, NEVER, NOW
from shadowtime.kernel.site import start
from shadowtime.kernel.site.fields import RELEASED
from shadowtime.kernel.site.plain import number

STARTED = 0


@entry
def go_to_pass(state: Any, world: Any, ground: Any, e: Any) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED."""
    return int(events.next_pass(state, world, ground, e, number(0)))


@entry
def fits_now(state: Any, ground: Any, jobs: Any, fits: Any) -> None:
    """Which of the waiting jobs could start now, each by itself: 1 or 0."""
    for i in range(jobs.shape[0]):
        fits[i] = start.ask_start(state, ground, jobs[i]) >= 0


@entry
def begin_job(state: Any, ground: Any, job: int, reason: int) -> int:
    """Start a waiting job where the place rule puts it: STARTED; else start.BLOCKED or ASIDE."""
    alt = start.ask_start(state, ground, job)
    if alt < 0:
        return int(alt)
    start.begin_placed(state, ground, job, alt, reason)
    return STARTED


@entry
def fits_without(state: Any, ground: Any, job: int, others: Any) -> bool:
    """True if a waiting job could start now, were some running jobs gone."""
    lift(state, ground, others, number(1))
    alt = start.ask_start(state, ground, job)
    lift(state, ground, others, number(-1))
    return bool(alt >= 0)


@entry
def earliest_without(state: Any, ground: Any, job: int, others: Any) -> int:
    """The earliest start of a waiting job, were some running jobs gone; NEVER if there is none."""
    lift(state, ground, others, number(1))
    when, _ = start.ask_earliest(state, ground, job, state.reg[NOW], number(NEVER), number(1))
    lift(state, ground, others, number(-1))
    return int(when)


@routine
def lift(state: Any, ground: Any, others: Any, sign: int) -> None:
    """Take running jobs off their nodes (+1), or put them back (-1)."""
    now = state.reg[NOW]
    for i in range(others.shape[0]):
        job = others[i]
        end = max(state.job[job, EXPECTED], now + 1)
        start.occupy(state, ground, job, sign)
        start.hold_place(ground, job, now, now, end, sign)
    ground.mark[RELEASED] += 1  # what was refused before may fit, and the reverse


@entry
def stop_job(state: Any, world: Any, ground: Any, job: int) -> None:
    """Stop a running job: it waits again, its work is lost."""
    now = state.reg[NOW]
    world.truth[job, ENDS_AT] = -1
    if state.job[job, EXPECTED] <= now:  # it is overdue and taken to hold its nodes for a second
        start.hold_place(ground, job, now, now, now + 1, number(1))
    start.stop_run(state, ground, job)
    state.reg[KILLS] += 1
    entering.to_queue(state, ground, job)


@entry
def finish_pass(state: Any, world: Any, ground: Any, e: Any) -> None:
    """Carry out what was decided."""
    events.carry_out_decisions(state, world, ground, e)


@entry
def update_expected(state: Any, ground: Any) -> None:
    """Give running jobs that outlived their expected end a new one."""
    start.extend_overdue(state, ground)


@entry
def report_news(state: Any, f: Any, custom: Any) -> None:
    """Let functions of the user's own learn of ends and submissions, and predict."""
    learning.learn(state, f, custom)


@entry
def report_starts(state: Any, f: Any, custom: Any) -> None:
    """Let them learn of what the pass started."""
    learning.learn_starts(state, f, custom)
