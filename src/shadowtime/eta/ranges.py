"""From drawn starts to an answer: the median, a range of 80 %, and its correction by experience.

spec: estimates 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import Floats

if TYPE_CHECKING:
    from shadowtime.eta.starts import Drawn

LOW, HIGH = 0.1, 0.9
"""The range lies between these quantiles."""
HOUR = 3600
SLACK = 60.0
"""Seconds added to waits before their logarithms are compared: c of spec: estimates 5.1."""
INSTANTS = 60
"""So many resolved instants are learned from."""
CLASSES = (600, 3600, 21600)
"""Bounds of the classes of horizons, in seconds."""
OTHER = 0.1
"""What an observation of another class of horizons counts."""
SHRINK = 5.0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """When a job starts, in seconds from now; inf where most draws never start it."""

    job: str
    expected: float
    earliest: float
    latest: float
    within_hour: float
    """The share of draws in which it starts within an hour."""


def order_statistic(waits: Floats, p: float) -> Floats:
    """The quantile of each column at p (N + 1) of its sorted draws.

    Examples
    --------
    >>> order_statistic(np.arange(1.0, 10.0)[:, None], 0.1).tolist()
    [1.0]
    >>> order_statistic(np.array([[1.0], [math.inf], [3.0]]), 0.9).tolist()
    [inf]
    """
    ordered = np.sort(waits, axis=0)
    at = min(max(p * (len(waits) + 1), 1.0), float(len(waits)))
    low, part = int(at) - 1, at - int(at)
    found: Floats = ordered[low].copy()
    if part > 1e-9:
        above = ordered[low + 1]
        finite = np.isfinite(above)
        found[finite] += part * (above[finite] - found[finite])
        found[~finite] = above[~finite]
    return found


def estimates_of(drawn: Drawn, corrections: Corrections | None = None) -> list[Estimate]:
    """The answer for each job; with corrections as experience suggests."""
    if not drawn.jobs:
        return []
    low, middle, high = (order_statistic(drawn.waits, p) for p in (LOW, 0.5, HIGH))
    soon = (drawn.waits <= HOUR).mean(axis=0)
    found = [
        Estimate(job=job, expected=m, earliest=a, latest=b, within_hour=p)
        for job, m, a, b, p in zip(
            drawn.jobs, middle.tolist(), low.tolist(), high.tolist(), soon.tolist(), strict=True
        )
    ]
    return found if corrections is None else [corrections.apply(one) for one in found]


def horizon(wait: float) -> int:
    """The class of how far ahead a start was predicted.

    Examples
    --------
    >>> horizon(30), horizon(600), horizon(math.inf)
    (0, 1, 3)
    """
    return sum(wait >= bound for bound in CLASSES)


@dataclass(frozen=True, kw_only=True)
class Instant:
    """Predictions that were made at one time, as waits from then, and what came of all of them."""

    expected: Sequence[float]
    earliest: Sequence[float]
    latest: Sequence[float]
    real: Sequence[float]


@dataclass(frozen=True, eq=False)
class Corrections:
    """By which factors waits at the ends of ranges are corrected, for each class of horizons.

    Examples
    --------
    >>> late = Instant(expected=[100.0], earliest=[50.0], latest=[120.0], real=[500.0])
    >>> learned = Corrections.learn([late] * 20)
    >>> one = Estimate(job="7", expected=100, earliest=50, latest=120, within_hour=1.0)
    >>> round(learned.apply(one).latest), learned.apply(one).expected
    (386, 100)
    """

    low: tuple[float, ...] = (0.0,) * (len(CLASSES) + 1)
    high: tuple[float, ...] = (0.0,) * (len(CLASSES) + 1)
    """Logarithms of the factors."""
    instants: int = field(default=0)

    @staticmethod
    def learn(resolved: Iterable[Instant]) -> Corrections:
        """From instants all of whose jobs have started: the open ones would be the late ones.

        The jobs of an instant succeed and fail together, so each weighs 1 / sqrt(their number).
        """
        found = [one for one in resolved if len(one.real)][-INSTANTS:]
        rows = [
            (
                horizon(expected),
                len(one.real) ** -0.5,
                math.log(max(0.0, real) + SLACK) - math.log(low + SLACK),
                math.log(max(0.0, real) + SLACK) - math.log(high + SLACK),
            )
            for one in found
            for expected, low, high, real in zip(
                one.expected, one.earliest, one.latest, one.real, strict=True
            )
            if math.isfinite(high)
        ]
        if not rows:
            return Corrections()
        classes, weight, low, high = (np.array(column) for column in zip(*rows, strict=True))
        lows, highs = [], []
        for each in range(len(CLASSES) + 1):
            weights = weight * np.where(classes == each, 1.0, OTHER)
            # An instant is one observation, however many jobs it has.
            count = sum(
                max((1.0 if horizon(e) == each else OTHER) for e in one.expected) for one in found
            )
            trust = count / (count + SHRINK)
            lows.append(trust * _quantile(low, weights, LOW))
            highs.append(trust * _quantile(high, weights, HIGH))
        return Corrections(tuple(lows), tuple(highs), len(found))

    def apply(self, one: Estimate) -> Estimate:
        """The estimate with its ends moved; never across the median."""
        if not math.isfinite(one.expected):
            return one
        at = horizon(one.expected)
        low = (one.earliest + SLACK) * math.exp(self.low[at]) - SLACK
        high = (one.latest + SLACK) * math.exp(self.high[at]) - SLACK
        return replace(
            one, earliest=max(0.0, min(low, one.expected)), latest=max(high, one.expected)
        )


def _quantile(values: Floats, weights: Floats, p: float) -> float:
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    at = int(np.searchsorted(sums, p * float(sums[-1]), side="left"))
    return float(values[order][min(at, len(values) - 1)])
