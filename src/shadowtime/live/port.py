"""What a scheduler must offer to be driven: a snapshot, and carrying out decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from shadowtime.engine.live_pass import (
    Decision,
    Ended,
    Place,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    WaitingJob,
)
from shadowtime.errors import PortError as PortError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Decision",
    "Ended",
    "Outcome",
    "Place",
    "Port",
    "PortError",
    "RunningJob",
    "Snapshot",
    "Start",
    "Stop",
    "WaitingJob",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a decision: done, or why not."""

    decision: Decision
    done: bool
    why: str = ""


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
