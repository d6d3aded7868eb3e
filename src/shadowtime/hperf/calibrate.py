"""The bandwidth of this node, measured by a small program similar to STREAM.

Processes run ``a = b + s * c`` over arrays far larger than any cache, all at once. As
NumPy needs two steps for it, five arrays are moved where STREAM counts three.

What collecting costs a job is measured by runs with and without it, in turns (thesis, Figures
3.1 and 3.2).
"""

from __future__ import annotations

import multiprocessing
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.errors import UsageError

MEGABYTE = 1_000_000
MOVED = 5
"""Arrays moved by a round: c is read and a written, then a and b are read and a is written."""


@dataclass(frozen=True, kw_only=True)
class Bandwidth:
    """MB/s of all processes together, by their number."""

    by_processes: dict[int, float]

    @property
    def capacity(self) -> float:
        """The most that was reached."""
        return max(self.by_processes.values())


def calibrate(processes: Sequence[int], *, megabytes: int = 64, seconds: float = 1.0) -> Bandwidth:
    """Measure with several processes at once; each has three arrays of a given size in MB."""
    if megabytes < 1 or seconds <= 0 or not processes or min(processes) < 1:
        raise UsageError("give at least one process, 1 MB and some time")
    found = {}
    context = multiprocessing.get_context("spawn")
    for count in processes:
        barrier = context.Barrier(count)
        results: Any = context.SimpleQueue()
        workers = [
            context.Process(target=_stream, args=(megabytes, seconds, barrier, results))
            for _ in range(count)
        ]
        for worker in workers:
            worker.start()
        rates = [results.get() for _ in workers]
        for worker in workers:
            worker.join()
        found[count] = sum(rates)
    return Bandwidth(by_processes=found)


def _stream(megabytes: int, seconds: float, barrier: Any, results: Any) -> None:
    barrier.wait()
    results.put(stream(megabytes, seconds))


def stream(megabytes: int, seconds: float) -> float:
    """MB/s of this process alone.

    Examples
    --------
    >>> stream(1, 0.01) > 0
    True
    """
    size = megabytes * MEGABYTE // 8
    a, b, c = np.zeros(size), np.ones(size), np.ones(size)
    begin = time.perf_counter()
    rounds = 0
    while time.perf_counter() - begin < seconds or rounds == 0:
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)
        rounds += 1
    took = time.perf_counter() - begin
    return rounds * MOVED * size * 8 / took / 1e6


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """Seconds of each run, without and with collection."""

    plain: tuple[float, ...]
    collected: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean difference over the mean plain run."""
        return float(np.mean(self.collected) / np.mean(self.plain) - 1)

    @property
    def interval(self) -> float:
        """Half of the 95 % interval of that, from the differences of neighbours."""
        apart = np.subtract(self.collected, self.plain) / np.mean(self.plain)
        return float(1.96 * np.std(apart, ddof=1) / np.sqrt(len(apart)))


def overhead(command: Sequence[str], wrapped: Sequence[str], *, runs: int) -> Overhead:
    """Run a command and the same under a collector in turns, so that noise hits both alike."""
    if runs < 2:
        raise UsageError("at least 2 runs are needed for an interval")
    plain, collected = [], []
    for _ in range(runs):
        plain.append(_timed(command))
        collected.append(_timed([*wrapped, *command]))
    return Overhead(plain=tuple(plain), collected=tuple(collected))


def _timed(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
    except OSError as wrong:
        raise UsageError(f"{command[0]} cannot be run: {wrong.strerror}") from None
    if done.returncode != 0:
        output = done.stderr.decode("utf-8", "replace").strip()[-200:]
        raise UsageError(f"{command[0]} ended with {done.returncode}: {output}")
    return time.perf_counter() - begin
