"""A value over time that belongs to the world, not to a job: price, carbon, power available.

A series named like an amount that is counted over the whole machine is its bound: ``--series
power=cap.csv`` caps the watts of running jobs, ``--series license/matlab=seats.csv`` what they hold
of a licence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shadowtime.cluster.amounts import is_amount
from shadowtime.errors import InputError
from shadowtime.types import Floats, Ints
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster.site import Site


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


ROUNDS_AHEAD = 400
"""How often a series with a period is repeated after the last submission, at least."""
MOST_STEPS = 2_000_000


def bounded_amounts(workload: Workload) -> list[str]:
    """The amounts that a series of the workload bounds."""
    return [name for name in workload.series if is_amount(name)]


def bounds_of(workload: Workload, fixed: Mapping[str, int]) -> dict[str, Series]:
    """The bound of each amount that has a series, as whole numbers at instants, without a period.

    Rules
    -----
    Where the machine has a fixed bound too, the lower one holds. Steps with a period are repeated
    after the last submission for four times the span of the submissions or the longest request, and
    400 times at least; after that nothing is left, so that no job is planned without end.

    Examples
    --------
    >>> import numpy as np
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.series import Series
    >>> cap = Series(name="power", time=np.array([0, 60]), value=np.array([900.5, 300]))
    >>> jobs = Workload.build(submit=[0], run=[9], procs=[1]).replace(series={"power": cap})
    >>> bounds_of(jobs, {"power": 500})["power"].value.tolist()
    [500.0, 300.0]
    """
    found = {}
    for name in bounded_amounts(workload):
        series = workload.series[name]
        if bool((series.value < 0).any()):
            raise InputError(
                f"the series {name} bounds what is in use, and has a value below 0: "
                "correct it, or give the series another name"
            )
        value = np.minimum(np.floor(series.value), fixed.get(name, np.inf))
        made = replace(series, value=value)
        found[name] = _repeated(made, workload) if series.period else made
    return found


def with_bounds(site: Site, workload: Workload) -> Site:
    """The site with the highest value of each series as the bound of its amount."""
    bounds = bounds_of(workload, site.amounts)
    if not bounds:
        return site
    highest = {name: int(series.value.max()) for name, series in bounds.items()}
    return site.replace(amounts={**site.amounts, **highest})


def _repeated(series: Series, workload: Workload) -> Series:
    """A series with a period as steps from the first submission on; after them 0."""
    time, value = series.steps()
    moves = np.append(True, value[1:] != value[:-1])
    time, value = time[moves], value[moves]
    first, last = int(workload.submit.min(initial=0)), int(workload.submit.max(initial=0))
    longest = int(workload.request.max(initial=0))
    end = last + max(4 * (last - first), 4 * longest, ROUNDS_AHEAD * series.period)
    rounds = np.arange(first // series.period, end // series.period + 1)
    if len(rounds) * len(time) > MOST_STEPS:
        raise InputError(
            f"the series {series.name} repeats every {series.period} s, too often for a log of "
            f"{last - first} s: give it as steps without a period"
        )
    at = (rounds[:, None] * series.period + time[None, :]).ravel()
    behind = (rounds[-1] + 1) * series.period
    return replace(
        series,
        time=np.append(at, behind),
        value=np.append(np.tile(value, len(rounds)), 0.0),
        period=0,
    )
