"""Small workloads on nodes that share bandwidth, for policies that plan on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import node_cluster
from shadowtime.testing.worlds import small_worlds

if TYPE_CHECKING:
    from shadowtime.testing.worlds import World

DEMANDS = np.array([2000, 500, 3001, 0, 1750, 1000])
"""What a process draws of a node's 6,000, job after job: enough to slow each other down."""


def small_node_worlds() -> list[World]:
    """The worlds of the pool with their processors on nodes, four or fewer on each.

    Examples
    --------
    >>> name, jobs, cluster = small_node_worlds()[1]
    >>> name, cluster.shape, len(cluster.hosts), jobs.extra["bandwidth"].tolist()
    ('all at once', 'nodes', 1, [2000, 500, 3001, 0, 1750, 1000])
    """
    worlds = []
    for name, jobs, pool in small_worlds():
        cores = max(size for size in (1, 2, 3, 4) if pool.procs % size == 0)
        demand = np.resize(DEMANDS, len(jobs))
        nodes = node_cluster(pool.procs // cores, procs=cores, bandwidth=6000)
        worlds.append((name, jobs.replace(extra={"bandwidth": demand}), nodes))
    return worlds
