"""When the Lublin-Feitelson model's jobs arrive: gamma gaps, stretched by the hour of the day."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.workload.gamma_cdf import gamma_cdf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shadowtime.workload.lublin_model import LublinModel

BUCKET = 1800
BUCKETS = 48
DAY_START = 11
"""The day's gamma curve starts at this half-hour."""
LONGEST_GAP = 13.0
"""A gap's logarithm above this is drawn again: e**13 s are five days."""
BLOCK = 4096
"""Gaps drawn at a time; one size always, so that a longer workload begins like a shorter one."""


@cache
def day_weights(anum: float, bnum: float) -> tuple[float, ...]:
    """The weight of each half-hour from midnight, with mean 1.

    Examples
    --------
    >>> weights = day_weights(6.1271, 5.2740)
    >>> len(weights), round(sum(weights), 9), weights.index(max(weights)) / 2
    (48, 48.0, 13.0)
    """
    weights = [0.0] * BUCKETS
    for i in range(DAY_START, DAY_START + BUCKETS):
        mass = gamma_cdf(i + 0.5, anum, bnum) - gamma_cdf(i - 0.5, anum, bnum)
        weights[(i - 1) % BUCKETS] = mass
    mean = sum(weights) / BUCKETS
    return tuple(weight / mean for weight in weights)


def gaps(model: LublinModel, rng: np.random.Generator) -> Iterator[float]:
    """Gaps between arrivals at mean weight, in buckets, without end."""
    while True:
        logs = rng.gamma(model.aarr * model.arar, model.barr, BLOCK)
        yield from (np.exp(logs[logs <= LONGEST_GAP]) / BUCKET).tolist()


def clocks(points: Iterable[float], weights: tuple[float, ...]) -> Iterator[int]:
    """Arrival times in whole seconds from midnight for these gaps.

    A gap is paid out bucket by bucket at the bucket's weight. The clock is a whole number and the
    sum is cut at every arrival: the model loses half a second a job against its own day, so the
    daily cycle drifts by hours over tens of thousands of jobs. That is the published behaviour.

    Examples
    --------
    >>> list(clocks([0.5, 0.25, 1.0], (1.0,) * 48))
    [900, 1350, 3150]
    """
    left = remainder = 0.0
    bucket = clock = 0
    for gap in points:
        left += gap
        step = 0
        while left > weights[bucket]:
            left -= weights[bucket]
            bucket = (bucket + 1) % BUCKETS
            step += BUCKET
        new = left / weights[bucket]
        clock = math.floor(clock + (step + BUCKET * (new - remainder)))
        remainder = new
        yield clock


def arrivals(model: LublinModel, rng: np.random.Generator) -> Iterator[int]:
    """Arrival times of one type of jobs, without end."""
    return clocks(gaps(model, rng), day_weights(model.anum, model.bnum))
