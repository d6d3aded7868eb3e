"""A series as functions of a user's own see it: ``series.price.at(now)``, ``.mean(now, end)``.

The steps lie in one flat array that every such function is handed (``pack``). In compiled code the
methods below are those of Numba's type of the record (``register``).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel, routine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.types import Floats


@routine
def step_at(curve: Any, when: float) -> int:
    """The step that holds at an instant: the last that begins by then, else the first."""
    low, high = 0, curve.time.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if curve.time[middle] <= when:
            low = middle
        else:
            high = middle
    return low


@routine
def value_at(curve: Any, when: float) -> float:
    """The value that holds at an instant."""
    return float(curve.value[step_at(curve, when)])


@routine
def total_of(curve: Any, begin: float, end: float) -> float:
    """Value times seconds between two instants."""
    first, last = step_at(curve, begin), step_at(curve, end)
    before = curve.sum[first] + curve.value[first] * (begin - curve.time[first])
    return float(curve.sum[last] + curve.value[last] * (end - curve.time[last]) - before)


@routine
def mean_of(curve: Any, begin: float, end: float) -> float:
    """The mean between two instants; the value at the first if there is no time between them."""
    if end <= begin:
        return value_at(curve, begin)
    return total_of(curve, begin, end) / (end - begin)


@routine
def cheapest_start(curve: Any, begin: float, until: float, seconds: float) -> float:
    """The first instant in [begin, until] from which ``seconds`` cost least.

    The total changes its direction only where a step begins at either end of the span.
    """
    best, least = begin, total_of(curve, begin, begin + seconds)
    total = total_of(curve, until, until + seconds)
    if total < least:
        best, least = until, total
    for edge in range(2):
        for i in range(curve.time.shape[0]):
            start = curve.time[i] - edge * seconds
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
    >>> flat = pack([(np.array([0, 100]), np.array([2.0, 5.0]))])
    >>> price = unpacked(flat, 0)
    >>> price.at(150), price.mean(50, 150), price.total(0, 110), price.cheapest(90, 300, 20)
    (5.0, 3.5, 250.0, 90.0)
    """

    time: Any  # float64[steps]
    value: Any  # float64[steps]
    sum: Any  # float64[steps]: value times seconds before each step

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


def pack(steps: Sequence[tuple[Any, Any]]) -> Floats:
    """Series as one array: of each where it begins and its steps, then instants, values, sums."""
    head: list[float] = []
    body: list[Any] = []
    first = 2 * len(steps)
    for time, value in steps:
        sums = np.concatenate([[0.0], np.cumsum(np.diff(time) * value[:-1])])
        head += [first, len(time)]
        body += [time.astype(np.float64), value.astype(np.float64), sums]
        first += 3 * len(time)
    return np.concatenate([np.array([*head, 0.0][: max(1, len(head))]), *body])


@kernel
def unpacked(flat: Any, place: int) -> Any:
    """The series at a place of the array."""
    first, count = int(flat[2 * place]), int(flat[2 * place + 1])
    return Curve(
        flat[first : first + count],
        flat[first + count : first + 2 * count],
        flat[first + 2 * count : first + 3 * count],
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
