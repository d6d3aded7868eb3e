"""The thesis' machine and its two workloads, as far as they are known.

spec: algorithms 6.2, 6.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import node_cluster
from shadowtime.workload.hperf_jobs import hperf_workload

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload

WORKLOADS = {"High": "high", "Medium": "medium"}
NODES, CORES, BANDWIDTH = 16, 16, 25_000
SLOPE = 0.36
NOISE = 0.1
"""Spread of the run times around what the limits were set for, log-normal."""


def thesis_cluster(
    *, nodes: int = NODES, bandwidth: int = BANDWIDTH, slope: float = SLOPE, phys: int = 0
) -> Cluster:
    """Nodes of 16 cores; ``phys`` is what a node can deliver where that is not its nominal value.

    Examples
    --------
    >>> thesis_cluster().total
    {'procs': 256, 'bandwidth': 400000}
    """
    machine = node_cluster(nodes, procs=CORES, name="MareNostrum 3", bandwidth=bandwidth)
    law = {"shared": ["bandwidth"], "law": "sloped", "slope": slope}
    if phys:
        law["phys"] = {"bandwidth": phys}
    return machine.replace(options={"contention": law})


def jobs_of(name: str, seed: int, *, noise: float = NOISE) -> Workload:
    """A draw of a workload; its run times vary around those the limits were set for.

    Examples
    --------
    >>> a, b = jobs_of("High", 1), jobs_of("High", 1, noise=0)
    >>> bool((a.request == b.request).all()), int(b.run.sum()) - int(b.request.sum()) < 0
    (True, True)
    """
    jobs = hperf_workload(WORKLOADS[name], seed=seed)
    if noise == 0:
        return jobs
    spread = np.random.default_rng([seed, len(name)]).normal(0.0, noise, len(jobs))
    run = np.maximum(1, np.rint(jobs.run * np.exp(spread))).astype(np.int64)
    # Noise is work too (spec: algorithms 4.5).
    return jobs.replace(run=run, limit=np.maximum(jobs.limit, run))
