"""What the digests are taken of: workloads on machines of every shape, and the policies on each."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.policy import catalogue
from shadowtime.study.papers.class_partitioning.policies import (
    DEPTHS,
    ONCE,
    ORDERS,
    PARTITIONED,
    with_depth,
)
from shadowtime.study.papers.class_partitioning.worlds import draw_month
from shadowtime.study.papers.hperf.machine import WORKLOADS, jobs_of, thesis_cluster
from shadowtime.study.papers.hperf.policies import POLICIES as THESIS
from shadowtime.study.papers.hperf.policies import RULES, text_of
from shadowtime.study.papers.ibb.policies import POLICIES as IBB
from shadowtime.study.papers.pv_easy.policies import ABLATIONS, PREDICTORS, READINGS, easy
from shadowtime.study.papers.rua.policies import BEYOND, LIMIT
from shadowtime.study.papers.rua.policies import POLICIES as RUA
from shadowtime.trace import read
from shadowtime.workload import demo_workload
from shadowtime.workload.clean import fit
from shadowtime.workload.demand import draw_bandwidth
from shadowtime.workload.scale import offered_load, to_load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.workload import Workload

ROOT = Path(__file__).resolve().parent.parent
LOAD = 0.95
"""Logs are squeezed to this load on machines that they were not recorded on, else no job waits."""
CORES, BANDWIDTH = 4, 6000
"""Of a node; MB/s."""


@dataclass(frozen=True, eq=False)
class Case:
    """A workload on a machine, and the policies that run there."""

    name: str
    workload: Workload
    cluster: Cluster
    policies: tuple[str, ...]


def every_policy(*more: str) -> tuple[str, ...]:
    """Every catalogue policy, and variants; what is not defined on a machine is rejected there.

    Examples
    --------
    >>> every_policy("easy", "easy(reserve=4)")[-1]
    'easy(reserve=4)'
    """
    return tuple(dict.fromkeys([*(policy.name for policy in catalogue()), *more]))


ON_POOLS = every_policy(
    *(easy(reading, base=base) for reading in READINGS for base in ("easy", "easy-last")),
    *ABLATIONS.values(),
    *PREDICTORS.values(),
    *IBB.values(),
    "conservative(compress=no)",
    "conservative(estimate=last-two)",
    "easy(reserve=4)",
    "lxfw(reserve=3)",
)
ON_HOSTS = every_policy(
    *(with_depth(order, depth) for order in ORDERS for depth in DEPTHS),
    *PARTITIONED.values(),
    ONCE,
)
ON_NODES = every_policy(
    *RUA.values(),
    *LIMIT.values(),
    *BEYOND.values(),
    "conservative(compress=no)",
    "conservative(place=first-fit)",
    "conservative(place=less-consume)",
    "conservative(place=least-slowdown)",
    "easy(place=first-fit(resv=counts))",
)


def cases(*, jobs: int | None) -> Iterator[Case]:
    """Every case, the first ``jobs`` of each workload (None: all of them)."""

    def first(workload: Workload) -> Workload:
        return workload if jobs is None else workload.take(np.arange(min(jobs, len(workload))))

    demo = demo_workload()
    yield from on_every_shape("demo", demo, demo.machine["procs"])
    for path in logs():
        log = read(path)
        procs = log.machine.get("procs") or large_enough(log)
        log = first(fit(log, Cluster.pool(procs)))
        yield from on_every_shape(path.name.partition(".")[0], log, procs)
    for month in ("Dec02", "Feb03"):
        for name, world in draw_month(month, 1).worlds.items():
            yield Case(f"o2k {month}, {name}", first(world.workload), world.cluster, ON_HOSTS)
    texts = tuple(text_of(policy, rule) for policy in THESIS for rule in RULES)
    for name in WORKLOADS:
        yield Case(f"hperf {name}", jobs_of(name, 1), thesis_cluster(), texts)


def logs() -> list[Path]:
    """The archive's logs, from SHADOWTIME_TRACES or ../shared/traces."""
    given = os.environ.get("SHADOWTIME_TRACES")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    return sorted(path for path in folder.glob("*.swf.gz") if ".alea." not in path.name)


def large_enough(log: Workload) -> int:
    """Processors for a log without a machine size: its load is LOAD, and no job is cut."""
    load = offered_load(log, Cluster.pool(1))["procs"]
    return max(int(log.procs.max()), math.ceil(load / LOAD))


def on_every_shape(name: str, log: Workload, procs: int) -> Iterator[Case]:
    """A log on a pool, a pool of three resources, hosts, nodes, and nodes that share bandwidth."""
    yield Case(f"{name} / pool", log, Cluster.pool(procs), ON_POOLS)
    draw = np.random.default_rng(7)
    memory = log.procs * draw.integers(1, 9, len(log))
    licences = draw.integers(0, 4, len(log)) * (draw.random(len(log)) < 0.3)
    rich = log.replace(
        resources=("procs", "memory", "licences"),
        demand=np.stack([log.procs, memory, licences], axis=1),
    )
    pool = Cluster.pool(procs, memory=5 * procs, licences=8)
    yield Case(f"{name} / resources", fit(rich, pool), pool, ON_POOLS)
    yield on_hosts(name, log)
    nodes = -(-procs // CORES)
    full = to_load(log, nodes * CORES, LOAD)
    yield Case(f"{name} / nodes", full, node_cluster(nodes, procs=CORES), ON_NODES)
    shared = draw_bandwidth(full, "MED", seed=1)
    contended = node_cluster(nodes, procs=CORES, bandwidth=BANDWIDTH)
    yield Case(f"{name} / contention", shared, contended, ON_NODES)


def on_hosts(name: str, log: Workload) -> Case:
    """A log on four large hosts and four small ones with memory; wide jobs are cut to a host."""
    width = np.minimum(log.procs, 128)
    draw = np.random.default_rng(8)
    memory = np.minimum(width * draw.integers(1, 9, len(log)), 400)
    jobs = log.replace(resources=("procs", "memory"), demand=np.stack([width, memory], axis=1))
    hosts = [Host(f"large{k}", (128, 640)) for k in range(4)]
    hosts += [Host(f"small{k}", (64, 200)) for k in range(4)]
    cluster = Cluster(
        shape="hosts",
        resources=("procs", "memory"),
        hosts=tuple(hosts),
        options={"dedicated": {"procs": 96}},
    )
    return Case(f"{name} / hosts", to_load(jobs, cluster.procs, LOAD), cluster, ON_HOSTS)
