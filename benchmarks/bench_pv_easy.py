"""PV-EASY: a log with predictions and preemption, and the whole reproduction of its paper."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.inputs import log_path, title_of, workload_of
from benchmarks.rows import Row
from benchmarks.timing import best_cpu, command

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


def paper(folder: Path) -> Iterator[Row]:
    """`shadowtime paper pv-easy` with ten seeds; on a generated workload where no log is there."""
    log = log_path("SDSC-BLUE")
    traces = ("--traces", str(log.parent)) if log else ()
    where = "the logs of the paper" if log else "a generated workload"
    run = command("paper", "pv-easy", "--json", *traces)
    yield Row(
        what=f"`shadowtime paper pv-easy`, ten seeds, {where}",
        value=run.wall, unit="s", bar=180.0, clock="wall",
        note=f"{run.cpu:.0f} s CPU; on idle cores at least that over their number",
    )  # fmt: skip
