"""How many jobs wait and how many processors are busy over time, as step functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shadowtime.schedule import Schedule, timeline
from shadowtime.schedule.runs import runs, waits
from shadowtime.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Level:
    """A value that holds from each instant to the next; 0 before the first."""

    at: Ints
    value: Ints | Floats

    def means(self, edges: Floats) -> Floats:
        """The mean between each edge and the next.

        Examples
        --------
        >>> level = Level(np.array([0, 10]), np.array([4, 0]))
        >>> level.means(np.array([0.0, 5.0, 15.0])).tolist()
        [4.0, 2.0]
        """
        if len(self.at) == 0:
            return np.zeros(len(edges) - 1)
        area = np.concatenate([[0.0], np.cumsum(np.diff(self.at) * self.value[:-1])])
        place = np.searchsorted(self.at, edges, side="right") - 1
        inside = np.maximum(place, 0)
        upto = np.where(
            place < 0, 0.0, area[inside] + (edges - self.at[inside]) * self.value[inside]
        )
        means: Floats = np.diff(upto) / np.maximum(np.diff(edges), 1e-9)
        return means


def busy(schedule: Schedule) -> Level:
    """Processors in use, by lost runs too."""
    spans = runs(schedule)
    at = timeline.instants(spans.since, spans.until)
    return Level(at, timeline.totals(at, spans.since, spans.until, spans.taken(schedule.procs)))


def queue(schedule: Schedule) -> Level:
    """Jobs that wait: from submission or preemption to the next start.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 1], run=[9, 9], procs=[1, 1], recorded_start=[2, 4])
    >>> level = queue(Schedule.recorded(w))
    >>> level.at.tolist(), level.value.tolist()
    ([0, 1, 2, 4], [1, 2, 1, 0])
    """
    spans = waits(schedule, runs(schedule))
    at = timeline.instants(spans.since, spans.until)
    return Level(at, timeline.totals(at, spans.since, spans.until, np.ones(len(spans), np.int64)))
