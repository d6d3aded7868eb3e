"""Slot ``place``: where, and from when? Every start goes through it.

The parts for nodes are those of Guim et al. 2009 (spec: algorithms 4.6, 4.7) and of Slurm as in
Fenoy 2014 (spec: algorithms 6.3). On a pool there is nothing to choose and no job slows another
down: there every part means the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shadowtime.errors import PolicyError
from shadowtime.policy.functions import PLACE, Slot
from shadowtime.policy.part import Part, parameter
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from fractions import Fraction

    from shadowtime.policy.policy import Policy

LIMIT = "a job's limit: its request, or the request times the planned penalty factor"
RESV = "the reservation pins certain processors, or counts them as EASY does"


class Place(Part):
    """Where a job runs."""

    slot: ClassVar[str] = "place"
    by_sharing: ClassVar[bool] = False
    """True if it chooses by what the jobs of a node share: without nodes it has no effect."""
    on_site: ClassVar[str] = ""
    """Its rule on a site (kernel/site/fields.py); none if it has no meaning there."""
    neutral: ClassVar[bool] = False
    """True if the place of a job never delays another."""
    plans: ClassVar[bool] = False
    """True if it plans on the Reservation Table of nodes."""
    fills: ClassVar[bool] = False
    """True if nodes are filled in index order, as Slurm does."""
    caps: ClassVar[bool] = False
    """True if no more bandwidth is allocated than a node has."""

    @property
    def search(self) -> str:
        """How a start on nodes is searched: first-fit, cheapest or threshold."""
        return "first-fit"

    @property
    def stretches(self) -> bool:
        """True if a limit is the request times the planned penalty factor."""
        return False

    @property
    def counts(self) -> bool:
        """True if a reservation counts processors instead of pinning certain ones."""
        return True

    @property
    def by_load(self) -> bool:
        """True if the length of the queue chooses the threshold."""
        return False

    @property
    def looks_ahead(self) -> float:
        """How far a start is searched after first fit's, in requests."""
        return 0.0

    def factors(self) -> tuple[Fraction, ...]:
        """The penalty factors that are good enough, ascending."""
        return ()

    def seconds(self) -> int | None:
        """How long a job may run past its limit, None if no job is ever killed."""
        return 0

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "site" and not self.on_site:
            yield (
                f"place={self.name} is not defined on a site; use first-fit, best-fit, pack, "
                "spread or slurm"
            )


@dataclass(frozen=True)
class BestFit(Place):
    """The host that is left with the least; on a pool there is nothing to choose.

    On nodes the lowest free processors are used and the reservation counts processors: EASY without
    knowledge of nodes.
    """

    on_site: ClassVar[str] = "BEST_FIT"
    neutral: ClassVar[bool] = True
    name: ClassVar[str] = "best-fit"
    summary: ClassVar[str] = "the host left with the least; on a pool nothing to choose"


@dataclass(frozen=True)
class NodePlace(Place):
    """A part that plans on the Reservation Table of nodes."""

    plans: ClassVar[bool] = True
    limit: str = parameter("req", LIMIT, choices=("req", "pf"))
    resv: str = parameter("placed", RESV, choices=("placed", "counts"))

    @property
    def stretches(self) -> bool:
        return self.limit == "pf"

    @property
    def counts(self) -> bool:
        return self.resv == "counts"


@dataclass(frozen=True)
class FirstFit(NodePlace):
    """The earliest start with enough processors, on the lowest of them (FF)."""

    on_site: ClassVar[str] = "FIRST_FIT"
    name: ClassVar[str] = "first-fit"
    summary: ClassVar[str] = "nodes: the earliest start, on the lowest processors"

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "site" and self != FirstFit():
            yield "on a site place=first-fit takes no options"


@dataclass(frozen=True)
class LessConsume(NodePlace):
    """The start and the nodes with the least penalty (LC, LCT).

    Without a threshold: the least penalty among first fit's start and those up to ``horizon``
    requests later. With one: the first start at all whose penalty factor is within it.
    """

    by_sharing: ClassVar[bool] = True
    name: ClassVar[str] = "less-consume"
    summary: ClassVar[str] = "nodes: where and when sharing costs least, or little enough"
    horizon: float = parameter(1.0, "how many requests ahead to look", low=0.0, high=1e9)
    threshold: float = parameter(0.0, "penalty factor that is good enough; 0: none", low=0.0)

    def __post_init__(self) -> None:
        if 0.0 < self.threshold < 1.0:
            raise PolicyError(
                f"less-consume: threshold={self.threshold:g} can never be met; a penalty factor "
                "is 1 or more (0: no threshold)"
            )

    @property
    def search(self) -> str:
        return "threshold" if self.threshold > 0 else "cheapest"

    @property
    def looks_ahead(self) -> float:
        return self.horizon

    def factors(self) -> tuple[Fraction, ...]:
        """The exact threshold: 1.15 is 23/20."""
        from fractions import Fraction

        return (Fraction(str(self.threshold)),) if self.threshold > 0 else ()


