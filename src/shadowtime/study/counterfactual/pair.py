"""Two schedules of nearly the same jobs, row by row of the first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.schedule.runs import row_of, runs
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints

LATE = int(np.iinfo(np.int64).max)
"""The start of a job that never starts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Side:
    """A schedule, with its columns by the rows of the first one."""

    schedule: Schedule
    row: Ints
    """Its row of each job, -1 where it does not have the job."""

    def column(self, name: str, missing: int = UNKNOWN) -> Ints:
        """A column of the schedule, ``missing`` where it lacks the job or the column."""
        found = getattr(self.schedule, name)
        if found is None:
            return np.full(len(self.row), missing, np.int64)
        taken: Ints = np.where(self.row >= 0, found[self.row], missing).astype(np.int64)
        return taken

    @cached_property
    def start(self) -> Ints:
        """Starts, ``LATE`` for never."""
        found = self.column("start")
        started: Ints = np.where(found >= 0, found, LATE)
        return started

    @cached_property
    def submit(self) -> Ints:
        """Submissions, ``LATE`` for a job that is not there."""
        return self.column("submit", LATE)

    @cached_property
    def _spans(self) -> tuple[Ints, Ints, Ints]:
        """(row of the first schedule, since, until) of every run."""
        found = runs(self.schedule)
        first = np.full(len(self.schedule), UNKNOWN, np.int64)
        there = np.flatnonzero(self.row >= 0)
        first[self.row[there]] = there
        return first[found.row], found.since, found.until

    def holds(self, now: int) -> dict[int, int]:
        """Rows that run after everything that happens at a time, each with the end of that run."""
        row, since, until = self._spans
        alive = (since <= now) & (now < until)
        return dict(zip(row[alive].tolist(), until[alive].tolist(), strict=True))

    def waits(self, now: int) -> AnyArray:
        """Mask of the rows that are submitted and have not started for good."""
        return (self.submit <= now) & (now < self.start)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair:
    """The run as it was and as it would have been; ``changed`` are the rows changed by hand."""

    before: Side
    after: Side
    changed: AnyArray

    @staticmethod
    def of(before: Schedule, after: Schedule, changed: AnyArray) -> Pair:
        """Jobs are matched by their ids."""
        every = np.arange(len(before))
        return Pair(
            before=Side(schedule=before, row=every),
            after=Side(schedule=after, row=row_of(after, before.job_id)),
            changed=changed,
        )

    @cached_property
    def since(self) -> Ints:
        """When each job first differs: its earlier start; a changed one's earlier submission."""
        first = np.minimum(self.before.start, self.after.start)
        began = np.minimum(self.before.submit, self.after.submit)
        found: Ints = np.where(self.changed, began, first)
        return found

    @cached_property
    def moved(self) -> AnyArray:
        """Mask of the jobs, other than changed ones, that start at another time."""
        differs: AnyArray = (self.before.start != self.after.start) & ~self.changed
        return differs
