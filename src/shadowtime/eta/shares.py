"""The share of its limit that a job will use: learned in levels, each drawn towards the one above.

spec: estimates 2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shadowtime.types import Bools, Floats

PRIOR = (
    (0.0, 0.0), (0.05, 0.001), (0.10, 0.003), (0.20, 0.046), (0.30, 0.17), (0.40, 0.33),
    (0.50, 0.51), (0.60, 0.67), (0.70, 0.82), (0.80, 0.92), (0.90, 0.99), (0.95, 1.0), (1.0, 1.0),
)  # fmt: skip
"""Quantiles of the share, weighted by limit: the mean of four public logs (spec: estimates 2.4)."""
POINTS = 40
"""Points that stand for the prior."""
TINY = 1e-12


class Level(NamedTuple):
    """How much is kept at a level, and how strongly it is drawn towards the one above."""

    last: int
    decay: float
    k: float


ALL = Level(last=500, decay=1.0, k=4)
CLASS = Level(last=300, decay=1.0, k=20)
USER = Level(last=50, decay=0.9, k=2)
SAME = Level(last=20, decay=0.7, k=1)


class Observed(NamedTuple):
    """What one job, begun at ``start``, has used of its limit; ``ended`` False: it still runs."""

    user: str
    limit: int
    cpus: int
    share: float
    ended: bool = True
    start: int = 0


@dataclass(frozen=True, eq=False)
class Sample:
    """Points of the share, ascending, with weights that add up to one.

    Examples
    --------
    >>> two = Sample(np.array([0.2, 0.8]), np.array([0.5, 0.5]))
    >>> two.at(0.3), two.at(0.3, above=0.5), two.at(0.5, above=0.8)
    (0.2, 0.8, 0.9)
    """

    points: Floats
    weights: Floats
    sums: Floats = field(init=False)
    _lists: tuple[list[float], list[float]] = field(init=False)
    """Points and sums as lists: one number is looked up faster in them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", np.cumsum(self.weights))
        object.__setattr__(self, "_lists", (self.points.tolist(), self.sums.tolist()))

    def at(self, u: float, *, above: float = 0.0) -> float:
        """The quantile at ``u`` of what lies above a share; uniform where no point does."""
        points, sums = self._lists
        first = bisect_right(points, above)
        before = sums[first - 1] if first else 0.0
        left = sums[-1] - before
        if first == len(points) or left <= 0:
            return above + u * (1.0 - above)
        place = bisect_left(sums, before + u * left)
        return points[min(max(place, first), len(points) - 1)]


def prior() -> Sample:
    """What is assumed before anything was observed."""
    at = (np.arange(POINTS) + 0.5) / POINTS
    shares, points = zip(*PRIOR, strict=True)
    return Sample(np.interp(at, shares, points), np.full(POINTS, 1 / POINTS))


def survival(points: Floats, weights: Floats, ended: Bools, above: Sample) -> Sample:
    """Kaplan-Meier with weights: jobs that still run count until the share they have reached.

    Mass that stays open goes to the sample ``above`` it, beyond the last share.
    spec: estimates 2.5.

    Examples
    --------
    >>> half = survival(np.array([0.2, 0.6]), np.ones(2), np.array([True, False]), prior())
    >>> half.points[0].item(), half.weights[0].item(), bool(half.points[1] > 0.6)
    (0.2, 0.5, True)
    """
    order = np.lexsort((~ended, points))  # an end at a share comes before one that goes on there
    points, weights, ended = points[order], weights[order], ended[order]
    at_risk = np.cumsum(weights[::-1])[::-1]
    left = np.cumprod(np.where(ended, 1.0 - weights / at_risk, 1.0))
    mass: Floats = np.concatenate(([1.0], left[:-1])) - left
    open_mass, last = float(left[-1]), float(points[-1])
    points, mass = points[ended], mass[ended]
    if open_mass < TINY:
        return Sample(points, mass)
    beyond = above.points > last
    if beyond.any():
        more, much = above.points[beyond], above.weights[beyond]
    else:
        more, much = np.ones(1), np.ones(1)
    return Sample(
        np.concatenate((points, more)), np.concatenate((mass, open_mass * much / much.sum()))
    )


