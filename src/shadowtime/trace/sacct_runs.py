"""Requeued jobs in Slurm's accounting: several rows of one job id, joined into one job.

``sacct -D`` has a row per run of a job that was preempted, requeued by hand or lost its node. The
next run's row has the second of the requeue as its Submit and, later, an Eligible of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.workload.raw import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from shadowtime.types import Ints

SUBMIT, WAIT, RUN = (FIELDS.index(name) for name in ("submit", "wait", "run"))
SAME = tuple(FIELDS.index(name) for name in ("user", "group", "executable"))
LATEST = 86_400
"""A run is requeued within a day of the end of the run before it: slurmctld forgets ended jobs
long before. A later row with the same id is another job: ids start again at the largest."""

Row = Sequence[int]


@dataclass(frozen=True, eq=False)
class JoinedRuns:
    """Jobs in the order of their first rows: the rows of the first and of the last run of each.

    ``lost`` has, by the place of the job, begin and end of each run whose work was lost, in seconds
    from the first submission. ``unfinished`` jobs had not ended.
    """

    first: Ints
    last: Ints
    lost: Mapping[int, tuple[tuple[int, int], ...]]
    unfinished: int


def join_runs(
    table: Ints,
    labels: Sequence[str],
    *,
    requeued: Iterable[int] = (),
    waiting: AbstractSet[str] = frozenset(),
) -> JoinedRuns:
    """The jobs behind the rows of a table (a row per field), which have these job ids.

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
    >>> rows = [(7, 0, 10, 32, *[0] * 14), (8, 5, 0, 9, *[0] * 14), (7, 42, 20, 72, *[0] * 14)]
    >>> runs = join_runs(np.array(rows).T, ["7", "8", "7"])
    >>> runs.first.tolist(), runs.last.tolist(), runs.lost
    ([0, 1], [2, 1], {0: ((10, 42),)})
    """
    back = set(requeued)
    groups = _several(labels, back, waiting)
    alone = np.ones(len(labels), bool)
    alone[[place for places in groups.values() for place in places]] = False
    single = np.flatnonzero(alone)
    found: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
    unfinished = 0
    for label, places in groups.items():
        rows = {place: table[:, place].tolist() for place in places}
        jobs: list[list[int]] = []
        for place in sorted(places, key=lambda one: (rows[one][SUBMIT], _end(rows[one]))):
            if jobs and _follows(rows[place], rows[jobs[-1][-1]]):
                jobs[-1].append(place)
            else:
                jobs.append([place])
        if label in waiting or jobs[-1][-1] in back:
            jobs.pop()
            unfinished += label not in waiting
        found += [(job[0], job[-1], _lost([rows[place] for place in job])) for job in jobs]
    first = np.concatenate([single, np.array([one[0] for one in found], np.int64)])
    last = np.concatenate([single, np.array([one[1] for one in found], np.int64)])
    order = np.argsort(first)
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    lost = {int(place_of[len(single) + at]): one[2] for at, one in enumerate(found) if one[2]}
    return JoinedRuns(first[order], last[order], dict(sorted(lost.items())), unfinished)


def _several(
    labels: Sequence[str], back: set[int], waiting: AbstractSet[str]
) -> dict[str, list[int]]:
    """The rows of each id with several rows, with a row that went back, or that waits."""
    if not (back or waiting) and len(set(labels)) == len(labels):
        return {}
    looked_at = {labels[place] for place in back}
    seen: set[str] = set()
    for label in labels:
        if label in seen or label in waiting:
            looked_at.add(label)
        else:
            seen.add(label)
    groups: dict[str, list[int]] = {}
    if looked_at:
        for place, label in enumerate(labels):
            if label in looked_at:
                groups.setdefault(label, []).append(place)
    return groups


def _end(row: Row) -> int:
    return row[SUBMIT] + max(row[WAIT], 0) + max(row[RUN], 0)


def _follows(row: Row, before: Row) -> bool:
    """Is this row the next run of the job whose run ``before`` is?"""
    same = all(row[field] == before[field] for field in SAME)
    return same and before[SUBMIT] < row[SUBMIT] <= _end(before) + LATEST


def _lost(runs: Sequence[Row]) -> tuple[tuple[int, int], ...]:
    begin = runs[0][SUBMIT]
    return tuple(
        (_end(run) - run[RUN] - begin, _end(run) - begin) for run in runs[:-1] if run[RUN] > 0
    )
