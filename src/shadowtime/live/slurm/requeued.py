"""When requeued jobs may start again: not at once, and Slurm's own not for two minutes.

slurmd launches no job whose credential is not younger, in whole seconds, than the job's last kill;
Slurm then counts the job as failed. So Slurm delays every requeued job by two minutes, in which the
nodes clean up as well. Of a job that the loop has stopped itself, and has seen to wait again, it
skips the rest of them. A job that Slurm has requeued, as its node failed, keeps them: what is left
of its last run may still be there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from shadowtime.live.ineligible import Case, Ineligible

if TYPE_CHECKING:
    from shadowtime.slurmtext.squeue import QueueRow

DELAY = 121
"""Seconds after a requeue until which Slurm does not start the job."""
SEEN_LATE = 4
"""Seconds of them that may have passed when a poll first sees the job, and rounding."""
APART = 1.0
"""Seconds between the first poll at which a requeued job waits, which is after its kill, and its
start, so that the two are in different seconds."""


def not_before(begin: int, *, requeued: bool) -> Ineligible:
    """Why a job whose begin time lies ahead does not wait."""
    if requeued:
        when = datetime.fromtimestamp(begin).astimezone().strftime("%H:%M:%S")
        return Ineligible(Case.REQUEUED, (when,))
    return Ineligible(Case.BEGINS_LATER)


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
