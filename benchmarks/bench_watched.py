"""What it costs a run to be watched, and to write checkpoints."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.bench_slurm import JOBS, NODES, part_of_a_year, plain_site
from benchmarks.inputs import PROCS, generated
from benchmarks.rows import Row

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.watch import Seen, Watch
from shadowtime.policy import parse_policy
from shadowtime.slurm.run import run_slurm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MILLION = 1_000_000


def watched(folder: Path) -> Iterator[Row]:
    """A quarter of a month under Slurm's scheduler, a million jobs under a compiled pass."""
    site, count = plain_site(NODES), JOBS // 40
    run_slurm(*_three(200, site), compiled=True)  # warm
    made = partial(run_slurm, *_three(count, site), compiled=True)
    yield from _rows(f"slurm: {count:,} jobs", made, folder, pace=2.0, bar=0.6)
    jobs, pool, policy = generated(MILLION, 0.9), Cluster.pool(PROCS), parse_policy("easy")
    simulate(generated(200, 0.9), pool, policy)  # warm
    made = partial(simulate, jobs, pool, policy)
    yield from _rows(f"easy: {MILLION:,} jobs", made, folder, pace=0.5, bar=1.2)


def _rows(
    words: str, run: Callable[..., Any], folder: Path, *, pace: float, bar: float
) -> Iterator[Row]:
    """One run with checkpoints every ``pace`` seconds tells what one of them takes."""
    file = folder / "key.checkpoint"
    file.unlink(missing_ok=True)
    written: list[float] = []

    def seconds(watch: Watch | None) -> float:
        before = time.process_time()
        run(watch=watch)
        return time.process_time() - before

    def see(run: object, seen: Seen) -> None:
        if file.exists() and (not written or file.stat().st_mtime != written[-1]):
            written.append(file.stat().st_mtime)

    plain = min(seconds(None) for _ in range(2))
    seen = min(seconds(Watch(show=lambda run, seen: None)) for _ in range(2))
    saved = seconds(Watch(show=see, checkpoint=file, saved_every=pace))
    each = (saved - plain) / max(1, len(written))
    yield Row(what=f"{words}, watched against not", value=seen / plain, unit="x", bar=1.05)
    yield Row(
        what=f"{words}, a checkpoint, of which one is written every minute",
        value=each, unit="s", bar=bar,
        note=f"{len(written)} written, the last of {file.stat().st_size:,} bytes",
    )  # fmt: skip


def _three(count: int, site: Any) -> tuple[Any, Any, Any]:
    jobs, requests = part_of_a_year(count)
    return jobs, site, requests
