"""Through which jobs a change reaches another job: each link is caused by the one before it.

Two schedules of nearly the same jobs are compared, row by row of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from shadowtime.schedule import Schedule
from shadowtime.schedule.runs import row_of, runs
from shadowtime.types import UNKNOWN, AnyArray, Ints

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


class Via(StrEnum):
    """How a link follows from the one before it."""

    CHANGED = "changed"
    """The beginning: a job that was changed by hand."""
    HELD = "held"
    """The job before it holds processors in one of the two runs only."""
    AHEAD = "ahead"
    """The job before it waits, in one of the two runs only, and was promised a start."""
    QUEUED = "queued"
    """The job before it waits in one of the two runs only, without a promise."""
    EARLIER = "earlier"
    """Nothing of these: the runs differed since the job before it, in order or estimates."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A job of the chain: its starts in both runs (-1: none) and how it follows from the last."""

    job: int
    via: Via
    before: int
    after: int
    at: int = UNKNOWN
    """When it first differs."""
    procs: int = 0
    until: int = UNKNOWN
    """``held``: how many processors the job before it holds, and until when."""
    promised: int = UNKNOWN
    """``ahead``: what the job before it was promised."""
    in_old_run: bool = True
    """True if the job before it holds or waits in the run as it was, else in the other."""


def chain(pair: Pair, row: int) -> tuple[Link, ...]:
    """From a changed job to the one at ``row``, which starts at another time.

    Rules
    -----
    Followed backwards. A job starts at ``t`` in one run, and in the other it waits then. A job that
    holds processors at ``t`` only in the run where it waits is its cause; else one that waits only
    there with a promise, else one that only waits there; else the job that differed last before
    ``t``. Changed jobs are preferred, then wider ones, then those ahead in the order. A cause
    differs earlier than its effect, so a chain ends at a changed job.
    """
    links: list[Link] = []
    while not pair.changed[row]:
        cause, link = _cause(pair, row)
        links.append(link)
        row = cause
    links.append(_link(pair, row, via=Via.CHANGED))
    return tuple(reversed(links))


def _cause(pair: Pair, row: int) -> tuple[int, Link]:
    """The job that this one follows from, and the link of this one."""
    now = int(pair.since[row])
    old_is_late = bool(pair.before.start[row] > pair.after.start[row])
    late, early = (pair.before, pair.after) if old_is_late else (pair.after, pair.before)
    earlier = pair.changed | (pair.moved & (pair.since < now))
    earlier[row] = False
    held, free = late.holds(now), early.holds(now)
    holders = [one for one in held if one not in free and earlier[one]]
    if holders:
        cause = _first(pair, holders)
        procs = int(late.schedule.procs[late.row[cause]])
        return cause, _link(
            pair, row, via=Via.HELD, in_old_run=old_is_late, until=held[cause], procs=procs
        )
    waiting = late.waits(now) & ~early.waits(now) & earlier
    promised = _promised(late, now)
    for via, mask in ((Via.AHEAD, waiting & (promised >= 0)), (Via.QUEUED, waiting)):
        rows = np.flatnonzero(mask).tolist()
        if rows:
            cause = _first(pair, rows)
            known = int(promised[cause])
            return cause, _link(pair, row, via=via, in_old_run=old_is_late, promised=known)
    last = np.where(earlier & (pair.since <= now), pair.since, UNKNOWN)
    cause = int(np.argmax(last)) if last.max() >= 0 else int(np.argmax(pair.changed))
    return cause, _link(pair, row, via=Via.EARLIER)


def _first(pair: Pair, rows: list[int]) -> int:
    """A changed one, the widest, the first in the order."""
    procs = pair.before.schedule.procs
    return min(rows, key=lambda one: (not pair.changed[one], -int(procs[one]), one))


def _promised(side: Side, now: int) -> Ints:
    """What each job had been promised by then, -1 where nothing."""
    blocked = side.column("blocked_at")
    known: Ints = np.where((blocked >= 0) & (blocked <= now), side.column("promised"), UNKNOWN)
    return known


def _link(
    pair: Pair,
    row: int,
    *,
    via: Via,
    in_old_run: bool = True,
    procs: int = 0,
    until: int = UNKNOWN,
    promised: int = UNKNOWN,
) -> Link:
    starts = [int(side.start[row]) for side in (pair.before, pair.after)]
    before, after = (UNKNOWN if one == LATE else one for one in starts)
    return Link(
        job=int(pair.before.schedule.job_id[row]), via=via, before=before, after=after,
        at=int(pair.since[row]), in_old_run=in_old_run, procs=procs, until=until,
        promised=promised,
    )  # fmt: skip
