"""Which Slurm is polled, and with which loop's memory; the last answer of a watch, quickly.

Nothing numeric is imported here: a start that a watch has predicted is shown at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.live import predicted, runner
from shadowtime.live.predicted import read_start, starts_of
from shadowtime.live.slurm import configuration
from shadowtime.types import File

if TYPE_CHECKING:
    from shadowtime.engine.live_pass.outcome import Shape


@dataclass(frozen=True, kw_only=True)
class Poll:
    """One poll of Slurm with the loop's memory."""

    policy: str | None = None
    """P : A name with or without parameters, as in a simulation. [default: the loop's own, from its
    state file]"""
    partition: str = ""
    shape: Shape | None = None
    gres: tuple[str, ...] = ()
    state: File | None = None
    timeout: float = 20.0

    def last_start(self, job: str) -> tuple[int, int, predicted.Row] | None:
        """The time now, and what a watch predicted last for a job, when; None if that is old.

        None also for another policy than the watch's, as where a loop has left its state.
        """
        if self.state is not None:
            path = Path(self.state)
        else:
            run = configuration.commands(self.timeout)
            try:
                path = configuration.default_state_file(
                    configuration.partitions(run, self.partition)
                )
            except (runner.NotInstalled, configuration.NotReady):
                return None  # as a poll will report
        if self.policy is None and path.exists():
            return None
        now = int(time.time())
        found = read_start(starts_of(path), job, now=now, policy=self.policy or "slurm")
        return found and (now, *found)


NOW = Poll()
