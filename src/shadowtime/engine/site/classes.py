"""Class partitioning on a site: nodes for large jobs, across the site's own partitions.

The rules are in docs/decisions/site.md, "Class partitioning".
"""

from __future__ import annotations

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine import partitions
from shadowtime.engine.site.asks import Asks, SiteClasses, asks_of
from shadowtime.engine.site.tables import fits_empty, most_held
from shadowtime.errors import PolicyError
from shadowtime.kernel.site import fields as f
from shadowtime.policy import Policy
from shadowtime.policy.partition import ByClass
from shadowtime.types import AnyArray
from shadowtime.workload import Workload
from shadowtime.workload.site_requests import requests_of


def site_classes(policy: Policy, site: Site, workload: Workload) -> SiteClasses | None:
    """None for a policy without classes.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=tuple(Node(name=n, amounts=(c,)) for n, c in (("a", 2), ("b", 8))))
    >>> jobs = Workload.build(submit=[0, 0], run=[9, 9], procs=[1, 6])
    >>> made = site_classes(parse_policy("part-l-sm(hosts=1, above=5)"), site, jobs)
    >>> made.group, made.kind.tolist()
    ((1, 0), [1, 2])
    """
    part = policy.partition
    if not isinstance(part, ByClass):
        return None
    if part.hosts > len(site.nodes):
        raise PolicyError(
            f"partition=by-class: {part.hosts} nodes for class one, but the site has "
            f"{len(site.nodes)}"
        )
    one = set(partitions.widest([node.amounts for node in site.nodes], part.hosts))
    order: dict[int, tuple[tuple[int, int], ...]] = {
        partitions.SMALL_LONG: ((partitions.TWO, f.RESERVES_COUNTED),),
        partitions.SMALL_SHORT: (
            (partitions.TWO, f.RESERVES_COUNTED),
            (partitions.ONE, f.RESERVES_NEVER),
        ),
        partitions.LARGE: ((partitions.ONE, f.RESERVES_BY_NODE),),
    }
    if part.large == "anywhere":
        order[partitions.LARGE] += ((partitions.TWO, f.RESERVES_COUNTED),)
    return SiteClasses(
        kind=partitions.classes_of(part, workload),
        group=tuple(partitions.ONE if n in one else partitions.TWO for n in range(len(site.nodes))),
        order=tuple(order[kind] for kind in range(len(order))),
        reservations=part.reservations,
        times=part.times,
        most_planned=part.times * sum(site.nodes[n].amounts[0] for n in one),
    )


def reject_unplaceable(
    policy: Policy, classes: SiteClasses, workload: Workload, site: Site, made: Asks
) -> None:
    """Reject classes that leave jobs nowhere to run, before the run.

    A job that no partition of the site takes anyway stays in the queue with its reason.
    """
    lost = ~placeable(made, site)[made.of_job]
    if lost.any():
        anywhere = asks_of(workload, site, requests_of(workload, site))
        lost &= placeable(anywhere, site)[anywhere.of_job]
    if lost.any():
        first = int(np.flatnonzero(lost)[0])
        raise PolicyError(
            f"partition={policy.partition} leaves {int(lost.sum())} jobs nowhere to run, the first "
            f"is job {workload.job_id[first]} ({partitions.CLASS_NAMES[int(classes.kind[first])]}, "
            f"{workload.procs[first]} processors); give its class more or larger nodes"
        )


def placeable(asks: Asks, site: Site) -> AnyArray:
    """Which asks fit on the empty nodes."""
    capacity = np.array([node.amounts for node in site.nodes], np.int64)
    fits = [
        fits_empty(one, most_held(one, capacity[np.array(one.nodes, np.int64)]))
        for one in asks.shapes
    ]
    return np.array([any(fits[a.shape] for a in one) for one in asks.each] or [True], bool)
