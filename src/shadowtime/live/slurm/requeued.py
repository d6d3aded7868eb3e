"""Requeued jobs may not start again in the second in which they were killed.

slurmd launches no job whose credential is not younger, in whole seconds, than the job's last kill;
Slurm then counts the job as failed. A requeue of Slurm's own waits for two minutes; a loop that has
brought a job back to the gate can start it within a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from shadowtime.live.slurm.text import QueueRow

APART = 1.0
"""Seconds between the first look at which a requeued job waits, thus after its kill, and its start:
then the two are in different seconds."""


class Requeued:
    """When each requeued job was first seen to wait again."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, int], float] = {}
        """By job and number of its requeues."""

    def look(self, rows: Iterable[QueueRow], now: float) -> None:
        """Note a look at ``now`` on a steady clock."""
        found = [(row.id, row.restarts) for row in rows if row.restarts and row.state == "PENDING"]
        self._since = {one: self._since.get(one, now) for one in found}

    def pause(self, jobs: Collection[str], now: float) -> float:
        """How many seconds it takes until all of these jobs can be started."""
        times = [since for (job, _), since in self._since.items() if job in jobs]
        return max(0.0, max(times) + APART - now) if times else 0.0
