"""Why jobs never started: by cause, each with their number and a lower bound of their waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster, amounts, site
from shadowtime.metrics.unstarted import Unstarted, waited_until
from shadowtime.metrics.window import ALL, Window
from shadowtime.schedule import Schedule
from shadowtime.study.obstacle import KINDS, Obstacle
from shadowtime.types import AnyArray
from shadowtime.workload import Workload, site_requests

SHOWN = 3
"""Jobs that are named for a cause."""


def why_never(
    schedule: Schedule,
    workload: Workload,
    cluster: Cluster | site.Site,
    *,
    window: Window = ALL,
    only: AnyArray | None = None,
) -> tuple[Unstarted, ...]:
    """The scored jobs that a schedule never starts, by cause, the most frequent first.

    Rules
    -----
    The cause is what still blocked a job when it was cancelled or when nothing happened any more
    (study/obstacles.py); a machine that is no site knows only cancellations.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[60, 60], procs=[1, 1],
    ...                       extra={"cancel_at": np.array([-1, 21])})
    >>> pool = Cluster.pool(1)
    >>> [found] = why_never(simulate(jobs, pool, parse_policy("easy")), jobs, pool)
    >>> found.why, found.jobs, found.wait_max_s, found.first
    ('cancelled while it waited', 1, 20, (2,))
    """
    inside = window.mask(workload.submit) & schedule.unstarted
    if only is not None:
        inside &= only
    rows = np.flatnonzero(inside)
    if not len(rows):
        return ()
    waited = waited_until(schedule, workload) - schedule.submit
    by_cause: dict[str, list[int]] = {}
    for row, why in zip(rows.tolist(), _whys(schedule, workload, cluster, rows), strict=True):
        by_cause.setdefault(why, []).append(row)
    found = [
        Unstarted(
            why=why,
            jobs=len(some),
            wait_mean_s=float(waited[some].mean()),
            wait_max_s=int(waited[some].max()),
            first=tuple(workload.job_id[some[:SHOWN]].tolist()),
        )
        for why, some in by_cause.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.jobs, one.first)))


def _whys(
    schedule: Schedule, workload: Workload, cluster: Cluster | site.Site, rows: Any
) -> Sequence[str]:
    from shadowtime.study.obstacles import on_nodes, why_unstarted

    known = on_nodes(workload, cluster, schedule)
    if known is not None and known[2].place is not None:
        return [cause(one) for one in why_unstarted(*known, rows.tolist())]
    cancelled = site_requests.cancelled_at(workload)[rows] >= 0
    return [KINDS["cancelled"] if gone else FITTED for gone in cancelled.tolist()]


FITTED = "the policy did not start it, though it fitted"


def cause(one: Obstacle) -> str:
    """A cause in words, the same for all jobs that share it.

    Examples
    --------
    >>> cause(Obstacle(kind="limit", name="QOSMaxCpuPerUserLimit", since=0, until=9))
    'a limit forbids it (QOSMaxCpuPerUserLimit)'
    """
    words = {
        "limit": f"a limit forbids it ({one.name})",
        **{kind.name: kind.short.format(one.name) for kind in amounts.COUNTED},
        "dependency": f"its dependency ({one.name}) was never met",
        "begin": "its begin time was not reached",
        "outage": f"its nodes are out of service ({one.name})",
        "reservation": f"a reservation keeps its nodes ({one.name})",
        "own-reservation": f"its reservation leaves too little time ({one.name})",
        "never": "no partition accepts it: its time, nodes, resources or a limit on each job",
        "order": FITTED,
        "pass": FITTED,
        "room": f"too few {one.name} were free when all was over",
    }
    return words.get(one.kind) or KINDS[one.kind]
