"""Intervals over a few runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.metrics.intervals import cumulative, interval, paired, quantile

TABLE = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645, 5: 2.57058, 9: 2.26216, 10: 2.22814,
         19: 2.09302, 29: 2.04523, 30: 2.04227, 60: 2.00030, 120: 1.97993}  # fmt: skip
"""The 97.5 % quantiles that every textbook prints."""


@pytest.mark.parametrize("freedom", TABLE)
def test_quantiles_are_those_of_the_tables(freedom: int) -> None:
    """Even and odd degrees of freedom, to the digits printed."""
    assert quantile(0.975, freedom) == pytest.approx(TABLE[freedom], rel=2e-6)


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 21])
def test_the_distribution_is_the_integral_of_its_density(freedom: int) -> None:
    """The closed form against a plain numerical integral."""
    scale = math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    at = np.linspace(0, 2.5, 200_001)
    density = scale * (1 + at**2 / freedom) ** (-(freedom + 1) / 2)
    assert cumulative(2.5, freedom) == pytest.approx(0.5 + np.trapezoid(density, at), abs=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(-1e3, 1e3))
@settings(max_examples=examples(50), deadline=None)
def test_a_difference_of_a_constant_is_certain(values: list[float], shift: float) -> None:
    """What both runs have in common cancels, however much the inputs differ."""
    found = paired([value + shift for value in values], values)
    assert found is not None and found.n == len(values)
    assert found.low - 1e-4 <= shift <= found.high + 1e-4
    assert found.half < 1e-4


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    """Of 2,000 intervals over ten draws about 95 % hold the true mean."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(2000):
        found = interval(rng.normal(3.0, 2.0, 10))
        assert found is not None
        hits += found.low <= 3.0 <= found.high
    assert 0.935 <= hits / 2000 <= 0.965


def test_too_little_for_an_interval() -> None:
    """One value or a missing one has no spread."""
    assert interval([1.0]) is None and interval([1.0, float("nan")]) is None


def test_other_units_turn_the_ends() -> None:
    """A negative factor keeps low below high."""
    found = interval([1.0, 2.0, 3.0])
    assert found is not None
    turned = found.scaled(-2.0)
    assert turned.low < turned.mean == -4.0 < turned.high
    assert turned.half == pytest.approx(2 * found.half)
