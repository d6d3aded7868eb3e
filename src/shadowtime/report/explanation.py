"""Why a job started when it did, from the columns of the schedule alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.errors import UsageError
from shadowtime.metrics.unstarted import waited_until
from shadowtime.report.explanation_words import Words
from shadowtime.schedule import Schedule, match
from shadowtime.schedule.runs import Spans, runs, started, waits
from shadowtime.study.obstacle import Obstacle
from shadowtime.types import UNKNOWN, Ints, Reason
from shadowtime.workload import Workload, follows

if TYPE_CHECKING:
    from shadowtime.slurm.standing import Standing
    from shadowtime.study.counterfactual.otherwise import Otherwise


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A job that was blocked at the head of the queue while ours waited."""

    job: int
    blocked_at: int
    promised: int
    start: int


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What the schedule shows about one job. Jobs are named by id; ahead means by (submit, id)."""

    job: int
    reason: Reason | None
    submit: int
    start: int
    blocked_at: int
    promised: int
    ahead_on_arrival: tuple[int, ...]
    running_on_arrival: tuple[int, ...]
    still_ahead: tuple[int, ...]
    """Ahead of it and still waiting when it started: those it overtook."""
    overtaken_by: tuple[int, ...]
    """Behind it and started while it waited."""
    promises: tuple[Promise, ...]
    """Promises to others that were open while it waited, by the moment they were given."""
    ended_at_start: tuple[int, ...]
    """Jobs whose end freed processors at the instant of its start."""
    lines: tuple[str, ...]
    in_the_way: tuple[Obstacle, ...] = ()
    """On a site: what kept it from starting, interval by interval."""
    standings: tuple[Standing, ...] = ()
    """Under Slurm's multifactor priority: on arrival and at its start."""
    otherwise: Otherwise | None = None
    """What a run with one thing changed would have done, if one was asked for."""

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain(
    workload: Workload,
    schedule: Schedule,
    job_id: int,
    *,
    cluster: Cluster | Site | None = None,
    otherwise: Otherwise | None = None,
) -> Explanation:
    """Which jobs were ahead, which promise blocked it, when it was promised, why it started.

    Rules
    -----
    The schedule's rows are those of the workload. A job waits from its submission (or from a
    preemption) to its start; what ends at an instant no longer counts at that instant. If
    ``cluster`` is a site, also what blocked it (:func:`shadowtime.study.obstacles.obstacles`).
    ``otherwise`` is told in the last lines.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 1], run=[9, 9], procs=[2, 1], recorded_start=[0, 9])
    >>> why = explain(w, Schedule.recorded(w), 2)
    >>> why.running_on_arrival, why.ended_at_start
    ((1,), (1,))
    """
    found = np.flatnonzero(workload.job_id == job_id)
    if not len(found):
        ids = workload.job_id
        known = f"its ids go from {ids.min()} to {ids.max()}" if len(ids) else "it has no jobs"
        raise UsageError(f"there is no job {job_id} in {workload.name}: {known}")
    row = int(found[0])
    if len(workload.follows):
        workload, rows = follows.moved(workload, schedule.submit)
        schedule, row = match.take(schedule, rows), int(np.flatnonzero(rows == row)[0])
    on_site = cluster is not None and cluster.shape == "site"
    site = cast("Site", cluster) if on_site else None
    submit, start = int(schedule.submit[row]), int(schedule.start[row])
    every = runs(schedule)
    waiting = waits(schedule, every)
    ran = bool(started(schedule)[row])
    until = start if ran else int(waited_until(schedule, workload)[row])
    ended = every.row[(every.until == start) & (every.row != row)] if ran else every.row[:0]
    facts = {
        "ahead_on_arrival": _ids(schedule, [r for r in _alive(waiting, submit) if r < row]),
        "running_on_arrival": _ids(schedule, [r for r in _alive(every, submit) if r != row]),
        "still_ahead": _ids(schedule, [r for r in _alive(waiting, start) if r < row and ran]),
        "overtaken_by": _ids(schedule, _overtakers(schedule, row, until)),
        "ended_at_start": _ids(schedule, np.unique(ended).tolist()),
    }
    bare = Explanation(
        job=job_id,
        reason=Reason(int(schedule.reason[row])) if ran or schedule.unstarted[row] else None,
        submit=submit,
        start=start,
        blocked_at=_at(schedule.blocked_at, row),
        promised=_at(schedule.promised, row),
        promises=_promises(schedule, row, until),
        lines=(),
        otherwise=otherwise,
        in_the_way=_in_the_way(workload, cluster, schedule, row),
        standings=() if site is None else _standings(workload, site, schedule, row),
        **facts,
    )
    words = Words(workload=workload, schedule=schedule, row=row)
    return Explanation(**{**vars(bare), "lines": words.lines(bare)})


def _in_the_way(
    workload: Workload, cluster: Cluster | Site | None, schedule: Schedule, row: int
) -> tuple[Obstacle, ...]:
    from shadowtime.study.obstacles import obstacles, on_nodes

    found = on_nodes(workload, cluster, schedule)
    return () if found is None else obstacles(*found, row)


def _standings(
    workload: Workload, site: Site, schedule: Schedule, row: int
) -> tuple[Standing, ...]:
    """When it could first be considered, and when it started."""
    from shadowtime.slurm.standing import standing

    if schedule.policy.partition("(")[0] != "slurm" or workload.requests is None:
        return ()
    first = max(int(schedule.submit[row]), int(workload.requests.begin[row]))
    moments = dict.fromkeys([first, max(first, int(schedule.start[row]))])
    found = [standing(workload, site, schedule, row, when) for when in moments]
    return tuple(one for one in found if one is not None)


def _at(column: Ints | None, row: int) -> int:
    return UNKNOWN if column is None else int(column[row])


def _ids(schedule: Schedule, rows: list[int]) -> tuple[int, ...]:
    return tuple(int(schedule.job_id[row]) for row in rows)


def _alive(spans: Spans, moment: int) -> list[int]:
    """Rows whose interval covers the time, in order."""
    covering = (spans.since <= moment) & (moment < spans.until)
    return [int(row) for row in np.unique(spans.row[covering])]


def _overtakers(schedule: Schedule, row: int, until: int) -> list[int]:
    behind = np.arange(row + 1, len(schedule))
    early = (schedule.start[behind] >= 0) & (schedule.start[behind] < until)
    return [int(row) for row in behind[early]]


def _promises(schedule: Schedule, row: int, until: int) -> tuple[Promise, ...]:
    """Jobs blocked at the head at some time between our submission and our start."""
    blocked = schedule.blocked_at
    if blocked is None:
        return ()
    begun = np.where(schedule.start >= 0, schedule.start, np.iinfo(np.int64).max)
    open_then = (blocked != UNKNOWN) & (blocked <= until) & (begun > schedule.submit[row])
    open_then[row] = False
    if schedule.reason[row] != Reason.BACKFILLED:
        # a job behind ours that was blocked in the same pass as our start came after it
        open_then &= ~((blocked == until) & (np.arange(len(schedule)) > row))
    rows = np.flatnonzero(open_then)
    rows = rows[np.argsort(blocked[rows], kind="stable")]
    return tuple(
        Promise(
            job=int(schedule.job_id[r]),
            blocked_at=int(blocked[r]),
            promised=_at(schedule.promised, r),
            start=int(schedule.start[r]),
        )
        for r in rows.tolist()
    )
