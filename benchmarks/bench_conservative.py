"""Conservative backfilling with compression, on a log and in lasting overload."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.inputs import PROCS, generated, title_of, workload_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def conservative(folder: Path) -> Iterator[Row]:
    """Seconds of simulate() from arrays."""
    policy = parse_policy("conservative")
    workload, cluster = workload_of("SDSC-BLUE")
    simulate(workload.take(range(100)), cluster, policy)  # compiles
    (log,) = best_cpu(lambda: partial(simulate, workload, cluster, policy), runs=3)
    yield Row(
        what=f"conservative with compression, {title_of('SDSC-BLUE')}",
        value=log, unit="s", bar=1.5,
        note=f"{len(workload) / log / 1e3:.0f} k jobs/s",
    )  # fmt: skip
    heavy, pool = generated(50_000, 1.05), Cluster.pool(PROCS)
    (overload,) = best_cpu(lambda: partial(simulate, heavy, pool, policy), runs=2, seconds=10)
    yield Row(
        what="conservative with compression, 50k generated jobs at load 1.05",
        value=overload, unit="s", goal=2.0,
    )  # fmt: skip
