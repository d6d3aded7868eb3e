"""What was running at some moments: one sweep over the runs instead of a search per moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.schedule.runs import Spans
    from shadowtime.types import Ints


def running_at(runs: Spans, times: Ints) -> Iterator[tuple[int, Ints]]:
    """For each moment, in time order: its place in ``times`` and the runs with since <= t < until.

    Examples
    --------
    >>> from shadowtime.schedule.runs import Spans
    >>> runs = Spans(row=np.arange(2), since=np.array([0, 4]), until=np.array([5, 9]))
    >>> [(k, found.tolist()) for k, found in running_at(runs, np.array([5, 4]))]
    [(1, [0, 1]), (0, [1])]
    """
    by_start = np.argsort(runs.since, kind="stable")
    order = np.argsort(times, kind="stable")
    come = np.searchsorted(runs.since[by_start], times[order], side="right")
    alive, seen = by_start[:0], 0
    for place, now, upto in zip(order.tolist(), times[order], come.tolist(), strict=True):
        if upto > seen:
            alive = np.concatenate([alive, by_start[seen:upto]])
            seen = upto
        alive = alive[runs.until[alive] > now]
        yield place, alive
