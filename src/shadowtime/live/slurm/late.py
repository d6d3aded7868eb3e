"""Released jobs that do not start: when one is late, and how often it has been."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.slurm.state import CLEANS_UP
from shadowtime.slurmtext.hostlist import expand

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shadowtime.slurmtext.squeue import QueueRow

PATIENCE = 30.0
"""Seconds after which a released job that has not started is returned to the gate."""
ANSWERED = 5.0
"""The same if Slurm has considered the job and found its nodes not free, unless one of them still
cleans up after another job."""
TWICE = 2
"""After this many releases without a start, a job is handed to Slurm."""


class LateStarts:
    """Since when released jobs have been waiting, and how often each was late."""

    def __init__(self) -> None:
        self.count: dict[str, int] = {}
        """How often a job was late."""
        self._since: dict[str, float] = {}

    def find(
        self,
        released: Collection[str],
        rows: Mapping[str, QueueRow],
        *,
        now: float,
        steady: float,
    ) -> list[str]:
        """Jobs that have not started for too long, counted.

        ``released`` are jobs of ``rows``. Waits are measured by ``steady``: the machine's
        clock, ``now``, may jump, which makes no job late.
        """
        cleaning = cleaning_nodes(rows, now)
        patience = {
            job: ANSWERED
            if rows[job].waits_for.nodes and cleaning.isdisjoint(expand(rows[job].wanted))
            else PATIENCE
            for job in released
        }
        self._since = {job: self._since.get(job, steady) for job in patience}
        late = [job for job, since in self._since.items() if steady - since > patience[job]]
        for job in late:
            self.count[job] = self.count.get(job, 0) + 1
        return late

    def repeatedly(self, jobs: list[str]) -> list[str]:
        """Those of some late jobs that were late before."""
        return [job for job in jobs if self.count[job] >= TWICE]


def cleaning_nodes(rows: Mapping[str, QueueRow], now: float) -> set[str]:
    """Nodes that clean up after a job and count as free: a start there waits for them."""
    return {
        host
        for row in rows.values()
        if row.state == "COMPLETING" and now - row.end <= CLEANS_UP
        for host in expand(row.nodes)
    }
