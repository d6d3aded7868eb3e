"""Slot ``preempt``: whom to stop?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shadowtime.policy.part import Part, parameter


class Preempt(Part):
    """Whom to stop."""

    slot: ClassVar[str] = "preempt"


@dataclass(frozen=True)
class NoPreemption(Preempt):
    """Nobody is ever stopped."""

    name: ClassVar[str] = "never"
    summary: ClassVar[str] = "nobody is ever stopped"


@dataclass(frozen=True)
class ShadowLoad(Preempt):
    """PV-EASY's shadow-load preemption: kill and restart whom the head outranks (spec 2.3)."""

    name: ClassVar[str] = "shadow-load"
    summary: ClassVar[str] = "kill running jobs that the head outranks, if it can then start"
    prune: bool = parameter(False, "spare victims that turn out not to be needed")


NAMED: dict[str, Preempt] = {part.name: part() for part in (NoPreemption, ShadowLoad)}
