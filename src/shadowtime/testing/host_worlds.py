"""Small workloads on hosts, for policies that divide a machine among classes of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster, Host
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.testing.worlds import World
    from shadowtime.types import Ints

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
