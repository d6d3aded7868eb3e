"""Slot ``order``: which job is next? Every order ends in (submit, id)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shadowtime.policy.functions import BEGIN, ORDER, PRIORITY, Slot, check_arguments, takes_record
from shadowtime.policy.part import WHOLE, Part, parameter
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy


class Order(Part):
    """Which job is next."""

    slot: ClassVar[str] = "order"
    by_arrival: ClassVar[bool] = False
    """True for the order of submission, which every claim and lasting promise refers to."""
    begins: ClassVar[bool] = False
    """True if a function says when each job may start at the earliest."""
    by_usage: ClassVar[bool] = False
    """True if priorities follow from what users have used so far in the run."""

    @property
    def by_event(self) -> bool:
        """True if every submission and end has its own pass."""
        return False

    kind: ClassVar[str]
    """Its name in the kernels (kernel/order.py)."""

    @property
    def weights(self) -> tuple[float, float, float]:
        """Weights of expansion, wait and processors."""
        return (0.0, 0.0, 0.0)

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes" and not self.by_arrival:
            yield "on nodes the queue is in arrival order: use order=fcfs"


@dataclass(frozen=True)
class Fcfs(Order):
    """First come, first served: submission order."""

    name: ClassVar[str] = "fcfs"
    kind: ClassVar[str] = "FCFS"
    by_arrival: ClassVar[bool] = True
    summary: ClassVar[str] = "submission order"
    ties: str = parameter(
        "instant",
        "one pass for all events of an instant, or one for each as in the simulator pyss",
        choices=("instant", "pyss"),
    )

    @property
    def by_event(self) -> bool:
        return self.ties == "pyss"

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        yield from super().objections(policy, shape)
        if not self.by_event:
            return
        if shape != "pool":
            yield "ties=pyss is the order of events on a pool; omit it here"
        if policy.preempt.stops:
            yield "ties=pyss supports no preemption; use preempt=never"
        if policy.estimate.name not in ("requested", "actual"):
            yield "ties=pyss goes with estimates that do not learn; use estimate=requested"


@dataclass(frozen=True)
class Sjf(Order):
    """Shortest estimate first."""

    name: ClassVar[str] = "sjf"
    kind: ClassVar[str] = "SJF"
    summary: ClassVar[str] = "shortest estimate first"


@dataclass(frozen=True)
class Lxf(Order):
    """Largest expansion factor (wait + estimate) / estimate first (spec: algorithms 1.4)."""

    name: ClassVar[str] = "lxf"
    kind: ClassVar[str] = "LXF"
    summary: ClassVar[str] = "largest expansion factor (wait + estimate) / estimate first"


@dataclass(frozen=True)
class Weighted(Order):
    """Class partitioning's priority (Tables 5 and 6): weights for expansion, wait, processors.

    expansion * sqrt((w + R) / R) + wait * w + procs * P, with wait w and estimate R in hours.
    """

    name: ClassVar[str] = "weighted"
    kind: ClassVar[str] = "WEIGHTED"
    summary: ClassVar[str] = "expansion * sqrt((w+R)/R) + wait * w + procs * P, hours"
    expansion: float = parameter(1.0, "weight of the square root of the expansion factor")
    wait: float = parameter(0.02, "weight of the wait in hours")
    procs: float = parameter(0.0, "weight of the processors")

    @property
    def weights(self) -> tuple[float, float, float]:
        return self.expansion, self.wait, self.procs


@dataclass(frozen=True)
class Custom(Written, Order):
    """A user's own priority, higher first, compiled into the engine.

    A function over the job record, ``(now, job)`` or ``(now, job, user)`` followed by parameters,
    or in the short form ``priority(wait, estimate, procs)``: plain arithmetic on numbers.
    """

    name: ClassVar[str] = "custom"
    kind: ClassVar[str] = "CUSTOM"
    summary: ClassVar[str] = "a function (now, job, user) of your own, compiled"
    takes: ClassVar[Slot] = ORDER
    function: Callable[..., Any] = field(default=lambda wait, estimate, procs: 0.0)

    @property
    def by_record(self) -> bool:
        """False for the short form."""
        return takes_record(self.function)

    @property
    def called_by(self) -> Slot:
        return self.takes if self.by_record else PRIORITY

    def check_function(self) -> None:
        """Reject a function that takes neither the job record nor the three numbers."""
        if self.by_record:
            super().check_function()
        else:
            check_arguments(PRIORITY, self.function)

    def declared(self) -> dict[str, Field[Any]]:
        """The short form has no parameters."""
        return super().declared() if self.by_record else {}

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value."""
        return super().settings() if self.by_record else {"function": self.function}


