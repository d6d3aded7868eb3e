"""Slot ``reserve``: which blocked jobs get a promised start, and how long does a promise live?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shadowtime.policy.functions import PLAN, RESERVE, Slot
from shadowtime.policy.part import Part, parameter, show
from shadowtime.policy.written import Written

ALL = 1_000_000_000
"""A depth beyond any queue."""


class Reserve(Part):
    """Which blocked jobs get a promised start."""

    slot: ClassVar[str] = "reserve"


@dataclass(frozen=True)
class Nobody(Reserve):
    """No reservations: a wide job may starve."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "no reservations: a wide job may starve"


@dataclass(frozen=True)
class Depth(Reserve):
    """The first K blocked jobs in order, planned again at every pass (EASY is K = 1)."""

    name: ClassVar[str] = "depth"
    summary: ClassVar[str] = "the first K blocked jobs, planned again at every pass"
    jobs: int = parameter(1, "how many blocked jobs hold a reservation", low=1, high=ALL)
    fixed_reservation: str | bool = parameter(
        "no",
        "keep the head's first shadow time until it starts, or until it has passed in vain; extra "
        "is what will be left then",
        choices=("no", "yes", "until-missed"),
    )

    def __post_init__(self) -> None:
        if isinstance(self.fixed_reservation, bool):  # as Python spells it
            object.__setattr__(self, "fixed_reservation", show(self.fixed_reservation))

    def __str__(self) -> str:
        if self.jobs >= ALL:
            return "all"
        if self.fixed_reservation != "no":
            return f"depth(1, fixed_reservation={self.fixed_reservation})"
        return str(self.jobs)


@dataclass(frozen=True)
class Sunny(Reserve):
    """The head alone, planned against running jobs that outrank it (PV-EASY, venture step 1)."""

    name: ClassVar[str] = "sunny"
    summary: ClassVar[str] = "the head alone, ignoring running jobs that it outranks"


@dataclass(frozen=True)
class Kept(Reserve):
    """Every job, at its submission, for good: conservative backfilling (spec 1.3)."""

    name: ClassVar[str] = "kept"
    summary: ClassVar[str] = "every job, promised at submission, never later"
    compress: bool = parameter(True, "move promises earlier when a job ends before its estimate")


@dataclass(frozen=True)
class Chosen(Written, Reserve):
    """Every blocked job for which a function of the user's own says so, planned again at each pass.

    The function is asked in order, as soon as a job turns out to be blocked.
    """

    name: ClassVar[str] = "chosen"
    summary: ClassVar[str] = "the blocked jobs that your function chooses"
    takes: ClassVar[Slot] = RESERVE


@dataclass(frozen=True)
class Planned(Written, Reserve):
    """The head alone, at an instant that a function of the user's own may put off.

    The function is handed the earliest start; an answer before it counts as that start. The head
    itself starts as soon as it fits: a later instant lets others overtake more freely.
    """

    name: ClassVar[str] = "planned"
    summary: ClassVar[str] = "the head alone, not before the instant that your function returns"
    takes: ClassVar[Slot] = PLAN
