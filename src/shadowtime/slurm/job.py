"""One job record: what it asks for, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.usage import Holding


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """A record of slurmctld's job list; an array is one record until its tasks start.

    ``record`` is its place in that list: it orders running jobs with equal ends (spec: slurm 3.6).
    A record equals itself alone, so that lists find it at once.
    """

    id: int
    ask: Ask
    limit: int
    """Seconds."""
    record: int = 0
    user: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    priority: int = 0
    submit: int = 0
    eligible: int = 0
    ages_from: int | None = None
    """When it began to age, where that is bounded (MaxJobsAccrue); None: when eligible."""
    name: str = ""
    reservation: str = ""
    least_time: int = 0
    """--time-min in seconds, 0 without."""
    licences: tuple[tuple[str, int], ...] = ()
    tasks: list[int] = field(default_factory=list)
    """The array's tasks that have not started; empty outside arrays."""
    throttle: int = 0
    started_tasks: int = 0
    """Tasks of the array that run."""
    array: int = 0
    """The array's id, 0 outside arrays."""
    held: bool = False
    evicted_at: int | None = None
    """When others were last evicted for it."""
    partition: str = ""
    """Where it runs."""
    start: int = 0
    suspended: int = 0
    """Seconds that it was suspended in all, up to when it was last resumed."""
    suspended_at: int | None = None
    """Since when it is suspended; None while it runs."""
    in_no_row: bool = False
    """It lies above a job of its own partition, so that Slurm's tests do not see what it holds."""
    holding: Holding = ()
    nodes: int = 0
    cpus: int = 0
    """Allocated cpus."""
    requeues: bool = True
    billing: float = 0.0
    waited_for: str = ""
    """What it was last passed over for when it started."""
    nice: int = 0
    index: int = 0
    """Its row in the recording, where it has one."""

    def copy(self) -> Job:
        """Another record of the same."""
        other = object.__new__(Job)
        for name in _NAMES:
            setattr(other, name, getattr(self, name))
        return other

    @property
    def ends_by(self) -> int:
        """The end by its limit, which stands still while the job is suspended."""
        return self.start + self.limit + self.suspended

    def suspend(self, now: int) -> None:
        """It stops at ``now`` and keeps what it holds."""
        self.suspended_at = now

    def resume(self, now: int) -> None:
        """It resumes at ``now``; only then is its end moved."""
        if self.suspended_at is not None:
            self.suspended += now - self.suspended_at
            self.suspended_at = None

    @property
    def is_array(self) -> bool:
        """An array with tasks that wait."""
        return bool(self.tasks)


_NAMES = tuple(one.name for one in fields(Job))


def full_limit(job: Job, section: Section) -> int:
    """Seconds that a job may run in a partition."""
    return min(job.limit, section.max_time) if section.max_time is not None else job.limit


def planned_limit(job: Job, section: Section) -> int:
    """Seconds that a backfill pass plans a job with in a partition."""
    limit = full_limit(job, section)
    return job.least_time if job.least_time and job.least_time < limit else limit
