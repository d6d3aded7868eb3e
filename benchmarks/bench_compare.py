"""A whole comparison: six policies, twenty shaken inputs; its memory; the metrics of a long log."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_memory import peak_megabytes
from benchmarks.inputs import PROCS, generated, path_of, title_of, workload_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu, command, python

if TYPE_CHECKING:
    from collections.abc import Iterator

POLICIES = ("fcfs", "easy", "easy-sjbf", "easy++", "conservative", "lxfw")
SHAKES = 20
FEW = 5
SCORED = 250_000


def compare(folder: Path) -> Iterator[Row]:
    """The command, warm, on all cores; the memory of twenty shakes beside that of five."""
    words = words_of(path_of("SDSC-SP2", folder), shakes=SHAKES)
    command(*words_of(path_of("SDSC-SP2", folder), shakes=2))  # compiles
    run = command(*words, runs=2)
    where = title_of("SDSC-SP2")
    yield Row(
        what=f"compare, {len(POLICIES)} policies, {where}, {SHAKES} shakes",
        value=run.wall, unit="s", bar=15.0, clock="wall", note=f"{run.cpu:.1f} s CPU",
    )  # fmt: skip
    few, many = (_peak(path_of("SDSC-SP2", folder), shakes) for shakes in (FEW, SHAKES))
    yield Row(
        what=f"the same, peak memory of {SHAKES} shakes over that of {FEW}",
        value=many / few, unit="x", bar=1.1, clock="-", note=f"{few:.0f} and {many:.0f} MB",
    )  # fmt: skip


def compare_cost(folder: Path) -> Iterator[Row]:
    """What a comparison adds to its simulations, and what a second thread takes off it."""
    from shadowtime.engine import simulate
    from shadowtime.policy import parse_policy
    from shadowtime.study.compare import compare as run
    from shadowtime.study.replicas import AS_RECORDED, Replicas

    workload, cluster = workload_of("SDSC-SP2")
    policies = [parse_policy(name) for name in POLICIES]
    run(workload, cluster, policies, threads=1)  # loads every pass
    replicas = Replicas.of(shake=SHAKES)
    bare = 0.0
    for number in range(SHAKES + 1):
        jobs = replicas.make(workload, cluster, AS_RECORDED, number)
        for policy in policies:
            used = time.process_time()
            simulate(jobs, cluster, policy)
            bare += time.process_time() - used
    spent = {}
    for threads in (1, 2):
        begun, used = time.perf_counter(), time.process_time()
        run(workload, cluster, policies, shake=SHAKES, threads=threads)
        spent[threads] = time.perf_counter() - begun, time.process_time() - used
    (wall, cpu), (wall_of_two, cpu_of_two) = spent[1], spent[2]
    yield Row(
        what="compare, the same, CPU over that of the bare simulations",
        value=cpu / bare, unit="x", bar=1.3,
        note=f"{cpu:.1f} s and {bare:.1f} s, one thread",
    )  # fmt: skip
    yield Row(
        what="compare, the same, two threads against one",
        value=wall / wall_of_two, unit="x", bar=1.8, at_least=True, clock="wall",
        note=f"{wall:.1f} and {wall_of_two:.1f} s; {cpu:.1f} and {cpu_of_two:.1f} s of CPU",
    )  # fmt: skip


def metrics(folder: Path) -> Iterator[Row]:
    """Every metric of a schedule of 250,000 jobs."""
    from shadowtime.cluster import Cluster
    from shadowtime.engine import simulate
    from shadowtime.metrics import measure
    from shadowtime.policy import parse_policy

    workload, cluster = generated(SCORED, 0.75), Cluster.pool(PROCS)
    schedule = simulate(workload, cluster, parse_policy("easy"))
    measure(schedule, workload, cluster)  # imports
    (seconds,) = best_cpu(lambda: partial(measure, schedule, workload, cluster))
    yield Row(
        what=f"all metrics of {SCORED:,} jobs",
        value=seconds, unit="s", bar=0.3,
    )  # fmt: skip


def words_of(log: Path, *, shakes: int) -> tuple[str, ...]:
    """The command line."""
    policies = [word for name in POLICIES for word in ("--policy", name)]
    return ("compare", str(log), *policies, "--shake", str(shakes))


def _peak(log: Path, shakes: int) -> float:
    return float(python([str(Path(__file__)), str(log), str(shakes)]).output.splitlines()[-1])


def run_here(log: str, shakes: str) -> None:
    """The command, in this process."""
    from shadowtime.cli import main

    sys.argv = ["shadowtime", *words_of(Path(log), shakes=int(shakes))]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    run_here(*sys.argv[1:])
    print(peak_megabytes())
