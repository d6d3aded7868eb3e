"""Processors of a job by host, even if its place does not count them, and what nodes draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shadowtime.schedule import Schedule, places
from shadowtime.types import Floats, Ints


def spread(place: str, procs: int) -> tuple[tuple[str, int], ...]:
    """Processors on each host of a place; the rest is spread evenly.

    Examples
    --------
    >>> spread("n1:4 n2:2", 6), spread("n1 n2", 5), spread("", 3)
    ((('n1', 4), ('n2', 2)), (('n1', 3), ('n2', 2)), ())
    >>> spread("n[1-2]:4 gpu7,n9:2", 12)
    (('n1', 4), ('n2', 4), ('gpu7', 2), ('n9', 2))
    """
    entries = [entry for word in place.split() for entry in _entries(word)]
    silent = sum(count is None for _, count in entries)
    left = procs - sum(count or 0 for _, count in entries)
    each, spare = divmod(max(left, 0), silent) if silent else (0, 0)
    result = []
    for name, count in entries:
        if count is None:
            count, spare = each + (spare > 0), spare - (spare > 0)
        if count:
            result.append((name, count))
    return tuple(result)


def _entries(word: str) -> Sequence[tuple[str, int | None]]:
    """A site writes nodes of equal processors as one host list; elsewhere hosts stand alone."""
    listed = "[" in word or ("," in word and word.count(":") == 1)
    return places.parse_site_place(word) if listed else places.shares(word)


def parts_of(place: Sequence[str], names: Sequence[str], procs: Ints) -> tuple[Ints, Ints, Ints]:
    """(job, node, processes) of every part: a job's share of one node.

    Examples
    --------
    >>> [column.tolist() for column in parts_of(["a:2 b:1", "b"], ("a", "b"), [3, 4])]
    [[0, 0, 1], [0, 1, 1], [2, 1, 4]]
    """
    if isinstance(place, places.NodePlaces):
        ran = np.flatnonzero(place.first >= 0)
        ran = ran[np.argsort(place.first[ran], kind="stable")]
        ends = np.append(place.first[ran][1:], len(place.entries))
        job = np.repeat(ran, ends - place.first[ran])
        return job, place.entries >> places.BITS, place.entries & ((1 << places.BITS) - 1)
    number = {name: i for i, name in enumerate(names)}
    rows = []
    for row, text in enumerate(place):
        for node, processes in spread(text, int(procs[row])):
            if node in number:
                rows.append((row, number[node], processes))
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def demand_over_time(schedule: Schedule, names: Sequence[str], each: Ints, edges: Floats) -> Floats:
    """Mean demand on every node (rows) in every interval of time (columns).

    ``each`` is the demand of one process of a job; ``edges`` bound the intervals.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[10, 5], procs=[3, 1], recorded_start=[0, 5])
    >>> made = Schedule.recorded(w).replace(place=["a:2 b:1", "b:1"])
    >>> demand_over_time(made, ("a", "b"), np.array([100, 40]), np.array([0.0, 5.0, 10.0])).tolist()
    [[200.0, 200.0], [100.0, 140.0]]
    """
    assert schedule.place is not None
    job, node, processes = parts_of(schedule.place, names, schedule.procs)
    amount = (processes * each[job]).astype(np.float64)
    width = len(edges) - 1
    step = (edges[-1] - edges[0]) / width
    # The integral of a box up to an edge is a ramp: two corners per box, summed twice.
    total = np.zeros((len(names), width + 2))
    level = np.zeros((len(names), width + 2))
    for moment, sign in ((schedule.start[job], 1.0), (schedule.end[job], -1.0)):
        at = np.clip((moment - edges[0]) / step, 0.0, float(width))
        bin_ = np.floor(at).astype(np.int64)
        np.add.at(total, (node, bin_), sign * amount * (bin_ + 1 - at))
        np.add.at(level, (node, bin_ + 1), sign * amount)
    found: Floats = (total + np.cumsum(level, axis=1))[:, :width]
    return found
