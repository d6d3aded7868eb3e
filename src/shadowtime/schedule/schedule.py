"""What a policy made of a workload: one row per job, in (submit, id) order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.types import UNKNOWN, AnyArray, Ints, Reason, SmallInts

if TYPE_CHECKING:
    from shadowtime.workload import Workload


@dataclass(frozen=True, eq=False, kw_only=True)
class Attempts:
    """Every run of the jobs that were preempted: a row per attempt, in time order of its start."""

    job_id: Ints
    start: Ints
    end: Ints
    killed: SmallInts
    """1 where the attempt was preempted, 0 for the one that ended by itself."""
    kept: Ints | None = None
    """Seconds of each attempt whose work counts; None where preempted attempts lose all of it."""
    overhead: Ints | None = None
    """Seconds at its beginning that went into starting again; None where that costs nothing."""
    procs: Ints | None = None
    """Where jobs change while they run there is a row for each stretch at one size and speed (spec:
    changing 4.1): its processors, thousandths of full speed, millionths of the job's power, and its
    work that counts in millionths of a second."""
    speed: Ints | None = None
    draw: Ints | None = None
    work: Ints | None = None

    def __len__(self) -> int:
        return len(self.job_id)

    def with_work(self, saved: Ints, *, restart: int) -> Attempts:
        """With the columns ``kept`` and ``overhead``.

        ``saved`` is the work of the job that is safe when the attempt ends, in seconds, and
        ``restart`` what every attempt but the first begins with.

        Examples
        --------
        >>> ints = lambda *values: np.array(values, np.int64)
        >>> runs = Attempts(
        ...     job_id=ints(1, 1, 1),
        ...     start=ints(0, 9, 20),
        ...     end=ints(5, 11, 29),
        ...     killed=ints(1, 1, 0),
        ... ).with_work(ints(4, 4, 10), restart=3)
        >>> runs.kept.tolist(), runs.overhead.tolist()
        ([4, 0, 6], [0, 2, 3])
        """
        order, again = self._by_job()
        kept, overhead = np.empty_like(saved), np.empty_like(saved)
        kept[order] = saved[order] - np.where(again, np.roll(saved[order], 1), 0)
        overhead[order] = np.where(again, np.minimum((self.end - self.start)[order], restart), 0)
        return replace(self, kept=kept, overhead=overhead)

    @property
    def before(self) -> Ints:
        """Seconds of the job's work that were safe when each attempt began."""
        before = np.zeros(len(self), np.int64)
        if self.kept is not None and len(self):
            order, again = self._by_job()
            upto = np.cumsum(self.kept[order]) - self.kept[order]
            first = np.maximum.accumulate(np.where(again, 0, np.arange(len(self))))
            before[order] = upto - upto[first]
        return before

    def _by_job(self) -> tuple[Ints, AnyArray]:
        """The attempts job by job in time order, and which of those are not a job's first."""
        order = np.lexsort((self.end, self.start, self.job_id))
        again = np.zeros(len(self), bool)
        again[1:] = self.job_id[order][1:] == self.job_id[order][:-1]
        return order, again

    @staticmethod
    @cache
    def none() -> Attempts:
        """No attempts: one value for all schedules without preemption."""
        empty = np.empty(0, np.int64)
        return Attempts(job_id=empty, start=empty, end=empty, killed=np.empty(0, np.int8))


