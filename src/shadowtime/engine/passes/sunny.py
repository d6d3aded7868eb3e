"""PV-EASY's reservation: only running jobs that outrank the head count (spec 2.3 step 3a)."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import CAPACITY, NEED
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER, NOW, RUNNING
from shadowtime.kernel.running import end_at, job_at


@kernel
def fits_beside_sunny(s: Any, head: int, when: int) -> bool:
    """True if the head fits beside the sunny jobs expected to run on after an instant."""
    soonest = s.reg[NOW] + 1
    for k in range(s.host.shape[2]):
        have = s.host[CAPACITY, 0, k]
        for at in range(s.reg[RUNNING]):
            job = job_at(s, at)
            if job < head and max(end_at(s, at), soonest) > when:
                have -= s.job[job, NEED + k]
        if have < s.job[head, NEED + k]:
            return False
    return True


@routine
def sunny_shadow(s: Any, head: int) -> int:
    """The earliest time at which the head fits if shadow jobs are ignored.

    NEVER where it does not fit on the machine at all, as when nodes are down.
    """
    running = s.reg[RUNNING]
    resources = s.host.shape[2]
    now = s.reg[NOW]
    if resources > 1:
        when = now
        at = 0
        while not fits_beside_sunny(s, head, when):
            if at == running:
                return NEVER
            when = max(end_at(s, at), now + 1)
            at += 1
        return when
    # One resource: a single walk over the running jobs by expected end.
    have = s.host[CAPACITY, 0, 0]
    for at in range(running):
        if job_at(s, at) < head:
            have -= s.job[job_at(s, at), NEED]
    when = now
    at = 0
    while have < s.job[head, NEED]:
        if at == running:
            return NEVER
        when = max(end_at(s, at), now + 1)
        while at < running and max(end_at(s, at), now + 1) == when:
            if job_at(s, at) < head:
                have += s.job[job_at(s, at), NEED]
            at += 1
    return when
