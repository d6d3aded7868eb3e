"""What a policy makes of the jobs: the rows of its schedule, and the runs that were stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from shadowtime.types import Reason
from shadowtime.verify.world import NEVER


@dataclass(frozen=True)
class Expected:
    """A row of the schedule as the policy gives it."""

    job_id: int
    start: int = -1
    end: int = -1
    reason: int = Reason.UNSTARTED
    kills: int = 0
    killed: int = 0
    promised: int = -1
    blocked_at: int = -1
    place: tuple[tuple[str, int], ...] | None = None
    """Nodes or hosts with the processors on each; None on a pool."""
    promised_at: int = -1
    """The pass that gave the promise."""


class Attempt(NamedTuple):
    """A run of a job that was stopped at least once."""

    job_id: int
    start: int
    end: int
    killed: int
    overhead: int = 0
    """Seconds that went into starting again."""
    kept: int | None = 0
    """Seconds of work that were not lost; None where a failure ended the job for good."""


@dataclass(frozen=True)
class Followed:
    """What a policy makes of a workload until an instant: rows in (submit, id) order."""

    rows: tuple[Expected, ...]
    attempts: tuple[Attempt, ...]
    """The runs of jobs that were stopped at least once."""
    passes: int
    until: int = NEVER
    """Passes from then on were not made."""
