"""Jobs at the gate that stand behind one of several partitions: Slurm relabels their hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.slurm.arrays import changed
from shadowtime.live.slurm.gate import HELD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shadowtime.live.slurm.text import QueueRow

NEXT = 3
"""So many held jobs behind a leader are watched: the first ones may be let through meanwhile."""


class Followers:
    """Tracks jobs that Slurm looks at because it has just started the job before them.

    Rules
    -----
    Slurm's first-come scheduler (sched/builtin) takes its jobs in the order of submission and tries
    each in all of its partitions. When it has started a job of several partitions, the *leader*, it
    goes on to try the next pending job, held or not, in the partitions that are left, and writes
    down why that does not start. Its next pass treats that as a hold without a reason, which it
    reports as an operator's (JobHeldAdmin). So if a job was held by the gate while a leader before
    it waited, and no longer is when the leader has left the queue, the hold is still the gate's.

    Examples
    --------
    >>> from shadowtime.live.slurm.text import COLUMNS, _queue_row, BETWEEN
    >>> columns = dict.fromkeys(COLUMNS, "") | {"PriorityLong": "0", "TimeLimit": "1:00"}
    >>> columns |= {"State": "PENDING", "Partition": "batch", "Reason": "JobHeldUser"}
    >>> row = _queue_row(BETWEEN.join(columns.values()) + BETWEEN)._replace(id="8")
    >>> leader = row._replace(id="7", partition="batch,debug", priority=9, reason="Resources")
    >>> followers = Followers()
    >>> followers.look([leader, row])
    >>> after = row._replace(reason="JobHeldAdmin")
    >>> followers.look([leader._replace(state="RUNNING", partition="debug"), after])
    >>> followers.relabelled(after)
    True
    """

    def __init__(self, known: Mapping[str, Iterable[str]] | None = None) -> None:
        self._behind = {leader: list(jobs) for leader, jobs in (known or {}).items()}
        self._relabelled: set[str] = set()

    @property
    def known(self) -> dict[str, list[str]]:
        """Leaders that wait, each with the jobs behind it, for a later loop."""
        return {leader: list(jobs) for leader, jobs in self._behind.items()}

    def look(self, rows: Sequence[QueueRow]) -> None:
        """Learn from Slurm's rows which leaders have left the queue, and what is behind others."""
        pending = {row.id: row for row in rows if row.state == "PENDING"}
        suspects = set(self._relabelled)
        for leader, jobs in self._behind.items():
            if leader not in pending:
                suspects.update(jobs)
        self._relabelled = {job for job in suspects if job in pending and changed(pending[job])}
        leaders = {job for job, row in pending.items() if "," in row.partition and row.priority > 0}
        self._behind = {}
        if leaders:
            order = sorted(pending, key=_submission)
            gated = [job for job in order if pending[job].reason.startswith(HELD)]
            for leader in leaders:
                behind = [job for job in gated if _submission(job) > _submission(leader)]
                self._behind[leader] = behind[:NEXT]

    def relabelled(self, row: QueueRow) -> bool:
        """Whether a job's hold is that of the gate, whatever Slurm reports."""
        return row.id in self._relabelled


def _submission(job: str) -> tuple[int, int]:
    """The place of a job in the order of submission: its number, and that of its task."""
    number, _, task = job.partition("_")
    return (int(number) if number.isdigit() else 0, int(task) if task.isdigit() else 0)
