"""What will be free on each host from now on, as step functions of time.

Row h of ``time`` holds the instants at which host h changes, ``level`` what is free from each of
them on, per resource; the last level lasts forever. Built from the running jobs at a pass, then
reservations and fresh starts are cut out of it. Intervals are half-open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import FREE, HOST
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import NEVER, NOW, RUNNING
from shadowtime.kernel.running import end_at, job_at, need_on
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State


class Profile(NamedTuple):
    """Step functions of H hosts and K resources, with room for ``cap`` steps each."""

    time: Ints  # int64[H, cap]
    level: Ints  # int64[H, cap, K]
    count: Any  # int64[H]
    since: Ints  # int64[H]: before this instant the host has no room for the need beside it
    least: Ints  # int64[H, K]: that need


def make_profile(hosts: int, steps: int, resources: int) -> Profile:
    """An empty profile."""
    return Profile(
        time=np.zeros((hosts, steps), np.int64),
        level=np.zeros((hosts, steps, resources), np.int64),
        count=np.zeros(hosts, np.int64),
        since=np.zeros(hosts, np.int64),
        least=np.zeros((hosts, resources), np.int64),
    )


@kernel
def build_profile(state: State, p: Profile) -> None:
    """Start from the running jobs: each is expected to give back its resources at its end."""
    now = state.reg[NOW]
    hosts, resources = p.level.shape[0], p.level.shape[2]
    for h in range(hosts):
        p.count[h] = 1
        p.since[h] = now
        p.time[h, 0] = now
        for k in range(resources):
            p.level[h, 0, k] = state.host[FREE, h, k]
    for at in range(state.reg[RUNNING]):
        job = job_at(state, at)
        h = state.job[job, HOST]
        end = max(end_at(state, at), now + 1)
        last = p.count[h] - 1
        if p.time[h, last] != end:
            last += 1
            p.count[h] = last + 1
            p.time[h, last] = end
            for k in range(resources):
                p.level[h, last, k] = p.level[h, last - 1, k]
        for k in range(resources):
            p.level[h, last, k] += need_on(state, job, h, k)


@kernel
def holds(state: State, p: Profile, job: int, h: int, step: int) -> bool:
    """True if the job fits into what is free from a step on (until the next one)."""
    for k in range(p.level.shape[2]):
        if need_on(state, job, h, k) > p.level[h, step, k]:
            return False
    return True


@kernel
def holds_until(state: State, p: Profile, job: int, h: int, until: int) -> bool:
    """True if the job fits on the host from now on until an instant."""
    step = 0
    count = p.count[h]
    while step < count and p.time[h, step] < until:
        if not holds(state, p, job, h, step):
            return False
        step += 1
    return True


@kernel
def earliest_on(state: State, p: Profile, job: int, h: int, length: int, latest: int) -> int:
    """The earliest instant from which the job fits on the host for ``length``.

    NEVER if there is none up to ``latest``, beyond which a search over several hosts need not know.
    """
    if p.since[h] > latest and needs_no_less(state, p, job, h):
        return NEVER
    count = p.count[h]
    first = 0
    while first < count and p.time[h, first] <= latest and not holds(state, p, job, h, first):
        first += 1
    if first < count and p.time[h, first] > p.since[h]:
        remember(state, p, job, h, p.time[h, first])
    while first < count and p.time[h, first] <= latest:
        if not holds(state, p, job, h, first):
            first += 1
            continue
        begin = p.time[h, first]
        step = first + 1
        while step < count and p.time[h, step] < begin + length and holds(state, p, job, h, step):
            step += 1
        if step >= count or p.time[h, step] >= begin + length:
            return begin
        first = step + 1
    return NEVER


@kernel
def needs_no_less(state: State, p: Profile, job: int, h: int) -> bool:
    """True if the job takes at least as much on the host as the one ``since`` was found for."""
    for k in range(p.level.shape[2]):
        if need_on(state, job, h, k) < p.least[h, k]:
            return False
    return True


@kernel
def remember(state: State, p: Profile, job: int, h: int, when: int) -> None:
    """Note that the host has no room for such a job before an instant: it only fills up."""
    p.since[h] = when
    for k in range(p.level.shape[2]):
        p.least[h, k] = need_on(state, job, h, k)


@kernel
def step_at(p: Profile, h: int, when: int) -> int:
    """Index of the step that begins at an instant; made where there is none."""
    count = p.count[h]
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if p.time[h, middle] < when:
            low = middle + 1
        else:
            high = middle
    if low < count and p.time[h, low] == when:
        return low
    resources = p.level.shape[2]
    for i in range(count, low, -1):
        p.time[h, i] = p.time[h, i - 1]
        for k in range(resources):
            p.level[h, i, k] = p.level[h, i - 1, k]
    p.time[h, low] = when
    for k in range(resources):
        p.level[h, low, k] = p.level[h, low - 1, k]
    p.count[h] = count + 1
    return low


@kernel
def occupy(state: State, p: Profile, job: int, h: int, begin: int, end: int) -> None:
    """Cut what the job takes out of the profile of a host during [begin, end)."""
    first = step_at(p, h, begin)
    beyond = step_at(p, h, end)
    for step in range(first, beyond):
        for k in range(p.level.shape[2]):
            p.level[h, step, k] -= need_on(state, job, h, k)
