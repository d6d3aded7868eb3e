"""Shadow-load preemption (PV-EASY 4.1, spec 2.3 step 2): kill and restart.

A running job is shadow if the head outranks it, and rank is job order. Victims fall from the
lowest rank upwards until the head fits; nobody is killed unless the head then starts.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import FREE, NEED
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import RUNNING
from shadowtime.kernel.running import fits, job_at, stop


@routine
def make_room(s: Any, head: int, prune: bool) -> bool:
    """Kill shadow jobs so that the head fits on the pool; nobody, and False, if in vain."""
    if not enough_above(s, head, head):
        return False
    if prune:
        kill_needed(s, head)
    else:
        while s.reg[RUNNING] > 0 and not fits(s, head, 0):
            stop(s, lowest_rank(s))
    return fits(s, head, 0)


@kernel
def enough_above(s: Any, head: int, rank: int) -> bool:
    """True if what is free and what running jobs behind ``rank`` hold is enough for the head."""
    for k in range(s.host.shape[2]):
        have = s.host[FREE, 0, k]
        for at in range(s.reg[RUNNING]):
            job = job_at(s, at)
            if job > rank:
                have += s.job[job, NEED + k]
        if have < s.job[head, NEED + k]:
            return False
    return True


@kernel
def lowest_rank(s: Any) -> int:
    """The running job that was submitted last."""
    lowest = -1
    for at in range(s.reg[RUNNING]):
        lowest = max(lowest, job_at(s, at))
    return lowest


@kernel
def next_rank(s: Any, rank: int) -> int:
    """The first running job behind ``rank``, or one beyond all jobs."""
    following = s.job.shape[0]
    for at in range(s.reg[RUNNING]):
        job = job_at(s, at)
        if job > rank:
            following = min(following, job)
    return following


@kernel
def kill_needed(s: Any, head: int) -> None:
    """The same victims, but the highest ranks first, and whoever is not needed is spared."""
    beyond = s.job.shape[0]
    victim = next_rank(s, head)
    while victim < beyond and enough_above(s, head, victim):
        victim = next_rank(s, victim)  # not among the lowest ranks that suffice
    while victim < beyond and not fits(s, head, 0):
        if not enough_above(s, head, victim):
            stop(s, victim)
        victim = next_rank(s, victim)
