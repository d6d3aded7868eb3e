"""What only ``scontrol show job`` reports about a job, queried once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.runner import checked
from shadowtime.slurmtext.show_job import Detail, parse_details

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shadowtime.live.runner import Runner
    from shadowtime.slurmtext.squeue import QueueRow


def detail_of(details: Mapping[str, Detail], job: str) -> Detail | None:
    """What is known of a job, or of the array it has not been split off yet."""
    found = details.get(job)
    if found is None and "_" in job:
        return details.get(f"{job.partition('_')[0]}_*")
    return found


COMMENTS_EVERY = 30.0
"""Seconds after which every waiting job is queried again for a policy that reads comments."""
DETAILS = ("scontrol", "--oneliner", "--details")
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
        run: Runner,
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
        text = show_jobs(run, unknown)
        for job, detail in self._believed(run, text, set(unknown), asked).items():
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

    def _believed(
        self, run: Runner, text: str, unknown: set[str], known: set[str]
    ) -> dict[str, Detail]:
        """What is reported about these jobs; a job reported twice is queried separately."""
        found: dict[str, Detail] = {}
        doubtful: set[str] = set()
        unknown |= arrays_of(unknown)
        for job, detail in parse_details(text):
            if job in unknown and found.setdefault(job, detail) != detail:
                doubtful.add(job)
        for job in sorted(doubtful):
            if job in known and job in self.by_job:  # not queried repeatedly
                found[job] = self.by_job[job]
                continue
            alone = parse_details(run((*DETAILS, "show", "job", job)).out)
            found[job] = next((detail for name, detail in alone if name == job), Detail())
        return found


def show_jobs(run: Runner, jobs: Sequence[str]) -> str:
    """The records of some jobs, or of all where these are many."""
    if len(jobs) > MANY:
        return checked(run, (*DETAILS, "show", "job"))
    return run(DETAILS, text="".join(f"show job {job}\n" for job in jobs)).out


def arrays_of(jobs: Iterable[str]) -> set[str]:
    """The names under which Slurm reports tasks of arrays that it has not split off yet.

    Examples
    --------
    >>> arrays_of(["7", "8_1", "8_2"])
    {'8_*'}
    """
    return {f"{job.partition('_')[0]}_*" for job in jobs if "_" in job}
