"""Requeued jobs in Slurm's accounting: several rows of one job id, joined into one job.

``sacct -D`` has a row per run of a job that was preempted, requeued by hand or lost its node. The
next run's row has the second of the requeue as its Submit and, later, an Eligible of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.workload.raw import FIELDS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

SUBMIT, WAIT, RUN = (FIELDS.index(name) for name in ("submit", "wait", "run"))
SAME = tuple(FIELDS.index(name) for name in ("user", "group", "executable"))
LATEST = 86_400
"""A run is requeued within a day of the end of the run before it: slurmctld forgets ended jobs
long before. A later row with the same id is another job: ids start again at the largest."""

Row = tuple[int, ...]


@dataclass(frozen=True)
class JoinedRun:
    """A job: the row of its first and of its last run, and the runs between whose work was lost."""

    first: int
    last: int
    lost: tuple[tuple[int, int], ...] = ()
    """Begin and end of each, in seconds from the first submission."""


def join_runs(
    rows: Sequence[Row],
    labels: Sequence[str],
    *,
    requeued: Iterable[int] = (),
    waiting: Container[str] = (),
) -> tuple[list[JoinedRun], int]:
    """The jobs behind these rows, in the order of their first rows, and how many had not ended.

    Rules
    -----
    Rows of one id, of the same user, account and job name, whose Submit lies between the Submit
    of the row before and a day after its end, are runs of one job. Rows that say the same are left
    apart: an export that overlaps another repeats jobs, and that is another rule's business.
    ``requeued`` are rows of runs that went back to the queue: a job whose last row is one has not
    ended. Nor has one whose id is among ``waiting``, those with a row that has not ended; only the
    former are counted, the latter have been.

    Examples
    --------
    >>> def row(submit, wait, run):
    ...     return (7, submit, wait, run, *[0] * 14)
    >>> join_runs([row(0, 10, 32), row(42, 20, 72)], ["7", "7"])
    ([JoinedRun(first=0, last=1, lost=((10, 42),))], 0)
    """
    groups: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        groups.setdefault(label, []).append(place)
    back = set(requeued)
    found: list[JoinedRun] = []
    unfinished = 0
    for label, places in groups.items():
        jobs: list[list[int]] = []
        for place in sorted(places, key=lambda one: (rows[one][SUBMIT], _end(rows[one]))):
            if jobs and _follows(rows[place], rows[jobs[-1][-1]]):
                jobs[-1].append(place)
            else:
                jobs.append([place])
        if label in waiting or jobs[-1][-1] in back:
            jobs.pop()
            unfinished += label not in waiting
        found += [_joined(rows, job) for job in jobs]
    return sorted(found, key=lambda one: one.first), unfinished


def _end(row: Row) -> int:
    return row[SUBMIT] + max(row[WAIT], 0) + max(row[RUN], 0)


def _follows(row: Row, before: Row) -> bool:
    """Is this row the next run of the job whose run ``before`` is?"""
    same = all(row[field] == before[field] for field in SAME)
    return same and before[SUBMIT] < row[SUBMIT] <= _end(before) + LATEST


def _joined(rows: Sequence[Row], job: list[int]) -> JoinedRun:
    begin = rows[job[0]][SUBMIT]
    lost = tuple(
        (_end(rows[place]) - rows[place][RUN] - begin, _end(rows[place]) - begin)
        for place in job[:-1]
        if rows[place][RUN] > 0
    )
    return JoinedRun(job[0], job[-1], lost)
