"""What the loop keeps of jobs that it has changed, for itself and for a loop after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shadowtime.live.port import Decision, Outcome, Start, Stop, Suspend
from shadowtime.live.slurm.act import undo_lines
from shadowtime.live.slurm.touched import Touched, mark_words, touched_from
from shadowtime.slurmtext.squeue import QueueRow

TRIES = 5
"""Number of polls at which a restarted loop queries marks, until they are shown."""


class KeptRequests:
    """What starts have overwritten of jobs' own requests, which jobs were stopped or suspended.

    Examples
    --------
    >>> kept = KeptRequests()
    >>> kept.recall({"7": ["n1", "n2", 60, "OK", "N/A", "TimeLimit=1"]})
    >>> kept.undo("7"), kept.undo("8"), kept.unread
    ('ReqNodeList=n2 TimeLimit=1', '', True)
    """

    def __init__(self) -> None:
        self.by_job: dict[str, Touched] = {}
        self.earlier: dict[str, Touched] = {}
        """What an earlier start has overwritten of jobs that are about to be started again."""
        self._resumed: list[str] = []
        """Suspended jobs that run again and whose marks say otherwise."""
        self._tries = 0

    @property
    def unread(self) -> bool:
        """Whether the jobs' own marks are still to be queried."""
        return self._tries > 0

    def memory(self) -> dict[str, Any]:
        """As plain values, for the state file."""
        return {job: list(mark) for job, mark in self.by_job.items()}

    def recall(self, values: object) -> None:
        """Restore what :meth:`memory` wrote; the jobs' own marks are to be read as well."""
        self._tries = TRIES
        self.by_job = touched_from(values) if isinstance(values, dict) else {}

    def read(self, ask: Callable[[], Mapping[str, Touched]]) -> None:
        """Take the jobs' own marks in; a squeue that never shows them is not queried forever."""
        self._tries -= 1
        self.by_job |= ask()
        self._tries = 0

    def mark(self, job: str) -> str:
        """What is written into a job with a change; nothing if there is nothing to note."""
        return mark_words(self.by_job.get(job))

    def undo(self, job: str) -> str:
        """The arguments that restore a job's original request."""
        known = self.by_job.get(job)
        return known.undo if known is not None else ""

    def stopped(self, job: str) -> bool:
        """Whether the loop has stopped a job, by the job's own mark."""
        known = self.by_job.get(job)
        return known is not None and known.stopped

    def prepare(
        self,
        decisions: Iterable[Decision],
        now: int,
        touch: Callable[[Start, Touched | None], Touched | None],
    ) -> None:
        """Note what is about to be done; ``touch`` says what a start overwrites.

        A job that is to continue counts as suspended until it is seen to run.
        """
        for decision in decisions:
            job, known = decision.job, self.by_job.get(decision.job)
            if isinstance(decision, Start):
                if known is not None:  # it was stopped, and is not as its user wrote it yet
                    self.earlier[job] = known
                mark = touch(decision, known)
                if mark is not None:
                    self.by_job[job] = mark
            elif known is not None and isinstance(decision, Stop):
                self.by_job[job] = known._replace(stopped=True, suspended=0)
            elif known is not None and isinstance(decision, Suspend):
                self.by_job[job] = known._replace(suspended=now)

    def before(self, job: str, row: QueueRow | None) -> tuple[list[str], QueueRow | None]:
        """Lines that undo an earlier start of a job that starts again, and its row without it."""
        known = self.earlier.pop(job, None)
        if known is None or row is None:
            return [], row
        return undo_lines(job, known.undo if known.ours(row) else known.words), known.before(row)

    def learn(self, outcomes: Iterable[Outcome]) -> None:
        """A job that Slurm did not suspend runs on."""
        for one in outcomes:
            known = self.by_job.get(one.decision.job)
            if isinstance(one.decision, Suspend) and not one.done and known is not None:
                self.by_job[one.decision.job] = known._replace(suspended=0)

    def see(self, rows: Mapping[str, QueueRow]) -> None:
        """Jobs that were suspended by the loop and run again, whoever has let them."""
        for job, mark in self.by_job.items():
            if mark.suspended and job in rows and rows[job].state == "RUNNING":
                self.by_job[job] = mark._replace(suspended=0)
                self._resumed.append(job)

    def unmarked(self, changeable: Callable[[Iterable[str]], Sequence[str]]) -> list[list[str]]:
        """Lines that say in jobs which run again that nobody has suspended them."""
        jobs, self._resumed = self._resumed, []
        words = {job: self.mark(job) for job in changeable(jobs)}
        return [[f"update JobId={job} {text}"] for job, text in words.items() if text]
