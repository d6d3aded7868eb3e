"""A value over time that belongs to the world, not to a job: price, carbon, power available."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from shadowtime.types import Floats, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Series:
    """A step function of time on the clock of the jobs.

    Rules
    -----
    ``value[i]`` holds from ``time[i]`` until ``time[i + 1]``. The first value holds before its time
    too, the last one for ever; with ``period`` the steps repeat instead, every so many seconds.

    Examples
    --------
    >>> price = Series(name="price", time=np.array([0, 100]), value=np.array([2.0, 5.0]))
    >>> price.at([-5, 99, 100]).tolist(), price.integral([0, 90], [110, 110]).tolist()
    ([2.0, 2.0, 5.0], [250.0, 70.0])
    """

    name: str
    time: Ints
    value: Floats
    unit: str = ""
    period: int = 0
    """Seconds after which the steps repeat; 0: they do not."""

    def __post_init__(self) -> None:
        if len(self.time) == 0 or len(self.time) != len(self.value):
            raise InputError(f"the series {self.name} needs at least one instant and its value")
        if bool((np.diff(self.time) <= 0).any()):
            raise InputError(f"the instants of the series {self.name} do not ascend")
        if not bool(np.isfinite(self.value).all()):
            raise InputError(f"the series {self.name} has a value that is no number")

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it; ``of`` reads it again."""
        steps = {"time": self.time.tolist(), "value": self.value.tolist()}
        return {"unit": self.unit, "period": self.period, **steps}

    @staticmethod
    def of(name: str, known: Mapping[str, Any]) -> Series:
        """The series that ``as_dict`` described."""
        return Series(
            name=name,
            time=np.array(known["time"], np.int64),
            value=np.array(known["value"], np.float64),
            unit=str(known["unit"]),
            period=int(known["period"]),
        )

    def at(self, when: ArrayLike) -> Floats:
        """The value at some instants."""
        instants, _ = self._within(when)
        found: Floats = self.value[self._step(instants)]
        return found

    def integral(self, begin: ArrayLike, end: ArrayLike) -> Floats:
        """Value times seconds between two instants, for each pair."""
        made: Floats = self._until(end) - self._until(begin)
        return made

    def over(self, begin: int, end: int) -> Series:
        """The steps between two instants, the repeated ones written out.

        Examples
        --------
        >>> day = Series(name="cap", time=np.array([0, 6]), value=np.array([9.0, 4.0]), period=10)
        >>> day.over(5, 22).time.tolist(), day.over(5, 22).value.tolist()
        ([0, 6, 10, 16, 20], [9.0, 4.0, 9.0, 4.0, 9.0])
        """
        if not self.period:
            return self
        rounds = np.arange(begin // self.period, max(begin, end - 1) // self.period + 1)
        time = (rounds[:, None] * self.period + self.time).ravel()
        value = np.tile(self.value, len(rounds))
        if self.time[0] > 0:  # what holds at the beginning of a round is the last value before it
            time, value = np.append(rounds[0] * self.period, time), np.append(self.value[-1], value)
        kept = time < max(end, begin + 1)
        return replace(self, time=time[kept].astype(np.int64), value=value[kept], period=0)

    def shifted(self, by: int) -> Series:
        """The series on a clock that reads ``by`` seconds more."""
        time = self.time + by
        if not self.period:
            return replace(self, time=time)
        order = np.argsort(time % self.period, kind="stable")
        return replace(self, time=(time % self.period)[order], value=self.value[order])

    def _within(self, when: ArrayLike) -> tuple[Floats, Floats]:
        """Instants within one round, and how many rounds lie before."""
        instants = np.asarray(when, np.float64)
        if not self.period:
            return instants, np.zeros_like(instants)
        rounds = np.floor(instants / self.period)
        return instants - rounds * self.period, rounds

    def _step(self, instants: Floats) -> Ints:
        """Places of instants among the steps; before the first one is the last of the round."""
        at = np.searchsorted(self.time, instants, side="right") - 1
        found: Ints = np.where(at < 0, len(self.time) - 1 if self.period else 0, at)
        return found

    def _until(self, when: ArrayLike) -> Floats:
        """Value times seconds from an instant of reference on."""
        instants, rounds = self._within(when)
        if not self.period:
            spans = np.diff(self.time) * self.value[:-1]
            total = np.concatenate([[0.0], np.cumsum(spans)])
            at = self._step(instants)
            flat: Floats = total[at] + (instants - self.time[at]) * self.value[at]
            return flat
        once = self.over(0, self.period)
        within = once.integral(0, instants)
        whole = once.integral(0, self.period)
        made: Floats = rounds * whole + within
        return made
