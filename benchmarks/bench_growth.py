"""From ten thousand jobs to a million: does a job cost the same in a long log?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.event_loop import event_loop
from benchmarks.inputs import PROCS, generated
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.kernel.fields import START
from shadowtime.policy import parse_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SIZES = (10_000, 100_000, 1_000_000)
LOADS = (0.9, 1.05, 1.2)
BAR = {0.9: 2.0}
FROM, TO = 10_000, 300_000
"""Jobs between which the growth of the other policies is measured."""
GROWTH_BAR = 4.0
OTHERS = {
    "easy-sjbf": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "pv-easy": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "lxfw": (10_000, 30_000, 100_000, 300_000),
    "conservative": (10_000, 30_000),
}
"""Policies on a pool, and the sizes of their workloads."""


def growth(folder: Path) -> Iterator[Row]:
    """EASY at several loads, then the other policies of a pool at load 0.9."""
    yield from growth_of_easy()
    for name, sizes in OTHERS.items():
        yield growth_of(name, sizes, LOADS[0])


def growth_of(name: str, sizes: tuple[int, ...], load: float) -> Row:
    """CPU seconds of simulate() at each size, and the time per job of TO jobs over that of FROM.

    A policy whose sizes end earlier is for the record: to the last of them, without a bar.
    """
    cluster, policy = Cluster.pool(PROCS), parse_policy(name)
    simulate(generated(FROM, load).take(range(100)), cluster, policy)  # compiles
    cost = {}
    for size in sizes:
        run = partial(simulate, generated(size, load), cluster, policy)
        (cost[size],) = best_cpu(lambda run=run: run, runs=5, seconds=2)
    last = min(TO, sizes[-1])
    return Row(
        what=f"{name}, load {load:g}, time per job: {FROM:,} to {last:,} jobs",
        value=cost[last] / last / (cost[FROM] / FROM), unit="x",
        bar=GROWTH_BAR if last == TO else None,
        note="; ".join(f"{size:,} jobs {seconds:.3f} s" for size, seconds in cost.items()),
    )  # fmt: skip


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
