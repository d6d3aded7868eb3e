"""What only ``scontrol show job`` reports about a job, queried once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from shadowtime.slurmtext.show_job import Detail, parse_details

if TYPE_CHECKING:
    from shadowtime.slurmtext.squeue import QueueRow

    Ask = Callable[[Sequence[str]], list[str]]
    """scontrol's answers to some lines, one for each."""


def detail_of(details: Mapping[str, Detail], job: str) -> Detail | None:
    """What is known of a job, or of the array it has not been split off yet."""
    found = details.get(job)
    if found is None and "_" in job:
        return details.get(f"{job.partition('_')[0]}_*")
    return found


COMMENTS_EVERY = 30.0
"""Seconds after which every waiting job is queried again for a policy that reads comments."""
MANY = 40
"""More unknown jobs than this are queried all at once."""


class Details:
    """The details of the jobs in a queue, by job; :meth:`learn` queries the missing ones.

    Rules
    -----
    A job is queried once, and again when its state, nodes, processors or restarts change or its
    reason begins with another word. If ``comments`` are read, every waiting job is queried again
    after :data:`COMMENTS_EVERY` seconds: users change them.
    """

    def __init__(self) -> None:
        self.by_job: dict[str, Detail] = {}
        self._asked: dict[str, tuple[object, ...]] = {}
        self._nodes: dict[str, tuple[int, int]] = {}
        self._comments_at = float("-inf")

    def get(self, job: str) -> Detail | None:
        """What is known about a job; a task that Slurm has not split off shares its array's."""
        return detail_of(self.by_job, job)

    def nodes(self, job: str) -> tuple[int, int]:
        """The smallest and largest number of nodes that a job requests, 0 if unspecified."""
        detail = self.get(job)
        return (detail.nodes, detail.most) if detail is not None else (0, 0)

    def remarked(self, job: str) -> bool:
        """Whether a job has a comment set by the site."""
        detail = self.get(job)
        return detail is not None and detail.remarked

    def learn(
        self,
        ask: Ask,
        rows: Sequence[QueueRow],
        now: float,
        *,
        site: bool = False,
        comments: bool = False,
    ) -> None:
        """Query jobs that are new or have changed, and forget those that are gone.

        On a ``site`` every running job is queried, else those on several nodes.
        """
        wanted: dict[str, tuple[object, ...]] = {}
        for row in rows:
            pending = row.state == "PENDING"
            informative = row.node_count > 1 or site
            if pending or (row.state == "RUNNING" and informative):
                wanted[row.id] = (pending, row.node_count, row.cpus, row.restarts)
        again = comments and not 0 <= now - self._comments_at < COMMENTS_EVERY
        if again:
            self._comments_at = now
        unknown = [
            job for job, key in wanted.items() if self._asked.get(job) != key or (again and key[0])
        ]
        self._forget(rows, wanted)
        if not unknown:
            return
        asked = {job for job in unknown if self._asked.get(job) == wanted[job]}
        for job, detail in self._believed(ask, unknown, asked).items():
            # Once a job has run, Slurm no longer reports how many nodes it may have.
            low, high = self._nodes.get(job, (0, 0))
            low, high = (detail.nodes, detail.most) if detail.nodes else (low, high)
            detail = detail._replace(nodes=low, most=high)
            if self.by_job.get(job) != detail:  # else the same value, by which jobs are known
                self.by_job[job] = detail
            self._nodes[job] = low, high
        self._asked.update({job: wanted[job] for job in unknown})

    def _forget(self, rows: Sequence[QueueRow], wanted: Mapping[str, object]) -> None:
        for job in self._asked.keys() - wanted.keys():
            del self._asked[job]
        # A released job that has not started still needs how its memory is counted.
        kept = {row.id for row in rows if row.state == "PENDING"} | wanted.keys()
        for job in self.by_job.keys() - (kept | arrays_of(kept)):
            del self.by_job[job]
        listed = {row.id for row in rows}
        for job in self._nodes.keys() - (listed | arrays_of(listed)):
            del self._nodes[job]

    def _believed(self, ask: Ask, jobs: Sequence[str], known: set[str]) -> dict[str, Detail]:
        """What is reported about these jobs; where these are many, all are queried at once.

        A job that is reported twice then is queried separately, unless it is known.
        """
        if len(jobs) <= MANY:
            return _each_alone(ask, jobs)
        found: dict[str, Detail] = {}
        doubtful: dict[str, None] = {}
        unknown = {*jobs, *arrays_of(jobs)}
        for job, detail in parse_details(ask(["show job"])[0]):
            if job in unknown and found.setdefault(job, detail) != detail:
                doubtful[job] = None
        settled = {job: self.by_job[job] for job in doubtful if job in known & self.by_job.keys()}
        return found | _each_alone(ask, [job for job in doubtful if job not in settled]) | settled


def _each_alone(ask: Ask, jobs: Sequence[str]) -> dict[str, Detail]:
    """Slurm's own record of each job, which comes first in the answer about it."""
    names = [job.removesuffix("_*") for job in jobs]
    found: dict[str, Detail] = {}
    answers = ask([f"show job {name}" for name in names]) if jobs else []
    for job, text in zip(jobs, answers, strict=True):
        ours = {job, *arrays_of([job])}
        name, detail = next((one for one in parse_details(text) if one[0] in ours), (job, Detail()))
        found[name] = detail
    return found


def arrays_of(jobs: Iterable[str]) -> set[str]:
    """The names under which Slurm reports tasks of arrays that it has not split off yet.

    Examples
    --------
    >>> arrays_of(["7", "8_1", "8_2"])
    {'8_*'}
    """
    return {f"{job.partition('_')[0]}_*" for job in jobs if "_" in job}
