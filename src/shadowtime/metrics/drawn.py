"""The total demand of the running jobs for a shared resource, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule
    from shadowtime.types import Ints
    from shadowtime.workload import Workload


def drawn_over_time(
    schedule: Schedule, workload: Workload, resource: str = "bandwidth"
) -> tuple[Ints, Ints]:
    """(instants, demand from each of them on): processes times what a process draws, summed.

    Rules
    -----
    The demand is the workload's own, whatever the scheduler counted with. Jobs whose demand is not
    known (-1) draw nothing here.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[9, 5], procs=[2, 1], recorded_start=[0, 5],
    ...                    extra={"bandwidth": np.array([100, 7])})
    >>> [column.tolist() for column in drawn_over_time(Schedule.recorded(w), w)]
    [[0, 5, 9, 10], [200, 207, 7, 0]]
    """
    each = np.maximum(np.asarray(workload.extra[resource], np.int64), 0) * workload.procs
    ran = schedule.end > schedule.start
    times = np.concatenate([schedule.start[ran], schedule.end[ran]])
    steps = np.concatenate([each[ran], -each[ran]])
    instants, place = np.unique(times, return_inverse=True)
    change = np.zeros(len(instants), np.int64)
    np.add.at(change, place, steps)
    return instants, np.cumsum(change)


def peak_drawn(schedule: Schedule, workload: Workload, resource: str = "bandwidth") -> int:
    """The largest demand at any instant."""
    return int(drawn_over_time(schedule, workload, resource)[1].max(initial=0))
