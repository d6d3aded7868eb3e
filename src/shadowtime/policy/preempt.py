"""Slot ``preempt``: whom to stop?

Whom is for the part to say; what becomes of a victim is one routine of the engine
(``kernel.running.stop``): its run goes on record as an attempt with its start and its end, it keeps
its place in the order, and all of its run lies before it again. Suspending it, or restarting it
from a checkpoint, is another part with its costs as parameters and another end of that routine:
what is left of the run, and how long the stop itself takes. Schedules, proofs and metrics read
attempts, and need no change for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shadowtime.policy.part import WHOLE, Part, parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.policy.policy import Policy


class Preempt(Part):
    """Whom to stop."""

    slot: ClassVar[str] = "preempt"
    stops: ClassVar[bool] = False
    """True if running jobs may be stopped."""

    @property
    def spares(self) -> bool:
        """True if victims that turn out not to be needed go on running."""
        return False


@dataclass(frozen=True)
class NoPreemption(Preempt):
    """No job is ever stopped."""

    name: ClassVar[str] = "never"
    summary: ClassVar[str] = "no job is ever stopped"


@dataclass(frozen=True)
class ShadowLoad(Preempt):
    """PV-EASY's shadow-load preemption: kill and restart whom the head outranks (spec 2.3)."""

    stops: ClassVar[bool] = True
    name: ClassVar[str] = "shadow-load"
    summary: ClassVar[str] = "kill running jobs that the head outranks, if it can then start"
    prune: bool = parameter(False, "spare victims that turn out not to be needed")

    @property
    def spares(self) -> bool:
        return self.prune

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes":
            yield "jobs are not preempted on nodes: use preempt=never"
        if not policy.order.by_arrival:
            yield "preempt=shadow-load ranks jobs by submission; use order=fcfs"
        if shape not in WHOLE:
            yield "preempt=shadow-load is defined on a pool only"
        if shape == "site" and not policy.reserve.sunny:
            yield "on a site preempt=shadow-load needs reserve=sunny"
        if policy.reserve.kept:
            yield "promises for good and preemption contradict"


NAMED: dict[str, Preempt] = {part.name: part() for part in (NoPreemption, ShadowLoad)}
