"""What the running jobs draw together over time: of a shared resource, or watts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.runs import runs

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload import Workload


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
    instants, place = np.unique(np.concatenate([since, until]), return_inverse=True)
    change = np.zeros(len(instants), drawn.dtype)
    np.add.at(change, place, np.concatenate([drawn, -drawn]))
    return instants, np.cumsum(change)


def peak_drawn(schedule: Schedule, each: AnyArray) -> int:
    """The most that is drawn at any instant."""
    return int(drawn_over_time(schedule, each)[1].max(initial=0))
