"""Where the runs of a study take place: on this machine, or in workers on a cluster."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shadowtime.cli.common.console import errors, note
from shadowtime.cli.common.progress import working
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from shadowtime.study.sweep.parts import Study
    from shadowtime.study.sweep.run import Progress
Spot = Literal["here", "slurm", "condor"]


@dataclass(frozen=True, kw_only=True)
class Placing:
    """Where workers run, and how many."""

    workers: int | None = None
    """N >= 1 : With --resume: run on N processes of this machine. [default: threads]"""
    on: Spot = "here"
    """Where workers run: on this machine, or as jobs of a cluster (extra scale)."""
    site: tuple[str, ...] = ()
    """KEY=VALUE : With --on: how workers are submitted, such as partition=batch, account=hpc,
    walltime=01:00:00, blocks=8, workers=16; repeatable."""

    def __post_init__(self) -> None:
        if self.site and self.on == "here":
            raise UsageError(
                "--site defines how workers are submitted: add --on slurm or --on condor"
            )

    @property
    def elsewhere(self) -> bool:
        """Runs take place in other processes."""
        return self.on != "here" or self.workers is not None

    def count(self) -> int | None:
        """Workers, if the options give their number."""
        if self.workers is not None or self.on == "here":
            return self.workers
        from shadowtime.study.sweep.scale import workers_of

        return workers_of(self.on, self.site)

    def check(self, resume: str | None) -> None:
        """Workers need a folder for their results."""
        if self.elsewhere and resume is None:
            option = "--workers" if self.on == "here" else f"--on {self.on}"
            raise UsageError(f"{option}: workers save their runs in a folder: add --resume DIR")

    @contextlib.contextmanager
    def executor(self, folder: str) -> Iterator[Executor | None]:
        """The executor of the cluster; None on this machine."""
        if self.on == "here":
            yield None
            return
        from shadowtime.study.sweep.scale import parsl_executor

        with parsl_executor(self.on, self.site, folder=folder) as made:
            yield made

    def run_parts(self, study: Study, missing: list[int], folder: str) -> None:
        """Let workers perform the missing runs of a study, if there are workers."""
        if not self.elsewhere or not missing:
            return
        from shadowtime.study.sweep.parts import run_parts

        with counting() as progress, self.executor(folder) as executor:
            run_parts(study, missing, workers=self.count(), executor=executor, progress=progress)


HERE = Placing()
EVERY = 30.0
"""Seconds between two lines where output is not a terminal."""


@contextlib.contextmanager
def counting(clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[Progress], None]]:
    """A moving bar on a terminal; elsewhere an occasional line with the remaining time."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = errors()
    printed = clock()
    first: tuple[int, float] | None = None
    if not console.is_terminal:

        def report(now: Progress) -> None:
            nonlocal printed, first
            # Until the first runs are done, workers wait in a queue and load: no measure of a run.
            first = first or (now.done, clock())
            if clock() - printed >= EVERY:
                printed = clock()
                note(line(now, clock() - first[1], after=first[0]))

        with working("simulating"):
            yield report
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("simulating", total=None)

        def move(now: Progress) -> None:
            failed = f", {now.failed:,} failed" if now.failed else ""
            text = f"simulating{failed}"
            bar.update(task, completed=now.done, total=now.total, description=text)

        yield move


def line(now: Progress, elapsed: float, *, after: int = 0) -> str:
    """The state of a study in one line; ``elapsed`` seconds since ``after`` runs were done.

    Examples
    --------
    >>> from shadowtime.study.sweep.run import Progress
    >>> line(Progress(done=50, failed=1, total=200), 30.0)
    '50 of 200 runs, 1 failed, about 1 min 30 s left'
    """
    from shadowtime.report.numbers import span

    failed = f", {now.failed:,} failed" if now.failed else ""
    made = now.done - after
    left = round(elapsed / made * (now.total - now.done)) if made > 0 else 0
    rest = f", about {span(left)} left" if made > 0 else ""
    return f"{now.done:,} of {now.total:,} runs{failed}{rest}"
