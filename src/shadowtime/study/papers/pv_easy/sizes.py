"""Blocked jobs by their share of the machine (Figures 2 and 3).

The paper names one border, a quarter of the processors; the groups are ours: halves below it,
eighths up to a half above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics.jobs import Jobs, weighted_mean
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray

BORDERS = (0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 1.0)
"""A job is in a group if its share of the processors is above one border and up to the next."""

LABELS = ("≤ 1/32", "≤ 1/16", "≤ 1/8", "≤ 1/4", "≤ 3/8", "≤ 1/2", "> 1/2")

BIG = 1 / 4
"""Big jobs take more than this share (section 5.2.1)."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Some blocked jobs: how many, and their MBS and MWBS (None where there are none)."""

    jobs: int
    mbs: float | None
    mwbs: float | None


@dataclass(frozen=True, kw_only=True)
class BlockedBySize:
    """The blocked jobs of a schedule in groups, and the big and the small ones as a whole."""

    groups: tuple[Group, ...]
    small: Group
    big: Group


def blocked_by_size(
    schedule: Schedule, cluster: Cluster, *, blocked: AnyArray | None = None
) -> BlockedBySize:
    """MBS and MWBS of the jobs that a schedule blocked, or of those of another one (``blocked``).

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 0, 0], run=[90, 90, 90], procs=[4, 1, 4])
    >>> found = blocked_by_size(
    ...     simulate(jobs, Cluster.pool(4), parse_policy("easy")), Cluster.pool(4))
    >>> found.small, found.big
    (Group(jobs=1, mbs=2.0, mwbs=2.0), Group(jobs=1, mbs=3.0, mwbs=3.0))
    """
    if blocked is None:
        assert schedule.blocked_at is not None
        blocked = schedule.blocked_at != UNKNOWN
    share = schedule.procs / cluster.procs
    return BlockedBySize(
        groups=tuple(
            _group(schedule, blocked & (share > low) & (share <= high))
            for low, high in pairwise(BORDERS)
        ),
        small=_group(schedule, blocked & (share <= BIG)),
        big=_group(schedule, blocked & (share > BIG)),
    )


def _group(schedule: Schedule, which: AnyArray) -> Group:
    count = int(np.count_nonzero(which))
    if count == 0:
        return Group(jobs=0, mbs=None, mwbs=None)
    jobs = Jobs.of(schedule, which)
    bounded = jobs.bounded_paper()
    return Group(jobs=count, mbs=float(bounded.mean()), mwbs=weighted_mean(bounded, jobs.procs))
