"""Where a job goes: best fit over the hosts (spec 3.3); on a pool there is one host to choose from.

Best fit leaves the fewest processors, then the least of each further resource, then the lowest
index. The partition part's tables come first (spec 3.4): ``tier`` says which hosts a class of jobs
may use, and in which order of preference; ``group`` and ``cap`` bound the reservations.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import CAPACITY, CLASS, FREE, NEED
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.profile import earliest_on, holds_until
from shadowtime.kernel.registers import NEVER, NOW
from shadowtime.kernel.running import fits, need_on

RUN, RESERVE = 0, 1
"""Tables of tiers: -1 where a class may not go."""
RESERVATIONS, TIMES = 0, 1
"""Caps of a group of hosts: reservations in all; times each host's resources (0: no bound)."""


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
def host_now(s: Any, f: Any, job: int) -> int:
    """The best host with room for the job now, -1 if none has; a preferred one if any."""
    best = -1
    kind = s.job[job, CLASS]
    for h in range(s.host.shape[1]):
        tier = f.tier[RUN, kind, h]
        if tier < 0 or not fits(s, job, h):
            continue
        if best < 0 or is_better_now(s, f, job, kind, h, best):
            best = h
    return best


@kernel
def is_better_now(s: Any, f: Any, job: int, kind: int, a: int, b: int) -> bool:
    """True if host ``a`` is preferred to host ``b``: by tier, then best fit."""
    if f.tier[RUN, kind, a] != f.tier[RUN, kind, b]:
        return f.tier[RUN, kind, a] < f.tier[RUN, kind, b]
    return leaves_less_now(s, job, a, b)


@kernel
def host_around(s: Any, f: Any, job: int, length: int) -> int:
    """The best host that can hold the job from now on for ``length`` around all reservations."""
    best = -1
    kind = s.job[job, CLASS]
    until = s.reg[NOW] + length
    for h in range(s.host.shape[1]):
        if (
            f.tier[RUN, kind, h] >= 0
            and fits(s, job, h)
            and (best < 0 or is_better_now(s, f, job, kind, h, best))
            and holds_until(s, f.profile, job, h, until)
        ):
            best = h
    return best


@kernel
def may_reserve(s: Any, f: Any, job: int, h: int) -> bool:
    """True if the caps of the partition part leave room for a reservation on a host."""
    group = f.group[h]
    if f.cap[group, RESERVATIONS] <= f.booked[f.booked.shape[0] - 1 - group, 0]:
        return False
    times = f.cap[group, TIMES]
    for k in range(s.host.shape[2]):
        if s.job[job, NEED + k] > s.host[CAPACITY, h, k]:
            return False
        if times > 0 and (f.booked[h, k] + need_on(s, job, h, k) > times * s.host[CAPACITY, h, k]):
            return False
    return True


@kernel
def note_reservation(s: Any, f: Any, job: int, h: int) -> None:
    """Count a reservation against the caps."""
    f.booked[f.booked.shape[0] - 1 - f.group[h], 0] += 1
    for k in range(s.host.shape[2]):
        f.booked[h, k] += need_on(s, job, h, k)


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
def earliest_host(s: Any, f: Any, job: int, length: int) -> tuple[int, int]:
    """(start, host) of the earliest place for a reservation, host -1 if none is allowed.

    Ties go to the host that is left with the least at that instant. Hosts of a later tier are
    taken only if they are strictly earlier.
    """
    best, when = -1, NEVER
    kind = s.job[job, CLASS]
    p = f.profile
    for h in range(s.host.shape[1]):
        tier = f.tier[RESERVE, kind, h]
        if tier < 0 or not may_reserve(s, f, job, h):
            continue
        start = earliest_on(s, p, job, h, length)
        if best >= 0:
            if start > when:
                continue
            if start == when:
                if tier > f.tier[RESERVE, kind, best]:
                    continue
                if tier == f.tier[RESERVE, kind, best] and not leaves_less_at(
                    s, p, job, h, best, when
                ):
                    continue
        best, when = h, start
    return when, best
