"""The event loop one step at a time, for policies written in Python and for the live loop."""

from __future__ import annotations

from typing import Any

from shadowtime.engine import events
from shadowtime.kernel import queue, running
from shadowtime.kernel.jit import entry
from shadowtime.kernel.registers import ATTEMPTS, RUNNING


@entry
def go_to_pass(s: Any, w: Any) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED."""
    if s.reg[ATTEMPTS] + s.reg[RUNNING] > s.tried.shape[1]:
        return events.ROOM_NEEDED
    return events.advance(s, w)


@entry
def begin_job(s: Any, job: int, host: int, reason: int) -> None:
    """Start a waiting job now."""
    running.begin(s, job, host, reason)


@entry
def stop_job(s: Any, job: int) -> None:
    """Preempt a running job."""
    running.stop(s, job)


@entry
def host_with_room(s: Any, job: int) -> int:
    """A host on which the job fits now, -1 if there is none."""
    for host in range(s.host.shape[1]):
        if running.fits(s, job, host):
            return host
    return -1


@entry
def finish_pass(s: Any, w: Any) -> None:
    """Let what was decided happen."""
    events.carry_out_decisions(s, w)


@entry
def update_expected(s: Any) -> None:
    """Give running jobs that outlived their expected end a new one."""
    running.forget_overdue(s)


@entry
def change_estimate(s: Any, job: int, estimate: int) -> None:
    """Give a waiting job another estimate."""
    queue.reestimate(s, job, estimate)


@entry
def call_own(
    custom: Any, slot: int, now: int, job: Any, fact: Any, jobs: Any, memory: Any, out: Any
) -> int:
    """Call the pointer to the user's own functions (custom.py)."""
    return int(custom(slot, now, job, fact, jobs, memory, out))
