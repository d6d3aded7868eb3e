"""Mean, median, percentiles and maximum of a column, by one rule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shadowtime.types import AnyArray

STATISTICS = ("mean", "median", "p95", "p99", "max")
"""What is reported of every distribution, in this order."""

_PERCENT = (50, 95, 99)


def rank(percent: int, n: int) -> int:
    """Index of a percentile among n sorted values: nearest rank, ceil(q n) - 1 in whole numbers.

    Examples
    --------
    >>> rank(50, 4), rank(95, 20), rank(95, 21), rank(99, 1)
    (1, 18, 19, 0)
    """
    return -(-percent * n // 100) - 1


def percentile(values: AnyArray, percent: int) -> float:
    """The smallest value that at least ``percent`` percent of the values do not exceed.

    Examples
    --------
    >>> percentile(np.array([9, 1, 5, 7]), 50)
    5.0
    """
    at = rank(percent, len(values))
    return float(np.partition(values, at)[at])


def summary(values: AnyArray) -> dict[str, float]:
    """Mean, median, 95th and 99th percentile and maximum; nothing where there are no values.

    Examples
    --------
    >>> summary(np.array([4, 1, 1, 2]))
    {'mean': 2.0, 'median': 1.0, 'p95': 4.0, 'p99': 4.0, 'max': 4.0}
    """
    return dict(zip(STATISTICS, statistics(values), strict=False))


def statistics(values: AnyArray) -> list[float]:
    """The same without their names, in the order of STATISTICS; an empty list of no values."""
    n = len(values)
    if n == 0:
        return []
    ranks, cuts = _ranks(n)
    parted = values.copy()
    parted.partition(cuts)
    return [float(values.sum() / n), *map(float, parted[ranks].tolist())]


def ranks_of(n: int) -> list[int]:
    """Where the statistics behind the mean stand among n sorted values, ascending.

    Examples
    --------
    >>> ranks_of(200)
    [99, 189, 197, 199]
    """
    return [*(rank(percent, n) for percent in _PERCENT), n - 1]


@lru_cache(maxsize=16)
def _ranks(n: int) -> tuple[list[int], list[int]]:
    """Where the statistics behind the mean stand among n sorted values; the places in order."""
    ranks = ranks_of(n)
    return ranks, sorted(set(ranks))
