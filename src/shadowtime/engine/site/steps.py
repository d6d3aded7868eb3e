"""The event loop on a site one step at a time, for policies written in Python."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.site import events
from shadowtime.kernel.fields import ENDS_AT
from shadowtime.kernel.jit import entry
from shadowtime.kernel.registers import KILLS
from shadowtime.kernel.site import start
from shadowtime.kernel.site.plain import number


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
def begin_job(s: Any, g: Any, job: int, reason: int) -> bool:
    """Start a waiting job now where it fits best; False if it does not fit."""
    alt = start.ask_start(s, g, job)
    if alt < 0:
        return False
    start.begin_placed(s, g, job, alt, reason)
    return True


@entry
def stop_job(s: Any, w: Any, g: Any, job: int) -> None:
    """Stop a running job: it waits again, its work is lost."""
    w.truth[job, ENDS_AT] = -1
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