@dataclass(frozen=True, eq=False, kw_only=True)
class Schedule:
    """Start and end of every job, why it started then, and what it was promised.

    Rules
    -----
    ``start`` is that of the last attempt. ``kills`` counts preemptions, ``killed`` is 1 for a
    job stopped at its limit. ``promised`` is the first start a policy promised the job when it
    was held up and ``blocked_at`` the first pass at which it was first in the order and could
    not start; both are -1 where that never happened. A column that a source does not have is None.
    """

    job_id: Ints
    submit: Ints
    start: Ints
    end: Ints
    procs: Ints
    reason: SmallInts
    kills: Ints
    killed: SmallInts
    promised: Ints | None = None
    blocked_at: Ints | None = None
    limit: Ints | None = None
    place: Sequence[str] | None = None
    penalised: Ints | None = None
    """Seconds a job lost to others that share its nodes, rounded up."""
    penalised_exact: Ints | None = None
    """The same exactly, a numerator and a denominator per job; not in files."""
    attempts: Attempts = field(default_factory=Attempts.none)
    missing: tuple[str, ...] = ()
    """Columns the source did not have and that hold neutral values: reason, kills, killed."""
    policy: str = ""
    claims: tuple[str, ...] = ()
    """What the policy says of itself and check proves: promises-kept, strictly-fair, ..."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Counts of the run: passes, events, starts."""
    waited_for: Mapping[int, str] | None = None
    """Jobs by id that a limit or the like held back, each with what it met last, in the words of
    sacct's Reason; None where the policy does not say; not in files."""

    def __len__(self) -> int:
        return len(self.job_id)

    def __repr__(self) -> str:
        return f"Schedule({self.policy or 'unnamed'}: {len(self):,} jobs)"

    @property
    def unstarted(self) -> AnyArray:
        """True for the jobs that never started, or not again: their start and end are -1."""
        found: AnyArray = self.reason == Reason.UNSTARTED
        return found

    @property
    def wait(self) -> Ints:
        """Seconds from submission to the (last) start; where stopped jobs keep their work, all
        seconds until the end that did not count: end - submit - worked."""
        if self.attempts.kept is None:
            return self.start - self.submit
        return self.end - self.submit - self.worked

    @property
    def worked(self) -> Ints:
        """Seconds that each job worked: its last run, or the sum of what its attempts kept.

        Of a job that changed while it ran: what its work takes at its own size and full speed, at
        most its response (spec: changing 4.2).
        """
        length: Ints = self.end - self.start
        if self.attempts.kept is None:
            return length
        from shadowtime.schedule.runs import row_of

        row = row_of(self, self.attempts.job_id)
        known = row != UNKNOWN
        again = np.unique(row[known])
        length[again] = 0
        if self.attempts.work is None:
            np.add.at(length, row[known], self.attempts.kept[known])
            return length
        np.add.at(length, row[known], self.attempts.work[known])
        own = -(-length[again] // 1_000_000)
        length[again] = np.minimum(own, (self.end - self.submit)[again])
        return length

    def replace(self, **changes: Any) -> Schedule:
        return replace(self, **changes)

    @staticmethod
    def recorded(workload: Workload) -> Schedule:
        """The schedule a log itself records: its starts, and ends after the recorded run.

        Runs that were requeued are attempts, and count as preemptions.
        """
        n = len(workload)
        start = workload.recorded_start
        known = start != UNKNOWN
        return Schedule(
            job_id=workload.job_id,
            submit=workload.submit,
            start=start,
            end=np.where(known, start + workload.run, UNKNOWN),
            procs=workload.procs,
            reason=np.full(n, Reason.RECORDED, np.int8),
            kills=np.where(known, _lost(workload), 0),
            killed=np.zeros(n, np.int8),
            attempts=_recorded_attempts(workload),
            policy="recorded",
        )


def _lost(workload: Workload) -> Ints:
    """How many runs of each job were lost."""
    if not workload.lost_runs:
        return np.zeros(len(workload), np.int64)
    ids = workload.job_id.tolist()
    return np.array([len(workload.lost_runs.get(job, ())) for job in ids], np.int64)


def _recorded_attempts(workload: Workload) -> Attempts:
    """Every recorded run of the jobs that lost one, by start, then job."""
    rows = []
    for row in np.flatnonzero(_lost(workload)).tolist():
        job, submit, start = (
            int(column[row])
            for column in (workload.job_id, workload.submit, workload.recorded_start)
        )
        if start == UNKNOWN:
            continue
        lost = workload.lost_runs[job]
        rows += [(submit + begin, job, submit + end, 1) for begin, end in lost]
        rows.append((start, job, start + int(workload.run[row]), 0))
    if not rows:
        return Attempts.none()
    start_, job_, end_, killed = np.array(sorted(rows), np.int64).T
    return Attempts(job_id=job_, start=start_, end=end_, killed=killed.astype(np.int8))
