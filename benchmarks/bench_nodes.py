"""Nodes whose jobs slow each other down: first fit, LessConsume and RUA on the paper's machines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.inputs import generated, title_of, workload_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import job_range
from shadowtime.workload.demand import HIGH, draw_bandwidth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shadowtime.workload import Workload

NODES = {"SDSC-BLUE": 288, "CTC": 108}
CASES = (
    ("SDSC-BLUE", None, "easy-sjbf(place=first-fit)", 1.0),
    ("SDSC-BLUE", None, "easy-sjbf(place=less-consume(horizon=0))", 6.0),
    ("SDSC-BLUE", None, "easy-sjbf(place=less-consume)", 60.0),
    ("CTC", 20_000, "rua", 4.0),
    ("SDSC-BLUE", 20_000, "rua", 8.0),
    ("CTC", None, "conservative(place=first-fit)", 10.0),
    ("CTC", 20_000, "conservative(place=less-consume)", None),
    ("CTC", 20_000, "conservative(place=less-consume(threshold=1.15))", None),
)
"""Log, jobs of it (None: all), policy, seconds allowed (None: for the record)."""
COUNTS = (64, 1_000, 5_000)
"""Nodes of the machines on which the same number of jobs is measured."""
JOBS, LOAD, CORES, BANDWIDTH = 10_000, 0.9, 4, 6000


def nodes(folder: Path) -> Iterator[Row]:
    """Seconds of simulate() from arrays, demand class HIGH."""
    for name, count, text, bar in CASES:
        policy = parse_policy(text)
        jobs, _ = workload_of(name)
        jobs = draw_bandwidth(jobs if count is None else job_range(jobs, 0, count), "HIGH")
        cluster = node_cluster(NODES[name], bandwidth=6000)
        simulate(job_range(jobs, 0, 100), cluster, policy)  # compiles
        runs = 1 if bar is None or bar > 10 else 3
        (spent,) = best_cpu(partial(partial, simulate, jobs, cluster, policy), runs=runs)
        yield Row(
            what=f"{text} on {NODES[name]} nodes, HIGH, {len(jobs):,} jobs of {title_of(name)}",
            value=spent, unit="s", bar=bar,
        )  # fmt: skip
    for text in ("rua", "lessc"):
        yield by_nodes(text)


def by_nodes(text: str) -> Row:
    """Is the cost of as many jobs on a larger machine at most linear in its nodes?"""
    policy = parse_policy(text)
    cost = {}
    for count in COUNTS:
        jobs, cluster = for_nodes(count), node_cluster(count, procs=CORES, bandwidth=BANDWIDTH)
        simulate(job_range(jobs, 0, 100), cluster, policy)  # compiles
        (cost[count],) = best_cpu(
            partial(partial, simulate, jobs, cluster, policy), runs=3, seconds=3
        )
    few, many = COUNTS[0], COUNTS[-1]
    return Row(
        what=f"{text}, {JOBS:,} jobs, load {LOAD:g}: time per node, {few} to {many:,} nodes",
        value=cost[many] / cost[few] / (many / few), unit="x", bar=1.0,
        note="; ".join(f"{count:,} nodes {seconds:.2f} s" for count, seconds in cost.items()),
    )  # fmt: skip


def for_nodes(count: int) -> Workload:
    """Generated jobs for a machine of so many nodes, narrowed where they would not fit there."""
    drawn = generated(JOBS, LOAD, procs=count * CORES)
    widest = count * (BANDWIDTH // HIGH)
    return draw_bandwidth(drawn.replace(demand=np.minimum(drawn.demand, widest)), "MED", seed=1)
