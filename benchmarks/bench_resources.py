"""Several resources: BB and IBB on a log with memory, and what K and the queue cost them."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.inputs import PROCS, STAND_INS, generated, log_path, title_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.study.papers.ibb.case import with_memory
from shadowtime.trace import read
from shadowtime.workload.clean import fit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shadowtime.workload import Workload

LANL = "LANL-CM5"
MB, GB = 1 << 10, 1 << 20
"""In KB, the unit of memory."""
BARS = {"ibb": 1.0, "bb": 1.0, "bb(per_pass=until-none)": None, "bl": None, "easy": None}
WEIGHING = ("ibb", "bb")
RESOURCES = (1, 2, 3, 4, 5, 6, 7, 8)
JOBS = 20_000
LOADS = (0.7, 0.9, 1.0, 1.1, 1.2)


def resources(folder: Path) -> Iterator[Row]:
    """Seconds on the log; then time per job against K and against the length of the queue."""
    yield from _on_the_log()
    for name in WEIGHING:
        yield _against_resources(name)
    for name in WEIGHING:
        yield _against_queue(name)


def _on_the_log() -> Iterator[Row]:
    jobs, pool = _lanl()
    for name, bar in BARS.items():
        seconds, _, waiting = _timed(name, jobs, pool)
        yield Row(
            what=f"{name}, {title_of(LANL)} with memory, simulate()",
            value=seconds, unit="s", bar=bar,
            note=f"{len(jobs):,} jobs; {waiting:.0f} wait on average",
        )  # fmt: skip


def _against_resources(name: str) -> Row:
    costs, queues = [], []
    for count in RESOURCES:
        jobs, pool = with_resources(count)
        _, cost, waiting = _timed(name, jobs, pool)
        costs.append(cost)
        queues.append(waiting)
    listed = " / ".join(f"{cost:.2f}" for cost in costs)
    queued = " / ".join(f"{waiting:.0f}" for waiting in queues)
    return Row(
        what=f"{name}, time per job: K = {RESOURCES[0]} to {RESOURCES[-1]} resources",
        value=costs[-1] / costs[0], unit="x",
        note=f"{listed} us/job with {queued} jobs waiting on average; {JOBS:,} generated jobs at "
        "load 0.9, none but processors binds",
    )  # fmt: skip


def _against_queue(name: str) -> Row:
    costs, queues = [], []
    for load in LOADS:
        jobs, pool = with_resources(2, load=load)
        _, cost, waiting = _timed(name, jobs, pool)
        costs.append(cost)
        queues.append(waiting)
    by_queue = ", ".join(f"{q:.0f}: {c:.2f}" for q, c in zip(queues, costs, strict=True))
    return Row(
        what=f"{name}, time per job: loads {LOADS[0]:g} to {LOADS[-1]:g}, K = 2",
        value=costs[-1] / costs[0], unit="x",
        note=f"us/job by the mean number of waiting jobs: {by_queue}; {JOBS:,} generated jobs",
    )  # fmt: skip


def _timed(name: str, jobs: Workload, pool: Cluster) -> tuple[float, float, float]:
    """CPU seconds of simulate(), the same per job in us, and the mean number of waiting jobs."""
    policy = parse_policy(name)
    schedule = simulate(jobs, pool, policy)  # compiles the first time
    (seconds,) = best_cpu(lambda: partial(simulate, jobs, pool, policy), runs=5, seconds=4)
    span = int(schedule.end.max() - jobs.submit[0])
    waiting = float((schedule.start - schedule.submit).sum()) / max(span, 1)
    return seconds, seconds / len(jobs) * 1e6, waiting


@cache
def _lanl() -> tuple[Workload, Cluster]:
    """LANL-CM5 on the machine of the IBB paper, 1 GB a processor; or a stand-in."""
    path = log_path(LANL)
    count, procs, load = STAND_INS[LANL]
    pool = Cluster.pool(procs, memory=procs * GB)
    if path is None:
        return with_memory(generated(count, load, procs=procs), median=16 * MB), pool
    return fit(read(path, memory=True), pool), pool


@cache
def with_resources(count: int, *, load: float = 0.9) -> tuple[Workload, Cluster]:
    """Generated jobs asking for ``count`` resources, of which only processors can run out.

    Of each other one a job asks for up to a processor's part on each of its processors, and the
    machine has twice that. So the schedule of EASY does not depend on ``count``, and only the
    work of searching grows.
    """
    jobs = generated(JOBS, load)
    rng = np.random.default_rng(3)
    others = [jobs.procs * rng.integers(1, 5, len(jobs)) for _ in range(count - 1)]
    names = tuple(f"r{k}" for k in range(2, count + 1))
    demand = np.stack([jobs.procs, *others], axis=1)
    pool = Cluster.pool(PROCS, **dict.fromkeys(names, 8 * PROCS))
    return jobs.replace(demand=demand, resources=("procs", *names)), pool
