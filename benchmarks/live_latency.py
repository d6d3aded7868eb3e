"""How late jobs start on a real Slurm, and whether the loop or Slurm causes the delay."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.slurmtext.hostlist import expand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from shadowtime.live.runner import Done, Runner

SCRIPT = """echo "$SLURM_JOB_ID begin $(date +%s.%N) $SLURM_JOB_NODELIST" >> {log}
sleep {seconds}
echo "$SLURM_JOB_ID end $(date +%s.%N) $SLURM_JOB_NODELIST" >> {log}"""
"""A job that writes down when it began and ended, and where."""


@dataclass
class Timed:
    """A runner that takes the time of every command."""

    run: Runner
    calls: list[tuple[str, float, float]] = field(default_factory=list)
    """Each command with the moments at which it began and ended."""
    released: dict[str, float] = field(default_factory=dict)
    """When each job was let through, the last time."""

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        began = time.perf_counter()
        try:
            return self.run(argv, text=text)
        finally:
            self.calls.append((argv[0], began, time.perf_counter()))
            for line in text.splitlines():
                if " StartTime=now" in line:
                    self.released[line.split()[1].removeprefix("JobId=")] = time.time()

    @property
    def concurrent(self) -> bool:
        """Whether several commands may run at the same time."""
        return getattr(self.run, "concurrent", False)

    def seconds(self) -> float:
        """How long commands ran; those at the same time count once.

        Examples
        --------
        >>> timed = Timed(lambda argv: None, calls=[("a", 0.0, 2.0), ("b", 1.0, 3.0)])
        >>> timed.seconds()
        3.0
        """
        total = last = 0.0
        for _, began, ended in sorted(self.calls, key=lambda call: call[1]):
            total += max(0.0, ended - max(began, last))
            last = max(last, ended)
        return total


@dataclass(frozen=True)
class Mark:
    """A line of a job: it began or ended at a moment on some nodes."""

    job: str
    what: str
    when: float
    nodes: tuple[str, ...]


def marks(log: Path) -> list[Mark]:
    """What the jobs wrote down."""
    found = (line.split() for line in log.read_text().splitlines())
    return [Mark(job, what, float(when), tuple(expand(nodes))) for job, what, when, nodes in found]


def ready(begin: Mark, written: Sequence[Mark], submitted: float) -> float:
    """The first moment at which a job could have begun where it did.

    Its submission, or the end of the last job on one of its nodes. A policy may have had reasons
    to wait longer (a reservation, a job that had to be stopped): these count as delay here, so
    look at the median.
    """
    ends = [
        mark.when
        for mark in written
        if mark.what == "end" and mark.when < begin.when and set(mark.nodes) & set(begin.nodes)
    ]
    return max([submitted, *ends])


def delays(
    written: Sequence[Mark],
    submitted: Mapping[str, float],
    released: Mapping[str, float],
    *,
    shared: bool = False,
) -> dict[str, float]:
    """Median and nine tenths of the delays of all starts, in seconds.

    On ``shared`` nodes it is unknown whose end a job waited for: only Slurm's own part is reported.
    """
    last = {mark.job: mark for mark in written if mark.what == "begin"}
    whole, loop, slurm = [], [], []
    for job, begin in last.items():
        free = ready(begin, written, submitted[job])
        whole.append(begin.when - free)
        if job in released:
            loop.append(released[job] - free)
            slurm.append(begin.when - released[job])
    if shared:
        return spread("slurm_start", slurm)
    found = spread("start_delay", whole)
    if loop:
        found |= spread("loop_adds", loop) | spread("slurm_start", slurm)
    return found


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """Median and nine tenths under a name."""
    return {
        f"{name}_median_s": round(statistics.median(values), 2),
        f"{name}_p90_s": round(statistics.quantiles(values, n=10)[-1], 2),
    }
