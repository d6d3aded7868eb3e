"""The compiled part of loads: how much runs took, and what was idle though jobs waited.

Loss of capacity is one walk over the events of a schedule.

Events are sorted by their time (radix.py); a heap holds the widths of waiting jobs. Only sums of
whole numbers are made, so the order of events within an instant does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.columns import whole
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.radix import sort_by_bits

if TYPE_CHECKING:
    from shadowtime.types import Ints, Rows


SUMS = whole(
    "used",  # amount x seconds in the window,
    "area",  # and in all
    "last",  # end
    "largest",  # amount, and
    "longest",  # stretch in the window: they bound the first sum
)


@entry
def add_up(since: Ints, until: Ints, amount: Ints, begin: int, end: int, found: Rows) -> None:
    """Sums over runs that last from ``since`` to ``until`` and take ``amount`` of a resource.

    Examples
    --------
    >>> found = np.zeros(1, SUMS)
    >>> add_up(np.array([0, 5]), np.array([9, 20]), np.array([2, 10]), 4, 11, found)
    >>> found["used"][0], found["area"][0], found["last"][0]
    (np.int64(70), np.int64(168), np.int64(20))
    """
    used = area = largest = longest = 0
    last = until[0] if len(until) else begin
    at, size = np.uint64(0), np.uint64(len(since))
    one = np.uint64(1)
    while at < size:
        cut = min(max(until[at], begin), end) - min(max(since[at], begin), end)
        used += amount[at] * cut
        area += amount[at] * (until[at] - since[at])
        last = max(last, until[at])
        largest = max(largest, amount[at])
        longest = max(longest, cut)
        at += one
    found["used"][0] = used
    found["area"][0] = area
    found["last"][0] = last
    found["largest"][0] = largest
    found["longest"][0] = longest


_KIND = 2
"""Lowest bits of an event: 1 for a start, 2 where its run waits (alone: it begins to)."""
_START, _WAITS = 1, 2


@entry
def idle_while_wanted(
    ready: Ints,
    since: Ints,
    until: Ints,
    width: Ints,
    keys: Ints,
    widths: Ints,
    counts: Ints,
    procs: int,
    begin: int,
    end: int,
) -> int:
    """Processor-seconds in [begin, end) that are idle while a waiting job fits into them.

    A run of ``width`` processors waits from ``ready`` on and lasts from ``since`` to ``until``;
    one that begins before it is ready does not wait. There is one run at least; they stand in any
    order. ``keys`` is room for two rows of three events a run, ``widths`` for a key a run,
    ``counts`` for DIGITS counters.
    """
    n = len(ready)
    bits = _KIND
    while n >> (bits - _KIND):
        bits += 1
    mask = (1 << bits) - 1
    first, last = since[0], until[0]
    for run in range(n):
        first = min(first, min(ready[run], since[run]))
        last = max(last, until[run])
    high = bits
    while (last - first) >> (high - bits):
        high += 1
    size = _write_events(ready, since, until, first, bits, keys[0])
    events = keys[1 if sort_by_bits(keys[0], keys[1], size, bits, high, counts) else 0]
    waiting = queued = total = 0
    idle = procs
    now = first
    for at in range(size):
        event = events[at]
        then = first + (event >> bits)
        if (waiting > 0) & (idle > 0):
            seconds = min(then, end) - max(now, begin)
            if seconds > 0:
                while since[(widths[0] & mask) >> _KIND] <= now:
                    queued = pop(widths, queued)
                if widths[0] >> bits <= idle:
                    total += idle * seconds
        now = then
        wide = width[(event & mask) >> _KIND]
        starts, waits = event & _START, (event & _WAITS) >> 1
        if waits > starts:
            waiting += 1
            queued = push(widths, queued, (wide << bits) | (event & mask))
        else:
            idle += wide - 2 * starts * wide
            waiting -= starts & waits
    return total


@kernel
def _write_events(
    ready: Ints, since: Ints, until: Ints, first: int, bits: int, events: Ints
) -> int:
    """End and start of every run, and the beginning of its wait where it waits; how many."""
    size = 0
    for run in range(len(ready)):
        waits = 1 if since[run] > ready[run] else 0
        row = run << _KIND
        events[size] = ((until[run] - first) << bits) | row
        events[size + 1] = ((since[run] - first) << bits) | row | _START | (waits << 1)
        # Where the run does not wait, the next one's end is written over this.
        events[size + 2] = ((ready[run] - first) << bits) | row | _WAITS
        size += 2 + waits
    return size
