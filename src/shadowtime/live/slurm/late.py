"""Times that jobs at the gate and behind it keep.

When their leases end, which an operator has ended, and what they replaced; when a released job that
does not start is late, and how often it has been; when a requeued job may start again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shadowtime.live.slurm.act import together
from shadowtime.live.slurm.gate import LAST, leased
from shadowtime.live.slurm.state import CLEANS_UP
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.squeue import QueueRow

if TYPE_CHECKING:
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


class Leases:
    """The leases of the jobs of some partitions, as last seen."""

    def __init__(self) -> None:
        self.ends: dict[str, int] = {}
        """When the lease of each job at the gate ends; of held jobs too, so that they come to the
        gate when they are released."""
        self.left: list[str] = []
        """Jobs that have left the partitions with a lease."""
        self.let_go: dict[str, None] = {}
        """Jobs that an operator has let through."""
        self.begins: dict[str, int] = {}
        """The begin times of users, and Slurm's after a requeue, that leases have replaced."""

    def look(
        self,
        rows: Sequence[QueueRow],
        now: float,
        *,
        driven: Collection[str],
        touched: Collection[str],
        stopped: Callable[[str], bool],
    ) -> None:
        """Learn when leases end, and which an operator has ended.

        A begin time that was reached although the lease had not ended is an operator's doing: such
        a job is left to Slurm. One whose lease has ended was left alone by a loop that was away. A
        begin time that Slurm gives to a job that it has requeued may be in the second of leases:
        one in sixty is.
        """
        before, self.ends, self.left = self.ends, {}, []
        for row in rows:
            if row.state != "PENDING" or row.priority == LAST:
                continue
            ours = any(name in driven for name in row.partition.split(","))
            if leased(row.eligible, now):
                if ours:
                    requeued = row.restarts > 0 and row.eligible <= now + DELAY + SEEN_LATE
                    if row.id not in before and requeued and not stopped(row.id):
                        self.begins.setdefault(row.id, row.eligible)
                    self.ends[row.id] = row.eligible
                elif row.id in before:
                    self.left.append(row.id)
                self.let_go.pop(row.id, None)
            elif row.priority == 0:
                if ours and leased(row.eligible, row.eligible - 1):  # it has ended
                    self.ends[row.id] = row.eligible
            elif row.eligible <= now < before.get(row.id, 0) and row.id not in touched:
                self.let_go[row.id] = None

    def memory(self) -> dict[str, Any]:
        """What a restarted loop must know, as plain values."""
        return {"let_go": list(self.let_go), "begins": dict(self.begins)}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what :meth:`memory` wrote."""
        let_go, begins = memory.get("let_go"), memory.get("begins")
        if isinstance(let_go, list):
            self.let_go = {str(job): None for job in let_go}
        if isinstance(begins, dict):
            self.begins = {str(job): at for job, at in begins.items() if isinstance(at, int)}

    def old(self, by: float) -> list[str]:
        """Jobs whose leases end by then, the oldest first, the tasks of an array together."""
        due = sorted((end, job) for job, end in self.ends.items() if end <= by)
        return together(job for _, job in due)


DELAY = 121
"""Seconds after a requeue until which Slurm does not start the job."""
SEEN_LATE = 4
"""Seconds of them that may have passed when a poll first sees the job, and rounding."""
APART = 1.0
"""Seconds between the first poll at which a requeued job waits, which is after its kill, and its
start, so that the two are in different seconds."""


class Requeued:
    """When each requeued job was first seen to wait again: when it may start.

    Rules
    -----
    slurmd launches no job whose credential is not younger, in whole seconds, than the job's last
    kill; Slurm then counts the job as failed. So Slurm delays every requeued job by two minutes, in
    which the nodes clean up as well. Of a job that the loop has stopped itself, and has seen to
    wait again, it skips the rest of them. A job that Slurm has requeued, as its node failed, keeps
    them: what is left of its last run may still be there.
    """

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
