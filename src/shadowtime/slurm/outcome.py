"""What a pass did: starts, plans and preempted jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Start(NamedTuple):
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

    starts: list[Start] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    victims: list[tuple[int, int]] = field(default_factory=list)
    """(preempted job, for job)."""
    skipped: dict[int, str] = field(default_factory=dict)
    """Why jobs were passed over."""
    nobody: bool = False
    """True where no waiting job could have started, so that nothing was looked at."""
    valid_until: int = field(default=0, compare=False)
    """Before then another pass starts nothing either, where this one did not and nothing happens
    in between; 0 where that is not known."""
