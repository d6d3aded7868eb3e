"""How time is taken: CPU seconds of this process for kernels, wall seconds for whole commands.

The best of several runs: whatever else the machine does can only make a run slower. Things to be
compared take turns, so that a busy minute hits all of them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent


def best_cpu(
    *jobs: Callable[[], Callable[[], Any]], runs: int = 5, seconds: float = 20.0
) -> list[float]:
    """CPU seconds of each job, the best of ``runs`` in turns, fewer if they take too long.

    A job is called for what is to be timed: what it prepares itself does not count.
    """
    best = [float("inf")] * len(jobs)
    until = time.perf_counter() + seconds
    for turn in range(runs):
        if turn and time.perf_counter() > until:
            break
        for at, job in enumerate(jobs):
            timed = job()
            before = time.process_time()
            timed()
            best[at] = min(best[at], time.process_time() - before)
    return best


@dataclass(frozen=True)
class Run:
    """A process that has ended: its wall and CPU seconds and what it printed."""

    wall: float
    cpu: float
    output: str


def command(*words: str, runs: int = 1, env: Mapping[str, str] | None = None) -> Run:
    """``shadowtime WORDS`` in a process of its own, the best of ``runs``."""
    done = (python(("-m", "shadowtime", *words), env=env) for _ in range(runs))
    return min(done, key=lambda run: run.wall)


def python(words: Sequence[str], *, env: Mapping[str, str] | None = None) -> Run:
    """A new interpreter; its output on failure is passed on."""
    before, used = time.perf_counter(), _children()
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **(env or {})},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    wall, cpu = time.perf_counter() - before, _children() - used
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return Run(wall, cpu, done.stdout)


def _children() -> float:
    """CPU seconds of all processes this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
