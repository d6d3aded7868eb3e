"""How many jobs use each estimate: head and tail, in whole jobs."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.workload.tsafrir_given import check_given, with_given_sizes, with_given_times
from shadowtime.workload.tsafrir_head import HEAD, HEAD_SHARE, draw_ranks, head_sizes, head_times

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shadowtime.types import Floats

BINS_BY_JOBS = (
    (0, 0), (20, 10), (200, 20), (1000, 35), (10_000, 90), (70_000, 340), (250_000, 565),
)  # fmt: skip

OFFSETS = (0, 30, -30, 20, -20, 10, -10)
"""Seconds that keep a tail time off the times already there, tried in this order."""


def half_up(value: float) -> int:
    """Round a number from 0 to the nearest whole one, halves up (away from zero)."""
    return math.floor(value + 0.5)


def number_of_bins(jobs: int) -> int:
    """How many different estimates this many jobs use: piecewise linear, constant at the end.

    Examples
    --------
    >>> [number_of_bins(n) for n in (20, 110, 10_000, 40_000, 1_000_000)]
    [10, 15, 90, 215, 565]
    """
    for (x0, y0), (x1, y1) in pairwise(BINS_BY_JOBS):
        if jobs <= x1:
            return y0 + half_up((jobs - x0) * (y1 - y0) / (x1 - x0))
    return BINS_BY_JOBS[-1][1]


def tail_times(max_estimate: int, bins: int, taken: Collection[int]) -> tuple[int, ...]:
    """The times of the rare estimates: denser the shorter they are, whole minutes where free."""
    tail = bins - len(taken)
    a = 1 + 12.1039 * bins**-0.6026
    used = set(taken)
    times = []
    for i in range(1, tail + 1):
        x = i / tail
        near = half_up((a - 1) * x / (a - x) * max_estimate / 60) * 60
        for time in (near + offset for offset in OFFSETS):
            if 0 < time < max_estimate and time not in used:
                used.add(time)
                times.append(time)
                break
    return tuple(sorted(times))


def tail_sizes(count: int) -> Floats:
    """Percent of the jobs for ranks 21 and up, 11 in all."""
    sizes: Floats = 795.6 * np.arange(HEAD + 1.0, HEAD + 1 + count) ** -2.267
    sizes *= (100 - HEAD_SHARE) / sizes.sum()
    return sizes


def draw_histogram(
    jobs: int,
    max_estimate: int,
    *,
    rng: np.random.Generator,
    given: Mapping[int, int] | None = None,
) -> dict[int, int]:
    """Jobs by estimate in seconds; ``given`` are estimates whose number of jobs is known.

    Examples
    --------
    >>> histogram = draw_histogram(10_000, 18 * 3600, rng=np.random.default_rng(1))
    >>> len(histogram), sum(histogram.values()), histogram[18 * 3600]
    (90, 10000, 2172)
    """
    known = dict(given or {})
    check_given(known, jobs, max_estimate)
    times = with_given_times(head_times(max_estimate), known)
    sizes, places = with_given_sizes(head_sizes(), known, jobs, max_estimate)
    ranks = draw_ranks(rng, {times.index(time): rank for time, rank in places.items()})
    percent = {time: sizes[rank - 1] for time, rank in zip(times, ranks, strict=True)}
    tail = tail_times(max_estimate, number_of_bins(jobs), times)
    if tail:
        percent.update(zip(tail, rng.permutation(tail_sizes(len(tail))).tolist(), strict=True))
    else:
        percent = {time: size * (100 / HEAD_SHARE) for time, size in percent.items()}
    counts = {
        time: known.get(time, max(1, half_up(size * jobs / 100)))
        for time, size in sorted(percent.items())
    }
    return equalised(counts, jobs, fixed=known)


def equalised(counts: Mapping[int, int], jobs: int, *, fixed: Collection[int]) -> dict[int, int]:
    """Counts that sum to ``jobs``: the biggest bins change first, ``fixed`` ones never.

    Four rounds, as far as needed: each bin takes its share of the difference (rounded up), then
    one job each, then as many as it has but one, then all it has. Only the last round empties bins.

    Examples
    --------
    >>> equalised({10: 6, 20: 3, 30: 1}, 12, fixed=())
    {10: 8, 20: 3, 30: 1}
    >>> equalised({10: 6, 20: 3, 30: 1}, 2, fixed=())
    {10: 0, 20: 1, 30: 1}
    """
    result = dict(counts)
    missing = jobs - sum(result.values())
    sign, left = (1 if missing > 0 else -1), abs(missing)
    share = left / max(1, sum(n for time, n in counts.items() if time not in fixed))
    for attempt in range(4):
        for time in sorted((t for t in result if t not in fixed), key=lambda t: -result[t]):
            has = result[time]
            change = (math.ceil(share * has), 1, has - 1, has)[attempt]
            if sign < 0:
                change = min(change, has if attempt == 3 else has - 1)
            change = max(0, min(change, left))
            result[time] += sign * change
            left -= change
    if left:
        raise UsageError(
            f"the given estimates leave {left} of {jobs} jobs that no estimate can take; "
            "give fewer estimates or other counts"
        )
    return result
