"""The description of a metric, and metrics of other packages: functions of a schedule."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from shadowtime.errors import UsageError
from shadowtime.plugins import METRICS, plugins
from shadowtime.schedule import Schedule
from shadowtime.types import AnyArray
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster


Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric's description: tables, pages and the documentation read it from here.

    The unit ``share`` is a part of 1, shown in per cent. ``column`` is a short heading for tables
    of the terminal.
    """

    name: str
    label: str
    unit: str
    better: Better
    group: str = ""
    definition: str = ""
    column: str = ""

    @property
    def heading(self) -> str:
        """Label and unit, for a table's row.

        Examples
        --------
        >>> Metric(name="wait_mean_s", label="Mean wait", unit="s", better="lower").heading
        'Mean wait, s'
        """
        unit = {"share": "%"}.get(self.unit, self.unit)
        return f"{self.label}, {unit}" if unit and unit not in self.label.split() else self.label

    @property
    def short(self) -> str:
        """The heading of a narrow column."""
        return self.column or self.label[:1].lower() + self.label[1:]


@dataclass(frozen=True, kw_only=True)
class AddedMetric(Metric):
    """A metric with the function that measures it."""

    function: Callable[..., Any]


def metric(
    *, label: str, unit: str = "", better: Better = "lower", definition: str = "", column: str = ""
) -> Callable[[Callable[..., Any]], AddedMetric]:
    """Make a metric of a function (schedule, workload, cluster, which).

    Rules
    -----
    ``which`` is the mask of the scored jobs. The function returns a number, or None where it has
    none to give. It takes effect where a package lists it in the group ``shadowtime.metrics``;
    ``unit`` is s, share (a part of 1, shown in per cent) or anything else.

    Examples
    --------
    >>> import shadowtime as st
    >>> @st.metric(label="Jobs that waited for an hour", unit="jobs")
    ... def waited_an_hour(schedule, workload, cluster, which):
    ...     return int((schedule.wait[which] >= 3600).sum())
    >>> waited_an_hour.name, waited_an_hour.heading
    ('waited_an_hour', 'Jobs that waited for an hour, jobs')
    """

    def decorate(function: Callable[..., Any]) -> AddedMetric:
        return AddedMetric(
            name=function.__name__, label=label, unit=unit, better=better, column=column,
            definition=definition or (function.__doc__ or "").strip(), function=function,
        )  # fmt: skip

    return decorate


def added_metrics() -> dict[str, AddedMetric]:
    """The metrics that installed packages add, by name."""
    return _found(tuple(sys.path))


@cache
def _found(path: tuple[str, ...]) -> dict[str, AddedMetric]:
    """Looked up once for a search path: every schedule is measured with them."""
    made = {}
    for name, thing in plugins(METRICS).items():
        if not isinstance(thing, AddedMetric):
            raise UsageError(f"{name} in {METRICS} must be a function made by st.metric")
        if name != thing.name:
            raise UsageError(f"{name} in {METRICS} is called {thing.name}: use one name for both")
        made[name] = thing
    return made


def measure_added(
    schedule: Schedule, workload: Workload, cluster: Cluster, which: AnyArray, known: Any
) -> dict[str, float]:
    """Those metrics of a schedule; a name among ``known``, which are ours, is rejected."""
    result: dict[str, float] = {}
    for name, one in added_metrics().items():
        if name in known:
            raise UsageError(
                f"an installed package adds the metric {name}, which is a name of ours: rename or "
                "uninstall it"
            )
        try:
            value = one.function(schedule, workload, cluster, which)
            number = None if value is None else float(value)
        except Exception as error:
            raise UsageError(
                f"the metric {name}, which an installed package adds, failed: "
                f"{type(error).__name__}: {error}"
            ) from error
        if number is not None and not math.isnan(number):
            result[name] = number
    return result
