"""Poll Slurm once: the waiting jobs, and when the loop or Slurm itself will start each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.common.console import note
from shadowtime.cli.live.run_status import poll
from shadowtime.live.slurm import drive, forecast
from shadowtime.live.slurm.watch import status_beside
from shadowtime.live.store import StateFile
from shadowtime.policy import parse_policy
from shadowtime.slurm.policy import SlurmPolicy

if TYPE_CHECKING:
    from shadowtime.live.status import Status


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
        seen = forecast.look(port.answers)
        return status_beside(
            seen, forecast.forecast(seen, chosen), partition=partition, policy=chosen.name
        )
    shape = drive.choose_shape(port, chosen, shape)
    drive.suit(port, chosen, shape)
    notes = kept.memory.jobs
    port.stopped = lambda job: job in notes and notes[job].kills > 0
    return poll(port, chosen, kept, path, shape=shape)
