"""Slot ``backfill``: which of the rest may start, in what order?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from shadowtime.policy.functions import BACKFILL_KEY, BACKFILL_TEST, SELECT, Slot
from shadowtime.policy.part import WHOLE, Part, parameter
from shadowtime.policy.written import Written

if TYPE_CHECKING:
    from shadowtime.policy.policy import Policy


class Phase(NamedTuple):
    """One sweep over the jobs behind the reservations (see engine/passes/phases.py).

    ``test``: fits (now), around (and delays no reservation), by-shadow (and is expected to end by
    the reservation), or how it changes the balance of resources. ``key``: order, shortest,
    least-penalty, balance, least-used or own; ``at_most`` 0 means as many as pass.
    """

    test: str
    key: str
    at_most: int = 0


class Backfill(Part):
    """Which of the rest may start: phases, and their meaning with the other parts."""

    slot: ClassVar[str] = "backfill"
    respects: ClassVar[bool] = True
    """True if no reservation is ever delayed."""
    needs_reservation: ClassVar[bool] = True
    """True if there is nothing to decide without one."""
    weighs: ClassVar[bool] = False
    """True if the resources of a pool are weighed against each other."""
    on_nodes: ClassVar[bool] = False
    """True if it is defined where jobs slow each other down."""
    selects: ClassVar[bool] = False
    """True if one function chooses the whole set of jobs that start, those at the head too."""
    changes: ClassVar[bool] = False
    """True if it also gives running jobs other sizes and speeds (policy/changing.py)."""

    sweeps: ClassVar[tuple[Phase, ...]] = ()
    """The sweeps, one after the other, where no parameter decides about them."""

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The sweeps, one after the other."""
        return self.sweeps

    @property
    def promises_all(self) -> bool:
        """True if it promises every job a start and moves promises up in the policy's order."""
        return False

    @property
    def exact(self) -> bool:
        """True if a job that starts on extra processors uses them up."""
        return True

    @property
    def in_order(self) -> bool:
        """True for queue order around the reservations, and nothing else."""
        return not self.written and self.phases == (Phase("around", "order"),)

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "nodes" and not (self.on_nodes and self.exact):
            yield f"backfill={self} is not defined on nodes"
        planned = policy.reserve.first is not None and policy.reserve.first > 0
        if self.weighs and (shape not in WHOLE or not planned):
            yield (
                f"backfill={self} weighs the resources of a pool around a reservation; use a pool "
                "and reserve=1"
            )


@dataclass(frozen=True)
class Never(Backfill):
    """No job overtakes the blocked head."""

    needs_reservation: ClassVar[bool] = False
    on_nodes: ClassVar[bool] = True
    name: ClassVar[str] = "never"
    summary: ClassVar[str] = "no job overtakes a blocked one"


@dataclass(frozen=True)
class InOrder(Backfill):
    """In the queue's order, jobs that delay no reservation (spec: algorithms 1.2 step 3)."""

    on_nodes: ClassVar[bool] = True
    name: ClassVar[str] = "in-order"
    summary: ClassVar[str] = "in queue order, any job that delays no reservation"
    sweeps: ClassVar[tuple[Phase, ...]] = (Phase("around", "order"),)
    extra_update: bool = parameter(
        True, "a job that starts on extra processors uses them up (no: a looser EASY)"
    )

    @property
    def exact(self) -> bool:
        return self.extra_update


@dataclass(frozen=True)
class ShortestFirst(InOrder):
    """Shortest estimate first, jobs that delay no reservation: SJBF (spec: algorithms 1.4)."""

    name: ClassVar[str] = "shortest-first"
    summary: ClassVar[str] = "shortest estimate first, jobs that delay no reservation"
    sweeps: ClassVar[tuple[Phase, ...]] = (Phase("around", "shortest"),)


@dataclass(frozen=True)
class AnyThatFits(Backfill):
    """In the queue's order, every job that fits now, reservation or not."""

    respects: ClassVar[bool] = False
    needs_reservation: ClassVar[bool] = False
    on_nodes: ClassVar[bool] = True
    name: ClassVar[str] = "any"
    summary: ClassVar[str] = "in queue order, every job that fits now"
    sweeps: ClassVar[tuple[Phase, ...]] = (Phase("fits", "order"),)


@dataclass(frozen=True)
class Venture(Backfill):
    """PV-EASY's venture backfilling: safe guesses first, then any job.

    spec: algorithms 2.3 step 3.
    """

    respects: ClassVar[bool] = False
    name: ClassVar[str] = "venture"
    summary: ClassVar[str] = "expected to end by the reservation, shortest first; then any job"
    venture: bool = parameter(
        True, "the second phase: every job that fits, whatever its prediction"
    )

    @property
    def phases(self) -> tuple[Phase, ...]:
        safe = Phase("by-shadow", "shortest")
        return (safe, Phase("fits", "order")) if self.venture else (safe,)

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        yield from super().objections(policy, shape)
        if not policy.reserve.sunny:
            yield "backfill=venture needs reserve=sunny"


@dataclass(frozen=True)
class Balanced(Backfill):
    """Backfill Balanced: the job that leaves the K resources most evenly used.

    spec: algorithms 5.2.
    """

    weighs: ClassVar[bool] = True
    name: ClassVar[str] = "balanced"
    summary: ClassVar[str] = "the job that leaves the resources most evenly and fully used (BB)"
    per_pass: str = parameter(
        "one", "start one job per pass, or go on until none", choices=("one", "until-none")
    )

    @property
    def phases(self) -> tuple[Phase, ...]:
        return (Phase("around", "balance", int(self.per_pass == "one")),)


