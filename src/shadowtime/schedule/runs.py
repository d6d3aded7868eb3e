"""Every run of every job, the lost ones too, and every stretch of waiting between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.schedule.schedule import Schedule
    from shadowtime.types import AnyArray, Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Spans:
    """Half-open stretches of time, each belonging to a row of the schedule."""

    row: Ints
    since: Ints
    until: Ints
    whole: bool = False
    """True if they are those of every row, in order."""

    def of(self, column: Ints) -> Ints:
        """A column of the schedule or workload, a value for each stretch."""
        return column if self.whole else column[self.row]

    def __len__(self) -> int:
        return len(self.row)

    def at(self, which: AnyArray) -> Spans:
        """Some of the stretches."""
        return Spans(row=self.row[which], since=self.since[which], until=self.until[which])


def started(schedule: Schedule) -> AnyArray:
    """Mask of the rows with a start and an end that make sense."""
    return (schedule.start >= 0) & (schedule.end >= schedule.start)


def row_of(schedule: Schedule, job_id: Ints) -> Ints:
    """The row of each of these ids, -1 where the schedule has none."""
    if len(schedule) == 0 or len(job_id) == 0:
        return np.full(len(job_id), UNKNOWN, np.int64)
    order = np.argsort(schedule.job_id, kind="stable")
    at = np.minimum(np.searchsorted(schedule.job_id[order], job_id), len(order) - 1)
    row: Ints = np.where(schedule.job_id[order[at]] == job_id, order[at], UNKNOWN)
    return row


def lost_runs(schedule: Schedule) -> Spans:
    """The attempts that were preempted."""
    attempts = schedule.attempts
    if len(attempts) == 0:
        none = np.empty(0, np.int64)
        return Spans(row=none, since=none, until=none)
    row = row_of(schedule, attempts.job_id)
    lost = (attempts.killed == 1) & (row != UNKNOWN) & (attempts.end >= attempts.start)
    return Spans(row=row[lost], since=attempts.start[lost], until=attempts.end[lost])


def lost_parts(schedule: Schedule) -> Spans:
    """The lost work of the preempted attempts: all of it, or what came after the last save.

    An attempt begins with starting again, goes on with the work that counts, and ends with what
    is lost.

    Examples
    --------
    >>> from shadowtime.schedule import Attempts, Schedule
    >>> ints = lambda *values: np.array(values, np.int64)
    >>> s = Schedule(
    ...     job_id=ints(1), submit=ints(0), start=ints(9), end=ints(15), procs=ints(1),
    ...     reason=ints(1), kills=ints(1), killed=ints(0),
    ...     attempts=Attempts(
    ...         job_id=ints(1, 1), start=ints(2, 9), end=ints(7, 15), killed=ints(1, 0),
    ...         kept=ints(4, 4), overhead=ints(0, 2),
    ...     ),
    ... )
    >>> [(span.since.tolist(), span.until.tolist()) for span in (lost_parts(s), restarts(s))]
    [([6], [7]), ([9], [11])]
    >>> s.worked.tolist(), s.wait.tolist()
    ([8], [7])
    """
    lost, attempts = lost_runs(schedule), schedule.attempts
    if attempts.kept is None or attempts.overhead is None:
        return lost
    row = row_of(schedule, attempts.job_id)
    which = (attempts.killed == 1) & (row != UNKNOWN) & (attempts.end >= attempts.start)
    spent = (attempts.kept + attempts.overhead)[which]
    parts = Spans(row=lost.row, since=lost.since + spent, until=lost.until)
    return parts.at(parts.until > parts.since)


def restarts(schedule: Schedule) -> Spans:
    """The stretches in which stopped jobs were starting again."""
    attempts = schedule.attempts
    if attempts.overhead is None:
        none = np.empty(0, np.int64)
        return Spans(row=none, since=none, until=none)
    row = row_of(schedule, attempts.job_id)
    which = (attempts.overhead > 0) & (row != UNKNOWN)
    since = attempts.start[which]
    return Spans(row=row[which], since=since, until=since + attempts.overhead[which])


def runs(schedule: Schedule, *, all_ran: bool = False) -> Spans:
    """Every run: the last one of each job that has started, then the preempted attempts.

    ``all_ran`` is for a caller who knows that every job has a start and an end.
    """
    if len(schedule.attempts) == 0 and (all_ran or started(schedule).all()):
        every = np.arange(len(schedule))
        return Spans(row=every, since=schedule.start, until=schedule.end, whole=True)
    final = np.flatnonzero(started(schedule))
    if len(schedule.attempts) == 0:
        return Spans(row=final, since=schedule.start[final], until=schedule.end[final])
    lost = lost_runs(schedule)
    return Spans(
        row=np.concatenate([final, lost.row]),
        since=np.concatenate([schedule.start[final], lost.since]),
        until=np.concatenate([schedule.end[final], lost.until]),
    )


def waits(schedule: Schedule, all_runs: Spans) -> Spans:
    """Every stretch of waiting of the jobs that have run: from submission or preemption to a start.

    Examples
    --------
    >>> from shadowtime.schedule import Attempts, Schedule
    >>> ints = lambda *values: np.array(values, np.int64)
    >>> s = Schedule(
    ...     job_id=ints(1), submit=ints(0), start=ints(9), end=ints(12), procs=ints(1),
    ...     reason=ints(1), kills=ints(1), killed=ints(0),
    ...     attempts=Attempts(
    ...         job_id=ints(1, 1), start=ints(2, 9), end=ints(5, 12), killed=ints(1, 0)
    ...     ),
    ... )
    >>> w = waits(s, runs(s))
    >>> list(zip(w.since.tolist(), w.until.tolist()))
    [(0, 2), (5, 9)]
    """
    turn = turns(schedule, all_runs)
    found = Spans(row=turn.row, since=turn.ready, until=turn.since)
    return found.at(found.until > found.since)


@dataclass(frozen=True, eq=False, kw_only=True)
class Turns(Spans):
    """Runs, each with the instant from which it could have begun."""

    ready: Ints


def turns(schedule: Schedule, all_runs: Spans) -> Turns:
    """When the job of every run was there to be started: submitted, or stopped the last time.

    Runs stand as they are given, those of stopped jobs by row and time.
    """
    submit = schedule.submit
    if len(schedule.attempts) == 0:
        return Turns(
            row=all_runs.row,
            since=all_runs.since,
            until=all_runs.until,
            whole=all_runs.whole,
            ready=all_runs.of(submit),
        )
    order = np.lexsort((all_runs.since, all_runs.row))
    row, start, end = all_runs.row[order], all_runs.since[order], all_runs.until[order]
    again = np.zeros(len(row), bool)
    again[1:] = row[1:] == row[:-1]
    ready = submit[row]
    ready[1:] = np.where(again[1:], end[:-1], ready[1:])
    return Turns(row=row, since=start, until=end, ready=ready)