def mixed(one: Sample, k: float, other: Sample, n: float) -> Sample:
    """Both samples as one, by the weights k and n."""
    points = np.concatenate((one.points, other.points))
    weights = np.concatenate((one.weights * (k / (k + n)), other.weights * (n / (k + n))))
    order = np.argsort(points, kind="stable")
    return Sample(points[order], weights[order])


class Shares:
    """What was observed, by level; :meth:`of` is the distribution for a job.

    Rules
    -----
    Each level keeps its last observations in the order of their starts, faded by age, weighs them
    by limit x cpus, and is drawn towards the level above it by as many observations as its ``k``.

    Examples
    --------
    >>> seen = [Observed("eva", 3600, 4, 0.25)] * 30
    >>> shares = Shares(seen)
    >>> shares.of("eva", 3600, 4).at(0.5), shares.of("tom", 60, 1).at(0.5) > 0.2
    (0.25, True)
    """

    def __init__(self, observed: Iterable[Observed]) -> None:
        everything = sorted(observed, key=lambda one: one.start)
        self._prior = prior()
        self._all = _level(everything, ALL, self._prior)
        self._by_class: dict[int, list[Observed]] = defaultdict(list)
        self._by_user: dict[str, list[Observed]] = defaultdict(list)
        self._by_same: dict[tuple[str, int, int], list[Observed]] = defaultdict(list)
        for one in everything:
            self._by_class[limit_class(one.limit)].append(one)
            self._by_user[one.user].append(one)
            self._by_same[one.user, one.limit, one.cpus].append(one)
        self._made: dict[Hashable, Sample] = {}

    def of(self, user: str, limit: int, cpus: int) -> Sample:
        """The distribution of the share for a job of this user, limit and size."""
        same = (user, limit, cpus)
        if same in self._made:
            return self._made[same]
        key = limit_class(limit)
        by_class = self._sample(key, self._by_class.get(key, ()), CLASS, self._all)
        pair = (user, key)
        by_user = self._sample(pair, self._by_user.get(user, ()), USER, by_class)
        return self._sample(same, self._by_same.get(same, ()), SAME, by_user)

    def _sample(
        self, key: Hashable, observed: Sequence[Observed], level: Level, above: Sample
    ) -> Sample:
        if key not in self._made:
            self._made[key] = _level(observed, level, above)
        return self._made[key]


def limit_class(limit: int) -> int:
    """The class of a limit: whole powers of two.

    Examples
    --------
    >>> limit_class(3600), limit_class(4095), limit_class(4096)
    (11, 11, 12)
    """
    return max(1, limit).bit_length() - 1


def _level(observed: Sequence[Observed], level: Level, above: Sample) -> Sample:
    """One level of the chain: P <- (k P + n Q) / (k + n).

    An age is the number of ended jobs that began later: one that has run for long is as old as
    those that began with it, or the short ones of its time would be forgotten before it. What runs
    tells as much as the part of the distribution that it has passed.
    """
    ended = np.array([one.ended for one in observed], bool)
    later = np.cumsum(ended[::-1])[::-1] - ended
    seen = later < level.last
    if not seen.any():
        return above
    both = [one for one, recent in zip(observed, seen.tolist(), strict=True) if recent]
    ended, faded = ended[seen], np.power(level.decay, later[seen].astype(float))
    points = np.clip([one.share for one in both], 0.0, 1.0)
    passed = np.concatenate(([0.0], above.sums))[np.searchsorted(above.points, points, "right")]
    count = float((faded * np.where(ended, 1.0, passed)).sum())
    weights = faded * np.array([float(one.limit) * one.cpus for one in both])
    found = survival(points, weights, ended, above)
    return mixed(above, level.k, found, count)
