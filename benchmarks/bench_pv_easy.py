"""PV-EASY: a log with predictions and preemption."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.inputs import title_of, workload_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.engine import simulate
from shadowtime.policy import parse_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def pv_easy(folder: Path) -> Iterator[Row]:
    """Seconds of simulate() from arrays."""
    policy = parse_policy("pv-easy")
    workload, cluster = workload_of("SDSC-BLUE")
    schedule = simulate(workload, cluster, policy)  # compiles the first time
    (seconds,) = best_cpu(lambda: partial(simulate, workload, cluster, policy), runs=5)
    yield Row(
        what=f"pv-easy, {title_of('SDSC-BLUE')}, simulate()",
        value=seconds, unit="s", bar=1.0,
        note=f"{int(schedule.kills.sum()):,} preemptions; "
        f"{len(workload) / seconds / 1e3:.0f} k jobs/s",
    )  # fmt: skip
