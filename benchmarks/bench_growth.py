"""EASY from ten thousand to a million jobs: does a job cost the same in a long log?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.event_loop import event_loop
from benchmarks.inputs import PROCS, generated
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster import Cluster
from shadowtime.kernel.fields import START
from shadowtime.policy import parse_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SIZES = (10_000, 100_000, 1_000_000)
LOADS = (0.9, 1.05, 1.2)
BAR = {0.9: 2.0}


def growth(folder: Path) -> Iterator[Row]:
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
