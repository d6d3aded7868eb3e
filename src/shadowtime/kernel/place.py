"""Where a job goes: best fit over the hosts; on a pool there is one host to choose from.

spec: algorithms 3.3.

Best fit leaves the fewest processors, then the least of each further resource, then the lowest
index. The partition part's tables come first (spec: algorithms 3.4): ``tier`` holds which hosts a
class of jobs may use, and in which order of preference; ``cap`` how many reservations it allows in
a group of hosts, and on each host.

What is free only shrinks during a pass, so a job that fits on no host at its beginning never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import CAPACITY, CLASS, EXCLUSIVE, FREE, NEED
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.profile import Profile, earliest_on, holds_until, needs_no_less
from shadowtime.kernel.registers import NEVER, NOW
from shadowtime.kernel.running import fits, need_on

if TYPE_CHECKING:
    from shadowtime.kernel.general import General
    from shadowtime.kernel.state import State

RUN, RESERVE = 0, 1
"""Tables of tiers: -1 where a class may not go."""


@kernel
def leaves_less_now(state: State, job: int, a: int, b: int) -> bool:
    """True if the job leaves less free on host ``a`` than on host ``b``, right now."""
    for k in range(state.host.shape[2]):
        left_a = state.host[FREE, a, k] - need_on(state, job, a, k)
        left_b = state.host[FREE, b, k] - need_on(state, job, b, k)
        if left_a != left_b:
            return left_a < left_b
    return False


@kernel
def host_now(state: State, f: General, job: int) -> int:
    """The best host with room for the job now, -1 if none has; a preferred one if any."""
    best = -1
    kind = state.job[job, CLASS]
    for h in range(state.host.shape[1]):
        tier = f.tier[RUN, kind, h]
        if tier < 0 or not fits(state, job, h):
            continue
        if best < 0 or is_better_now(state, f, job, kind, h, best):
            best = h
    return best


@kernel
def is_better_now(state: State, f: General, job: int, kind: int, a: int, b: int) -> bool:
    """True if host ``a`` is preferred to host ``b``: by tier, then best fit."""
    if f.tier[RUN, kind, a] != f.tier[RUN, kind, b]:
        return f.tier[RUN, kind, a] < f.tier[RUN, kind, b]
    return leaves_less_now(state, job, a, b)


@kernel
def host_around(state: State, f: General, job: int, length: int) -> int:
    """The best host that can hold the job from now on for ``length`` around all reservations."""
    best = -1
    kind = state.job[job, CLASS]
    until = state.reg[NOW] + length
    for h in range(state.host.shape[1]):
        if (
            f.tier[RUN, kind, h] >= 0
            and fits(state, job, h)
            and (best < 0 or is_better_now(state, f, job, kind, h, best))
            and holds_until(state, f.profile, job, h, until)
        ):
            best = h
    return best


@kernel
def level_at(p: Profile, h: int, when: int, k: int) -> int:
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
def leaves_less_at(state: State, p: Profile, job: int, a: int, b: int, when: int) -> bool:
    """True if the job leaves less free on host ``a`` than on host ``b`` at an instant."""
    for k in range(state.host.shape[2]):
        left_a = level_at(p, a, when, k) - need_on(state, job, a, k)
        left_b = level_at(p, b, when, k) - need_on(state, job, b, k)
        if left_a != left_b:
            return left_a < left_b
    return False


@kernel
def has_host_to_reserve(state: State, f: General, job: int) -> bool:
    """True if the caps leave room for a reservation of the job on some host."""
    kind = state.job[job, CLASS]
    for i in range(f.among[RESERVE, kind, f.among.shape[2] - 1]):
        if may_reserve(state, f, job, f.among[RESERVE, kind, i]):
            return True
    return False


@kernel
def earliest_host(state: State, f: General, job: int, length: int) -> tuple[int, int]:
    """(start, host) of the earliest place for a reservation, host -1 if none is allowed.

    Ties go to the host that is left with the least at that instant. Hosts of a later tier are
    taken only if they are strictly earlier.
    """
    best, when = -1, NEVER
    kind = state.job[job, CLASS]
    p = f.profile
    for i in range(f.among[RESERVE, kind, f.among.shape[2] - 1]):
        h = f.among[RESERVE, kind, i]
        if p.since[h] > when and needs_no_less(state, p, job, h):
            continue
        if not may_reserve(state, f, job, h):
            continue
        tier = f.tier[RESERVE, kind, h]
        start = earliest_on(state, p, job, h, length, when)
        if start == NEVER:
            continue
        if best >= 0 and start == when:
            if tier > f.tier[RESERVE, kind, best]:
                continue
            if tier == f.tier[RESERVE, kind, best] and not leaves_less_at(
                state, p, job, h, best, when
            ):
                continue
        best, when = h, start
    return when, best


RESERVATIONS, TIMES = 0, 1
"""Caps of a group of hosts: reservations in all; times each host's resources (0: no bound)."""


@kernel
def may_reserve(state: State, f: General, job: int, h: int) -> bool:
    """True if the caps of the partition part leave room for a reservation on a host."""
    group = f.group[h]
    if f.cap[group, RESERVATIONS] <= f.booked[f.booked.shape[0] - 1 - group, 0]:
        return False
    times = f.cap[group, TIMES]
    for k in range(state.host.shape[2]):
        if state.job[job, NEED + k] > state.host[CAPACITY, h, k]:
            return False
        if times > 0 and (
            f.booked[h, k] + need_on(state, job, h, k) > times * state.host[CAPACITY, h, k]
        ):
            return False
    return True


@kernel
def note_reservation(state: State, f: General, job: int, h: int) -> None:
    """Count a reservation against the caps."""
    f.booked[f.booked.shape[0] - 1 - f.group[h], 0] += 1
    for k in range(state.host.shape[2]):
        f.booked[h, k] += need_on(state, job, h, k)


@kernel
def was_refused(state: State, f: General, job: int) -> bool:
    """True if a job of the class that needs no more found the caps used up in this pass."""
    at = 2 * state.job[job, CLASS] + state.job[job, EXCLUSIVE]
    for k in range(state.host.shape[2]):
        if state.job[job, NEED + k] < f.refused[at, k]:
            return False
    return True


@kernel
def note_refusal(state: State, f: General, job: int) -> None:
    """Remember that the caps have no room for such a job: they only fill up during a pass."""
    at = 2 * state.job[job, CLASS] + state.job[job, EXCLUSIVE]
    for k in range(state.host.shape[2]):
        f.refused[at, k] = state.job[job, NEED + k]


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
