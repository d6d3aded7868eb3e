"""A value over time that belongs to the world, not to a job: price, carbon, power available."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shadowtime.errors import InputError
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
        time, value = self.steps()
        found: Floats = value[_step(time, instants)]
        return found

    def integral(self, begin: ArrayLike, end: ArrayLike) -> Floats:
        """Value times seconds between two instants, for each pair."""
        made: Floats = self._until(end) - self._until(begin)
        return made

    def steps(self) -> tuple[Ints, Floats]:
        """Instants and values; those of a period begin at 0, with the last value of a round.

        Examples
        --------
        >>> day = Series(name="cap", time=np.array([3, 6]), value=np.array([9.0, 4.0]), period=10)
        >>> [each.tolist() for each in day.steps()]
        [[0, 3, 6], [4.0, 9.0, 4.0]]
        """
        if not self.period or self.time[0] == 0:
            return self.time, self.value
        return np.append(0, self.time), np.append(self.value[-1], self.value)

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

    def _until(self, when: ArrayLike) -> Floats:
        """Value times seconds from an instant of reference on."""
        instants, rounds = self._within(when)
        time, value = self.steps()
        before = np.concatenate([[0.0], np.cumsum(np.diff(time) * value[:-1])])
        at = _step(time, instants)
        whole = before[-1] + (self.period - time[-1]) * value[-1] if self.period else 0.0
        made: Floats = rounds * whole + before[at] + (instants - time[at]) * value[at]
        return made


def _step(time: Ints, instants: Floats) -> Ints:
    """The step that holds at each instant: the last that begins by then, else the first."""
    found: Ints = np.maximum(np.searchsorted(time, instants, side="right") - 1, 0)
    return found
