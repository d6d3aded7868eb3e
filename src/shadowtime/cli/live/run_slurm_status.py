"""Poll Slurm once: the waiting jobs, and when the loop or Slurm itself will start each."""

from __future__ import annotations

import getpass
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.console import note
from shadowtime.cli.live.run_status import poll
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
    from shadowtime.eta.asking import Answer
    from shadowtime.live.status import Row, Status


def look(
    *,
    policy: str | None,
    partition: str,
    shape: Any,
    gres: tuple[str, ...],
    state_file: str | None,
    timeout: float,
) -> Status:
    """One poll of Slurm with the loop's memory."""
    port = drive.make_port(drive.Where(partition=partition, gres=gres, timeout=timeout))
    path = Path(state_file or drive.default_state_file(port.scope.partition))
    kept = StateFile(path, tell=note).load()
    chosen: Any = parse_policy(policy or kept.policy or "slurm")
    if isinstance(chosen, SlurmPolicy):  # no loop runs: Slurm schedules by itself
        seen = _seen(port)
        found = forecast.forecast(seen, How(policy=chosen), corrections=_corrections(path))
        return status_beside(seen, found, partition=partition, policy=chosen.name)
    shape = drive.choose_shape(port, chosen, shape)
    drive.suit(port, chosen, shape)
    notes = kept.memory.jobs
    port.stopped = lambda job: job in notes and notes[job].kills > 0
    return poll(port, chosen, kept, path, shape=shape)


def last_start(
    job: str, *, policy: str | None, partition: str, state_file: str | None, **given: Any
) -> tuple[int, int, Row] | None:
    """What a watch predicted last for a job, when, and the time now; None if that is too old."""
    port = drive.make_port(drive.Where(partition=partition, timeout=given["timeout"]))
    path = Path(state_file or drive.default_state_file(port.scope.partition))
    chosen: Any = parse_policy(policy or StateFile(path, tell=note).load().policy or "slurm")
    now = int(port.clock.now())
    found = read_start(starts_of(path), job, now=now, policy=repr(chosen))
    return found and (now, *found)


def ask(
    text: str,
    *,
    policy: str | None,
    partition: str,
    shape: Any,
    gres: tuple[str, ...],
    state_file: str | None,
    timeout: float,
) -> tuple[int, Eta, Answer]:
    """When a job with these options of sbatch would start if Slurm schedules by itself."""
    chosen: Any = parse_policy(policy or "slurm")
    if not isinstance(chosen, SlurmPolicy):
        raise UsageError("--request is answered for Slurm's own scheduler: leave --policy out")
    port = drive.make_port(drive.Where(partition=partition, gres=gres, timeout=timeout))
    seen = _seen(port)
    job = parse_request(text, seen.site, user=getpass.getuser())
    present = forecast.present_of(seen, forecast.predictable(seen)[0])
    path = Path(state_file or drive.default_state_file(port.scope.partition))
    found = ask_start(present, job, How(policy=chosen), corrections=_corrections(path))
    if not math.isfinite(found.estimate.expected):
        raise UsageError(
            f"--request {text}: Slurm's scheduler does not start it on the nodes that can be used"
        )
    return seen.now, Eta.of(found.estimate, seen.now), found


def _seen(port: Any) -> forecast.Seen:
    seen = forecast.look(port.answers)
    for sentence in seen.missing:
        note(sentence)
    return seen


def _corrections(state: Path) -> Corrections:
    """How ranges are corrected by the predictions that a watch has stored."""
    watched = predictions_of(state)
    return Corrections.learn(instants(read_predictions(watched)) if watched.exists() else ())
