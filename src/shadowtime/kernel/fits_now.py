"""Which jobs could start now at all: candidates with room on some host, reservations aside.

What is free only shrinks during a pass, so a job that does not fit at its
beginning never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import CAPACITY, CLASS, EXCLUSIVE, FREE, NEED
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.place import RUN
from shadowtime.kernel.running import fits

if TYPE_CHECKING:
    from shadowtime.kernel.general import General
    from shadowtime.kernel.state import State


@kernel
def look_around(state: State, f: General) -> None:
    """Note the most that is free of each resource on any host, and how many hosts are idle."""
    hosts, resources = state.host.shape[1], state.host.shape[2]
    for k in range(resources):
        most = state.host[FREE, 0, k]
        for h in range(1, hosts):
            most = max(most, state.host[FREE, h, k])
        f.room[k] = most
    idle = 0
    for h in range(hosts):
        idle += state.host[FREE, h, 0] == state.host[CAPACITY, h, 0]
    f.room[resources] = idle


@kernel
def fits_somewhere(state: State, f: General, job: int) -> bool:
    """True if some host that the job may use has room for it now."""
    resources = state.host.shape[2]
    if state.job[job, EXCLUSIVE] != 0 and f.room[resources] == 0:
        return False
    for k in range(resources):
        if state.job[job, NEED + k] > f.room[k]:
            return False
    kind = state.job[job, CLASS]
    for h in range(state.host.shape[1]):
        if f.tier[RUN, kind, h] >= 0 and fits(state, job, h):
            return True
    return False


@kernel
def keep_able(state: State, f: General, size: int) -> int:
    """Drop the candidates that fit on no host now; they cannot start in this pass any more."""
    look_around(state, f)
    kept = 0
    for i in range(size):
        place = f.heap[i]
        if fits_somewhere(state, f, f.jobs[place]):
            f.heap[kept] = place
            kept += 1
    return kept


@kernel
def mark_able(state: State, f: General, size: int) -> int:
    """Mark the candidates that fit on some host now; returns how many."""
    look_around(state, f)
    count = 0
    for i in range(size):
        place = f.heap[i]
        able = fits_somewhere(state, f, f.jobs[place])
        f.able[place] = able
        count += able
    return count
