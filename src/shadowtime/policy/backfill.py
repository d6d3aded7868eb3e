"""Slot ``backfill``: which of the rest may start, in what order?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from shadowtime.policy.functions import BACKFILL_KEY, BACKFILL_TEST, Slot
from shadowtime.policy.part import Part, parameter
from shadowtime.policy.written import Written


class Backfill(Part):
    """Which of the rest may start."""

    slot: ClassVar[str] = "backfill"


@dataclass(frozen=True)
class Never(Backfill):
    """No job overtakes the blocked head."""

    name: ClassVar[str] = "never"
    summary: ClassVar[str] = "no job overtakes a blocked one"


@dataclass(frozen=True)
class InOrder(Backfill):
    """In the queue's order, whoever delays no reservation (spec 1.2 step 3)."""

    name: ClassVar[str] = "in-order"
    summary: ClassVar[str] = "in queue order, any job that delays no reservation"
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


@dataclass(frozen=True)
class Balanced(Backfill):
    """Backfill Balanced: who leaves the K resources most evenly used (spec 5.2)."""

    name: ClassVar[str] = "balanced"
    summary: ClassVar[str] = "who leaves the resources most evenly and fully used (BB)"
    per_pass: str = parameter(
        "one", "start one job per pass, or go on until none", choices=("one", "until-none")
    )


@dataclass(frozen=True)
class LeastUsed(Backfill):
    """Backfill Lowest: the largest request for the least used resource (spec 5.2, BL)."""

    name: ClassVar[str] = "least-used"
    summary: ClassVar[str] = "the largest request for the least used resource (BL)"
    per_pass: str = parameter(
        "until-none", "start one job per pass, or go on until none", choices=("one", "until-none")
    )


@dataclass(frozen=True)
class NotWorse(Backfill):
    """Improved Backfill Balanced: in queue order, who worsens no imbalance (spec 5.3)."""

    name: ClassVar[str] = "not-worse"
    summary: ClassVar[str] = "in queue order, who does not worsen the imbalance (IBB)"
    threshold: str = parameter(
        "live",
        "compare with the imbalance now, or at the beginning of the traversal; "
        "literal is the paper's Algorithm 1, which never accepts anybody",
        choices=("live", "frozen", "literal"),
    )


@dataclass(frozen=True)
class LeastPenalty(ShortestFirst):
    """RUA: the least penalised first, then the shortest, chosen anew after each start (spec 4.7).

    Where nobody slows anybody down, on a pool, that is shortest first.
    """

    name: ClassVar[str] = "least-penalty"
    summary: ClassVar[str] = "the least slowed down by others first, then the shortest (RUA)"


@dataclass(frozen=True)
class ByTest(Written, Backfill):
    """In the queue's order, any job that delays no reservation and passes a test."""

    name: ClassVar[str] = "by-test"
    summary: ClassVar[str] = "in queue order, any job that delays nothing and passes your test"
    takes: ClassVar[Slot] = BACKFILL_TEST


@dataclass(frozen=True)
class ByKey(Written, Backfill):
    """By a key of the user's own, higher first, whoever delays no reservation.

    Keys are taken once a pass, before the first of them starts; ties go by (submit, id).
    """

    name: ClassVar[str] = "by-key"
    summary: ClassVar[str] = "by a key of your own, any job that delays no reservation"
    takes: ClassVar[Slot] = BACKFILL_KEY
    test: ByTest | None = None

    def where(self, test: ByTest) -> ByKey:
        """The same key, for those that pass a test."""
        return replace(self, test=test)

    def __str__(self) -> str:
        return f"{super().__str__()} where {self.test}" if self.test else super().__str__()


WEIGHING = (Balanced, LeastUsed, NotWorse)
"""Parts that weigh the resources of a pool against each other."""

NAMED: dict[str, Backfill] = {
    part.name: part()
    for part in (
        Never,
        InOrder,
        ShortestFirst,
        Anybody,
        Venture,
        Balanced,
        LeastUsed,
        NotWorse,
        LeastPenalty,
    )
}
NAMED["sjbf"] = ShortestFirst()
