"""Runtime estimates as users give them (after m_tsafrir05; spec: algorithms 7.5)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import pairwise

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.types import MAX_SPAN, Floats, Ints
from shadowtime.workload.seeds import Seed, generator
from shadowtime.workload.workload import Workload

HEAD = 20
HEAD_SHARE = 89.0
"""Percent of the jobs that use one of the twenty most popular estimates."""
MINUTE, HOUR = 60, 3600
SHORTEST_MAX = 100 * MINUTE
"""Below this the multiples of five minutes do not give twenty different times."""

EVERYWHERE = tuple(MINUTE * m for m in (5, 15, 10, 20, 30)) + tuple(
    HOUR * h for h in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)
)
"""The estimates that are popular in every log the model was made from."""

ROUND = tuple(HOUR * h for h in (200, 100, 50, 10, 5, 2, 1)) + tuple(
    MINUTE * m for m in (20, 10, 5)
)
"""Multiples of these fill the head up, the roundest first."""

RANKS = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7),
    (7, 9, 2, 2), (8, 8, 3, 18), (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11),
    (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14), (14, 14, 9, 13),
    (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip
"""Popularity by place in time (maximum first, then rising) in SDSC-106, CTC, KTH and BLUE."""


def head_times(max_estimate: int) -> tuple[int, ...]:
    """The twenty popular estimates in seconds: the maximum first, the rest rising.

    Examples
    --------
    >>> [t // 60 for t in head_times(6000)]
    [100, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95]
    """
    if max_estimate < SHORTEST_MAX:
        raise UsageError(
            f"the largest estimate is {max_estimate} s; the model needs at least {SHORTEST_MAX} s "
            "to find twenty popular estimates up to it"
        )
    times = [max_estimate, *(t for t in EVERYWHERE if t < max_estimate)]
    for unit in ROUND:
        for time in range(max_estimate // unit * unit, 0, -unit):
            if len(times) < HEAD and time not in times:
                times.append(time)
    return (times[0], *sorted(times[1:]))


def head_sizes() -> tuple[float, ...]:
    """Percent of the jobs by popularity, rank 1 first; 89 in all.

    Examples
    --------
    >>> [round(size, 2) for size in head_sizes()[:3]], round(sum(head_sizes()), 9)
    ([21.73, 10.31, 8.71], 89.0)
    """
    rest = [14.0491 * math.exp(-0.177531 * rank) + 0.462513 for rank in range(2, HEAD + 1)]
    return (HEAD_SHARE - sum(rest), *rest)


def draw_ranks(rng: np.random.Generator, given: Mapping[int, int] | None = None) -> tuple[int, ...]:
    """The popularity of each head time, by place in time.

    The pool holds the ranks seen at this place and the earlier ones, as often as seen, without
    those already taken. A rank that was never seen later than here is overdue and goes first,
    the most popular one; else two are drawn and the more popular one taken. The maximum has
    rank 1. ``given`` fixes the rank of some places.
    """
    fixed = {0: 1, **(given or {})}
    last_seen = {rank: place for place, row in enumerate(RANKS) for rank in row}
    free = set(range(1, HEAD + 1)) - set(fixed.values())
    pool: list[int] = []
    ranks: list[int] = []
    for place, row in enumerate(RANKS):
        pool = [rank for rank in (*pool, *row) if rank in free]
        overdue = [rank for rank in free if last_seen[rank] <= place]
        if place in fixed:
            rank = fixed[place]
        elif overdue:
            rank = min(overdue)
        else:
            rank = min(pool[i] for i in rng.integers(len(pool), size=2))
        free.discard(rank)
        ranks.append(rank)
    return tuple(ranks)


def check_given(given: Mapping[int, int], jobs: int, max_estimate: int) -> None:
    """Reject impossible values: too many estimates, too many jobs, times out of range."""
    if len(set(given) | {max_estimate}) > HEAD:
        raise UsageError(
            f"{len(given)} estimates are given; the head has room for {HEAD} with the maximum"
        )
    for time, count in given.items():
        if not 0 < time <= max_estimate or count < 0:
            raise UsageError(
                f"{count} jobs with an estimate of {time} s are not possible; estimates lie "
                f"between 1 and {max_estimate} s and counts are not negative"
            )
    if sum(given.values()) > jobs:
        raise UsageError(
            f"the given estimates hold {sum(given.values())} jobs of {jobs}; give fewer"
        )


def with_given_times(times: tuple[int, ...], given: Mapping[int, int]) -> tuple[int, ...]:
    """The head's times with the given ones among them.

    A given time that is new takes the place of the nearest head time: round ones go before
    those that are popular everywhere, the maximum stays.

    Examples
    --------
    >>> head = (36000, *range(300, 6000, 300))
    >>> sorted(set(with_given_times(head, {620: 5})) - set(head))
    [620]
    """
    new = {time for time in given if time not in times}
    kept = set(times[1:])
    for group in (kept - set(EVERYWHERE), kept & set(EVERYWHERE)):
        pairs = sorted((abs(a - b), a, b) for a in new for b in group - set(given))
        for _, mine, theirs in pairs:
            if mine in new and theirs in kept:
                new.remove(mine)
                kept = kept - {theirs} | {mine}
    return (times[0], *sorted(kept))


def with_given_sizes(
    sizes: tuple[float, ...], given: Mapping[int, int], jobs: int, max_estimate: int
) -> tuple[tuple[float, ...], dict[int, int]]:
    """The head's sizes in percent by rank, and the rank of each given estimate.

    A given size stands for the nearest model size; the others are scaled so that the head keeps
    its 89 % (to nothing if the given ones hold that many), and all but the maximum's are ranked
    again.
    """
    share = {time: 100 * count / jobs for time, count in given.items()}
    free = list(sizes[1:])
    for time in sorted(given, key=lambda t: (-given[t], t)):
        if time != max_estimate:
            free.remove(min(free, key=lambda size: abs(size - share[time])))
    top = [] if max_estimate in given else [sizes[0]]
    factor = max(0.0, HEAD_SHARE - sum(share.values())) / (sum(free + top) or 1.0)
    rest = [(size * factor, 0) for size in free]
    rest += [(size, time) for time, size in share.items() if time != max_estimate]
    rest.sort(key=lambda pair: (-pair[0], pair[1]))
    ranks = {time: rank for rank, (_, time) in enumerate(rest, start=2) if time}
    if max_estimate in given:
        ranks[max_estimate] = 1
    first = share.get(max_estimate, sizes[0] * factor)
    return (first, *(size for size, _ in rest)), ranks


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


def tsafrir_estimates(
    workload: Workload,
    *,
    max_estimate: int,
    seed: Seed,
    given: Mapping[int, int] | None = None,
) -> Workload:
    """The same jobs with modelled estimates: few, round, far too long, the maximum most of all.

    Rules
    -----
    Request and limit become the estimate; no estimate is below its run time. Runs above
    ``max_estimate`` are cut to it (counted in ``cleaning`` as ``run_above_max_estimate``).
    ``given`` is optional: jobs by estimate where a site knows its popular ones (at most 20).

    Examples
    --------
    >>> from shadowtime.workload.lublin import lublin_workload
    >>> jobs = lublin_workload(500, seed=1)
    >>> w = tsafrir_estimates(jobs, max_estimate=50 * 3600, seed=1)
    >>> bool((w.request >= w.run).all()), int((w.request == 50 * 3600).sum())
    (True, 108)

    References
    ----------
    D. Tsafrir, Y. Etsion and D. G. Feitelson, Modeling user runtime estimates, JSSPP 2005.
    """
    if max_estimate > MAX_SPAN:
        raise UsageError(f"the largest estimate is {max_estimate} s; at most {MAX_SPAN} s fit")
    if len(workload) == 0:
        return workload
    rng = generator(seed)
    histogram = draw_histogram(len(workload), max_estimate, rng=rng, given=given)
    cut = int((workload.run > max_estimate).sum())
    run = np.minimum(workload.run, max_estimate)
    estimate = assign(run, histogram, rng=rng)
    cleaning = dict(workload.cleaning)
    if cut:
        cleaning["run_above_max_estimate"] = cut
    return workload.replace(run=run, request=estimate, limit=estimate, cleaning=cleaning)


def assign(run: Ints, histogram: Mapping[int, int], *, rng: np.random.Generator) -> Ints:
    """An estimate for each run time, each used as often as the histogram says.

    Longest run first, each picks uniformly among the unused estimates that are long enough.
    """
    bins = sorted(histogram, reverse=True)
    estimates = np.repeat(bins, [histogram[time] for time in bins]).astype(np.int64)
    order = np.lexsort((np.arange(len(run)), -run))
    falling = run[order]
    if bool((falling > estimates).any()):
        at = int(np.argmax(falling > estimates))
        raise UsageError(
            f"{at + 1} jobs run for {falling[at]} s or more, but the model gives only {at} "
            "estimates that long; give a larger maximum, or the number of jobs that use it"
        )
    # Those long enough are a prefix of the falling estimates and picks only reorder inside it,
    # so each pick's range is known beforehand.
    enough = np.searchsorted(-estimates, -falling, side="right")
    picks = rng.integers(np.arange(len(run)), enough).tolist()
    unused = estimates.tolist()
    for job, pick in enumerate(picks):
        unused[job], unused[pick] = unused[pick], unused[job]
    result = np.empty(len(run), np.int64)
    result[order] = unused
    return result