@dataclass(frozen=True)
class LeastUsed(Backfill):
    """Backfill Lowest: the largest request for the least used resource (spec: algorithms 5.2)."""

    weighs: ClassVar[bool] = True
    name: ClassVar[str] = "least-used"
    summary: ClassVar[str] = "the largest request for the least used resource (BL)"
    per_pass: str = parameter(
        "until-none", "start one job per pass, or go on until none", choices=("one", "until-none")
    )

    @property
    def phases(self) -> tuple[Phase, ...]:
        return (Phase("around", "least-used", int(self.per_pass == "one")),)


@dataclass(frozen=True)
class NotWorse(Backfill):
    """Improved Backfill Balanced: in queue order, jobs that worsen no imbalance.

    spec: algorithms 5.3.
    """

    weighs: ClassVar[bool] = True
    name: ClassVar[str] = "not-worse"
    summary: ClassVar[str] = "in queue order, jobs that do not worsen the imbalance (IBB)"
    threshold: str = parameter(
        "live",
        "compare with the imbalance now, or at the beginning of the traversal; "
        "literal is the paper's Algorithm 1, which never accepts a job",
        choices=("live", "frozen", "literal"),
    )

    @property
    def phases(self) -> tuple[Phase, ...]:
        tests = {"live": "not-worse", "frozen": "not-worse-frozen", "literal": "literal"}
        return (Phase(tests[self.threshold], "order"),)


@dataclass(frozen=True)
class LeastPenalty(ShortestFirst):
    """RUA: the least penalised first, then the shortest, chosen again after each start.

    spec: algorithms 4.7.

    On a pool, where no job slows another down, that is shortest first.
    """

    name: ClassVar[str] = "least-penalty"
    summary: ClassVar[str] = "the least slowed down by others first, then the shortest (RUA)"
    sweeps: ClassVar[tuple[Phase, ...]] = (Phase("around", "least-penalty"),)

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape == "site":
            yield "no job slows another down on a site; use easy-sjbf"
        yield from super().objections(policy, shape)


@dataclass(frozen=True)
class ByTest(Written, Backfill):
    """In the queue's order, any job that delays no reservation and passes a test."""

    name: ClassVar[str] = "by-test"
    summary: ClassVar[str] = "in queue order, any job that delays nothing and passes your test"
    sweeps: ClassVar[tuple[Phase, ...]] = (Phase("around", "order"),)
    takes: ClassVar[Slot] = BACKFILL_TEST


@dataclass(frozen=True)
class ByKey(Written, Backfill):
    """By a key of the user's own, higher first, jobs that delay no reservation.

    Keys are computed once per pass, before the first job starts; ties are broken by (submit, id).
    """

    name: ClassVar[str] = "by-key"
    summary: ClassVar[str] = "by a key of your own, any job that delays no reservation"
    sweeps: ClassVar[tuple[Phase, ...]] = (Phase("around", "own"),)
    takes: ClassVar[Slot] = BACKFILL_KEY
    test: ByTest | None = None

    @property
    def functions(self) -> tuple[Written, ...]:
        return (self, self.test) if self.test else (self,)

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        yield from super().objections(policy, shape)
        if policy.reserve.one_by_one:
            yield (
                f"with reserve={policy.reserve} every job is tried in queue order, so a backfill "
                "key would have no effect; use reserve=K or a backfill test"
            )

    def where(self, test: ByTest) -> ByKey:
        """The same key, for those that pass a test."""
        return replace(self, test=test)

    def __str__(self) -> str:
        text = super().__str__()  # as it is typed (values.WHERE)
        if self.test is None:
            return text
        more = f"where={self.test})"
        return f"{text[:-1]}, {more}" if text.endswith(")") else f"{text}({more}"


@dataclass(frozen=True)
class Selected(Written, Backfill):
    """The set of jobs that a user's function chooses from the whole queue.

    It receives the queue in order and the availability profile. The engine makes no reservation:
    plans, promises and claims are the function's own.
    """

    selects: ClassVar[bool] = True
    name: ClassVar[str] = "selected"
    summary: ClassVar[str] = "the set of jobs that your function chooses"
    takes: ClassVar[Slot] = SELECT
    compiled: bool = True
    """False: the function stays in Python, and the engine calls it there."""
    claims: tuple[str, ...] = ()
    """What it claims about its schedules if jobs are in order of arrival, for check to prove."""

    paces: ClassVar[bool] = False
    """True if it is asked for the speed of one job at a time."""
    promising: bool = False
    """True if it promises every job its earliest start and at every pass moves promises up in the
    policy's order: what a site's pass of promises does on named nodes."""

    @property
    def promises_all(self) -> bool:
        return self.promising

    def objections(self, policy: Policy, shape: str) -> Iterator[str]:
        if shape != "pool" and not (shape == "site" and self.promising):
            yield (
                f"backfill={self} chooses a set of jobs by amounts of a whole pool, which do not "
                "determine the nodes they would need; use a pool"
            )
        if shape == "site" and (policy.estimate.written or policy.estimate.changes):
            yield (
                "a promise on a site needs an estimate that is known before the run; "
                f"estimate={policy.estimate} is not, use requested or last-two"
            )
        if policy.reserve.first != 1 or policy.reserve.fixed != "no":
            yield (
                f"backfill={self} makes its own plans, so reserve={policy.reserve} would have no "
                "effect; omit it"
            )
        if policy.preempt.stops or policy.partition.restricts:
            yield f"backfill={self} supports neither preemption nor classes of jobs"


NAMED: dict[str, Backfill] = {
    part.name: part()
    for part in (
        Never,
        InOrder,
        ShortestFirst,
        AnyThatFits,
        Venture,
        Balanced,
        LeastUsed,
        NotWorse,
        LeastPenalty,
    )
}
NAMED["sjbf"] = ShortestFirst()
NAMED["anybody"] = AnyThatFits()
