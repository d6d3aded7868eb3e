"""shadowtime live slurm status: waiting jobs, and when the loop or Slurm itself starts each."""

from __future__ import annotations

import getpass
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.console import note
from shadowtime.cli.live.status import poll, show_status
from shadowtime.errors import UsageError
from shadowtime.eta.asking import ask_start, parse_request
from shadowtime.eta.ranges import Corrections
from shadowtime.eta.starts import How
from shadowtime.live.eta import Eta
from shadowtime.live.predictions import instants, read_predictions
from shadowtime.live.slurm import drive, forecast
from shadowtime.live.slurm.refreshed import read_start, starts_of
from shadowtime.live.slurm.watch import predictions_of, status_beside
from shadowtime.live.store import StateFile
from shadowtime.policy import parse_policy
from shadowtime.slurm.policy import SlurmPolicy

if TYPE_CHECKING:
    from shadowtime.engine.live_pass.outcome import Shape
    from shadowtime.eta.asking import Answer
    from shadowtime.live.slurm.port import SlurmPort
    from shadowtime.live.status import Row, Status
    from shadowtime.types import File


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

    def port(self) -> SlurmPort:
        """The partitions that are named."""
        return drive.make_port(
            drive.Where(partition=self.partition, gres=self.gres, timeout=self.timeout)
        )

    def path(self, port: SlurmPort) -> Path:
        """The state file of their loop."""
        return Path(self.state or drive.default_state_file(port.scope.partition))

    def look(self) -> Status:
        """The waiting jobs, and when each will start."""
        port = self.port()
        path = self.path(port)
        kept = StateFile(path, tell=note).load()
        chosen: Any = parse_policy(self.policy or kept.policy or "slurm")
        if isinstance(chosen, SlurmPolicy):  # no loop runs: Slurm schedules by itself
            seen = _seen(port)
            found = forecast.forecast(seen, How(policy=chosen), corrections=_corrections(path))
            return status_beside(seen, found, partition=self.partition, policy=chosen.name)
        shape = drive.choose_shape(port, chosen, self.shape)
        drive.suit(port, chosen, shape)
        notes = kept.memory.jobs
        port.stopped = lambda job: job in notes and notes[job].kills > 0
        return poll(port, chosen, kept, path, shape=shape)

    def last_start(self, job: str) -> tuple[int, int, Row] | None:
        """The time now, and what a watch predicted last for a job, when; None if that is old."""
        port = self.port()
        path = self.path(port)
        kept = StateFile(path, tell=note).load().policy
        chosen: Any = parse_policy(self.policy or kept or "slurm")
        now = int(port.clock.now())
        found = read_start(starts_of(path), job, now=now, policy=repr(chosen))
        return found and (now, *found)

    def ask(self, text: str) -> tuple[int, Eta, Answer]:
        """When a job with these options of sbatch would start if Slurm schedules by itself."""
        chosen: Any = parse_policy(self.policy or "slurm")
        if not isinstance(chosen, SlurmPolicy):
            raise UsageError("--request is answered for Slurm's own scheduler: leave --policy out")
        port = self.port()
        seen = _seen(port)
        job = parse_request(text, seen.site, user=getpass.getuser())
        present = forecast.present_of(seen, forecast.predictable(seen)[0])
        corrections = _corrections(self.path(port))
        found = ask_start(present, job, How(policy=chosen), corrections=corrections)
        if not math.isfinite(found.estimate.expected):
            raise UsageError(
                f"--request {text}: Slurm's scheduler does not start it on the nodes that can be "
                "used"
            )
        return seen.now, Eta.of(found.estimate, seen.now), found


NOW = Poll()


def status(*, poll: Poll = NOW, json: bool = False) -> None:
    """The live state: nodes in use, waiting jobs, the predicted start of each with its range.

    If no loop has left a state file, Slurm schedules by itself and its own passes are simulated.

    \b
    shadowtime live slurm status
    shadowtime live slurm status --policy easy --json
    """
    show_status(poll.look(), json=json)


def _seen(port: SlurmPort) -> forecast.Seen:
    seen = forecast.look(port.answers)
    for sentence in seen.missing:
        note(sentence)
    return seen


def _corrections(state: Path) -> Corrections:
    """How ranges are corrected by the predictions that a watch has stored."""
    watched = predictions_of(state)
    return Corrections.learn(instants(read_predictions(watched)) if watched.exists() else ())
