"""The compiled part of loss of capacity: one walk over the events of a schedule.

Two heaps hold the widths of waiting jobs and the ends of running ones; starts come sorted.
Only sums of whole numbers are made, so the order of events within an instant does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry
from shadowtime.kernel.registers import NEVER

if TYPE_CHECKING:
    from shadowtime.types import Ints

WIDTHS, ENDS = 0, 1
"""Rows of ``heaps``: keys (width or time, run)."""
NOT_IN_ORDER = -1


@entry
def idle_while_wanted(
    ready: Ints,
    since: Ints,
    until: Ints,
    width: Ints,
    starts: Ints,
    heaps: Ints,
    procs: int,
    begin: int,
    end: int,
) -> int:
    """Processor-seconds in [begin, end) that are idle while a waiting job fits into them.

    A run of ``width`` processors waits from ``ready`` on and lasts from ``since`` to ``until``;
    ``starts`` are the runs in order of ``since``. They must stand in order of ``ready``, else
    NOT_IN_ORDER is returned.
    """
    n = len(ready)
    bits = 1
    while n >> bits:
        bits += 1
    mask = (1 << bits) - 1
    widths, ends = heaps[WIDTHS], heaps[ENDS]
    waiting = queued = running = arrived = started = total = 0
    idle = procs
    now = -NEVER
    while started < n:
        then = since[starts[started]]
        if arrived < n:
            if arrived > 0 and ready[arrived] < ready[arrived - 1]:
                return NOT_IN_ORDER
            then = min(then, ready[arrived])
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
        while started < n and since[starts[started]] == now:
            run = starts[started]
            started += 1
            idle -= width[run]
            waiting -= since[run] > ready[run]
            running = push(ends, running, until[run] << bits | run)
        if arrived < n and ready[arrived] <= now:
            if since[arrived] > ready[arrived]:
                waiting += 1
                queued = push(widths, queued, width[arrived] << bits | arrived)
            arrived += 1
    return total
