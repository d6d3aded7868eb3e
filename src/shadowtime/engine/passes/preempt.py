"""Shadow-load preemption (PV-EASY 4.1, spec 2.3 step 2): kill and restart.

A running job is shadow if the head outranks it, and rank is job order. Victims fall from the
lowest rank upwards until the head fits; nobody is killed unless the head then starts.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import CAPACITY, FREE, NEED
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import RUNNING
from shadowtime.kernel.running import fits, job_at, stop


@routine
def make_room(s: Any, head: int, prune: bool) -> bool:
    """Kill shadow jobs so that the head fits on the pool; False, and nothing, if that is in vain."""
    if not enough_with_shadow(s, head):
        return False
    before = s.reg[RUNNING]
    while not fits(s, head, 0):
        stop(s, lowest_shadow(s, head))
    if prune and before > s.reg[RUNNING]:
        return True
    return True


@kernel
def enough_with_shadow(s: Any, head: int) -> bool:
    """True if free and shadow resources together hold the head, in every resource."""
    for k in range(s.host.shape[2]):
        if s.job[head, NEED + k] > s.host[CAPACITY, 0, k]:
            return False
        have = s.host[FREE, 0, k]
        for at in range(s.reg[RUNNING]):
            job = job_at(s, at)
            if job > head:
                have += s.job[job, NEED + k]
        if have < s.job[head, NEED + k]:
            return False
    return True


@kernel
def lowest_shadow(s: Any, head: int) -> int:
    """The running job of lowest rank."""
    lowest = head
    for at in range(s.reg[RUNNING]):
        lowest = max(lowest, job_at(s, at))
    return lowest
