"""The compiled part of loss of capacity: one walk over the events of a schedule.

Three heaps hold what is to come: starts of waiting jobs, their widths, and ends of running jobs.
Only sums of whole numbers are made, so the order of events within an instant does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry
from shadowtime.kernel.registers import NEVER

if TYPE_CHECKING:
    from shadowtime.types import Ints

STARTS, WIDTHS, ENDS = 0, 1, 2
"""Rows of ``heaps``: keys (time or width, run)."""
NOT_IN_ORDER = -1


@entry
def idle_while_wanted(
    ready: Ints,
    since: Ints,
    until: Ints,
    width: Ints,
    heaps: Ints,
    procs: int,
    begin: int,
    end: int,
) -> int:
    """Processor-seconds in [begin, end) that are idle while a waiting job fits into them.

    A run of ``width`` processors waits from ``ready`` on and lasts from ``since`` to ``until``.
    Runs stand in the order in which they appear, the earlier of ``ready`` and ``since``; else
    NOT_IN_ORDER is returned.
    """
    n = len(ready)
    bits = 1
    while n >> bits:
        bits += 1
    mask = (1 << bits) - 1
    starts, widths, ends = heaps[STARTS], heaps[WIDTHS], heaps[ENDS]
    waiting = queued = running = at = total = 0
    idle = procs
    now = -NEVER
    while at < n or waiting > 0:
        then = NEVER
        if at < n:
            then = min(ready[at], since[at])
            if then < now:
                return NOT_IN_ORDER
        if waiting > 0:
            then = min(then, starts[0] >> bits)
        if running > 0:
            then = min(then, ends[0] >> bits)
        seconds = min(then, end) - max(now, begin)
        if waiting > 0 and idle > 0 and seconds > 0:
            while since[widths[0] & mask] <= now:
                queued = pop(widths, queued)
            if widths[0] >> bits <= idle:
                total += idle * seconds
        now = then
        while running > 0 and ends[0] >> bits == now:
            idle += width[ends[0] & mask]
            running = pop(ends, running)
        while waiting > 0 and starts[0] >> bits == now:
            run = starts[0] & mask
            waiting = pop(starts, waiting)
            idle -= width[run]
            running = push(ends, running, until[run] << bits | run)
        while at < n and min(ready[at], since[at]) == now:
            if since[at] > ready[at]:
                waiting = push(starts, waiting, since[at] << bits | at)
                queued = push(widths, queued, width[at] << bits | at)
            else:
                idle -= width[at]
                running = push(ends, running, until[at] << bits | at)
            at += 1
    return total
