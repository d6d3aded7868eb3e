"""Every run of every job, the lost ones too, and every stretch of waiting between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN, AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.schedule.schedule import Attempts, Schedule


@dataclass(frozen=True, eq=False, kw_only=True)
class Spans:
    """Half-open stretches of time, each belonging to a row of the schedule."""

    row: Ints
    since: Ints
    until: Ints
    whole: bool = False
    """True if they are those of every row, in order."""
    procs: Ints | None = None
    """Processors of each stretch, where jobs change while they run."""
    draw: Ints | None = None
    """Millionths of its power that the job draws then."""

    def of(self, column: Ints) -> Ints:
        """A column of the schedule or workload, a value for each stretch."""
        return column if self.whole else column[self.row]

    def __len__(self) -> int:
        return len(self.row)

    def at(self, which: AnyArray) -> Spans:
        """Some of the stretches."""
        row, since, until = self.row[which], self.since[which], self.until[which]
        if self.procs is None or self.draw is None:
            return Spans(row=row, since=since, until=until)
        procs, draw = self.procs[which], self.draw[which]
        return Spans(row=row, since=since, until=until, procs=procs, draw=draw)

    def taken(self, procs: Ints) -> Ints:
        """Processors of each stretch; ``procs`` are those of each job."""
        return self.of(procs) if self.procs is None else self.procs

    def demand(self, demand: Ints) -> Ints:
        """The same for all resources, the first of which is processors."""
        found = demand[self.row]
        if self.procs is not None:
            found[:, 0] = self.procs
        return found

    def drawn(self, each: AnyArray) -> AnyArray:
        """What each stretch draws, where a job draws ``each`` at its own size and full speed."""
        found: AnyArray = each[self.row]
        return found if self.draw is None else found * self.draw / 1_000_000


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
    return _stretches(attempts, *stopped(schedule))


def stopped(schedule: Schedule) -> tuple[Ints, AnyArray]:
    """The row of every attempt, and which of them were preempted."""
    attempts = schedule.attempts
    row = row_of(schedule, attempts.job_id)
    return row, (attempts.killed == 1) & (row != UNKNOWN) & (attempts.end >= attempts.start)


def _stretches(attempts: Attempts, row: Ints, which: AnyArray) -> Spans:
    """Some attempts, with their sizes where they have any."""
    every = Spans(
        row=row,
        since=attempts.start,
        until=attempts.end,
        procs=attempts.procs,
        draw=attempts.draw,
    )
    return every.at(which)


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
    spent = (attempts.kept + attempts.overhead)[stopped(schedule)[1]]
    parts = replace(lost, since=lost.since + spent)
    return parts.at(parts.until > parts.since)


def restarts(schedule: Schedule) -> Spans:
    """The stretches in which stopped jobs were starting again."""
    attempts = schedule.attempts
    if attempts.overhead is None:
        none = np.empty(0, np.int64)
        return Spans(row=none, since=none, until=none)
    row = row_of(schedule, attempts.job_id)
    which = (attempts.overhead > 0) & (row != UNKNOWN)
    found = _stretches(attempts, row, which)
    return replace(found, until=found.since + attempts.overhead[which])


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
    if schedule.attempts.procs is not None:
        return _with_pieces(schedule, final, lost)
    return Spans(
        row=np.concatenate([final, lost.row]),
        since=np.concatenate([schedule.start[final], lost.since]),
        until=np.concatenate([schedule.end[final], lost.until]),
    )


def _with_pieces(schedule: Schedule, final: Ints, lost: Spans) -> Spans:
    """The runs where jobs change: a stretch each, those at whose end the job was stopped last."""
    attempts = schedule.attempts
    row = row_of(schedule, attempts.job_id)
    whole = final[~np.isin(final, row)]
    went_on = (attempts.killed == 0) & (row != UNKNOWN) & (attempts.end >= attempts.start)
    plain = Spans(
        row=whole,
        since=schedule.start[whole],
        until=schedule.end[whole],
        procs=schedule.procs[whole],
        draw=np.full(len(whole), 1_000_000, np.int64),
    )
    parts = plain, _stretches(attempts, row, went_on), lost
    row, since, until, procs, draw = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("row", "since", "until", "procs", "draw")
    )
    return Spans(row=row, since=since, until=until, procs=procs, draw=draw)


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
    procs = None if all_runs.procs is None else all_runs.procs[order]
    return Turns(row=row, since=start, until=end, ready=ready, procs=procs)


def running_at(runs: Spans, times: Ints) -> Iterator[tuple[int, Ints]]:
    """For each moment, in time order: its place in ``times`` and the runs with since <= t < until.

    Examples
    --------
    >>> from shadowtime.schedule.runs import Spans
    >>> runs = Spans(row=np.arange(2), since=np.array([0, 4]), until=np.array([5, 9]))
    >>> [(k, found.tolist()) for k, found in running_at(runs, np.array([5, 4]))]
    [(1, [0, 1]), (0, [1])]
    """
    by_start = np.argsort(runs.since, kind="stable")
    order = np.argsort(times, kind="stable")
    come = np.searchsorted(runs.since[by_start], times[order], side="right")
    alive, seen = by_start[:0], 0
    for place, now, upto in zip(order.tolist(), times[order], come.tolist(), strict=True):
        if upto > seen:
            alive = np.concatenate([alive, by_start[seen:upto]])
            seen = upto
        alive = alive[runs.until[alive] > now]
        yield place, alive
