"""Small workloads that have caught schedulers out before.

On a pool, on hosts (for policies that divide a machine among classes of jobs) and on nodes that
share bandwidth (for policies that plan on nodes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.types import Ints


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


ABOVE, HOURS, ONE = 64, 50.0, 3


def small_host_worlds(*, one: int = ONE, above: int = ABOVE, hours: float = HOURS) -> list[World]:
    """Named worlds on hosts of two sizes: ``one`` for large jobs, and two more.

    A large job needs more than ``above`` processors, and as much of everything else that a class
    may go by: memory, and the numbers of its queue, group and user. A short one asks for up to
    ``hours``. Jobs above one and a half times ``above`` are dedicated.

    Examples
    --------
    >>> name, jobs, cluster = small_host_worlds()[0]
    >>> name, [host.capacity for host in cluster.hosts]
    ('one large job', [(130, 130), (130, 130), (130, 130), (65, 65), (65, 65)])
    """
    large, short = 2 * above + 2, max(1, int(hours * 3600))
    hosts = (*((large, large) for _ in range(one)), *[(above + 1, above + 1)] * 2)
    cluster = Cluster(
        shape="hosts",
        resources=("procs", "memory"),
        hosts=tuple(Host(f"h{number}", capacity) for number, capacity in enumerate(hosts)),
        options={"dedicated": {"procs": above + above // 2}},
    )
    return [
        ("one large job", _jobs([3], [5], [large], [5]), cluster),
        (
            "large jobs in a row",
            _jobs([0, *range(2 * one)], [9] * (2 * one + 1), [large] * (2 * one + 1), [20] * 99),
            cluster,
        ),
        (
            "long jobs keep out of class one",
            _jobs([0] * 8, [9] * 8, [max(1, above)] * 8, [short + 1, short] * 4),
            cluster,
        ),
        *((f"random {seed}", _crowd(seed, above, short), cluster) for seed in range(10)),
    ]


def _jobs(
    submit: Sequence[int] | Ints,
    run: Sequence[int] | Ints,
    procs: Sequence[int] | Ints,
    request: Sequence[int] | Ints,
) -> Workload:
    """Jobs that are equally large by every measure."""
    width = np.asarray(procs, np.int64)
    return Workload.build(
        submit=submit,
        run=run,
        procs=width,
        request=np.asarray(request, np.int64)[: len(width)],
        demand={"memory": width},
        user=width,
        group=width,
        queue=width,
    )


def _crowd(seed: int, above: int, short: int) -> Workload:
    """A seeded crowd, a third of it large, a third of the rest long."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(10, 40))
    large = draw.random(n) < 1 / 3
    procs = np.where(
        large, draw.integers(above + 1, 2 * above + 3, n), draw.integers(1, max(2, above + 1), n)
    )
    length = draw.integers(1, 60, n)
    request = np.where(draw.random(n) < 1 / 3, short + length, np.minimum(length, short))
    run = np.maximum(1, (length * draw.uniform(0.05, 1.2, n)).astype(np.int64))
    return _jobs(np.sort(draw.integers(0, 100, n)), run, procs, request)


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
