"""When requeued jobs may start again: not at once, and Slurm's own not for two minutes.

slurmd launches no job whose credential is not younger, in whole seconds, than the job's last kill;
Slurm then counts the job as failed. So Slurm delays every requeued job by two minutes, in which the
nodes clean up as well. Of a job that the loop has stopped itself, and has seen to wait again, it
skips the rest of them. A job that Slurm has requeued, as its node failed, keeps them: Slurm does
not start it earlier when it is released, and what is left of its last run may still be there.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from shadowtime.live.slurm.gate import FAR

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from shadowtime.slurmtext.squeue import QueueRow

APART = 1.0
"""Seconds between the first poll at which a requeued job waits, which is after its kill, and its
start, so that the two are in different seconds."""

REQUEUED = "requeued in held state"
"""Part of the reason of jobs that were stopped."""
STARTS_NOT = 5
"""Seconds before its begin time in which a requeued job is not released even for an instant."""


def waits_its_delay(row: QueueRow, now: int) -> bool:
    """Whether Slurm has put back a job that was let through, and will not start it for a while.

    Slurm's word and its time have to agree: the loop's clock may be wrong, and the reason is that
    of Slurm's last look at the job.
    """
    return row.restarts > 0 and row.reason == "BeginTime" and row.eligible > now + STARTS_NOT


def not_before(row: QueueRow) -> str:
    """Why a job whose begin time lies ahead does not wait."""
    if row.restarts > 0 and row.eligible < FAR:
        when = datetime.fromtimestamp(row.eligible).astimezone().strftime("%H:%M:%S")
        return f"its time has not come (requeued: Slurm does not start it before {when})"
    return "its time has not come (held by its user, or --begin)"


class Requeued:
    """When each requeued job was first seen to wait again."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, int], float] = {}
        """By job and number of its requeues."""

    def look(self, rows: Iterable[QueueRow], now: float) -> None:
        """Record a poll at ``now`` on a steady clock."""
        found = [(row.id, row.restarts) for row in rows if row.restarts and row.state == "PENDING"]
        self._since = {one: self._since.get(one, now) for one in found}

    def pause(self, jobs: Collection[str], now: float) -> float:
        """The number of seconds until all of these jobs can be started."""
        times = [since for (job, _), since in self._since.items() if job in jobs]
        return max(0.0, max(times) + APART - now) if times else 0.0
