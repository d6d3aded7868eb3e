"""What collecting costs a job: runs with and without it, in turns (thesis, Figures 3.1 and 3.2)."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


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
