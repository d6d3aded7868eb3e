"""Small workloads that have caught schedulers out before."""

from __future__ import annotations

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.workload import Workload

World = tuple[str, Workload, Cluster]


def small_worlds() -> list[World]:
    """Named worlds on a pool: ties, one processor, machine-wide jobs, overload, early ends.

    Examples
    --------
    >>> [name for name, _, _ in small_worlds()][:2]
    ['one job', 'all at once']
    """
    build = Workload.build
    return [
        ("one job", build(submit=[3], run=[5], procs=[2]), Cluster.pool(2)),
        (
            "all at once",
            build(submit=[0] * 6, run=[4, 4, 2, 2, 1, 1], procs=[3, 2, 4, 1, 1, 2]),
            Cluster.pool(4),
        ),
        (
            "one processor",
            build(submit=[0, 0, 1, 5], run=[3, 2, 2, 1], procs=[1] * 4),
            Cluster.pool(1),
        ),
        (
            "machine-wide jobs",
            build(submit=[0, 1, 2, 3], run=[5, 5, 1, 9], procs=[8, 8, 1, 8]),
            Cluster.pool(8),
        ),
        (
            "early ends",
            build(
                submit=[0, 0, 1, 2, 3],
                run=[1, 2, 3, 1, 1],
                procs=[4, 4, 8, 2, 6],
                request=[50, 40, 30, 20, 10],
                user=[1, 2, 1, 2, 1],
            ),
            Cluster.pool(8),
        ),
        (
            "killed at the limit",
            build(
                submit=[0, 1, 2],
                run=[99, 99, 5],
                procs=[2, 2, 3],
                request=[10, 5, 5],
                user=[1, 1, 1],
            ),
            Cluster.pool(4),
        ),
        *(random_world(seed) for seed in range(12)),
    ]


def random_world(seed: int) -> World:
    """A seeded crowd of jobs on a small pool, some of them worth waiting for."""
    draw = np.random.default_rng(seed)
    n, procs = int(draw.integers(5, 40)), int(draw.integers(1, 17))
    request = draw.integers(1, 60, n)
    return (
        f"random {seed}",
        Workload.build(
            submit=np.sort(draw.integers(0, 200, n)),
            run=np.maximum(1, (request * draw.uniform(0.05, 1.2, n)).astype(np.int64)),
            procs=draw.integers(1, procs + 1, n),
            request=request,
            user=draw.integers(0, 4, n),
        ),
        Cluster.pool(procs),
    )
