"""Intervals on the time axis, all at once: how much lies on each instant, and what is least there.

An interval is half-open, [since, until): a job that ends at an instant is gone at that instant.
What a function says of instant k holds until instant k + 1.
"""

from __future__ import annotations

import numpy as np

from shadowtime.types import AnyArray, Ints


def instants(*times: Ints) -> Ints:
    """The distinct times, in order.

    Examples
    --------
    >>> instants(np.array([5, 0]), np.array([5, 9])).tolist()
    [0, 5, 9]
    """
    together = np.sort(np.concatenate(times), kind="stable")  # half the time: it sees sorted parts
    if len(together) == 0:
        return together.astype(np.int64)
    return together[_changes(together)]


def _changes(ordered: Ints) -> AnyArray:
    """Mask of the values that differ from the one before."""
    new = np.ones(len(ordered), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return new


def within(times: Ints, begin: int, end: int) -> Ints:
    """The times, cut off at both ends; ``np.clip`` takes longer for a thousand of them.

    Examples
    --------
    >>> within(np.array([0, 5, 9]), 2, 7).tolist()
    [2, 5, 7]
    """
    cut: Ints = np.minimum(np.maximum(times, begin), end)
    return cut


def stretches(at: Ints, begin: int, end: int) -> Ints:
    """Seconds from each instant to the next, the last to ``end``, as far as they lie within.

    Examples
    --------
    >>> stretches(np.array([0, 5, 9]), 2, 12).tolist()
    [3, 4, 3]
    """
    cut = within(at, begin, end)
    found = np.empty_like(cut)
    found[:-1] = cut[1:] - cut[:-1]
    found[-1:] = end - cut[-1:]
    return found


def totals(at: Ints, since: Ints, until: Ints, weight: Ints) -> Ints:
    """Total weight of the intervals that cover each instant.

    Examples
    --------
    >>> at = np.array([0, 5, 9])
    >>> totals(at, np.array([0, 5]), np.array([5, 9]), np.array([2, 3])).tolist()
    [2, 3, 0]
    """
    return totals_between(len(at), np.searchsorted(at, since), np.searchsorted(at, until), weight)


def totals_between(count: int, first: Ints, last: Ints, weight: Ints) -> Ints:
    """The same for intervals that are given by the numbers of their instants, of ``count``."""
    change = np.zeros((count + 1, *weight.shape[1:]), np.result_type(weight, np.int64))
    np.add.at(change, first, weight)
    np.subtract.at(change, last, weight)
    level: Ints = np.cumsum(change[:-1], axis=0)
    return level


def least(at: Ints, since: Ints, until: Ints, value: Ints, *, nothing: int) -> Ints:
    """The least value among the intervals that cover each instant, ``nothing`` where none does.

    Examples
    --------
    >>> at = np.array([0, 5, 9])
    >>> least(at, np.array([0, 0]), np.array([9, 5]), np.array([7, 4]), nothing=99).tolist()
    [4, 7, 99]
    """
    first, last = np.searchsorted(at, since), np.searchsorted(at, until)
    return least_between(len(at), first, last, value, nothing=nothing)


def least_between(count: int, first: Ints, last: Ints, value: Ints, *, nothing: int) -> Ints:
    """The same for intervals that are given by the numbers of their instants, of ``count``.

    An interval over m instants is the union of two spans of 2^k instants, k = floor(log2 m).
    Going down from the longest spans, each hands its least value to its two halves; after
    log2 steps the spans are single instants. So n intervals over t instants cost
    O(n + t log t), in a handful of array operations.
    """
    best = np.empty(count, np.int64)
    best.fill(nothing)
    filled = last > first
    if not filled.all():
        first, last, value = first[filled], last[filled], value[filled]
    if len(first) == 0:
        return best
    power = np.frexp((last - first).astype(np.float64))[1] - 1
    span = np.concatenate([first, last - (1 << power.astype(np.int64))])
    power = np.concatenate([power, power])
    order = np.argsort(power, kind="stable")
    span, value = span[order], np.concatenate([value, value])[order]
    ends = np.cumsum(np.bincount(power)).tolist()
    for k in range(len(ends) - 1, -1, -1):
        begin = ends[k - 1] if k else 0
        if begin < ends[k]:
            np.minimum.at(best, span[begin : ends[k]], value[begin : ends[k]])
        if k:
            half = 1 << (k - 1)
            best[half:] = np.minimum(best[half:], best[:-half])
    return best
