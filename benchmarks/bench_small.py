"""Many small runs: how many simulations, and measurements, of a thousand jobs a second."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.inputs import title_of, workload_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.engine import simulate
from shadowtime.metrics import measure
from shadowtime.policy import parse_policy
from shadowtime.workload.slicing import first_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JOBS, REPEATS = 1000, 100
BARS = {"easy": 3000.0, "lxfw": 1000.0, "conservative": 1000.0}


def small(folder: Path) -> Iterator[Row]:
    """The first thousand jobs of a log, one after the other in one process."""
    workload, cluster = workload_of("KTH")
    jobs = first_jobs(workload, JOBS)
    where = f"{JOBS:,} jobs of {title_of('KTH')}"
    for name, bar in BARS.items():
        run = partial(simulate, jobs, cluster, parse_policy(name))
        yield Row(
            what=f"simulate(), {name}, {where}", value=1 / each(run),
            unit="runs/s", bar=bar, at_least=True,
        )  # fmt: skip
    schedule = simulate(jobs, cluster, parse_policy("easy"))
    yield Row(
        what=f"measure(), {where}", value=1 / each(partial(measure, schedule, jobs, cluster)),
        unit="runs/s", bar=3000.0, at_least=True,
    )  # fmt: skip


def each(run: Callable[[], Any]) -> float:
    """CPU seconds of one run, the first one (which may compile) aside."""
    run()

    def repeated() -> None:
        for _ in range(REPEATS):
            run()

    (seconds,) = best_cpu(lambda: repeated, runs=9)
    return seconds / REPEATS
