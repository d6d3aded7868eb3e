"""A series as functions of a user's own see it: ``series.price.at(now)``, ``.mean(now, end)``.

The steps lie in one flat array that every such function is handed (``pack``). In compiled code the
methods below are those of Numba's type of the record (``register``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.types import Floats

PERIOD, WHOLE = 0, 1
"""Places in a curve's ``round``."""


@routine
def step_at(curve: Curve, when: float) -> int:
    """The step that holds at an instant of a round: the last that has begun, else the first."""
    low, high = 0, curve.time.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if curve.time[middle] <= when:
            low = middle
        else:
            high = middle
    return low


@routine
def value_at(curve: Curve, when: float) -> float:
    """The value that holds at an instant."""
    if curve.round[PERIOD] > 0.0:
        when -= np.floor(when / curve.round[PERIOD]) * curve.round[PERIOD]
    return float(curve.value[step_at(curve, when)])


@routine
def total_until(curve: Curve, when: float) -> float:
    """Value times seconds up to an instant, from one of reference on."""
    whole = 0.0
    if curve.round[PERIOD] > 0.0:
        rounds = np.floor(when / curve.round[PERIOD])
        whole = rounds * curve.round[WHOLE]
        when -= rounds * curve.round[PERIOD]
    at = step_at(curve, when)
    return float(whole + curve.sum[at] + curve.value[at] * (when - curve.time[at]))


@routine
def total_of(curve: Curve, begin: float, end: float) -> float:
    """Value times seconds between two instants."""
    return total_until(curve, end) - total_until(curve, begin)


@routine
def mean_of(curve: Curve, begin: float, end: float) -> float:
    """The mean between two instants; the value at the first if there is no time between them."""
    if end <= begin:
        return value_at(curve, begin)
    return total_of(curve, begin, end) / (end - begin)


@routine
def cheapest_start(curve: Curve, begin: float, until: float, seconds: float) -> float:
    """The first instant in [begin, until] from which ``seconds`` cost least.

    The total changes its direction only where a step begins at either end of the span.
    """
    best, least = begin, total_of(curve, begin, begin + seconds)
    total = total_of(curve, until, until + seconds)
    if total < least:
        best, least = until, total
    first, last = 0, 0
    if curve.round[PERIOD] > 0.0:
        first = int(np.floor(begin / curve.round[PERIOD]))
        last = int(np.floor((until + seconds) / curve.round[PERIOD]))
    for edge in range(2):
        for number in range(first, last + 1):
            for i in range(curve.time.shape[0]):
                start = number * curve.round[PERIOD] + curve.time[i] - edge * seconds
                if start <= begin or start > until:
                    continue
                total = total_of(curve, start, start + seconds)
                if total < least or (total == least and start < best):
                    best, least = start, total
    return float(best)


class Curve(NamedTuple):
    """A step function of time; before its first instant its first value holds.

    Examples
    --------
    >>> flat = pack([(np.array([0, 100]), np.array([2.0, 5.0]), 0)])
    >>> price = unpacked(flat, 0)
    >>> price.at(150), price.mean(50, 150), price.total(0, 110), price.cheapest(90, 300, 20)
    (5.0, 3.5, 250.0, 90.0)
    """

    time: Floats  # float64[steps]
    value: Floats  # float64[steps]
    sum: Floats  # float64[steps]: value times seconds before each step
    round: (
        Floats  # float64[2]: after how many seconds it repeats (0: never), and a whole round's sum
    )

    def at(self, when: float) -> float:
        """The value at an instant."""
        return value_at(self, when)

    def total(self, begin: float, end: float) -> float:
        """Value times seconds between two instants."""
        return total_of(self, begin, end)

    def mean(self, begin: float, end: float) -> float:
        """The mean value between two instants."""
        return mean_of(self, begin, end)

    def cheapest(self, begin: float, until: float, seconds: float) -> float:
        """The first instant in [begin, until] from which ``seconds`` cost least."""
        return cheapest_start(self, begin, until, seconds)


def pack(series: Sequence[tuple[Any, Any, int]]) -> Floats:
    """Series as one array, from the instants, values and period of each.

    First where each begins and how many steps it has; then its instants, values, sums and round.
    """
    head: list[float] = []
    body: list[Any] = []
    first = 2 * len(series)
    for time, value, period in series:
        sums = np.concatenate([[0.0], np.cumsum(np.diff(time) * value[:-1])])
        whole = sums[-1] + (period - time[-1]) * value[-1]
        head += [first, len(time)]
        body += [time.astype(np.float64), value.astype(np.float64), sums, [float(period), whole]]
        first += 3 * len(time) + 2
    return np.concatenate([np.array([*head, 0.0][: max(1, len(head))]), *body])


@kernel
def unpacked(flat: Floats, place: int) -> Any:
    """The series at a place of the array."""
    first, count = int(flat[2 * place]), int(flat[2 * place + 1])
    return Curve(
        flat[first : first + count],
        flat[first + count : first + 2 * count],
        flat[first + 2 * count : first + 3 * count],
        flat[first + 3 * count : first + 3 * count + 2],
    )


@cache
def register() -> None:
    """Give the record its methods in compiled code; needed before a function is compiled."""
    from numba import types
    from numba.extending import overload_method

    def at(self: Any, when: Any) -> Any:
        if self.instance_class is Curve:
            return lambda self, when: value_at(self, when)
        return None

    def total(self: Any, begin: Any, end: Any) -> Any:
        if self.instance_class is Curve:
            return lambda self, begin, end: total_of(self, begin, end)
        return None

    def mean(self: Any, begin: Any, end: Any) -> Any:
        if self.instance_class is Curve:
            return lambda self, begin, end: mean_of(self, begin, end)
        return None

    def cheapest(self: Any, begin: Any, until: Any, seconds: Any) -> Any:
        if self.instance_class is Curve:
            return lambda self, begin, until, seconds: cheapest_start(self, begin, until, seconds)
        return None

    for method in (at, total, mean, cheapest):
        method.__annotations__ = {}  # Numba compares them with those of the implementation
        overload_method(types.BaseNamedTuple, method.__name__)(method)
