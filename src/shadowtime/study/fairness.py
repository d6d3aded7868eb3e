"""Which jobs delayed which, in a form that can be shown.

The fairness section of a report needs a few lines, not a pair for every two jobs: the longest
delays with the jobs that caused them, and the hours by which each kind of job delayed each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.metrics import Delays, FairStarts, delayed_by, fair_starts
from shadowtime.metrics.classes import classify
from shadowtime.metrics.measure import matched
from shadowtime.schedule import Schedule
from shadowtime.types import Floats, Ints
from shadowtime.workload import Workload

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class DelayedJob:
    """A job that later ones kept from its strictly fair start, and which ones these were."""

    job_id: int
    user: int
    procs: int
    fair_start: int
    start: int
    by: tuple[int, ...]
    """Ids of the later jobs that held processors at the fair start, the widest first."""
    by_procs: int
    """Processors that all of them held."""

    @property
    def delay_s(self) -> int:
        return self.start - self.fair_start


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Hours of delay that one kind of jobs took from another, and in how many cases."""

    delayed: str
    by: str
    hours: float
    cases: int


@dataclass(frozen=True, kw_only=True)
class FairnessView:
    """The delays of a schedule: how many, how long, of which jobs, by which."""

    blocked: int
    delayed: int
    hours: float
    longest: tuple[DelayedJob, ...]
    by_size: tuple[Taken, ...]
    by_user: tuple[Taken, ...]


def fairness_view(
    schedule: Schedule, workload: Workload, cluster: Cluster, *, top: int = 10, most: int = 5
) -> FairnessView:
    """Delays beyond the strictly fair start (FST) of a schedule on a pool.

    Rules
    -----
    The later jobs that hold processors at a job's fair start share its delay in proportion to
    these processors, so the hours of all pairs sum up to the hours of all delays. ``top`` is how
    many jobs and pairs are kept, the longest first; of each job's culprits the ``most`` widest.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 1, 2], run=[5, 4, 18], request=[20, 4, 18], procs=[3, 4, 1], user=[1, 2, 3])
    >>> view = fairness_view(simulate(w, Cluster.pool(4), parse_policy("easy")), w, Cluster.pool(4))
    >>> view.delayed, view.longest[0].job_id, view.longest[0].delay_s, view.longest[0].by
    (1, 2, 15, (3,))
    >>> view.by_user[0].delayed, view.by_user[0].by
    ('user 2', 'user 3')
    """
    schedule = matched(schedule, workload)
    fair = fair_starts(schedule, workload, cluster)
    pairs = delayed_by(schedule, workload, cluster)
    delay = np.zeros(len(workload), np.int64)
    delay[fair.row] = fair.delay
    held = workload.procs[pairs.by]
    total = np.zeros(len(workload), np.int64)
    np.add.at(total, pairs.delayed, held)
    hours = delay[pairs.delayed] * (held / np.maximum(total[pairs.delayed], 1)) / HOUR
    kinds = {kind: classify(workload, kind) for kind in ("size", "user")}
    sums = {
        kind: _taken(classes.of, classes.labels, pairs, hours)[:top]
        for kind, classes in kinds.items()
    }
    return FairnessView(
        blocked=len(fair.row),
        delayed=int((fair.delay > 0).sum()),
        hours=float(delay.sum()) / HOUR,
        longest=_longest(schedule, workload, fair, pairs, total, top=top, most=most),
        by_size=sums["size"],
        by_user=sums["user"],
    )


def _longest(
    schedule: Schedule,
    workload: Workload,
    fair: FairStarts,
    pairs: Delays,
    total: Ints,
    *,
    top: int,
    most: int,
) -> tuple[DelayedJob, ...]:
    order = np.argsort(-fair.delay, kind="stable")[:top]
    found = []
    for k in order[fair.delay[order] > 0]:
        row = int(fair.row[k])
        culprits = pairs.by[pairs.delayed == row]
        widest = culprits[np.argsort(-workload.procs[culprits], kind="stable")][:most]
        found.append(
            DelayedJob(
                job_id=int(workload.job_id[row]),
                user=int(workload.user[row]),
                procs=int(workload.procs[row]),
                fair_start=int(fair.fst[k]),
                start=int(schedule.start[row]),
                by=tuple(workload.job_id[widest].tolist()),
                by_procs=int(total[row]),
            )
        )
    return tuple(found)


def _taken(of: Ints, labels: tuple[str, ...], pairs: Delays, hours: Floats) -> tuple[Taken, ...]:
    """Hours summed over pairs of classes, the most first."""
    n = len(labels)
    cell = of[pairs.delayed] * n + of[pairs.by]
    sums, cases = np.bincount(cell, hours, n * n), np.bincount(cell, minlength=n * n)
    order = np.argsort(-sums, kind="stable")
    return tuple(
        Taken(delayed=labels[k // n], by=labels[k % n], hours=float(sums[k]), cases=int(cases[k]))
        for k in order.tolist()
        if cases[k]
    )
