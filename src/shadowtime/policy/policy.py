"""A policy is a value made of parts, one per slot."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shadowtime.errors import PolicyError
from shadowtime.policy.backfill import Backfill, InOrder
from shadowtime.policy.estimate import Estimate, Requested
from shadowtime.policy.order import Fcfs, Order
from shadowtime.policy.part import SLOTS, Part
from shadowtime.policy.partition import Anywhere, Partition
from shadowtime.policy.place import BestFit, Place
from shadowtime.policy.preempt import NoPreemption, Preempt
from shadowtime.policy.reserve import Depth, Reserve
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.workload import Workload

SHAPES = ("pool", "hosts", "nodes", "site")
"""Shapes of machines."""

ASKED = ("order", "place", "estimate", "preempt", "reserve", "backfill", "partition")
"""The order in which the parts are checked for objections: the first one is reported."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy: one part per slot, and a name.

    Examples
    --------
    >>> easy = Policy(name="easy")
    >>> print(easy.reserve, easy.backfill)
    1 in-order
    >>> easy.replace(reserve=Depth(4)).parameters["reserve"]
    '4'
    >>> easy
    Policy(easy)
    """

    name: str
    order: Order = Fcfs()
    reserve: Reserve = Depth()
    backfill: Backfill = InOrder()
    place: Place = BestFit()
    estimate: Estimate = Requested()
    preempt: Preempt = NoPreemption()
    partition: Partition = Anywhere()
    summary: str = ""
    paper: str = ""

    def __repr__(self) -> str:  # ``parameters`` has the parts
        return f"Policy({self.name})"

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by slot."""
        return {slot: getattr(self, slot) for slot in SLOTS}

    @property
    def parameters(self) -> dict[str, str]:
        """The parts as texts, by slot."""
        return {slot: str(part) for slot, part in self.parts.items()}

    @property
    def keeps_promises(self) -> bool:
        """True if every waiting job is promised a start that outlives the pass."""
        return self.reserve.kept or self.backfill.promises_all

    def refuse_nonsense(self, shape: str) -> None:
        """Reject a combination of parts that has no defined meaning on such a machine.

        Examples
        --------
        >>> Policy(name="mine", reserve=Depth(4)).refuse_nonsense("nodes")
        Traceback (most recent call last):
        ...
        shadowtime.errors.PolicyError: mine: reserve=4 is not defined on nodes: use reserve=1, ...
        >>> Policy(name="easy").refuse_nonsense("nodes")
        """
        if shape in self.defined_on:
            return
        for slot in ASKED:
            for objection in getattr(self, slot).objections(self, shape):
                raise PolicyError(f"{self.name}: {objection}")

    # Every run needs these two, and a policy is a value: they are computed once.

    @cached_property
    def defined_on(self) -> tuple[str, ...]:
        """The shapes of machines on which no part objects to the others."""
        return tuple(
            shape
            for shape in SHAPES
            if not any(any(part.objections(self, shape)) for part in self.parts.values())
        )

    @cached_property
    def written(self) -> bool:
        """True if a part is a function of the user's own."""
        return any(isinstance(part, Written) for part in self.parts.values())

    def __getstate__(self) -> dict[str, Any]:
        """Only the fields: equal policies are pickled to equal bytes, whatever was cached."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def notes_on(self, machine: Cluster, workload: Workload | None = None) -> list[str]:
        """What the user should know before this policy runs a log on a machine."""
        if machine.shape == "pool" and self.place.by_sharing:
            return [
                f"{self.name} places jobs on nodes by what they share, but a pool has no nodes: "
                'give a machine of shape = "nodes" with --cluster FILE.toml'
            ]
        return []

    def replace(self, **changes: Any) -> Policy:
        """A variant: other parts, another name."""
        return replace(self, **changes)
