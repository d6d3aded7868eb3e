"""Which row of a schedule belongs to which job of a workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.schedule import Schedule
from shadowtime.types import UNKNOWN, AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.workload import Workload


@dataclass(frozen=True, eq=False, kw_only=True)
class Match:
    """A schedule and a workload cut to the jobs they share, row by row, in (submit, id) order.

    ``missing``, ``unknown`` and ``repeated`` hold the ids of jobs without a row, of rows without
    a job, and of jobs with more than one row (only the first is kept).
    """

    schedule: Schedule
    workload: Workload
    missing: Ints
    unknown: Ints
    repeated: Ints

    @property
    def exact(self) -> bool:
        """Each job of the workload has its row, and nothing else has one."""
        return not (len(self.missing) or len(self.unknown) or len(self.repeated))


def match(schedule: Schedule, workload: Workload) -> Match:
    """Pair the rows of a schedule with the jobs of a workload by id.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 3], run=[1, 1], procs=[1, 1], recorded_start=[0, 3])
    >>> match(Schedule.recorded(w), w.take([1])).unknown.tolist()
    [1]
    """
    none = np.empty(0, np.int64)
    if schedule.job_id is workload.job_id or np.array_equal(schedule.job_id, workload.job_id):
        return Match(
            schedule=schedule, workload=workload, missing=none, unknown=none, repeated=none
        )
    ids, first, count = np.unique(schedule.job_id, return_index=True, return_counts=True)
    row = np.full(len(workload), UNKNOWN, np.int64)
    if len(ids):
        at = np.minimum(np.searchsorted(ids, workload.job_id), len(ids) - 1)
        row = np.where(ids[at] == workload.job_id, first[at], UNKNOWN)
    shared = row != UNKNOWN
    return Match(
        schedule=take(schedule, row[shared]),
        workload=workload if shared.all() else workload.take(shared),
        missing=workload.job_id[~shared],
        unknown=ids[~np.isin(ids, workload.job_id)],
        repeated=ids[count > 1],
    )


def take(schedule: Schedule, rows: AnyArray) -> Schedule:
    """The rows at these places; attempts of other jobs stay, unused."""
    names = ("job_id", "submit", "start", "end", "procs", "reason", "kills", "killed")
    optional = ("promised", "blocked_at", "limit", "penalised")
    present = (*names, *(name for name in optional if getattr(schedule, name) is not None))
    place = schedule.place
    return schedule.replace(
        **{name: getattr(schedule, name)[rows] for name in present},
        place=None if place is None else tuple(place[row] for row in rows.tolist()),
    )
