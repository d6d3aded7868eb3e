"""Means with intervals over a few runs, and the same for paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shadowtime.types import Floats

LEVEL = 0.95
"""How often an interval of this kind contains the true mean."""


@dataclass(frozen=True)
class Interval:
    """A mean over ``n`` runs and where the true one may lie."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        """The number after the plus-minus sign."""
        return (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        """True if the interval excludes zero, so the sign of the mean is clear."""
        return self.low > 0 or self.high < 0

    def scaled(self, factor: float) -> Interval:
        """In other units."""
        ends = sorted((self.low * factor, self.high * factor))
        return Interval(self.mean * factor, ends[0], ends[1], self.n)

    def as_dict(self) -> dict[str, float]:
        """For results."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


def interval(values: Sequence[float] | Floats) -> Interval | None:
    """Student's interval of the mean; None for fewer than two values.

    Examples
    --------
    >>> found = interval([4.0, 6.0, 5.0])
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (5.0, 2.516, 7.484)
    >>> interval([4.0]) is None
    True
    """
    column = np.asarray(values, np.float64)
    n = len(column)
    if n < 2 or not bool(np.isfinite(column).all()):
        return None
    mean = float(column.mean())
    half = quantile((1 + LEVEL) / 2, n - 1) * float(column.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def paired(values: Sequence[float] | Floats, base: Sequence[float] | Floats) -> Interval | None:
    """The interval of the mean of ``values - base``, run by run.

    Both saw the same inputs, so what the inputs have in common cancels: far sharper than two
    intervals side by side.

    Examples
    --------
    >>> paired([11.0, 22.0, 33.5], [10.0, 21.0, 32.0]).excludes_zero
    True
    """
    return interval(np.asarray(values, np.float64) - np.asarray(base, np.float64))


def quantile(probability: float, freedom: int) -> float:
    """Quantile above the median of Student's distribution with whole degrees of freedom.

    Examples
    --------
    >>> [round(quantile(0.975, n), 3) for n in (1, 2, 9, 19, 1000)]
    [12.706, 4.303, 2.262, 2.093, 1.962]
    """
    low, high = 0.0, 1.0
    while cumulative(high, freedom) < probability:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if cumulative(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def cumulative(t: float, freedom: int) -> float:
    """P(T <= t) for t >= 0: the finite series for whole degrees of freedom.

    References
    ----------
    Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom % 2:
        term, total = cosine, cosine if freedom > 1 else 0.0
        for k in range(2, freedom - 1, 2):
            term *= cosine * cosine * k / (k + 1)
            total += term
        inside = 2 / math.pi * (angle + sine * total)
    else:
        term = total = 1.0
        for k in range(1, freedom - 2, 2):
            term *= cosine * cosine * k / (k + 1)
            total += term
        inside = sine * total
    return 0.5 + inside / 2
