"""A pass of the policies that plan anew each time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from shadowtime.verify.parts import KEYS, Key
from shadowtime.verify.site.shapes import Shape, Tasks, asked_of
from shadowtime.verify.site.state import Held, Plan
from shadowtime.verify.site.world import SiteWorld
from shadowtime.verify.slots import Functions
from shadowtime.verify.world import BACKFILLED


@dataclass(frozen=True)
class Classes:
    """Class partitioning: n nodes for large jobs; others that ask for at most r hours may too."""

    nodes: int
    hours: float
    anywhere: bool
    above: int
    reservations: int = 2
    times: int = 2

    def one(self, site: Any) -> set[int]:
        """Class one: the widest nodes."""
        amounts = [node.amounts for node in site.nodes]
        order = sorted(range(len(amounts)), key=lambda i: ([-a for a in amounts[i]], i))
        return set(order[: self.nodes])

    def preference(self, procs: int, request: int) -> list[int]:
        if procs > self.above:
            return [1, 2] if self.anywhere else [1]
        return [2, 1] if request <= self.hours * 3600 else [2]


class NowhereError(Exception):
    """The classes leave a job nowhere to run."""


def in_class(shape: Shape, one: set[int], group: int) -> Shape | None:
    """The shape on the nodes of one class."""
    nodes = tuple(n for n in shape.nodes if (n in one) == (group == 1))
    if not nodes or not shape.wanted <= set(nodes):
        return None
    counts = tuple((k, those & set(nodes)) for k, those in shape.counts)
    return replace(shape, nodes=nodes, counts=counts, group=group)


@dataclass(frozen=True)
class Rules:
    """A policy: depth -1 is kept promises."""

    key: str | Key = "fcfs"
    depth: int = 1
    backfill: str = "in-order"
    place: str = "best-fit"
    estimate: object = "requested"
    compress: bool = True
    venture: bool = True
    preempt: bool = True
    prune: bool = False
    every: int = 0
    restart: int = 0
    score: Callable[..., float] | None = None
    """For place="score": the number of (now, job, node), higher first."""
    priority: dict[str, Any] | None = None
    """Settings of the multifactor priority, where that is the order."""
    classes: Classes | None = None
    own: Functions | None = None
    """Functions in slots."""
    every_pass: bool = False
    """Kept promises move up in the order of the key at every pass, newcomers in their turn."""
    sunny: bool = False
    """PV-EASY's pass, whatever overtakes."""

    @property
    def order(self) -> Key | None:
        """The key of the queue's order, None for that of arrival."""
        if isinstance(self.key, str):
            return None if self.key == "fcfs" else KEYS[self.key]
        return self.key


def try_start(world: SiteWorld, row: int, held: list[Held]) -> tuple[Shape, Tasks] | None:
    for shape in world.considered(row):
        tasks = world.under_limits(row, shape, held, world.now, world.estimate(row))
        if tasks is not None:
            return shape, tasks
    return None


def one_pass(world: SiteWorld, rules: Rules) -> None:
    """The general pass."""
    held = world.held_by_running()
    plans: list[Held] = []
    blocked, made, rest = False, 0, []
    own = world.own
    world.planned = {node: [0] * len(world.site.resources) for node in range(len(world.site.nodes))}
    in_two = 0
    for row in world.order(rules.order):
        if not world.considered(row):
            continue
        if blocked and (made >= rules.depth or rules.backfill == "never"):
            rest.append(row)
            continue
        found = try_start(world, row, held + plans)
        if found is not None and blocked and own is not None and not own.may_overtake(row):
            continue
        if found is not None:
            shape, tasks = found
            length = world.estimate(row)
            world.start(row, shape, tasks, BACKFILLED if blocked else world.first_reason(row))
            held += world.held_by(Plan(world.now, shape, tasks), length)
            continue
        if not world.considered(row) or fits_but_over_a_limit(world, row, held + plans):
            continue
        plan, start = None, None
        if made < rules.depth and (own is None or own.gets_plan(row)):
            shapes = world.considered(row)
            if rules.classes is not None:
                large = world.jobs[row].need[0] > rules.classes.above
                full = in_two >= rules.classes.reservations
                shapes = [s for s in shapes if (large if s.group == 1 else not full)]
            plan = world.earliest(row, shapes, held + plans)
            start = None if plan is None else plan.start
            if plan is not None and own is not None:
                after = own.not_before(row, plan.start)
                plan = world.earliest(row, shapes, held + plans, after=after) or plan
            if plan is not None:
                plans += world.held_by(plan, world.estimate(row))
                made += 1
                in_two += plan.shape.group == 2
                for node, count in plan.tasks.items():
                    more = world.takes(plan.shape, node, count)
                    both = zip(world.planned[node], more, strict=True)
                    world.planned[node] = [a + b for a, b in both]
        if not blocked:
            blocked = True
            chosen = own is not None and own.do.reserve is not None
            if start is not None and (row not in world.blocked or chosen):
                world.promised.setdefault(row, start)
            world.blocked.setdefault(row, world.now)
    if rules.backfill == "any":
        plans = []
    fill(world, rules, rest, held, plans)


