"""Minima by width over thousands of waiting jobs: how a scan skips most of the longest queues.

Among thousands of jobs some are narrow and some are short; what matters is whether one is both. So
a group of 64 blocks, and each of its blocks, knows the smallest estimate of each class of width
(1, 2-3, 4-7 and so on processors). They are kept from the first time that a scan asks for them:
a queue that stays short never pays for them.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import KNOWN, LENGTH, NEED, PROCS, SHORTEST
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG, BLOCK, GROUP, SHIFT, WIDTHS
from shadowtime.kernel.vector import least_in_group, least_of_width


@kernel
def group_may_hold(s: Any, group: int, free: int, extra: int, left: int) -> bool:
    """False if no job of a group is narrow enough, and short enough or within the extra."""
    if s.group[KNOWN, group] == 0:
        survey(s, group)
    narrowest = s.group[PROCS, group]
    if narrowest > free:
        return False
    if narrowest <= extra:
        return True
    width = 0
    while width < WIDTHS and 1 << width <= free:
        if s.group[SHORTEST + width, group] <= min(left, BIG - 1):
            return True
        width += 1
    return False


@routine
def survey(s: Any, group: int) -> None:
    """Find all minima of a group, to be kept from now on."""
    for block in range(group * GROUP, (group + 1) * GROUP):
        for job in range(block * BLOCK, min((block + 1) * BLOCK, s.wait.shape[1])):
            if s.wait[PROCS, job] != BIG:
                row = SHORTEST + width_class(s.wait[PROCS, job])
                s.least[row, block] = min(s.least[row, block], s.wait[LENGTH, job])
    for row in range(SHORTEST + WIDTHS):
        s.group[row, group] = least_in_group(s.least, row, group)
    s.group[KNOWN, group] = 1


@routine
def lower_group(s: Any, job: int) -> None:
    """Take a job that entered the queue into the minima of its block and group."""
    block = job >> SHIFT
    row = SHORTEST + width_class(s.job[job, NEED])
    s.least[row, block] = min(s.least[row, block], s.wait[LENGTH, job])
    s.group[row, block // GROUP] = min(s.group[row, block // GROUP], s.wait[LENGTH, job])
    s.group[PROCS, block // GROUP] = min(s.group[PROCS, block // GROUP], s.wait[PROCS, job])


@routine
def tighten_group(s: Any, job: int) -> None:
    """Recompute the minima by width that a job has a part in; those of the block itself are new."""
    block = job >> SHIFT
    group = block // GROUP
    width = width_class(s.job[job, NEED])
    narrowest = 1 << width if width > 0 else 0
    widest = (2 << width) - 1 if width < WIDTHS - 1 else BIG - 1
    row = SHORTEST + width
    s.least[row, block] = least_of_width(s.wait, block, narrowest, widest)
    s.group[row, group] = least_in_group(s.least, row, group)
    s.group[PROCS, group] = least_in_group(s.least, PROCS, group)


@kernel
def width_class(procs: int) -> int:
    """The class of width of a job: the place of the highest bit of its processors."""
    width = 0
    while width < WIDTHS - 1 and procs >> width > 1:
        width += 1
    return width
