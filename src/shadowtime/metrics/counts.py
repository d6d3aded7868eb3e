"""Which jobs are scored, and how many of them were backfilled, killed, promised a start or late."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.metrics import _count_kernel as of
from shadowtime.metrics.preemption import preemption_of
from shadowtime.metrics.tally import as_row

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray

COUNTERS = {
    "clamped_predictions": "clamped_predictions",
    "slipped_promises": "promises_slipped",
    "rates_rounded_down": "rates_rounded_down",
}
"""The engine's counters that are metrics, and under which name."""


class Counts(NamedTuple):
    """Mask of the scored jobs, and what was counted; the places are named in _count_kernel.py."""

    which: AnyArray
    number: list[int]

    @property
    def scored(self) -> int:
        """How many jobs are scored."""
        return self.number[of.SCORED]

    @property
    def unknown(self) -> int:
        """How many jobs are left out because they have no start."""
        return self.number[of.INSIDE] - self.number[of.SCORED]

    @property
    def all_ran(self) -> bool:
        """Every job of the schedule has a start and an end, scored or not."""
        return self.number[of.STARTED] == len(self.which)

    @property
    def ever_stopped(self) -> bool:
        """Some job that has run was preempted, scored or not."""
        return self.number[of.EVER] > 0


def count(schedule: Schedule, inside: AnyArray) -> Counts:
    """Count the jobs at these rows that have run.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0, 9], run=[60, 60, 1], procs=[1, 8, 1],
    ...                    recorded_start=[0, -1, 9])
    >>> found = count(Schedule.recorded(w), np.array([True, True, False]))
    >>> found.which.tolist(), found.scored, found.unknown, found.all_ran
    ([True, False, False], 1, 1, False)
    """
    start = as_row(schedule.start)
    blocked, promised = schedule.blocked_at, schedule.promised
    which, found = np.empty(len(schedule), np.bool_), np.zeros(of.COUNTS, np.int64)
    of.count_jobs(
        np.ascontiguousarray(inside, np.bool_),
        start,
        as_row(schedule.end),
        np.ascontiguousarray(schedule.reason, np.int8),
        np.ascontiguousarray(schedule.killed, np.int8),
        as_row(schedule.kills),
        start if blocked is None else as_row(blocked),
        start if promised is None else as_row(promised),
        which,
        found,
    )
    return Counts(which, found.tolist())


def count_metrics(schedule: Schedule, counts: Counts) -> dict[str, float]:
    """How many of the scored jobs were killed, backfilled, blocked, promised, preempted."""
    which, number = counts
    result: dict[str, float] = {}
    if number[of.SCHEDULED]:
        result["backfilled"] = number[of.BEHIND]
        if "killed" not in schedule.missing:
            result["killed"] = number[of.KILLED]
        if "kills" not in schedule.missing:
            result |= preemption_of(
                schedule, which, jobs=number[of.STOPPED], kills=number[of.STOPS],
                scored=number[of.SCORED],
            )  # fmt: skip
    if schedule.blocked_at is not None:
        result["blocked"] = number[of.BLOCKED]
    if schedule.promised is not None:
        result["promises"] = number[of.PROMISED]
        result["promises_missed"] = number[of.LATE]
    for counter, name in COUNTERS.items():
        if counter in schedule.counters:
            result[name] = schedule.counters[counter]
    return result
