"""What a pool leaves free ahead where bounds change over time, such as a power cap by the hour.

Running jobs give back what they hold, bounds fall and rise, and the first blocked job has a
reservation. What counts for a job is the least that is free from now on until it would end: a step
function of that end which never rises, and so has few steps. It is filled as far as it is asked
for, and dropped with every start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import ESTIMATE, FREE, NEED
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER, NOW, RUNNING, WAITING, WAKE
from shadowtime.kernel.running import end_at, job_at
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

AT, COVERED, HEAD, SINCE, UNTIL, SEEN, FAR = range(7)
"""Places in ``mark``: the step of the bounds in force; up to which end all is filled; the job with
a reservation, -1 if none has one, from when until when; the steps that ``top`` has seen, and how
far it looks."""
FIRST, LAST, MOST = range(3)
"""Rows of ``top``: where in ``lower`` the steps begin and end that may have the most missing; the
most that is missing until SEEN."""


class Ahead(NamedTuple):
    """Bounds that change, and what they leave free from now on."""

    mark: Any  # int64[7]
    time: Any  # int64[S]: when a bound changes; the first step is in force before it, too
    drop: Any  # int64[S, K]: how much of each resource is missing from then on
    top: Any  # int64[3, K]
    lower: Any  # int64[S, K]: steps of which each has less missing than those before it
    level: Any  # int64[K]: scratch
    until: Any  # int64[room]: up to this end ...
    least: Any  # int64[room, K]: ... a job has no more than this of each resource


def make_ahead(*, time: Ints, drop: Ints, room: int, longest: int = 0) -> Ahead:
    """Nothing is filled yet; ``room`` jobs run at once, for ``longest`` seconds."""
    steps, resources = drop.shape
    return Ahead(
        mark=np.array([0, -1, -1, 0, 0, 0, 2 * longest], np.int64),
        time=time,
        drop=drop,
        top=np.zeros((3, resources), np.int64),
        lower=np.zeros((steps, resources), np.int64),
        level=np.zeros(resources, np.int64),
        until=np.zeros(room + steps + 4, np.int64),
        least=np.zeros((room + steps + 4, resources), np.int64),
    )


@kernel
def changes(b: Ahead) -> bool:
    """True if there are bounds that change."""
    return b.time.shape[0] > 0


@kernel
def to_now(state: State, b: Ahead) -> bool:
    """Let the bounds of this instant be in force; True if they are others than in the last pass."""
    at = b.mark[AT]
    while at + 1 < b.time.shape[0] and b.time[at + 1] <= state.reg[NOW]:
        at += 1
    moved = at != b.mark[AT]
    b.mark[AT], b.mark[COVERED] = at, -1
    if moved or b.mark[SEEN] == 0:
        look_ahead(b, at, state.reg[NOW] + b.mark[FAR])
    return bool(moved)


@kernel
def look_ahead(b: Ahead, at: int, until: int) -> None:
    """Find the most that is missing from a step on until an instant, both of which only grow."""
    seen = b.mark[SEEN]
    while seen < b.time.shape[0] and (seen <= at or b.time[seen] < until):
        for k in range(b.level.shape[0]):
            last = b.top[LAST, k]
            while last > b.top[FIRST, k] and b.drop[b.lower[last - 1, k], k] <= b.drop[seen, k]:
                last -= 1
            b.lower[last, k] = seen
            b.top[LAST, k] = last + 1
        seen += 1
    b.mark[SEEN] = seen
    for k in range(b.level.shape[0]):
        while b.lower[b.top[FIRST, k], k] < at:
            b.top[FIRST, k] += 1
        b.top[MOST, k] = b.drop[b.lower[b.top[FIRST, k], k], k]


@kernel
def is_seen(b: Ahead, until: int) -> bool:
    """True if ``top`` knows all steps before an instant."""
    seen = b.mark[SEEN]
    return bool(seen == b.time.shape[0] or until <= b.time[seen])


@kernel
def wake_at_change(state: State, b: Ahead) -> None:
    """While jobs wait there is a pass whenever a bound changes."""
    at = b.mark[AT] + 1
    if at < b.time.shape[0] and state.reg[WAITING] > 0:
        state.reg[WAKE] = min(state.reg[WAKE], b.time[at])


@kernel
def free_now(state: State, b: Ahead, k: int) -> int:
    """What is free of a resource at this instant."""
    return int(state.host[FREE, 0, k] - b.drop[b.mark[AT], k])


@kernel
def next_change(state: State, b: Ahead, running: int, step: int) -> int:
    """When the next running job is expected to end, or the next bound to change."""
    when = NEVER
    if running < state.reg[RUNNING]:
        when = max(end_at(state, running), state.reg[NOW] + 1)
    if step + 1 < b.time.shape[0]:
        when = min(when, b.time[step + 1])
    return int(when)


@kernel
def release_until(state: State, b: Ahead, running: int, when: int) -> int:
    """Give back what jobs hold that are expected to end up to an instant; the next running job."""
    while running < state.reg[RUNNING] and max(end_at(state, running), state.reg[NOW] + 1) <= when:
        job = job_at(state, running)
        for k in range(b.level.shape[0]):
            b.level[k] += state.job[job, NEED + k]
        running += 1
    return running


@kernel
def shift_to(b: Ahead, step: int, when: int) -> int:
    """Let the bounds of an instant count; returns their step."""
    if step + 1 < b.time.shape[0] and b.time[step + 1] == when:
        step += 1
        for k in range(b.level.shape[0]):
            b.level[k] += b.drop[step - 1, k] - b.drop[step, k]
    return step


@kernel
def level_now(state: State, b: Ahead) -> None:
    """Begin with what is free at this instant."""
    for k in range(b.level.shape[0]):
        b.level[k] = free_now(state, b, k)


@kernel
def holds(state: State, b: Ahead, job: int, step: int, when: int) -> int:
    """0 if the job does not fit into the level of a step, 2 if it does until its end, else 1."""
    found = 2 if is_seen(b, when + state.job[job, ESTIMATE]) else 1
    for k in range(b.level.shape[0]):
        left = b.level[k] - state.job[job, NEED + k]
        if left < 0:
            return 0
        if left < b.top[MOST, k] - b.drop[step, k]:
            found = 1
    return found


@routine
def earliest(state: State, b: Ahead, job: int, spare: Ints) -> int:
    """The earliest instant from which the job fits beside the running ones; NEVER if there is none.

    ``spare`` is what is left beside it then.
    """
    running, step, when, begin = 0, b.mark[AT], state.reg[NOW], -1
    length = state.job[job, ESTIMATE]
    level_now(state, b)
    while True:
        holding = holds(state, b, job, step, when)
        if holding == 0:
            begin = -1
        elif begin < 0:
            begin = when
            for k in range(b.level.shape[0]):
                spare[k] = b.level[k] - state.job[job, NEED + k]
        later = next_change(state, b, running, step)
        if begin >= 0 and (holding == 2 or later >= begin + length):
            return int(begin)
        if later >= NEVER:
            return int(NEVER)
        when = later
        running = release_until(state, b, running, when)
        step = shift_to(b, step, when)


@kernel
def reserve(state: State, b: Ahead, job: int, since: int) -> None:
    """Keep free what a job needs from an instant on, for its time; job -1: nothing is kept."""
    b.mark[HEAD], b.mark[SINCE], b.mark[COVERED] = job, since, -1
    if job >= 0:
        b.mark[UNTIL] = since + state.job[job, ESTIMATE]


@routine
def fill(state: State, b: Ahead, end: int) -> None:
    """Find the least that is free from now on, up to any end until ``end``."""
    mark = b.mark
    running, step, at, now = 0, mark[AT], -1, state.reg[NOW]
    since = mark[SINCE] if mark[HEAD] >= 0 else NEVER
    level_now(state, b)
    mark[COVERED] = end
    while now < end:
        lower = at < 0
        for k in range(b.level.shape[0]):
            lower = lower or b.level[k] < b.least[at, k]
        if lower:
            at += 1
            for k in range(b.level.shape[0]):
                before = b.level[k] if at == 0 else b.least[at - 1, k]
                b.least[at, k] = min(before, b.level[k])
        now = next_change(state, b, running, step)
        if now > since:
            now = since
        b.until[at] = now
        running = release_until(state, b, running, now)
        step = shift_to(b, step, now)
        if now == since and since < NEVER:
            sign = -1 if since == mark[SINCE] else 1
            for k in range(b.level.shape[0]):
                b.level[k] += sign * state.job[mark[HEAD], NEED + k]
            since = mark[UNTIL] if since == mark[SINCE] else NEVER


@kernel
def fits_ahead(state: State, b: Ahead, job: int) -> bool:
    """True if the job may start now: it fits until its end beside what is reserved."""
    end = state.reg[NOW] + state.job[job, ESTIMATE]
    sure = (b.mark[HEAD] < 0 or end <= b.mark[SINCE]) and is_seen(b, end)
    at = b.mark[AT]
    for k in range(b.level.shape[0]):
        need, free = state.job[job, NEED + k], state.host[FREE, 0, k]
        if need > free - b.drop[at, k]:
            return False
        sure = sure and need <= free - b.top[MOST, k]
    if sure:  # what runs only gives back
        return True
    if end > b.mark[COVERED]:
        fill(state, b, end)
    at = 0
    while b.until[at] < end:
        at += 1
    for k in range(b.level.shape[0]):
        if state.job[job, NEED + k] > b.least[at, k]:
            return False
    return True
