"""The waiting jobs, in job order.

The queue is the range of job indices itself. ``wait`` mirrors processors and estimate of waiting
jobs in 32 bits and holds a tombstone (BIG) for all others; a block of 64 jobs also knows its
smallest processors and estimate, so a scan skips most of a queue.

Among thousands of jobs some are narrow and some are short; what matters is whether one is both. So
a group of 64 blocks, and each of its blocks, knows the smallest estimate of each class of width
(1, 2-3, 4-7 and so on processors). They are kept from the first time that a scan asks for them:
a queue that stays short never pays for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import ESTIMATE, KNOWN, LENGTH, NEED, PROCS, SHORTEST
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import (
    ARRIVED,
    BIG,
    BLOCK,
    GROUP,
    QUEUE_FROM,
    SHIFT,
    WAITING,
    WIDTHS,
)
from shadowtime.kernel.vector import least_in_block, least_in_group, least_of_width
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State


@kernel
def group_may_hold(state: State, at: int, free: int, extra: int, left: int) -> bool:
    """False if no job of a group is narrow enough, and short enough or within the extra."""
    if state.group[KNOWN, at] == 0:
        survey(state.wait, state.least, state.group, at)
    narrowest = state.group[PROCS, at]
    if narrowest > free:
        return False
    if narrowest <= extra:
        return True
    row, least_procs, left = SHORTEST, 1, min(left, BIG - 1)
    while row < rows(state.group) and least_procs <= free:
        if state.group[row, at] <= left:
            return True
        row += 1
        least_procs *= 2
    return False


@kernel
def rows(group: AnyArray) -> int:
    """The number of rows of minima: KNOWN, but not as a constant.

    A loop whose bound the compiler knows is spelled out by it, wherever it is inlined: the compile
    time of EASY tripled.
    """
    return group.shape[0] - 1


# The functions below are calls, not inlined, from many places: they are handed three arrays rather
# than the whole State, whose some hundred words would be spelled out at each of these places.


@routine
def survey(wait: AnyArray, least: AnyArray, group: AnyArray, at: int) -> None:
    """Find all minima of a group, to be kept from now on."""
    for block in range(at * GROUP, (at + 1) * GROUP):
        for job in range(block * BLOCK, min((block + 1) * BLOCK, wait.shape[1])):
            if wait[PROCS, job] != BIG:
                row = SHORTEST + width_class(wait[PROCS, job])
                least[row, block] = min(least[row, block], wait[LENGTH, job])
    for row in range(rows(group)):
        group[row, at] = least_in_group(least, row, at)
    group[KNOWN, at] = 1


@routine
def lower_group(least: AnyArray, group: AnyArray, job: int, procs: int, estimate: int) -> None:
    """Take a job that entered the queue into the minima of its block and group."""
    block = job >> SHIFT
    at = block // GROUP
    row = SHORTEST + width_class(procs)
    least[row, block] = min(least[row, block], estimate)
    group[row, at] = min(group[row, at], estimate)
    group[PROCS, at] = min(group[PROCS, at], procs)


@routine
def tighten_group(wait: AnyArray, least: AnyArray, group: AnyArray, job: int, procs: int) -> None:
    """Recompute the minima by width that a job has a part in; those of the block itself are new."""
    block = job >> SHIFT
    at = block // GROUP
    width = width_class(procs)
    narrowest = 1 << width if width > 0 else 0
    widest = (2 << width) - 1 if width < WIDTHS - 1 else BIG - 1
    row = SHORTEST + width
    least[row, block] = least_of_width(wait, block, narrowest, widest)
    group[row, at] = least_in_group(least, row, at)
    group[PROCS, at] = least_in_group(least, PROCS, at)


@kernel
def width_class(procs: int) -> int:
    """The class of width of a job: the place of the highest bit of its processors, 15 at most."""
    width = 0
    if procs >= 1 << 8:
        width = 8
        procs >>= 8
    if procs >= 1 << 4:
        width += 4
        procs >>= 4
    if procs >= 1 << 2:
        width += 2
        procs >>= 2
    if procs >= 1 << 1:
        width += 1
    return min(width, WIDTHS - 1)


@kernel
def enqueue(state: State, job: int) -> None:
    """Put a job into the queue, at its place in job order."""
    procs = state.job[job, NEED]
    estimate = state.job[job, ESTIMATE]
    state.wait[PROCS, job] = procs
    state.wait[LENGTH, job] = estimate
    block = job >> SHIFT
    if procs < state.least[PROCS, block]:
        state.least[PROCS, block] = procs
    if estimate < state.least[LENGTH, block]:
        state.least[LENGTH, block] = estimate
    if state.group[KNOWN, block // GROUP] != 0:
        lower_group(state.least, state.group, job, procs, estimate)
    state.reg[WAITING] += 1
    if job < state.reg[QUEUE_FROM]:
        state.reg[QUEUE_FROM] = job


@kernel
def dequeue(state: State, job: int) -> None:
    """Take a job out of the queue."""
    state.wait[PROCS, job] = BIG
    state.wait[LENGTH, job] = BIG
    state.reg[WAITING] -= 1
    tighten(state, job)


@kernel
def reestimate(state: State, job: int, estimate: int) -> None:
    """Change the estimate of a waiting job."""
    state.job[job, ESTIMATE] = estimate
    state.wait[LENGTH, job] = estimate
    tighten(state, job)


@kernel
def tighten(state: State, job: int) -> None:
    """Recompute the minima that a job has a part in."""
    block = job >> SHIFT
    state.least[PROCS, block] = least_in_block(state.wait, PROCS, block)
    state.least[LENGTH, block] = least_in_block(state.wait, LENGTH, block)
    if state.group[KNOWN, block // GROUP] != 0:
        tighten_group(state.wait, state.least, state.group, job, state.job[job, NEED])


@kernel
def first_waiting(state: State) -> int:
    """The first waiting job in job order, -1 if none waits."""
    if state.reg[WAITING] == 0:
        state.reg[QUEUE_FROM] = state.reg[ARRIVED]
        return -1
    at = next_waiting(state, state.reg[QUEUE_FROM])
    state.reg[QUEUE_FROM] = at
    return at


@kernel
def next_waiting(state: State, at: int) -> int:
    """The first waiting job with an index of at least ``at``, -1 if there is none."""
    arrived = state.reg[ARRIVED]
    while at < arrived:
        if state.wait[PROCS, at] != BIG:
            return at
        at += 1
        if at & (BLOCK - 1) == 0:
            block = at >> SHIFT
            while block * BLOCK < arrived and state.least[PROCS, block] == BIG:
                block += 1
            at = block * BLOCK
    return -1


@kernel
def gather(state: State, out: Ints) -> int:
    """Write all waiting jobs into ``out`` in job order; return how many there are."""
    count = 0
    if first_waiting(state) < 0:
        return 0
    arrived = state.reg[ARRIVED]
    block = state.reg[QUEUE_FROM] >> SHIFT
    while block * BLOCK < arrived:
        if state.least[PROCS, block] != BIG:
            for job in range(block * BLOCK, min(arrived, block * BLOCK + BLOCK)):
                if state.wait[PROCS, job] != BIG:
                    out[count] = job
                    count += 1
        block += 1
    return count