@dataclass(frozen=True)
class Begins(Written, Order):
    """The order of another part, in which jobs may not start before a time of the user's own.

    The function is asked once for each job, when it is submitted; ``within(order)`` says which
    order the jobs have from then on (default: arrival).
    """

    name: ClassVar[str] = "begins"
    summary: ClassVar[str] = "a function of your own says when each job may start"
    takes: ClassVar[Slot] = BEGIN
    begins: ClassVar[bool] = True
    then: Order = Fcfs()

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.then.kind

    @property
    def weights(self) -> tuple[float, float, float]:
        return self.then.weights

    @property
    def functions(self) -> tuple[Written, ...]:
        return (self, *self.then.functions)

    def within(self, order: Order) -> Begins:
        """The same times, for jobs in another order."""
        return replace(self, then=order)

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        yield from super().objections(policy, shape)
        yield from self.then.objections(policy, shape)
        if shape not in ("pool", "site"):
            yield f"begin times of your own ({self}) are for pools and sites"
        if self.then.by_usage or self.then.by_event or policy.reserve.sunny:
            yield f"begin times of your own ({self}) need another order, and no preemption"
        if policy.keeps_promises:
            yield f"begin times of your own ({self}) are for policies without lasting promises"


AS_SITE = -1
"""A number of Multifactor that is not given: the site's own setting applies."""


@dataclass(frozen=True)
class Multifactor(Order):
    """Slurm's priority/multifactor: age, fair-share, size, partition, QOS, TRES and nice.

    Priorities are calculated when a job enters the queue and for all waiting jobs at every
    calculation period, as Slurm does; the weights are the site's own unless given.
    """

    by_usage: ClassVar[bool] = True
    name: ClassVar[str] = "multifactor"
    kind: ClassVar[str] = "CUSTOM"
    summary: ClassVar[str] = "Slurm's priority/multifactor, with the site's weights and accounts"
    age: int = parameter(AS_SITE, "PriorityWeightAge; -1: the site's", low=AS_SITE)
    fair_share: int = parameter(AS_SITE, "PriorityWeightFairShare; -1: the site's", low=AS_SITE)
    job_size: int = parameter(AS_SITE, "PriorityWeightJobSize; -1: the site's", low=AS_SITE)
    partition: int = parameter(AS_SITE, "PriorityWeightPartition; -1: the site's", low=AS_SITE)
    qos: int = parameter(AS_SITE, "PriorityWeightQOS; -1: the site's", low=AS_SITE)
    max_age: int = parameter(AS_SITE, "PriorityMaxAge in seconds; -1: the site's", low=AS_SITE)
    half_life: int = parameter(
        AS_SITE, "PriorityDecayHalfLife in seconds, 0: none; -1: the site's", low=AS_SITE
    )
    period: int = parameter(AS_SITE, "PriorityCalcPeriod in seconds; -1: the site's", low=AS_SITE)
    fair_tree: str = parameter(
        "site", "Fair Tree (yes) or the classic formula (no)", choices=("site", "yes", "no")
    )

    @property
    def changes(self) -> dict[str, Any]:
        """What is given, by the names of the engine's weights."""
        given = {key: value for key, value in self.settings().items() if value != AS_SITE}
        tree = given.pop("fair_tree")
        return given if tree == "site" else {**given, "fair_tree": tree == "yes"}

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape not in WHOLE:
            yield (
                "order=multifactor counts usage on a site or a pool; describe the machine as one "
                "of these"
            )
        if self.period == 0:
            yield "order=multifactor: period must be at least a second"
        for part in policy.parts.values():
            if part.written:
                yield f"order=multifactor does not go with a function of your own in {part.slot}"


NAMED: dict[str, Order] = {
    "fcfs": Fcfs(),
    "sjf": Sjf(),
    "lxf": Lxf(),
    "lxfw": Weighted(),
    "lxfwp": Weighted(procs=0.01),
    "lpf": Weighted(expansion=0.0, wait=0.0, procs=1.0),
    "weighted": Weighted(),
    "multifactor": Multifactor(),
}
"""Orders by the names the literature uses."""
