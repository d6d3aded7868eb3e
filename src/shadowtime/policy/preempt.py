"""Slot ``preempt``: which jobs to stop?

The part chooses the victims; one routine of the engine stops them (``kernel.running.stop``): a
victim's run is recorded as an attempt with its start and its end, and the job keeps its place in
the order. ``mode`` defines what happens to its work: a killed job starts over, a suspended one
resumes where it was, one with checkpoints resumes at its last one. Restarting costs ``overhead``
seconds in every mode. Schedules, proofs and metrics read attempts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from shadowtime.errors import PolicyError
from shadowtime.policy.functions import VICTIM, Slot
from shadowtime.policy.part import WHOLE, Part, parameter, show
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy


class Preempt(Part):
    """Which jobs to stop."""

    slot: ClassVar[str] = "preempt"
    stops: ClassVar[bool] = False
    """True if running jobs may be stopped."""

    @property
    def spares(self) -> bool:
        """True if victims that turn out not to be needed keep running."""
        return False

    @property
    def save_every(self) -> int:
        """Seconds of work after which that of a stopped job is safe; 0: never, 1: at once."""
        return 0

    @property
    def restart_s(self) -> int:
        """Seconds that a stopped job spends on restarting."""
        return 0

    @property
    def changes_runs(self) -> bool:
        """True if the attempts of a stopped job are not all as long as its run."""
        return self.save_every > 0 or self.restart_s > 0


@dataclass(frozen=True)
class NoPreemption(Preempt):
    """No job is ever stopped."""

    name: ClassVar[str] = "never"
    summary: ClassVar[str] = "no job is ever stopped"


MODES = ("kill", "suspend", "checkpoint")


@dataclass(frozen=True)
class ShadowLoad(Preempt):
    """PV-EASY's shadow-load preemption: stop and restart jobs that the head outranks.

    spec: algorithms 2.3.
    """

    stops: ClassVar[bool] = True
    name: ClassVar[str] = "shadow-load"
    summary: ClassVar[str] = "stop running jobs that the head outranks, if it can then start"
    prune: bool = parameter(False, "spare victims that turn out not to be needed")
    mode: str = parameter("kill", "what happens to a victim's work", choices=MODES)
    every: int = parameter(3600, "seconds of work between two checkpoints", low=1, high=10_000_000)
    overhead: int = parameter(
        0, "seconds that a stopped job spends on restarting", low=0, high=10_000_000
    )

    @property
    def spares(self) -> bool:
        return self.prune

    @property
    def save_every(self) -> int:
        return {"kill": 0, "suspend": 1, "checkpoint": self.every}[self.mode]

    @property
    def restart_s(self) -> int:
        return self.overhead

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes":
            yield "jobs are not preempted on nodes: use preempt=never"
        if not policy.order.by_arrival:
            yield f"preempt={self.name} ranks jobs by submission; use order=fcfs"
        if shape not in WHOLE:
            yield f"preempt={self.name} is defined on a pool only"
        if shape == "site" and not policy.reserve.sunny:
            yield f"on a site preempt={self.name} needs reserve=sunny"
        if policy.reserve.kept:
            yield "lasting promises and preemption contradict each other"


@dataclass(frozen=True)
class Victims(Written, ShadowLoad):
    """The jobs that the head outranks, in the order of a user's function, the highest first.

    The function is called for all running jobs that the head outranks, once it is blocked. Jobs are
    stopped until the head fits; none is if all of them would not be enough.
    """

    name: ClassVar[str] = "victims"
    summary: ClassVar[str] = "stop running jobs that the head outranks, in your function's order"
    takes: ClassVar[Slot] = VICTIM

    def own_parameters(self) -> dict[str, Field[Any]]:
        """What is declared beside the function: prune, mode, every, overhead."""
        return {f.name: f for f in fields(ShadowLoad)}

    def declared(self) -> dict[str, Field[Any]]:
        return self.own_parameters() | super().declared()

    def with_values(self, **changes: Any) -> Self:
        """The part with some parameters set, the function's or those of stopping."""
        known = self.own_parameters()
        own = {name: changes.pop(name) for name in list(changes) if name in known}
        if own.get("mode", "kill") not in MODES:
            raise PolicyError(f"{self.label}.mode must be one of {', '.join(MODES)}")
        return replace(super().with_values(**changes), **own)

    def __str__(self) -> str:
        text = super().__str__()
        given = ", ".join(
            f"{name}={show(getattr(self, name))}"
            for name, declared in self.own_parameters().items()
            if getattr(self, name) != declared.default
        )
        if not given:
            return text
        return f"{text[:-1]}, {given})" if text.endswith(")") else f"{text}({given})"


NAMED: dict[str, Preempt] = {part.name: part() for part in (NoPreemption, ShadowLoad)}
