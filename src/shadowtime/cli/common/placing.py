"""Where the runs of a study take place: on this machine, or in workers on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shadowtime.cli.common.progress import working
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shadowtime.study.sweep.hand_out import Progress, Study
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
        from shadowtime.study.sweep.hand_out import run_parts

        with counting() as progress, self.executor(folder) as executor:
            run_parts(study, missing, workers=self.count(), executor=executor, progress=progress)


HERE = Placing()


@contextlib.contextmanager
def counting() -> Iterator[Callable[[Progress], None]]:
    """Progress of runs elsewhere: how many are done, how many failed, and the remaining time."""
    with working("simulating") as advance:
        yield lambda now: advance.count(now.done, now.total, failed=now.failed)
