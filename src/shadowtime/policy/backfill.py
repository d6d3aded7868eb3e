"""Slot ``backfill``: which of the rest may start, in what order?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shadowtime.policy.part import Part, parameter


class Backfill(Part):
    """Which of the rest may start."""

    slot: ClassVar[str] = "backfill"


@dataclass(frozen=True)
class Never(Backfill):
    """Nobody overtakes the blocked head."""

    name: ClassVar[str] = "never"
    summary: ClassVar[str] = "nobody overtakes a blocked job"


@dataclass(frozen=True)
class InOrder(Backfill):
    """In the queue's order, whoever delays no reservation (spec 1.2 step 3)."""

    name: ClassVar[str] = "in-order"
    summary: ClassVar[str] = "in queue order, whoever delays no reservation"
    extra_update: bool = parameter(
        True, "a job let in by the extra processors uses them up (no: a looser EASY)"
    )


@dataclass(frozen=True)
class ShortestFirst(Backfill):
    """Shortest estimate first, whoever delays no reservation: SJBF (spec 1.4)."""

    name: ClassVar[str] = "shortest-first"
    summary: ClassVar[str] = "shortest estimate first, whoever delays no reservation"
    extra_update: bool = parameter(
        True, "a job let in by the extra processors uses them up (no: a looser EASY)"
    )


@dataclass(frozen=True)
class Anybody(Backfill):
    """In the queue's order, whoever fits now, reservation or not."""

    name: ClassVar[str] = "anybody"
    summary: ClassVar[str] = "in queue order, whoever fits now"


@dataclass(frozen=True)
class Venture(Backfill):
    """PV-EASY's venture backfilling (spec 2.3 step 3): safe guesses first, then anybody."""

    name: ClassVar[str] = "venture"
    summary: ClassVar[str] = "expected to end by the reservation, shortest first; then anybody"
    venture: bool = parameter(True, "the second phase: whoever fits, whatever its prediction")


NAMED: dict[str, Backfill] = {
    part.name: part() for part in (Never, InOrder, ShortestFirst, Anybody, Venture)
}
NAMED["sjbf"] = ShortestFirst()
