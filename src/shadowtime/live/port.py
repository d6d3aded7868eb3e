"""What a scheduler must offer to be driven: a snapshot, and carrying out decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shadowtime.engine.live_pass import (
    Continue,
    Decision,
    Ended,
    Place,
    Resize,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Suspend,
    WaitingJob,
)
from shadowtime.errors import PortError as PortError

__all__ = [
    "Continue",
    "Decision",
    "Ended",
    "Outcome",
    "Place",
    "Port",
    "PortError",
    "Resize",
    "RunningJob",
    "Snapshot",
    "Start",
    "Stop",
    "Suspend",
    "Trust",
    "WaitingJob",
    "trust_in",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a decision: done, or why not."""

    decision: Decision
    done: bool
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Trust:
    """How far the scheduler's last answers can be relied on."""

    asked_again: int = 0
    """Questions that were repeated since the loop began, as an answer could not be read."""
    unreadable: int = 0
    """Jobs and nodes about which the last answer could not be read."""
    stale: Mapping[str, float] = field(default_factory=dict)
    """Answers that stand although later ones could not be read: their ages in seconds."""


def trust_in(port: Any) -> Trust:
    """What a port reports about its answers; nothing is wrong with those of other ports."""
    found = getattr(port, "trust", None)
    return found if isinstance(found, Trust) else Trust()


class Port(Protocol):
    """A real scheduler, or something that behaves like one.

    Rules
    -----
    ``snapshot`` reports as Waiting only jobs that the loop may start now; as Running every job that
    holds resources of the cluster, also one that was released and is about to start; jobs it must
    not touch count with ``ours=False``. ``apply`` carries decisions out in their order and reports
    on each; a refusal by the scheduler is an Outcome, not an error. Both raise PortError if the
    scheduler does not answer. Carrying out a decision twice must be harmless.
    """

    name: str

    def snapshot(self) -> Snapshot:
        """The cluster now."""

    def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Carry decisions out."""
