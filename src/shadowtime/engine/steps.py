"""The event loop one step at a time, for policies written in Python and for the live loop."""

from __future__ import annotations

from typing import Any

from shadowtime.engine import events
from shadowtime.kernel import queue, running
from shadowtime.kernel.jit import entry
from shadowtime.kernel.registers import ATTEMPTS, RUNNING
from shadowtime.kernel.state import State, World


@entry
def go_to_pass(state: State, world: World) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED."""
    if state.reg[ATTEMPTS] + state.reg[RUNNING] > state.tried.shape[1]:
        return events.ROOM_NEEDED
    return events.advance(state, world)


@entry
def begin_job(state: State, job: int, host: int, reason: int) -> None:
    """Start a waiting job now."""
    running.begin(state, job, host, reason)


@entry
def stop_job(state: State, job: int) -> None:
    """Preempt a running job."""
    running.stop(state, job)


@entry
def host_with_room(state: State, job: int) -> int:
    """A host on which the job fits now, -1 if there is none."""
    for host in range(state.host.shape[1]):
        if running.fits(state, job, host):
            return host
    return -1


@entry
def finish_pass(state: State, world: World) -> None:
    """Carry out what was decided."""
    events.carry_out_decisions(state, world)


@entry
def update_expected(state: State) -> None:
    """Give running jobs that outlived their expected end a new one."""
    running.forget_overdue(state)


@entry
def change_estimate(state: State, job: int, estimate: int) -> None:
    """Give a waiting job another estimate."""
    queue.reestimate(state, job, estimate)


@entry
def call_own(
    custom: Any,
    slot: int,
    now: int,
    job: Any,
    fact: Any,
    jobs: Any,
    memory: Any,
    series: Any,
    out: Any,
) -> int:
    """Call the pointer to the user's own functions (fillers.py)."""
    return int(custom(slot, now, job, fact, jobs, memory, series, out))
