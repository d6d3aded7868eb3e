"""What a pass did (starts, plans, preempted jobs), and what a whole run did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.usage import Holding


class Allocation(NamedTuple):
    """A job (or the next task of an array) begins."""

    job: int
    partition: str
    nodes: int
    task: int | None = None
    record: int = 0
    """The id of the running record: its own for a task split off an array."""


class Plan(NamedTuple):
    """A job is planned: when, until when (as kept in the map), and on which nodes."""

    job: int
    partition: str
    start: int
    end: int
    nodes: int


@dataclass(slots=True)
class Outcome:
    """All that a pass did, in its order."""

    starts: list[Allocation] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    victims: list[tuple[int, int]] = field(default_factory=list)
    """(preempted job, for job)."""
    evicted: list[Job] = field(default_factory=list)
    """The same jobs themselves."""
    no_start: bool = False
    """True if no waiting job could have started, so that none was considered."""
    valid_until: int = field(default=0, compare=False)
    """Before then another pass starts nothing either, where this one did not and nothing happens
    in between; 0 where that is not known."""


@dataclass(slots=True)
class SlurmRun:
    """What happened to each job of a workload: -1 where it never started."""

    start: list[int]
    end: list[int]
    nodes: list[int]
    scheduler: list[str]
    """"main" or "backfill"."""
    preemptions: int = 0
    passes: int = 0
    lost: list[tuple[int, int, int]] = field(default_factory=list)
    """(row, start, end) of runs whose work was lost because the job was requeued."""
    paused: list[tuple[int, int, int]] = field(default_factory=list)
    """(row, start, end) of stretches of work after which the job was suspended."""
    holding: dict[int, Holding] = field(default_factory=dict)
    """What each started job holds, by row."""
    waited_for: dict[int, str] = field(default_factory=dict)
    """What each started job was last passed over for (sacct's Reason), by row."""

    def first_start(self) -> list[int]:
        """The starts as sacct has them: of a suspended job that before it was suspended.

        Examples
        --------
        >>> SlurmRun([9, 4], [12, 8], [1, 1], ["main", "main"], paused=[(0, 2, 5)]).first_start()
        [2, 4]
        """
        found = self.start[:]
        for row, start, _ in self.paused:
            found[row] = min(found[row], start)
        return found

    def moved(self, seconds: int) -> SlurmRun:
        """The same run ``seconds`` later."""
        for column in (self.start, self.end):
            column[:] = [time + seconds if time >= 0 else time for time in column]
        for runs in (self.lost, self.paused):
            runs[:] = [(row, start + seconds, end + seconds) for row, start, end in runs]
        return self
