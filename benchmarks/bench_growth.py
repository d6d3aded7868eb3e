"""From ten thousand jobs to a million: does a job cost the same in a long log?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from benchmarks import growth_page
from benchmarks.bench_hosts import side_by_side, stream
from benchmarks.event_loop import event_loop
from benchmarks.inputs import PROCS, generated
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster import Cluster
from shadowtime.cluster.contention import node_cluster
from shadowtime.engine import simulate
from shadowtime.kernel.fields import START
from shadowtime.policy import parse_policy
from shadowtime.workload.demand import HIGH, draw_bandwidth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shadowtime.workload import Workload

SIZES = (10_000, 100_000, 1_000_000)
LOADS = (0.9, 1.05, 1.2)
BAR = {0.9: 2.0}
FROM, TO = 10_000, 300_000
"""Jobs between which the growth of the other policies is measured."""
GROWTH_BAR = 4.0
HOSTS, NODES, CORES, BANDWIDTH = 12, 256, 4, 6000
WIDEST = NODES * (BANDWIDTH // HIGH)
"""Wider jobs with a high demand would not fit on the nodes within their bandwidth."""
LONG = (10_000, 30_000, 100_000, 300_000)
OVERLOADED = (10_000, 30_000, 50_000, 100_000)
LIMIT = 200.0
"""CPU seconds: a row ends before a size that would take longer if cost grew with its power 1.5."""


class Case(NamedTuple):
    """A policy, the kind of machine, the load and the sizes of its workloads."""

    policy: str
    machine: str  # pool, hosts or nodes
    load: float
    sizes: tuple[int, ...]


CASES = (
    Case("easy", "pool", 0.9, (*LONG, 1_000_000)),
    Case("easy-sjbf", "pool", 0.9, (*LONG, 1_000_000)),
    Case("pv-easy", "pool", 0.9, (*LONG, 1_000_000)),
    Case("lxfw", "pool", 0.9, LONG),
    Case("ibb", "pool", 0.9, LONG),
    Case("conservative", "pool", 0.9, LONG),
    Case("conservative", "pool", 1.05, OVERLOADED),
    Case("part-l-sm(hosts=3, hours=50)", "hosts", 0.9, LONG),
    Case("part-l-sm(hosts=3, hours=50)", "hosts", 1.2, OVERLOADED),
    Case("rua", "nodes", 0.9, LONG),
    Case("lessc", "nodes", 0.9, LONG),
    Case("lessc", "nodes", 1.05, OVERLOADED),
    Case("lessc", "nodes", 1.2, OVERLOADED),
)
MOST = {
    ("easy-sjbf", 0.9, 1_000_000): 3.0,
    ("pv-easy", 0.9, 1_000_000): 20.0,
    ("lxfw", 0.9, 300_000): 10.0,
    ("conservative", 1.05, 50_000): 2.0,
    ("conservative", 1.05, 100_000): 6.0,
    ("lessc", 1.05, 30_000): 8.0,
}
"""CPU seconds that a policy may take, by load and number of jobs."""


def growth(folder: Path) -> Iterator[Row]:
    """EASY at several loads, then the other policies; also writes the page of the growth."""
    yield from growth_of_easy()
    costs = {}
    for case in CASES:
        costs[case] = cost_of(case)
        yield row_of(case, costs[case])
        yield from rows_with_a_limit(case, costs[case])
    growth_page.write(costs, limit=LIMIT)


def world_of(case: Case, jobs: int) -> tuple[Workload, Cluster]:
    """So many generated jobs, and their machine."""
    if case.machine == "hosts":
        return stream(HOSTS, case.load, jobs), side_by_side(HOSTS)
    if case.machine == "nodes":
        drawn = generated(jobs, case.load)
        drawn = drawn.replace(demand=np.minimum(drawn.demand, WIDEST))
        return draw_bandwidth(drawn, "MED", seed=1), node_cluster(
            NODES, procs=CORES, bandwidth=BANDWIDTH
        )
    return generated(jobs, case.load), Cluster.pool(PROCS)


def cost_of(case: Case) -> dict[int, float]:
    """CPU seconds of simulate() at each size, up to the limit."""
    policy = parse_policy(case.policy)
    first, machine = world_of(case, case.sizes[0])
    simulate(first.take(range(100)), machine, policy)  # compiles
    cost = {}
    for size in case.sizes:
        if cost and max(cost.values()) * (size / max(cost)) ** 1.5 > LIMIT:
            break
        jobs, machine = world_of(case, size)
        (cost[size],) = best_cpu(
            partial(partial, simulate, jobs, machine, policy), runs=5, seconds=2
        )
    return cost


def row_of(case: Case, cost: dict[int, float]) -> Row:
    """The time per job of TO jobs, or of the longest workload, over that of the shortest.

    Compared with the bar only where it was measured between these sizes.
    """
    first, last = min(cost), min(TO, max(cost))
    return Row(
        what=f"{case.policy}, load {case.load:g}, time per job: {first:,} to {last:,} jobs",
        value=cost[last] / last / (cost[first] / first), unit="x",
        bar=GROWTH_BAR if (first, last) == (FROM, TO) and case.load == LOADS[0] else None,
        note="; ".join(f"{size:,} jobs {seconds:.3f} s" for size, seconds in cost.items()),
    )  # fmt: skip


def rows_with_a_limit(case: Case, cost: dict[int, float]) -> Iterator[Row]:
    """The sizes at which the time itself has a bar."""
    for size, seconds in cost.items():
        if (bar := MOST.get((case.policy, case.load, size))) is not None:
            what = f"{case.policy}, load {case.load:g}, {size:,} jobs"
            yield Row(what=what, value=seconds, unit="s", bar=bar)


def growth_of_easy() -> Iterator[Row]:
    """Time per job of the longest workload over that of the shortest, at each load."""
    for load in LOADS:
        cost, waits = [], []
        for size in SIZES:
            seconds, wait = run_easy(size, load)
            cost.append(seconds / size * 1e6)
            waits.append(wait)
        yield Row(
            what=f"EASY, load {load:g}, time per job: {SIZES[0]:,} to {SIZES[-1]:,} jobs",
            value=cost[-1] / cost[0], unit="x", bar=BAR.get(load),
            note=f"{_listed(cost, '.2f')} us/job; mean wait {_listed(waits, '.1f')} h",
        )  # fmt: skip


def run_easy(jobs: int, load: float) -> tuple[float, float]:
    """CPU seconds of the event loop, and the mean wait in hours."""
    workload, cluster, policy = generated(jobs, load), Cluster.pool(PROCS), parse_policy("easy")
    event_loop(workload.take(range(100)), cluster, policy)()  # compiles
    tables = []

    def prepared() -> Callable[[], int]:
        loop = event_loop(workload, cluster, policy)
        tables[:] = [loop.args[0].job]
        return loop

    (seconds,) = best_cpu(prepared, runs=9, seconds=4)
    return seconds, float((tables[0][:, START] - workload.submit).mean()) / 3600


def _listed(values: list[float], how: str) -> str:
    return " / ".join(f"{value:{how}}" for value in values)
