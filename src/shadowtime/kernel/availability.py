"""The book of promises: what will be free on the pool from now on, kept between passes.

A step function like the profile's, but it lives as long as the run: the past falls off its front,
equal neighbours are merged, and ``peak`` knows the most processors free at any time up to a step,
so that most searches end before they begin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.vector import first_at_least, shift_down, shift_up

FIRST, LAST_STEP, GAIN, PEAKS_FROM, COMPRESS, SOONEST = 0, 1, 2, 3, 4, 5
"""Places in ``mark``: the first step in force and the last; until when processors were gained
since every job was placed; the first step whose peak is out of date; compress promises?; no
promise falls due before."""


class Availability(NamedTuple):
    """The step function, and when each waiting job is due."""

    time: Any  # int64[cap]
    level: Any  # int64[K, cap]
    peak: Any  # int64[cap]
    due: Any  # int64[n]
    mark: Any  # int64[8]


def make_availability(*, n: int, capacity: Any, compress: bool) -> Availability:
    """A book for a run of ``n`` jobs: nothing is promised yet."""
    room = 4 * n + 64
    resources = capacity.shape[1]
    availability = Availability(
        time=np.zeros(room, np.int64),
        level=np.zeros((resources, room), np.int64),
        peak=np.zeros(room, np.int64),
        due=np.full(n + 1, NEVER, np.int64),
        mark=np.zeros(8, np.int64),
    )
    availability.level[:, 0] = capacity[0]
    availability.mark[COMPRESS] = compress
    availability.mark[SOONEST] = NEVER
    return availability


@kernel
def forget_past(b: Any, now: int) -> None:
    """Let the function begin now."""
    mark = b.mark
    while mark[FIRST] < mark[LAST_STEP] and b.time[mark[FIRST] + 1] <= now:
        mark[FIRST] += 1
    b.time[mark[FIRST]] = now
    mark[PEAKS_FROM] = mark[FIRST]


@kernel
def move_to_front(b: Any) -> None:
    """Make room at the end of the arrays."""
    mark = b.mark
    shift = mark[FIRST]
    for i in range(shift, mark[LAST_STEP] + 1):
        b.time[i - shift] = b.time[i]
        for k in range(b.level.shape[0]):
            b.level[k, i - shift] = b.level[k, i]
    mark[FIRST] = 0
    mark[LAST_STEP] -= shift
    mark[PEAKS_FROM] = 0


@kernel
def last_step_before(b: Any, when: int) -> int:
    """The last step that begins before an instant (the first step if none does)."""
    low = b.mark[FIRST]
    high = b.mark[LAST_STEP] + 1
    while low < high:
        middle = (low + high) >> 1
        if b.time[middle] < when:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, b.mark[FIRST])


@kernel
def cut(b: Any, when: int) -> int:
    """Index of the step that begins at an instant, which is now or later; made if needed."""
    mark = b.mark
    if b.time[mark[FIRST]] >= when:
        return mark[FIRST]
    before = last_step_before(b, when)
    at = before + 1
    if at <= mark[LAST_STEP] and b.time[at] == when:
        return at
    shift_up(b.time, at, mark[LAST_STEP])
    b.time[at] = when
    for k in range(b.level.shape[0]):
        shift_up(b.level[k], at, mark[LAST_STEP])
        b.level[k, at] = b.level[k, before]
    mark[LAST_STEP] += 1
    return at


@kernel
def merge(b: Any, at: int) -> None:
    """Drop a step that changes nothing."""
    mark = b.mark
    if at <= mark[FIRST] or at > mark[LAST_STEP]:
        return
    for k in range(b.level.shape[0]):
        if b.level[k, at] != b.level[k, at - 1]:
            return
    shift_down(b.time, at, mark[LAST_STEP])
    for k in range(b.level.shape[0]):
        shift_down(b.level[k], at, mark[LAST_STEP])
    mark[LAST_STEP] -= 1


@routine
def change(b: Any, need: Any, begin: int, end: int, sign: int) -> None:
    """Book needs in (-1) or out (+1) during [begin, end)."""
    if b.mark[LAST_STEP] + 3 >= b.time.shape[0]:
        move_to_front(b)
    first = cut(b, begin)
    beyond = cut(b, end)
    for k in range(b.level.shape[0]):
        for step in range(first, beyond):
            b.level[k, step] += sign * need[k]
    merge(b, beyond)
    merge(b, first)
    b.mark[PEAKS_FROM] = min(b.mark[PEAKS_FROM], max(first - 1, b.mark[FIRST]))


@kernel
def peak_until(b: Any, step: int) -> int:
    """The most processors free at any time up to and in a step."""
    mark = b.mark
    at = mark[PEAKS_FROM]
    while at <= step:
        best = b.level[0, at]
        if at > mark[FIRST] and b.peak[at - 1] > best:
            best = b.peak[at - 1]
        b.peak[at] = best
        at += 1
    mark[PEAKS_FROM] = max(mark[PEAKS_FROM], at)
    return b.peak[step]


@kernel
def roomy(b: Any, need: Any, step: int) -> bool:
    """True if needs fit into a step."""
    for k in range(b.level.shape[0]):
        if b.level[k, step] < need[k]:
            return False
    return True


@routine
def find_start(b: Any, need: Any, length: int, before: int, own_from: int) -> int:
    """The earliest start before an instant, the job's own promise left out; NEVER if none.

    ``before`` is at most ``own_from``: from there on the job's own promise keeps the room.
    """
    last = b.mark[LAST_STEP]
    step = b.mark[FIRST]
    while step <= last and b.time[step] < before:
        if not roomy(b, need, step):
            step = first_at_least(b.level[0], step + 1, last, need[0])
            continue
        begin = b.time[step]
        until = min(begin + length, own_from)
        step += 1
        while step <= last and b.time[step] < until and roomy(b, need, step):
            step += 1
        if step > last or b.time[step] >= until:
            return begin
    return NEVER


@kernel
def holds_at(b: Any, need: Any, length: int, start: int) -> bool:
    """True if needs fit from a start on for their whole length."""
    step = last_step_before(b, start + 1)
    while step <= b.mark[LAST_STEP] and b.time[step] < start + length:
        if not roomy(b, need, step):
            return False
        step += 1
    return True
