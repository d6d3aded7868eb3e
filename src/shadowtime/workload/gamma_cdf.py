"""The gamma distribution's cumulative function, by series and continued fraction."""

from __future__ import annotations

import math

TINY = 1e-300
"""Stands in for a zero denominator (Lentz's method)."""

MAX_TERMS = 10_000
ACCURACY = 1e-15


def gamma_cdf(x: float, shape: float, scale: float) -> float:
    """P(X <= x) for a gamma variable of this shape and scale.

    The regularised lower incomplete gamma function P(shape, x / scale): its power series below
    shape + 1, one minus Lentz's continued fraction above, where each of them converges fast.

    Examples
    --------
    >>> round(gamma_cdf(2.0, 1.0, 1.0), 6)  # an exponential: 1 - e**-2
    0.864665

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 6.5.29 and 6.5.31.
    """
    if x <= 0:
        return 0.0
    z = x / scale
    front = math.exp(shape * math.log(z) - z - math.lgamma(shape))
    if z < shape + 1:
        return front * _series(z, shape)
    return 1.0 - front * _fraction(z, shape)


def _series(z: float, shape: float) -> float:
    term = total = 1.0 / shape
    for n in range(1, MAX_TERMS):
        term *= z / (shape + n)
        total += term
        if term < total * ACCURACY:
            break
    return total


def _fraction(z: float, shape: float) -> float:
    b = z + 1 - shape
    c = 1 / TINY
    d = 1 / b
    value = d
    for n in range(1, MAX_TERMS):
        a = -n * (n - shape)
        b += 2
        d = 1 / (a * d + b or TINY)
        c = b + a / c or TINY
        step = c * d
        value *= step
        if abs(step - 1) < ACCURACY:
            break
    return value
