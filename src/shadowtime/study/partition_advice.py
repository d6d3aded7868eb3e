"""How to divide a machine of hosts: the three guidelines of class partitioning, from a trace.

1. The hosts for large jobs should offer all or most of the processing time that large jobs need.
2. All jobs that may run there (large ones, and others that request at most r) should need more than
   that.
3. r bounds how long the first large job in the queue waits for a host: the smaller the better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.cluster import dedicated
from shadowtime.engine.partitions import class_one_hosts
from shadowtime.errors import UsageError
from shadowtime.policy.partition import ByClass
from shadowtime.types import AnyArray
from shadowtime.workload import Workload

HOUR = 3600
LADDER = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0)
"""The limits r that are considered, in hours."""
NOTICED = 0.02
"""A larger r that lets in less of the machine's processing time than this is not worth a run."""
MOST = 0.9
"""Guideline 1 requires all or most: this part of the large jobs' demand must find room."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """n hosts for large jobs and a limit r; shares are of the machine's processing time."""

    hosts: int
    hours: float
    offered: float
    large: float
    eligible: float

    @property
    def room(self) -> bool:
        """Guideline 1."""
        return self.offered >= MOST * self.large

    @property
    def filled(self) -> bool:
        """Guideline 2."""
        return self.eligible > self.offered

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "hosts": self.hosts,
            "hours": self.hours,
            "offered": self.offered,
            "demand_large": self.large,
            "demand_eligible": self.eligible,
            "room_for_large": self.room,
            "filled": self.filled,
            "longest_first_wait_h": self.hours,
        }


@dataclass(frozen=True, kw_only=True)
class Advice:
    """How a trace suggests to divide a machine; ``best`` come first by the guidelines."""

    above: int
    large_jobs: int
    jobs: int
    large: float
    demand: float
    up_to: dict[float, float]
    """Demand of the other jobs that request at most this many hours (the paper's Table 8)."""
    choices: tuple[Choice, ...]

    def best(self, count: int) -> tuple[Choice, ...]:
        """Choices that keep the first two guidelines, fewest hosts and smallest r first.

        A larger r is another choice only if it lets in noticeably more work. Where none keeps
        both guidelines, those with room for the large jobs, the fullest first.
        """
        ranked: list[tuple[int, int, Choice]] = []
        kept: dict[int, list[Choice]] = {}
        for choice in sorted(self.choices, key=lambda c: (c.hosts, c.hours)):
            if not (choice.room and choice.filled):
                continue
            mine = kept.setdefault(choice.hosts, [])
            if mine and choice.eligible < mine[-1].eligible + NOTICED:
                continue
            ranked.append((len(mine) + choice.hosts - min(kept), choice.hosts, choice))
            mine.append(choice)
        if ranked:
            return tuple(choice for *_, choice in sorted(ranked, key=lambda r: r[:2])[:count])
        roomy = [choice for choice in self.choices if choice.room]
        return tuple(
            sorted(roomy, key=lambda c: (c.offered - c.eligible, c.hosts, c.hours))[:count]
        )


def usual_border(cluster: Cluster) -> int:
    """A job is large if it takes more than half of the widest host.

    Examples
    --------
    >>> from shadowtime.cluster.examples import example
    >>> usual_border(example("o2k"))
    64
    """
    return max(host.capacity[0] for host in cluster.hosts) // 2


def advise(
    workload: Workload,
    cluster: Cluster,
    *,
    above: int | None = None,
    hours: Sequence[float] = LADDER,
) -> Advice:
    """The guidelines for every number of hosts and every limit.

    Rules
    -----
    Demand is what jobs occupy while they run (a dedicated job a whole host of the widest kind)
    over the processors of the machine and the time from the first to the last submission.

    Examples
    --------
    >>> from shadowtime.cluster.examples import example
    >>> from shadowtime.workload.o2k import o2k_month
    >>> advice = advise(o2k_month("2003-01", seed=1), example("o2k"))
    >>> [(c.hosts, c.hours) for c in advice.best(2)]
    [(3, 5.0), (3, 50.0)]

    References
    ----------
    S.-H. Chiang and M. K. Vernon, Class-partitioning job scheduling for large-scale parallel
    systems, section 4.
    """
    if cluster.shape != "hosts" or len(cluster.hosts) < 2:
        raise UsageError(
            "there is nothing to divide: partitions need a machine of several hosts, described in "
            "a TOML file (shape = 'hosts') or named, as in --cluster o2k"
        )
    border = usual_border(cluster) if above is None else above
    large = workload.procs > border
    if not large.any():
        raise UsageError(
            f"no job requests more than {border} processors, so no host needs to be kept for large "
            "jobs; give a lower threshold with --above"
        )
    span = max(1, int(workload.submit[-1] - workload.submit[0])) * cluster.procs
    area = taken(workload, cluster) * workload.effective_run
    need = float(area[large].sum()) / span
    others = {
        r: float(area[~large & (workload.request <= r * HOUR)].sum()) / span for r in sorted(hours)
    }
    choices = []
    for n in range(1, len(cluster.hosts)):
        chosen = class_one_hosts(ByClass(hosts=n, above=border), cluster)
        offered = sum(cluster.hosts[h].capacity[0] for h in chosen) / cluster.procs
        choices += [
            Choice(hosts=n, hours=r, offered=offered, large=need, eligible=need + more)
            for r, more in others.items()
        ]
    return Advice(
        above=border,
        large_jobs=int(large.sum()),
        jobs=len(workload),
        large=need,
        demand=float(area.sum()) / span,
        up_to=others,
        choices=tuple(choices),
    )


def taken(workload: Workload, cluster: Cluster) -> AnyArray:
    """Processors that each job keeps from others: a dedicated one those of its whole host."""
    widest = max(host.capacity[0] for host in cluster.hosts)
    alone = dedicated(workload, cluster).astype(bool)
    return np.where(alone, np.maximum(widest, workload.procs), workload.procs)
