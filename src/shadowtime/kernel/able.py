"""Who could start now at all: candidates with room on some host, whatever the reservations say.

What is free only shrinks during a pass, so whoever is not able at its beginning never becomes so.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import CAPACITY, CLASS, EXCLUSIVE, FREE, NEED
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.place import RUN
from shadowtime.kernel.running import fits


@kernel
def look_around(s: Any, f: Any) -> None:
    """Note the most that is free of each resource on any host, and how many hosts are idle."""
    hosts, resources = s.host.shape[1], s.host.shape[2]
    for k in range(resources):
        most = s.host[FREE, 0, k]
        for h in range(1, hosts):
            most = max(most, s.host[FREE, h, k])
        f.room[k] = most
    idle = 0
    for h in range(hosts):
        idle += s.host[FREE, h, 0] == s.host[CAPACITY, h, 0]
    f.room[resources] = idle


@kernel
def fits_somewhere(s: Any, f: Any, job: int) -> bool:
    """True if some host that the job may use has room for it now."""
    resources = s.host.shape[2]
    if s.job[job, EXCLUSIVE] != 0 and f.room[resources] == 0:
        return False
    for k in range(resources):
        if s.job[job, NEED + k] > f.room[k]:
            return False
    kind = s.job[job, CLASS]
    for h in range(s.host.shape[1]):
        if f.tier[RUN, kind, h] >= 0 and fits(s, job, h):
            return True
    return False


@kernel
def keep_able(s: Any, f: Any, size: int) -> int:
    """Drop the candidates that fit on no host now; they cannot start in this pass any more."""
    look_around(s, f)
    kept = 0
    for i in range(size):
        place = f.heap[i]
        if fits_somewhere(s, f, f.jobs[place]):
            f.heap[kept] = place
            kept += 1
    return kept


@kernel
def mark_able(s: Any, f: Any, size: int) -> int:
    """Mark the candidates that fit on some host now; returns how many."""
    look_around(s, f)
    count = 0
    for i in range(size):
        place = f.heap[i]
        able = fits_somewhere(s, f, f.jobs[place])
        f.able[place] = able
        count += able
    return count
