"""Policies beside their twins in C: EASY, and lxfw with ten reservations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.event_loop import event_loop
from benchmarks.inputs import title_of, workload_of
from benchmarks.native_code import compiler, twin
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

from shadowtime.engine import simulate
from shadowtime.policy import parse_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EQUAL = "start, reason, promise and first blocked instant of every job equal in C"


def measure(name: str, folder: Path, *, runs: int) -> tuple[float, float, float | None, int]:
    """CPU seconds of simulate(), of its event loop and of the twin, and the number of jobs."""
    workload, cluster = workload_of("SDSC-BLUE")
    policy = parse_policy(name)
    schedule = simulate(workload, cluster, policy)  # compiles, and is what the twin must equal
    jobs = [
        lambda: partial(simulate, workload, cluster, policy),
        lambda: event_loop(workload, cluster, policy),
    ]
    if compiler() is not None:
        native = twin(name, workload, cluster, policy, folder)
        native.check_equal(schedule)
        jobs.append(lambda: native.run)
    whole, loop, *in_c = best_cpu(*jobs, runs=runs)
    return whole, loop, in_c[0] if in_c else None, len(workload)


def easy(folder: Path) -> Iterator[Row]:
    """EASY from arrays."""
    whole, loop, in_c, jobs = measure("easy", folder, runs=15)
    where = title_of("SDSC-BLUE")
    yield Row(
        what=f"EASY, {where}, event loop",
        value=jobs / loop, unit="jobs/s", bar=2.5e6, goal=3e6, at_least=True,
        ratio=None if in_c is None else loop / in_c, ratio_bar=1.7, ratio_goal=1.5,
        note=_note(in_c),
    )  # fmt: skip
    yield Row(
        what=f"EASY, {where}, simulate(): tables, event loop, schedule",
        value=jobs / whole, unit="jobs/s", bar=2.5e6, goal=3e6, at_least=True,
        ratio=None if in_c is None else whole / in_c, ratio_bar=1.5,
        note="C makes its tables too, but fewer columns",
    )  # fmt: skip


def lxfw(folder: Path) -> Iterator[Row]:
    """Weighted priority with ten dynamic reservations."""
    whole, loop, in_c, jobs = measure("lxfw", folder, runs=3)
    where = title_of("SDSC-BLUE")
    yield Row(
        what=f"lxfw, 10 reservations, {where}, event loop",
        value=loop, unit="s",
        ratio=None if in_c is None else loop / in_c, ratio_bar=1.5,
        note=_note(in_c),
    )  # fmt: skip
    yield Row(
        what=f"lxfw, 10 reservations, {where}, simulate()",
        value=jobs / whole, unit="jobs/s",
        ratio=None if in_c is None else whole / in_c, ratio_bar=1.5,
    )  # fmt: skip


def _note(in_c: float | None) -> str:
    return "no C compiler: no ratio" if in_c is None else f"C: {in_c * 1000:.1f} ms; {EQUAL}"
