"""Jobs that change: malleable equipartition of 100,000 jobs on a pool; EASY under a power cap."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.rows import Row
from benchmarks.timing import best_cpu

import shadowtime as st
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import lublin_workload, to_load
from shadowtime.workload.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.workload import Workload

PAGE = Path(__file__).resolve().parent.parent / "docs/ideas/malleable.md"
JOBS, PROCS = 100_000, 256
BAR = 10.0
DAY = np.arange(24) * 3600


def changing(folder: Path) -> Iterator[Row]:
    """CPU seconds of the policies on the page of malleable jobs, the best of two runs."""
    written = re.search(r"cat > malleable.py <<END\n(.*?)> END", PAGE.read_text(), re.DOTALL)
    assert written is not None, f"{PAGE} has no malleable.py"
    file = folder / "malleable.py"
    file.write_text("".join(line[2:] + "\n" for line in written[1].splitlines()))
    jobs = malleable()
    for name, bar in (("equipartition", BAR), ("shrink_to_start", None)):
        yield _row(jobs, parse_policy(f"{file}:{name}"), bar)
    yield from _capped()


def _capped() -> Iterator[Row]:
    """EASY with and without a cap: what the machine draws when it is full, and less by night."""
    jobs = to_load(lublin_workload(JOBS, seed=1, procs=PROCS), PROCS, 0.8)
    watts = jobs.procs * np.random.default_rng(1).integers(100, 250, len(jobs))
    cap = 175.0 * PROCS
    jobs = jobs.replace(extra={"power": watts}).take(np.flatnonzero(watts <= 0.9 * cap))
    by_day = [
        Series(name="power", time=DAY, value=np.asarray(cap * share, np.float64), period=86_400)
        for share in (1.0 + 0 * DAY, 1 - 0.1 * (DAY >= 43_200), 0.95 + 0.05 * np.cos(DAY / 13_751))
    ]
    machine, easy = st.Cluster.pool(PROCS), parse_policy("easy")
    capped = [jobs.replace(series={"power": power}) for power in by_day]
    runs = [partial(simulate, each, machine, easy) for each in (jobs, *capped)]
    for run in runs:
        run()  # compiled
    spent = best_cpu(*((lambda run=run: run) for run in runs))
    for seconds, what, goal in zip(
        spent[1:], ("power cap", "cap by day and night", "cap by the hour"), (1.5, None, None),
        strict=True,
    ):  # fmt: skip
        yield Row(
            what=f"easy under a {what}, over easy without: {len(jobs):,} jobs",
            value=seconds / spent[0], unit="x", goal=goal,
            note=f"{seconds:.3f} s and {spent[0]:.3f} s; under the cap jobs wait longer",
        )  # fmt: skip


def malleable() -> Workload:
    """Drawn jobs that may have a quarter up to four times their processors."""
    drawn = lublin_workload(JOBS, seed=1, procs=PROCS)
    jobs = to_load(drawn, PROCS, 0.8)
    own = jobs.procs
    extra = {
        "serial": np.full(len(jobs), 0.02),
        "min_procs": (own + 3) // 4,
        "max_procs": np.minimum(4 * own, PROCS),
        "resize_cost": np.full(len(jobs), 10),
    }
    return jobs.replace(extra={**jobs.extra, **extra})


def _row(jobs: Workload, policy: Any, bar: float | None) -> Row:
    machine = st.Cluster.pool(PROCS)
    simulate(jobs.take(np.arange(100)), machine, policy)  # compiled
    spent = []
    for _ in range(2):
        begin = time.process_time()
        made = simulate(jobs, machine, policy)
        spent.append(time.process_time() - begin)
    return Row(
        what=f"malleable jobs, {policy.name}: {len(jobs):,} jobs on {PROCS} processors",
        value=min(spent),
        unit="s",
        bar=bar,
        note=f"{len(made.attempts):,} pieces, load 0.8",
    )
