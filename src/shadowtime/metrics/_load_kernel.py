"""The compiled part of loads: how much of a resource a schedule's runs took, in one walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.kernel.jit import entry

if TYPE_CHECKING:
    from shadowtime.types import Ints

USED, AREA, LAST, LARGEST, LONGEST, SUMS = 0, 1, 2, 3, 4, 5
"""Places in ``found``, and how many: amount x seconds in the window and in all, the last end; the
largest amount and the longest stretch in the window, which bound the first sum."""


@entry
def add_up(since: Ints, until: Ints, amount: Ints, begin: int, end: int, found: Ints) -> None:
    """Sums over runs that last from ``since`` to ``until`` and take ``amount`` of a resource."""
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
    found[USED] = used
    found[AREA] = area
    found[LAST] = last
    found[LARGEST] = largest
    found[LONGEST] = longest
