"""Where a job goes: best fit over the hosts (spec 3.3); on a pool there is one host to choose from.

Best fit leaves the fewest processors, then the least of each further resource, then the lowest
index.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import FREE
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.profile import earliest_on, holds_until
from shadowtime.kernel.registers import NEVER, NOW
from shadowtime.kernel.running import fits, need_on


@kernel
def leaves_less_now(s: Any, job: int, a: int, b: int) -> bool:
    """True if the job leaves less free on host ``a`` than on host ``b``, right now."""
    for k in range(s.host.shape[2]):
        left_a = s.host[FREE, a, k] - need_on(s, job, a, k)
        left_b = s.host[FREE, b, k] - need_on(s, job, b, k)
        if left_a != left_b:
            return left_a < left_b
    return False


@kernel
def host_now(s: Any, job: int) -> int:
    """The best host with room for the job now, -1 if none has."""
    best = -1
    for h in range(s.host.shape[1]):
        if fits(s, job, h) and (best < 0 or leaves_less_now(s, job, h, best)):
            best = h
    return best


@kernel
def host_around(s: Any, p: Any, job: int, length: int) -> int:
    """The best host that can hold the job from now on for ``length`` around all reservations."""
    best = -1
    until = s.reg[NOW] + length
    for h in range(s.host.shape[1]):
        if (
            fits(s, job, h)
            and (best < 0 or leaves_less_now(s, job, h, best))
            and holds_until(s, p, job, h, until)
        ):
            best = h
    return best


@kernel
def level_at(p: Any, h: int, when: int, k: int) -> int:
    """What is free of a resource on a host at an instant."""
    low = 0
    high = p.count[h]
    while low < high:
        middle = (low + high) >> 1
        if p.time[h, middle] <= when:
            low = middle + 1
        else:
            high = middle
    return p.level[h, low - 1, k]


@kernel
def leaves_less_at(s: Any, p: Any, job: int, a: int, b: int, when: int) -> bool:
    """True if the job leaves less free on host ``a`` than on host ``b`` at an instant."""
    for k in range(s.host.shape[2]):
        left_a = level_at(p, a, when, k) - need_on(s, job, a, k)
        left_b = level_at(p, b, when, k) - need_on(s, job, b, k)
        if left_a != left_b:
            return left_a < left_b
    return False


@kernel
def earliest_host(s: Any, p: Any, job: int, length: int) -> tuple[int, int]:
    """(start, host) of the earliest place for the job; ties by best fit at that instant."""
    best, when = -1, NEVER
    for h in range(s.host.shape[1]):
        start = earliest_on(s, p, job, h, length)
        if start >= NEVER:
            continue
        if start < when or (start == when and leaves_less_at(s, p, job, h, best, when)):
            best, when = h, start
    return when, best
