"""Slot ``order``: which job is next? Every order ends in (submit, id)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from shadowtime.policy.functions import ORDER, check_arguments
from shadowtime.policy.part import Part, parameter

if TYPE_CHECKING:
    from collections.abc import Callable


class Order(Part):
    """Who is next."""

    slot: ClassVar[str] = "order"


@dataclass(frozen=True)
class Fcfs(Order):
    """First come, first served: submission order."""

    name: ClassVar[str] = "fcfs"
    summary: ClassVar[str] = "submission order"


@dataclass(frozen=True)
class Sjf(Order):
    """Shortest estimate first."""

    name: ClassVar[str] = "sjf"
    summary: ClassVar[str] = "shortest estimate first"


@dataclass(frozen=True)
class Lxf(Order):
    """Largest expansion factor (wait + estimate) / estimate first (spec 1.4)."""

    name: ClassVar[str] = "lxf"
    summary: ClassVar[str] = "largest expansion factor (wait + estimate) / estimate first"


@dataclass(frozen=True)
class Weighted(Order):
    """Class partitioning's priority (Tables 5 and 6): weights for expansion, wait, processors.

    expansion * sqrt((w + R) / R) + wait * w + procs * P, with wait w and estimate R in hours.
    """

    name: ClassVar[str] = "weighted"
    summary: ClassVar[str] = "expansion * sqrt((w+R)/R) + wait * w + procs * P, hours"
    expansion: float = parameter(1.0, "weight of the square root of the expansion factor")
    wait: float = parameter(0.02, "weight of the wait in hours")
    procs: float = parameter(0.0, "weight of the processors")


@dataclass(frozen=True)
class Custom(Order):
    """A user's own priority: a function of wait, estimate and processors, higher first.

    The function is compiled into the engine, so it must be plain arithmetic on numbers.
    """

    name: ClassVar[str] = "custom"
    summary: ClassVar[str] = "a function priority(wait, estimate, procs) of your own, compiled"
    function: Callable[[int, int, int], float] = field(default=lambda wait, estimate, procs: 0.0)

    def __post_init__(self) -> None:
        check_arguments(ORDER, self.function)

    def __str__(self) -> str:
        return f"custom({getattr(self.function, '__name__', 'function')})"


NAMED: dict[str, Order] = {
    "fcfs": Fcfs(),
    "sjf": Sjf(),
    "lxf": Lxf(),
    "lxfw": Weighted(),
    "lxfwp": Weighted(procs=0.01),
    "lpf": Weighted(expansion=0.0, wait=0.0, procs=1.0),
    "weighted": Weighted(),
}
"""Orders by the names the literature uses."""