@dataclass(frozen=True)
class LeastSlowdown(NodePlace):
    """RUA's allocation: of the thresholds' starts the one with the smallest slowdown."""

    by_sharing: ClassVar[bool] = True
    name: ClassVar[str] = "least-slowdown"
    summary: ClassVar[str] = "nodes: of several thresholds' starts the least slowdown (RUA)"
    limit: str = parameter("pf", LIMIT, choices=("req", "pf"))
    thresholds: str = parameter("1.15/1.2/1.25/1.5", "penalty factors, between slashes")
    by: str = parameter(
        "slowdown",
        "which of them: the one whose start has the least slowdown, or the next looser one for "
        "each machine full of waiting jobs",
        choices=("slowdown", "load"),
    )

    def __post_init__(self) -> None:
        if self.thresholds != type(self).thresholds:  # else fractions need not be loaded
            self.factors()

    @property
    def search(self) -> str:
        return "threshold"

    @property
    def by_load(self) -> bool:
        return self.by == "load"

    def factors(self) -> tuple[Fraction, ...]:
        """The thresholds as exact numbers, ascending.

        Examples
        --------
        >>> LeastSlowdown(thresholds="1.5/1.15").factors()
        (Fraction(23, 20), Fraction(3, 2))
        """
        from fractions import Fraction

        try:
            found = sorted(Fraction(text) for text in self.thresholds.split("/"))
        except (ValueError, ZeroDivisionError):
            found = [Fraction(0)]
        if found[0] < 1:
            raise PolicyError(
                f"least-slowdown: thresholds={self.thresholds} must be penalty factors from 1 on, "
                "as in 1.15/1.25"
            )
        return tuple(found)


@dataclass(frozen=True)
class Filled(Place):
    """Slurm's select/cons_res: cores alone are counted, nodes filled in index order (ConsRes).

    ``grace`` is Slurm's OverTimeLimit: how long a job may run past its time limit.
    """

    by_sharing: ClassVar[bool] = True
    fills: ClassVar[bool] = True
    name: ClassVar[str] = "fill"
    summary: ClassVar[str] = "nodes: filled in index order by cores alone (Slurm's cons_res)"
    grace: str = parameter("0", "seconds a job may run past its limit, or unlimited")

    def __post_init__(self) -> None:
        self.seconds()

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        yield from super().objections(policy, shape)
        if shape != "nodes" and self.seconds() != 0:
            yield f"grace={self.grace} is defined on nodes; elsewhere a job ends at its limit"

    def seconds(self) -> int | None:
        """The grace in seconds, None if no job is ever killed.

        Examples
        --------
        >>> Filled(grace="300").seconds(), Filled(grace="unlimited").seconds()
        (300, None)
        """
        if self.grace == "unlimited":
            return None
        if not (self.grace.isascii() and self.grace.isdigit() and len(self.grace) < 10):
            raise PolicyError(
                f"{self.name}: grace={self.grace} must be whole seconds from 0, or unlimited"
            )
        return int(self.grace)


@dataclass(frozen=True)
class Capped(Filled):
    """Bandwidth is also a hard limit: no node allocates more than it has (LessC)."""

    caps: ClassVar[bool] = True
    name: ClassVar[str] = "capped"
    summary: ClassVar[str] = "nodes: as fill, but never more bandwidth than a node has (LessC)"


@dataclass(frozen=True)
class Pack(Place):
    """On a site: as few nodes as possible, those that hold most first."""

    on_site: ClassVar[str] = "PACK"
    name: ClassVar[str] = "pack"
    summary: ClassVar[str] = "site: as few nodes as possible, those that hold most first"


@dataclass(frozen=True)
class Spread(Place):
    """On a site: tasks distributed evenly over as many nodes as allowed, the idlest first."""

    on_site: ClassVar[str] = "SPREAD"
    name: ClassVar[str] = "spread"
    summary: ClassVar[str] = "site: evenly over as many nodes as allowed, the idlest first"


@dataclass(frozen=True)
class Consecutive(Place):
    """On a site, Slurm's choice: sets of consecutive nodes, the smallest that suffices."""

    on_site: ClassVar[str] = "SLURM"
    name: ClassVar[str] = "slurm"
    summary: ClassVar[str] = "site: Slurm's choice, the smallest set of neighbours that suffices"


@dataclass(frozen=True)
class Scored(Written, Place):
    """The nodes with room in the order of a user's function, the highest first.

    Nodes that a job requests by name still come first; ties are broken by (weight, number). Each
    node gets as many tasks as fit.
    """

    on_site: ClassVar[str] = "SCORE"
    name: ClassVar[str] = "scored"
    summary: ClassVar[str] = "site: nodes in your function's order, the highest first"
    takes: ClassVar[Slot] = PLACE

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape in ("pool", "hosts"):
            yield (
                f"place={self} scores nodes, but a {shape.removesuffix('s')} has none to choose "
                "from; use a site"
            )
        if shape == "nodes":
            yield f"place={self} is not defined on nodes that share bandwidth; use a site"
        yield from super().objections(policy, shape)


NAMED: dict[str, Place] = {
    part.name: part()
    for part in (
        BestFit,
        FirstFit,
        LessConsume,
        LeastSlowdown,
        Filled,
        Capped,
        Pack,
        Spread,
        Consecutive,
    )
}
