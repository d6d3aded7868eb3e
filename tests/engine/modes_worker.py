"""Run every policy of the catalogue on the small worlds and print a digest of each schedule.

Called by test_modes.py in processes with other compiler settings. Prints whether it was compiled,
so that the compiled kernels are never compared with themselves.
"""

from __future__ import annotations

import hashlib
import json
import sys

import numpy as np
from numba.core import config

from shadowtime.cluster import Cluster, Host
from shadowtime.cluster.contention import node_cluster
from shadowtime.cluster.site import Node, Partition, Site
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.report.rows import COMPILE_FROM, lay_out
from shadowtime.schedule import Schedule
from shadowtime.testing import small_host_worlds, small_node_worlds, small_worlds
from shadowtime.workload import Workload

POLICIES = [
    "fcfs",
    "greedy",
    "easy",
    "easy-sjbf",
    "easy++",
    "conservative",
    "conservative(compress=no)",
    "lxfw(reserve=3)",
    "pv-easy",
    "pv-easy(prune=yes)",
    "bb",
    "ibb",
]

ON_HOSTS = ["easy", "lxfw(reserve=3)", "part-l-sm", "part-l-a"]

ON_NODES = [
    "easy",
    "easy-sjbf(place=less-consume)",
    "easy-sjbf(place=less-consume(threshold=1.25), limit=pf)",
    "rua",
    "conservative",
    "conservative(place=first-fit, compress=no)",
    "conservative(place=less-consume)",
    "conservative(place=least-slowdown)",
]


def digests() -> dict[str, str]:
    """A digest of starts, reasons, promises and kills by policy."""
    on_hosts = {f"{name} on hosts": digest(name, small_host_worlds()) for name in ON_HOSTS}
    on_nodes = {f"{name} on nodes": digest(name, small_node_worlds()) for name in ON_NODES}
    return {name: digest(name, small_worlds()) for name in POLICIES} | on_hosts | on_nodes


def few() -> dict[str, str]:
    """The same for EASY on the small pools alone."""
    return {"easy": digest("easy", small_worlds())}


def rows() -> dict[str, str]:
    """The same for a kernel that compiles in a second: the rows in which runs are drawn."""
    draw = np.random.default_rng(5)
    start = np.sort(draw.integers(0, 9 * COMPILE_FROM, COMPILE_FROM))
    jobs = Workload.build(
        submit=start,
        run=draw.integers(1, 99, COMPILE_FROM),
        procs=draw.integers(1, 9, COMPILE_FROM),
        recorded_start=start,
    )
    made = lay_out(Schedule.recorded(jobs), Cluster.pool(64))
    return {"rows": hashlib.sha256(made.row.tobytes() + made.width.tobytes()).hexdigest()}


CROWD = 2500
"""Jobs that wait together: more than a byte can count, and more than half a group of the queue."""


def crowded(step: int = 1) -> dict[str, str]:
    """The same for thousands of waiting jobs, on every shape; few instants keep it quick.

    Of the policies every ``step``-th is run.
    """
    draw = np.random.default_rng(5)
    procs, run = draw.integers(1, 17, CROWD), 3600 * draw.integers(1, 5, CROWD)
    memory = procs * draw.integers(1, 9, CROWD)
    jobs = Workload.build(
        submit=np.sort(draw.integers(0, 3, CROWD)) * 1800,
        run=run,
        procs=procs,
        request=run * draw.integers(1, 4, CROWD),
        user=draw.integers(0, 9, CROWD),
        demand={"memory": memory},
    )
    one = jobs.replace(resources=("procs",), demand=jobs.demand[:, :1])
    slowed = one.replace(extra={"bandwidth": draw.choice([0, 500, 1000, 2000], CROWD)})
    few = np.arange(CROWD // 10)
    hosts = tuple(Host(f"h{k}", (512, 2200)) for k in range(4))
    grouped = Cluster(shape="hosts", resources=("procs", "memory"), hosts=hosts)
    places = {
        "pool": (one, Cluster.pool(2048), ("easy", "easy-sjbf", "lxfw", "easy++")),
        "small pool": (one.take(few), Cluster.pool(256), ("pv-easy", "conservative")),
        "resources": (jobs, Cluster.pool(2048, memory=9000), ("easy", "bb", "ibb", "lxf")),
        "hosts": (jobs, grouped, ("lxfw(reserve=3)", "part-l-sm(hosts=2)")),
        "nodes": (slowed.take(few), node_cluster(64, bandwidth=6000), ("easy", "rua")),
        "site": (one.take(few), sixteen(), ("easy", "lxfw")),
    }
    return {
        f"{name} / {place}": digest(name, [(place, workload, cluster)])
        for place, (workload, cluster, policies) in places.items()
        for name in policies[::step]
    }


def sixteen() -> Site:
    """A site of sixteen nodes: more jobs wait for it than a byte can count."""
    names = tuple(f"n{k:02}" for k in range(16))
    nodes = tuple(Node(name=name, amounts=(16,)) for name in names)
    return Site(nodes=nodes, partitions=(Partition(name="all", nodes=names, default=True),))


def digest(policy: str, worlds: list) -> str:
    """The digest of one policy's schedule."""
    made = hashlib.sha256()
    for _, workload, cluster in worlds:
        schedule = simulate(workload, cluster, parse_policy(policy))
        for column in ("start", "reason", "promised", "blocked_at", "kills"):
            made.update(getattr(schedule, column).astype("int64").tobytes())
    return made.hexdigest()


WORDS = {"crowded": crowded, "crowded-less": lambda: crowded(4), "few": few, "rows": rows}
"""What the command line may ask for instead of the small worlds."""

if __name__ == "__main__":
    with np.errstate(over="raise"):  # an overflow of a small type is an error
        found = WORDS.get(sys.argv[-1], digests)()
    json.dump({"compiled": not config.DISABLE_JIT, "digests": found}, sys.stdout)
