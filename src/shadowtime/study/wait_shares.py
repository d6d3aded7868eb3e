"""What the waits of a user or of any group are due to: shares that add up to all of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shadowtime.schedule.runs import runs
from shadowtime.study.cause import Cause, every_wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.cluster import Cluster
    from shadowtime.cluster.site import Site
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray, Ints
    from shadowtime.workload import Workload

EXAMPLES = 3
"""Jobs that are named for a cause."""
MOST = 300
"""Waits on a site that are looked at one by one; of more, every so many-th."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A job that a cause kept waiting: how long, and from when."""

    job: int
    seconds: int
    since: int


@dataclass(frozen=True, kw_only=True)
class Share:
    """A cause: its seconds over all jobs, how many jobs, and those it kept longest."""

    cause: Cause
    seconds: int
    share: float
    jobs: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, kw_only=True)
class WaitShares:
    """The causes of the waits of some jobs, the largest first; ``seconds`` is their sum.

    ``looked_at`` of the ``waited`` jobs were examined: all, or on a site every so many-th.
    """

    jobs: int
    waited: int
    looked_at: int
    seconds: int
    shares: tuple[Share, ...]

    def __getitem__(self, cause: str) -> float:
        """The share of a cause, 0 where it never applied."""
        return sum(one.share for one in self.shares if one.cause == cause)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def wait_shares(
    workload: Workload,
    cluster: Cluster | Site,
    schedule: Schedule,
    *,
    only: AnyArray | None = None,
    most: int = MOST,
) -> WaitShares:
    """What the waits of the jobs of a mask are due to.

    Rules
    -----
    Between two events a waiting job has exactly one cause (:class:`shadowtime.study.cause.Cause`),
    and the time between them counts for it: so the shares add up to the time waited. A preempted
    job's waits between its runs count, its lost runs do not. On a site the causes are those of
    ``explain`` (:func:`shadowtime.study.obstacles.obstacles`); if more than ``most`` jobs waited
    there, every n-th of them in the order of submission is looked at.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 10, 20, 30], run=[100, 30, 50, 200], procs=[3, 4, 1, 1])
    >>> pool = Cluster.pool(4)
    >>> found = wait_shares(jobs, pool, simulate(jobs, pool, parse_policy("easy")))
    >>> found.seconds, [(str(one.cause), one.seconds) for one in found.shares]
    (190, [('wide jobs', 110), ('many jobs', 50), ('promises', 30)])
    """
    waits = every_wait(schedule, workload, runs(schedule))
    wanted = np.ones(len(workload), bool) if only is None else only
    rows = np.unique(waits.row[wanted[waits.row]])
    on_site = cluster.shape == "site"
    chosen = rows[:: -(-len(rows) // most)] if on_site and len(rows) > most else rows
    parts = (
        _on_site(workload, cast("Site", cluster), schedule, chosen)
        if on_site
        else _on_machine(workload, cast("Cluster", cluster), schedule, chosen)
    )
    by_cause: dict[Cause, dict[int, Example]] = defaultdict(dict)
    for row, cause, seconds, since in parts:
        known = by_cause[cause].get(row)
        by_cause[cause][row] = Example(
            job=int(workload.job_id[row]),
            seconds=seconds + (known.seconds if known else 0),
            since=min(since, known.since) if known else since,
        )
    sums = {cause: sum(one.seconds for one in each.values()) for cause, each in by_cause.items()}
    total = sum(sums.values())
    return WaitShares(
        jobs=int(wanted.sum()),
        waited=len(rows),
        looked_at=len(chosen),
        seconds=total,
        shares=tuple(
            Share(
                cause=cause,
                seconds=sums[cause],
                share=sums[cause] / total,
                jobs=len(by_cause[cause]),
                examples=tuple(
                    sorted(by_cause[cause].values(), key=lambda one: (-one.seconds, one.job))
                )[:EXAMPLES],
            )
            for cause in sorted(sums, key=lambda one: (-sums[one], one))
        ),
    )


def _on_machine(
    workload: Workload, cluster: Cluster, schedule: Schedule, rows: Ints
) -> Iterator[tuple[int, Cause, int, int]]:
    from shadowtime.study.machine_waits import MachineWaits

    return MachineWaits(workload=workload, cluster=cluster, schedule=schedule).of(rows)


def _on_site(
    workload: Workload, site: Site, schedule: Schedule, rows: Ints
) -> Iterator[tuple[int, Cause, int, int]]:
    from shadowtime.study.obstacle import by_passes, cause_of
    from shadowtime.study.obstacles import pause_of
    from shadowtime.study.way import Way

    way, pause = Way(workload, site, schedule), pause_of(site, schedule)
    for row in rows.tolist():
        found = tuple(way.of(row).intervals())
        for one in by_passes(found, pause, merge=False) if pause else found:
            if one.until > one.since:
                yield row, cause_of(one), one.until - one.since, one.since