def fits_but_over_a_limit(world: SiteWorld, row: int, held: list[Held]) -> bool:
    """A placement exists now, but what it would take passes a bound: the limit forbids it."""
    length = world.estimate(row)
    return any(
        world.place(row, shape, held, world.now, length) is not None
        for shape in world.considered(row)
    )


def fill(
    world: SiteWorld, rules: Rules, rest: list[int], held: list[Held], plans: list[Held]
) -> None:
    """The phases of the backfill part."""

    def begin(row: int, shape: Shape, tasks: Tasks) -> None:
        length = world.estimate(row)
        world.start(row, shape, tasks, BACKFILLED)
        held.extend(world.held_by(Plan(world.now, shape, tasks), length))

    if rules.backfill == "never":
        return
    if world.own is not None:
        key = world.own.do.key
        rest = [row for row in rest if world.own.may_overtake(row)]
        if key is not None:
            keys = {row: world.own.call(key, row) for row in rest}
            rest = sorted(rest, key=lambda row: (-world.tier(row), -keys[row], row))
    if rules.backfill in ("in-order", "any", "sjbf"):
        if rules.backfill == "sjbf":
            rest = sorted(rest, key=lambda row: (-world.tier(row), world.estimate(row)))
        for row in rest:
            found = try_start(world, row, held + plans)
            if found is not None:
                begin(row, *found)
        return
    frozen = shares(world, None)
    if rules.backfill.startswith("not-worse") or rules.backfill == "literal":
        for row in rest:
            found = try_start(world, row, held + plans)
            if found is None:
                continue
            before = frozen if rules.backfill == "not-worse-frozen" else shares(world, None)
            after = shares(world, row)
            if rules.backfill == "literal":
                keeps = sum(after) <= sum(frozen)
            else:
                keeps = max(after) * sum(before) <= max(before) * sum(after)
            if keeps:
                begin(row, *found)
        return
    name, once = rules.backfill.removesuffix("-one"), rules.backfill.endswith("-one")
    while True:
        able = [(row, f) for row in rest if (f := try_start(world, row, held + plans)) is not None]
        if not able:
            return
        if name == "balanced":
            row, found = min(able, key=lambda pair: (score(shares(world, pair[0])), pair[0]))
        else:
            use = shares(world, None)
            k = use.index(min(use))
            row, found = max(able, key=lambda pair: (asked(world, pair[0])[k], -pair[0]))
        begin(row, *found)
        rest.remove(row)
        if once:
            return


def asked(world: SiteWorld, row: int) -> list[int]:
    """What the job asks for in all, by its first shape."""
    return asked_of(world.shapes[row][0])


def shares(world: SiteWorld, row: int | None) -> list[Fraction]:
    """The share of each resource in use on the whole site, with the job."""
    used = [0] * len(world.site.resources)
    for run in world.running:
        for node, tasks in run.tasks.items():
            used = [a + b for a, b in zip(used, world.takes(run.shape, node, tasks), strict=True)]
    if row is not None:
        used = [a + b for a, b in zip(used, asked(world, row), strict=True)]
    have = list(world.site.total.values())
    return [Fraction(u, h) if h else Fraction(0) for u, h in zip(used, have, strict=True)]


def score(share: list[Fraction]) -> Fraction | float:
    """BB: max / avg * (1 - avg)."""
    average = sum(share, Fraction(0)) / len(share)
    return max(share) / average * (1 - average) if average else math.inf
