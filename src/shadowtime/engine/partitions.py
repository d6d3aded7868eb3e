"""From a partition part to the tables a pass works with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.errors import PolicyError
from shadowtime.policy.partition import HOUR, ByClass
from shadowtime.types import Ints
from shadowtime.workload import Workload

SMALL_LONG, SMALL_SHORT, LARGE = 0, 1, 2
CLASS_NAMES = ("long small", "short small", "large")
ONE, TWO = 0, 1
RUN, RESERVE = 0, 1
NOT_HERE, FIRST, SECOND = -1, 0, 1
NO_BOUND = 1 << 40


class Tables(NamedTuple):
    """May run, may reserve, preference, caps; see kernel/place.py."""

    tier: Any  # int64[2, classes, H]
    group: Any  # int64[H]
    cap: Any  # int64[groups, 2]


def class_one_hosts(part: ByClass, cluster: Cluster) -> list[int]:
    """The widest hosts, those with most memory first, then by index."""
    if cluster.shape != "hosts":
        raise PolicyError("partition=by-class needs a cluster of hosts: describe it in a TOML file")
    if part.hosts > len(cluster.hosts):
        raise PolicyError(
            f"partition=by-class: {part.hosts} hosts for class one, but the machine has "
            f"{len(cluster.hosts)}"
        )
    return widest([host.capacity for host in cluster.hosts], part.hosts)


def widest(capacities: Sequence[Sequence[int]], count: int) -> list[int]:
    """The places of the ``count`` widest, those with most of each further resource first.

    Examples
    --------
    >>> widest([(4, 8), (8, 2), (8, 4), (8, 4)], 2)
    [2, 3]
    """
    order = sorted(range(len(capacities)), key=lambda h: ([-amount for amount in capacities[h]], h))
    return sorted(order[:count])


def tables_of(part: ByClass, cluster: Cluster) -> Tables:
    """The tables of part-L/SM or part-L/A (spec: algorithms 3.4)."""
    one = class_one_hosts(part, cluster)
    count = len(cluster.hosts)
    group = np.full(count, TWO, np.int64)
    group[one] = ONE
    in_one = group == ONE
    tier = np.full((2, 3, count), NOT_HERE, np.int64)
    tier[RUN, SMALL_LONG] = np.where(in_one, NOT_HERE, FIRST)
    tier[RUN, SMALL_SHORT] = np.where(in_one, SECOND, FIRST)
    tier[RESERVE, SMALL_LONG] = tier[RESERVE, SMALL_SHORT] = np.where(in_one, NOT_HERE, FIRST)
    elsewhere = SECOND if part.large == "anywhere" else NOT_HERE
    tier[:, LARGE] = np.where(in_one, FIRST, elsewhere)
    cap = np.array([[NO_BOUND, part.times], [part.reservations, 0]], np.int64)
    return Tables(tier, group, cap)


def classes_of(part: ByClass, workload: Workload) -> Any:
    """The class of every job."""
    if part.by == "procs":
        measure = workload.procs
    elif part.by == "memory":
        if "memory" not in workload.resources:
            raise PolicyError("partition=by-class(by=memory): the trace has no memory column")
        measure = workload.demand[:, workload.resources.index("memory")]
    else:
        measure = getattr(workload, part.by)
    short = workload.request <= part.hours * HOUR
    small = np.where(short, SMALL_SHORT, SMALL_LONG)
    return np.where(measure > part.above, LARGE, small).astype(np.int64)


def reject_unplaceable(part: ByClass, cluster: Cluster, workload: Workload) -> None:
    """Reject a partition that leaves jobs nowhere to run, before the run."""
    tables, kinds = tables_of(part, cluster), classes_of(part, workload)
    have = {name: column for column, name in enumerate(workload.resources)}
    home = np.zeros(len(workload), bool)
    for h, host in enumerate(cluster.hosts):
        able = tables.tier[RUN, kinds, h] >= 0
        for k, name in enumerate(cluster.resources):
            if name in have:
                able &= workload.demand[:, have[name]] <= host.capacity[k]
        home |= able
    if not home.all():
        first = int(np.flatnonzero(~home)[0])
        raise PolicyError(
            f"partition={part} leaves {int((~home).sum())} jobs nowhere to run, the first is job "
            f"{workload.job_id[first]} ({CLASS_NAMES[int(kinds[first])]}, "
            f"{workload.procs[first]} processors); give its class more or larger hosts"
        )


def hosts_with_a_tier(tier: Ints) -> Any:
    """For each table and class its hosts in order; the last entry is their number."""
    among = np.zeros((*tier.shape[:2], tier.shape[2] + 1), np.int64)
    for table, kind in np.ndindex(*tier.shape[:2]):
        found = np.flatnonzero(tier[table, kind] >= 0)
        among[table, kind, : len(found)] = found
        among[table, kind, -1] = len(found)
    return among


def most_reservations(cap: Ints, widest: int) -> int:
    """How many reservations a host can be given at most under the caps of its group."""
    return max(
        int(count) if times == 0 else min(int(count), int(times) * widest) for count, times in cap
    )
