"""PV-EASY's reservation: only running jobs that outrank the head count.

spec: algorithms 2.3 step 3a.
"""

from __future__ import annotations

from shadowtime.kernel.fields import CAPACITY, NEED
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER, NOW, RUNNING
from shadowtime.kernel.running import end_at, job_at
from shadowtime.kernel.state import State


@kernel
def fits_beside_sunny(state: State, head: int, when: int) -> bool:
    """True if the head fits beside the sunny jobs expected to run on after an instant."""
    soonest = state.reg[NOW] + 1
    for k in range(state.host.shape[2]):
        have = state.host[CAPACITY, 0, k]
        for at in range(state.reg[RUNNING]):
            job = job_at(state, at)
            if job < head and max(end_at(state, at), soonest) > when:
                have -= state.job[job, NEED + k]
        if have < state.job[head, NEED + k]:
            return False
    return True


@routine
def sunny_shadow(state: State, head: int) -> int:
    """The earliest time at which the head fits if shadow jobs are ignored.

    NEVER where it does not fit on the machine at all, as when nodes are down.
    """
    running = state.reg[RUNNING]
    resources = state.host.shape[2]
    now = state.reg[NOW]
    if resources > 1:
        when = now
        at = 0
        while not fits_beside_sunny(state, head, when):
            if at == running:
                return NEVER
            when = max(end_at(state, at), now + 1)
            at += 1
        return when
    # One resource: a single walk over the running jobs by expected end.
    have = state.host[CAPACITY, 0, 0]
    for at in range(running):
        if job_at(state, at) < head:
            have -= state.job[job_at(state, at), NEED]
    when = now
    at = 0
    while have < state.job[head, NEED]:
        if at == running:
            return NEVER
        when = max(end_at(state, at), now + 1)
        while at < running and max(end_at(state, at), now + 1) == when:
            if job_at(state, at) < head:
                have += state.job[job_at(state, at), NEED]
            at += 1
    return when
