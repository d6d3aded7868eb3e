"""A log in three parts by time: tune, select, report."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.study.sweep.keys import of_workload
from shadowtime.workload import Workload
from shadowtime.workload.slicing import job_range

SHARES = (0.6, 0.2, 0.2)
LEAST = 50
"""Jobs that each part must have for meaningful means."""
WEEK = 7 * 24 * 3600
PERIODS = 5
"""Cuts of a log over which tuning is evaluated."""


@dataclass(frozen=True)
class Parts:
    """The jobs to tune on, those to select on, and those to report on.

    Rules
    -----
    By submission: the first 60 % of the jobs, the next 20 %, the last 20 %; every part is simulated
    separately on an empty machine. The last part is returned once, by :meth:`report_part`, and
    never if any of its jobs was used for tuning or selection.

    Examples
    --------
    >>> from shadowtime.workload.embedded import demo_workload
    >>> parts = Parts.of(demo_workload())
    >>> bool(parts.tune.submit[-1] <= parts.select.submit[0] <= parts.report_part().submit[0])
    True
    >>> parts.report_part()
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: the last part has already been reported on: ...
    """

    tune: Workload
    select: Workload
    _report: Workload
    _used: list[str] = field(default_factory=list)

    @staticmethod
    def of(workload: Workload, *, report_on: Workload | None = None) -> Parts:
        """The parts of a log; with ``report_on`` another log is the last part."""
        n = len(workload)
        if report_on is None:
            first, second = round(SHARES[0] * n), round((SHARES[0] + SHARES[1]) * n)
            last = job_range(workload, second, n)
        else:
            first = second = round(0.75 * n)
            second, last = n, report_on
        parts = Parts(job_range(workload, 0, first), job_range(workload, first, second), last)
        for part, name in ((parts.tune, "tune"), (parts.select, "select"), (last, "report")):
            if len(part) < LEAST:
                raise UsageError(
                    f"{workload.name} has {n:,} jobs, which leaves {len(part)} to {name} on; at "
                    f"least {LEAST} are needed"
                )
        parts.refuse_overlap()
        return parts

    @staticmethod
    def cuts(
        workload: Workload, *, periods: int = PERIODS, report_on: Workload | None = None
    ) -> list[Parts]:
        """The parts of a log at several times, the latest last; no job is reported on twice.

        The last cut is the whole log; the one before ends where its last part begins, and so on,
        while the parts have enough jobs. With ``report_on`` that log is cut into equal pieces, and
        all of them are reported on with what was tuned on the first log.
        """
        if periods < 1:
            raise UsageError(f"{periods} periods are none: give at least 1")
        if report_on is not None:
            whole = Parts.of(workload, report_on=report_on)
            count = max(1, min(periods, len(report_on) // LEAST))
            ends = [len(report_on) * k // count for k in range(count + 1)]
            pieces = (job_range(report_on, *pair) for pair in itertools.pairwise(ends))
            return [Parts(whole.tune, whole.select, piece) for piece in pieces]
        found = [Parts.of(workload)]
        end = len(workload)
        while len(found) < periods:
            end = round((SHARES[0] + SHARES[1]) * end)
            if round(SHARES[2] * end) < LEAST:
                break
            found.append(Parts.of(job_range(workload, 0, end)))
        return found[::-1]

    def refuse_overlap(self) -> None:
        """Reject a last part that contains jobs of the others."""
        for part in (self.tune, self.select):
            if of_workload(part) == of_workload(self._report) or _share_jobs(part, self._report):
                raise UsageError(
                    "the jobs to report on were used for tuning: a report on them would only show "
                    "how well they were learned; report on a later part or another log"
                )

    def report_part(self) -> Workload:
        """The last part, once."""
        if self._used:
            raise UsageError(
                "the last part has already been reported on: using it again would tune on it; use "
                "other jobs to report on"
            )
        self._used.append("report")
        return self._report

    def weeks(self) -> list[Workload]:
        """The weeks of the first part that have enough jobs to be simulated separately."""
        jobs = self.tune
        week = (jobs.submit - jobs.submit[0]) // WEEK
        places = [np.flatnonzero(week == k) for k in range(int(week[-1]) + 1)]
        return [jobs.take(place) for place in places if len(place) >= LEAST]


def _share_jobs(one: Workload, other: Workload) -> bool:
    """True if two parts contain the same job: id, submission, length and width."""

    def rows(jobs: Workload) -> set[tuple[int, ...]]:
        columns = (jobs.job_id, jobs.submit + (jobs.epoch or 0), jobs.run, jobs.procs)
        return set(zip(*(column.tolist() for column in columns), strict=True))

    return not rows(one).isdisjoint(rows(other))
