"""What a schedule costs the world: energy, money, carbon, and deadlines that were missed.

Energy needs the watts of each job (a column or resource ``power``), money and carbon in addition
the series ``price`` (per kWh) and ``carbon`` (g/kWh), deadlines the column ``deadline``.

What running jobs draw together over time is of a shared resource, or watts.
"""

from __future__ import annotations

import numpy as np

from shadowtime.schedule import Schedule, timeline
from shadowtime.schedule.runs import runs
from shadowtime.types import UNKNOWN, AnyArray, Floats, Ints
from shadowtime.workload import Workload, site_requests


def demand_of(workload: Workload, resource: str = "bandwidth") -> Ints:
    """What each job draws of a shared resource: processes times what a process draws.

    It is the workload's own, whatever the scheduler counted with; 0 where it is not known (-1).
    """
    each: Ints = np.maximum(np.asarray(workload.extra[resource], np.int64), 0) * workload.procs
    return each


def drawn_over_time(schedule: Schedule, each: AnyArray) -> tuple[Ints, AnyArray]:
    """(instants, what is drawn from each of them on); ``each`` is what a job draws in every run.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[9, 5], procs=[2, 1], recorded_start=[0, 5],
    ...                    extra={"bandwidth": np.array([100, 7])})
    >>> [column.tolist() for column in drawn_over_time(Schedule.recorded(w), demand_of(w))]
    [[0, 5, 9, 10], [200, 207, 7, 0]]
    """
    spans = runs(schedule)
    lasted = spans.until > spans.since
    since, until, drawn = spans.since[lasted], spans.until[lasted], spans.drawn(each)[lasted]
    at = timeline.instants(since, until)
    return at, timeline.totals(at, since, until, drawn)


def peak_drawn(schedule: Schedule, each: AnyArray) -> int:
    """The most that is drawn at any instant."""
    return int(drawn_over_time(schedule, each)[1].max(initial=0))


POWER, DEADLINE = "power", "deadline"
KWH = 3_600_000.0
"""Watt-seconds in a kilowatt-hour."""


def watts_of(workload: Workload) -> Floats | None:
    """The watts of each job while it runs, 0 where unknown; None if the log knows none."""
    found = site_requests.column_of(workload, POWER)
    if found is None or not found.any():
        found = workload.extra.get(POWER)
    return None if found is None else np.maximum(found.astype(np.float64), 0.0)


def energy_metrics(schedule: Schedule, workload: Workload, which: AnyArray) -> dict[str, float]:
    """Energy, cost, carbon and missed deadlines of the jobs ``which``, as far as they are known.

    Rules
    -----
    A job draws its watts in every run, lost ones too; one that changes, by its size and speed. Cost
    and carbon take the value of the series at each second. A job without a deadline (-1) misses
    none; one that never started is not scored.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> from shadowtime.workload.series import Series
    >>> price = Series(name="price", time=np.array([0, 1800]), value=np.array([0.2, 0.4]))
    >>> w = Workload.build(submit=[0, 0], run=[3600, 60], procs=[1, 1], recorded_start=[0, 0],
    ...     extra={"power": np.array([1000, 0]), "deadline": np.array([3000, -1])},
    ...     series={"price": price})
    >>> m = energy_metrics(Schedule.recorded(w), w, np.ones(2, bool))
    >>> {name: round(value, 3) for name, value in m.items()}
    {'energy_kwh': 1.0, 'energy_cost': 0.3, 'deadlines': 1, 'deadlines_missed': 1, ...}
    """
    result: dict[str, float] = {}
    watts = watts_of(workload)
    if watts is not None:
        spans = runs(schedule)
        counted = which[spans.row]
        since, until = spans.since[counted], spans.until[counted]
        drawn = spans.drawn(watts)[counted]
        result["energy_kwh"] = float((drawn * (until - since)).sum()) / KWH
        for series, name, unit in (("price", "energy_cost", 1.0), ("carbon", "carbon_kg", 1000.0)):
            if series in workload.series:
                each = workload.series[series].integral(since, until)
                result[name] = float((drawn * each).sum()) / KWH / unit
    if DEADLINE in workload.extra:
        due = np.asarray(workload.extra[DEADLINE])
        asked = which & (due != UNKNOWN)
        late = asked & (schedule.end > due)
        result["deadlines"] = int(asked.sum())
        result["deadlines_missed"] = int(late.sum())
        if late.any():
            result["lateness_mean_s"] = float((schedule.end - due)[late].mean())
    return result
