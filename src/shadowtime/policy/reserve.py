"""Slot ``reserve``: which blocked jobs get a promised start, and how long does a promise live?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shadowtime.policy.functions import PLAN, RESERVE, Slot
from shadowtime.policy.part import WHOLE, Part, parameter, show
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy

ALL = 1_000_000_000
"""A depth beyond any queue."""


class Reserve(Part):
    """Which blocked jobs get a promised start."""

    slot: ClassVar[str] = "reserve"
    kept: ClassVar[bool] = False
    """True if promises outlive the pass."""
    sunny: ClassVar[bool] = False
    """True if running jobs that the head outranks are ignored."""
    one_by_one: ClassVar[bool] = False
    """True if every waiting job is tried in queue order, one after the other."""

    @property
    def first(self) -> int | None:
        """The number of blocked jobs that each pass plans for; None: by other rules."""
        return None

    @property
    def fixed(self) -> str:
        """Whether the head keeps its first shadow time: no, yes or until-missed."""
        return "no"

    @property
    def compresses(self) -> bool:
        """True if promises move earlier when a job ends before its estimate."""
        return False

    def depth(self, jobs: int) -> int:
        """The largest number of reservations in a pass over this many waiting jobs."""
        return 0

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes":
            yield f"reserve={self} is not defined on nodes: use reserve=1, kept or none"


@dataclass(frozen=True)
class NoReservation(Reserve):
    """No reservations: a wide job may starve."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "no reservations: a wide job may starve"

    @property
    def first(self) -> int:
        return 0

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes" and policy.backfill.respects:
            yield f"backfill={policy.backfill} and reserve={self} cannot be combined"
        if policy.backfill.needs_reservation:
            yield (
                f"backfill={policy.backfill} respects reservations, but reserve=none makes none; "
                "use backfill=any or never"
            )


@dataclass(frozen=True)
class Depth(Reserve):
    """The first K blocked jobs in order, planned again at every pass (EASY is K = 1)."""

    name: ClassVar[str] = "depth"
    summary: ClassVar[str] = "the first K blocked jobs, planned again at every pass"
    jobs: int = parameter(1, "how many blocked jobs hold a reservation", low=1, high=ALL)
    fixed_reservation: str | bool = parameter(
        "no",
        "keep the head's first shadow time until it starts, or until it has passed without a "
        "start; extra processors are those left then",
        choices=("no", "yes", "until-missed"),
    )

    def __post_init__(self) -> None:
        if isinstance(self.fixed_reservation, bool):  # as Python spells it
            object.__setattr__(self, "fixed_reservation", show(self.fixed_reservation))

    @property
    def first(self) -> int:
        return self.jobs

    @property
    def fixed(self) -> str:
        return str(self.fixed_reservation)

    def depth(self, jobs: int) -> int:
        return self.jobs

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes" and self != Depth():
            yield f"reserve={self} is not defined on nodes: use reserve=1, kept or none"
        if shape == "nodes" and not policy.backfill.respects:
            yield f"backfill={policy.backfill} and reserve={self} cannot be combined"

    def __str__(self) -> str:
        if self.jobs >= ALL:
            return "all"
        if self.fixed_reservation != "no":
            return f"depth(1, fixed_reservation={self.fixed_reservation})"
        return str(self.jobs)


@dataclass(frozen=True)
class Sunny(Reserve):
    """The head alone, planned against running jobs that outrank it (PV-EASY, venture step 1)."""

    sunny: ClassVar[bool] = True
    name: ClassVar[str] = "sunny"
    summary: ClassVar[str] = "the head alone, ignoring running jobs that it outranks"

    def depth(self, jobs: int) -> int:
        return 1

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes":
            yield f"reserve={self} is not defined on nodes: use reserve=1, kept or none"
        if not policy.order.by_arrival or shape not in WHOLE:
            yield "reserve=sunny needs order=fcfs and a pool"
        if policy.backfill.respects and policy.backfill.phases:
            yield "reserve=sunny goes with backfill=venture"


@dataclass(frozen=True)
class Conservative(Reserve):
    """Every job, at its submission, permanently: conservative backfilling.

    spec: algorithms 1.3.
    """

    kept: ClassVar[bool] = True
    name: ClassVar[str] = "kept"
    summary: ClassVar[str] = "every job, promised at submission, never later"
    compress: bool = parameter(True, "move promises earlier when a job ends before its estimate")

    @property
    def compresses(self) -> bool:
        return self.compress

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        exact = policy.backfill.in_order and (policy.backfill.exact or shape != "nodes")
        if shape == "nodes":
            if not exact:
                yield "reserve=kept promises in submission order; use backfill=in-order"
            if policy.place.stretches and policy.place.counts:
                yield (
                    "a limit stretched by the planned penalty (limit=pf) needs a planned place, "
                    "which reserve=kept with resv=counts does not have; use resv=placed or "
                    "limit=req"
                )
            return
        if not (policy.order.by_arrival or policy.order.by_usage) or not exact:
            yield (
                "reserve=kept promises in submission order; use order=fcfs and backfill=in-order, "
                "or the policy priority-conservative"
            )
        if shape not in WHOLE:
            yield "reserve=kept is defined on a pool only"
        if policy.estimate.written:
            yield (
                "reserve=kept cannot be combined with a prediction of your own yet; use "
                "reserve=all, "
                "which plans again at every pass"
            )
        if policy.estimate.changes:
            yield (
                "a promise needs an estimate that stays while the job waits; estimate=last "
                "changes, use last-two or requested"
            )


@dataclass(frozen=True)
class Chosen(Written, Reserve):
    """Every blocked job for which a user's function returns true, planned again at each pass.

    The function is called in order, as soon as a job turns out to be blocked.
    """

    one_by_one: ClassVar[bool] = True
    name: ClassVar[str] = "chosen"
    summary: ClassVar[str] = "the blocked jobs that your function chooses"
    takes: ClassVar[Slot] = RESERVE

    def depth(self, jobs: int) -> int:
        return jobs  # its function bounds them


@dataclass(frozen=True)
class Planned(Written, Reserve):
    """The head alone, at a time that a user's function may postpone.

    The function receives the earliest start; an earlier result counts as that start. The head
    itself starts as soon as it fits: a later time lets others overtake more freely.
    """

    name: ClassVar[str] = "planned"
    summary: ClassVar[str] = "the head alone, not before the instant that your function returns"
    takes: ClassVar[Slot] = PLAN

    def depth(self, jobs: int) -> int:
        return 1
