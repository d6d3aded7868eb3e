"""The event loop on a site one step at a time: for policies written in Python, and PV-EASY."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.site import events
from shadowtime.kernel.fields import ENDS_AT, EXPECTED
from shadowtime.kernel.jit import entry, routine
from shadowtime.kernel.registers import KILLS, NEVER, NOW
from shadowtime.kernel.site import start
from shadowtime.kernel.site.fields import RELEASED
from shadowtime.kernel.site.plain import number

STARTED = 0


@entry
def go_to_pass(s: Any, w: Any, g: Any, e: Any) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED."""
    return int(events.next_pass(s, w, g, e, number(0)))


@entry
def fits_now(s: Any, g: Any, jobs: Any, fits: Any) -> None:
    """Which of the waiting jobs could start now, each by itself: 1 or 0."""
    for i in range(jobs.shape[0]):
        fits[i] = start.ask_start(s, g, jobs[i]) >= 0


@entry
def begin_job(s: Any, g: Any, job: int, reason: int) -> int:
    """Start a waiting job now where the place rule says: STARTED; else start.BLOCKED or ASIDE."""
    alt = start.ask_start(s, g, job)
    if alt < 0:
        return int(alt)
    start.begin_placed(s, g, job, alt, reason)
    return STARTED


@entry
def fits_without(s: Any, g: Any, job: int, others: Any) -> bool:
    """True if a waiting job could start now, were some running jobs gone."""
    lift(s, g, others, number(1))
    alt = start.ask_start(s, g, job)
    lift(s, g, others, number(-1))
    return bool(alt >= 0)


@entry
def earliest_without(s: Any, g: Any, job: int, others: Any) -> int:
    """The earliest start of a waiting job, were some running jobs gone; NEVER if there is none."""
    lift(s, g, others, number(1))
    when, _ = start.ask_earliest(s, g, job, s.reg[NOW], number(NEVER), number(1))
    lift(s, g, others, number(-1))
    return int(when)


@routine
def lift(s: Any, g: Any, others: Any, sign: int) -> None:
    """Take running jobs off their nodes (+1), or put them back (-1)."""
    now = s.reg[NOW]
    for i in range(others.shape[0]):
        job = others[i]
        end = max(s.job[job, EXPECTED], now + 1)
        start.occupy(s, g, job, sign)
        start.hold_place(g, job, now, now, end, sign)
    g.mark[RELEASED] += 1  # what was refused before may fit, and the reverse


@entry
def stop_job(s: Any, w: Any, g: Any, job: int) -> None:
    """Stop a running job: it waits again, its work is lost."""
    now = s.reg[NOW]
    w.truth[job, ENDS_AT] = -1
    if s.job[job, EXPECTED] <= now:  # it is overdue and taken to hold its nodes for a second
        start.hold_place(g, job, now, now, now + 1, number(1))
    start.stop_run(s, g, job)
    s.reg[KILLS] += 1
    events.to_queue(s, g, job)


@entry
def finish_pass(s: Any, w: Any, g: Any, e: Any) -> None:
    """Let what was decided happen."""
    events.carry_out_decisions(s, w, g, e)


@entry
def update_expected(s: Any, g: Any) -> None:
    """Give running jobs that outlived their expected end a new one."""
    start.extend_overdue(s, g)
