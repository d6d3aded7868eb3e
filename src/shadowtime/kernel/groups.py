"""Minima by width over thousands of waiting jobs: how a scan skips most of the longest queues.

Among thousands of jobs some are narrow and some are short; what matters is whether one is both. So
a group of 64 blocks, and each of its blocks, knows the smallest estimate of each class of width
(1, 2-3, 4-7 and so on processors). They are kept from the first time that a scan asks for them:
a queue that stays short never pays for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import KNOWN, LENGTH, PROCS, SHORTEST
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG, BLOCK, GROUP, SHIFT, WIDTHS
from shadowtime.kernel.vector import least_in_group, least_of_width
from shadowtime.types import AnyArray

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
