"""The state of a site at an instant: jobs, runs, closings, and what is free.

Functions in slots get the job record of docs/guides/your-own-policy.md and the memory of the job's
user; the passes ask here wherever a policy may bring one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from shadowtime.verify.multifactor import Priority
from shadowtime.verify.site.shapes import Shape, Tasks, Vector
from shadowtime.verify.slots import Function, Functions, Predictions
from shadowtime.verify.world import Estimates, Job
from shadowtime.workload.series import bounds_of

if TYPE_CHECKING:
    from shadowtime.workload.series import Series


class Asked:
    """A policy's functions along one run: their memory, and the questions that a pass asks."""

    def __init__(self, functions: Functions, world: Any) -> None:
        self.do, self.world = functions, world
        self.memory: dict[Any, list[float]] = {}
        self.estimates = Predictions(functions.predict, world.jobs)
        self.ticked: int | None = None

    def row_of_memory(self, user: int) -> list[float]:
        return self.memory.setdefault("all" if self.do.shared else user, [0.0] * 4)

    def seen(self, row: int, run: Any = None) -> SimpleNamespace:
        """The job record."""
        world = self.world
        job = world.jobs[row]
        return SimpleNamespace(
            submit=job.submit,
            wait=world.now - job.submit,
            request=job.request,
            estimate=world.estimate(row) if run is None else run.estimate,
            procs=world.procs(row),
            user=job.user,
            start=-1 if run is None else run.start,
            ran=0 if run is None else world.now - run.start,
            promised=world.promised.get(row, -1),
            blocked_at=world.blocked.get(row, -1),
        )

    def call(self, function: Function, row: int, *more: Any, run: Any = None) -> Any:
        user = self.row_of_memory(self.world.jobs[row].user)
        return function(self.world.now, self.seen(row, run), user, *more)

    # -- questions of a pass
    def may_overtake(self, row: int) -> bool:
        return self.do.test is None or bool(self.call(self.do.test, row))

    def gets_plan(self, row: int) -> bool:
        return self.do.reserve is None or bool(self.call(self.do.reserve, row))

    def not_before(self, row: int, start: int) -> int:
        """The instant before which the plan must not begin."""
        if self.do.plan is None:
            return start
        return max(start, int(self.call(self.do.plan, row, float(start))))

    # -- news of an instant: ends, submissions, then timers; starts behind the pass
    def tick(self, until: int) -> None:
        every, function = self.do.learn.get("timer", (1 << 40, None))
        if self.ticked is None:  # the first instant
            self.ticked = self.world.now
        for when in range((self.ticked // every + 1) * every, until + 1, every):
            users = {"all"} if self.do.shared else {job.user for job in self.world.jobs}
            for user in users:
                function(when, self.memory.setdefault(user, [0.0] * 4))
        self.ticked = max(self.ticked, until)

    def ended(self, row: int, run: Any) -> None:
        if "end" in self.do.learn:
            self.call(self.do.learn["end"], row, run=run)

    def submitted(self, row: int) -> None:
        job = self.world.jobs[row]
        if self.do.predict is not None:
            number = math.floor(self.call(self.do.predict, row) + 0.5)
            self.estimates.guess[job.id] = int(max(1, min(job.request, number)))
        if "submit" in self.do.learn:
            self.call(self.do.learn["submit"], row)

    def started(self, rows: list[int]) -> None:
        if "start" in self.do.learn:
            for row in rows:
                self.call(self.do.learn["start"], row, run=self.world.last[row])


@dataclass
class Run:
    job: Job
    start: int
    shape: Shape
    tasks: Tasks
    frozen: int
    estimate: int
    corrections: int = 0
    saved: int = 0  # seconds of its work that earlier attempts left behind
    restart: int = 0  # seconds that go into starting again

    @property
    def end(self) -> int:
        return self.start + self.restart + self.job.effective_run - self.saved

    def left_of(self, whole: int) -> int:
        """What this attempt takes if the whole job takes so long: a second of work at least."""
        return self.restart + max(1, whole - self.saved)

    def expected_end(self, now: int) -> int:
        latest = self.start + self.restart + self.job.request - self.saved
        if self.start + self.estimate > now:
            return self.start + self.estimate
        return latest if latest > now else now + 1


@dataclass(frozen=True)
class Held:
    node: int | str  # an amount of the site by its name
    start: int
    end: int
    amounts: Vector


@dataclass(frozen=True)
class Closing:
    """A node closed during [begin, end), once known; to all but jobs of that reservation."""

    node: int
    begin: int
    end: int
    known: int
    reservation: str = ""
    failure: bool = False


@dataclass
class Plan:
    start: int
    shape: Shape
    tasks: Tasks


@dataclass
class SiteState:
    """What is known at an instant, and what nodes and the site have free."""

    site: Any
    workload: Any
    rule: str
    jobs: list[Job]
    estimates: Estimates
    shapes: list[list[Shape]]
    closings: list[Closing]
    now: int = -1
    pending: list[int] = field(default_factory=list)  # submitted, not in the queue
    waiting: list[int] = field(default_factory=list)
    running: list[Run] = field(default_factory=list)
    last: dict[int, Run] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    over: dict[int, str] = field(default_factory=dict)  # row -> ended, cancelled, lost
    over_at: dict[int, int] = field(default_factory=dict)
    reason: dict[int, int] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    blocked: dict[int, int] = field(default_factory=dict)
    attempts: list[tuple[int, int, int]] = field(default_factory=list)
    slipped: int = 0
    passes: int = 0
    promised_at: dict[int, int] = field(default_factory=dict)  # the pass that gave the promise
    left: int = 0
    """Runs that are over."""
    usage: dict[Any, int] = field(default_factory=dict)
    every: int = 0  # seconds of work between checkpoints; 1: suspended; 0: killed
    restart: int = 0  # seconds of starting again after a stop
    saved: dict[int, int] = field(default_factory=dict)  # row -> work that is behind it
    worked: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # (overhead, kept)
    priority: Priority | None = None
    tiers: dict[int, int] = field(default_factory=dict)
    times: int = 0
    planned: dict[int, list[int]] = field(default_factory=dict)
    """What the plans of this pass take on nodes of class one."""
    score: Callable[..., float] | None = None
    own: Asked | None = None
    """Functions of the user's own, where the policy brings some."""

    def capacity(self, node: int | str, when: int = 0) -> Vector:
        if isinstance(node, str):
            if node in self.bounds:
                return (int(self.bounds[node].at(when)),)
            return (self.site.amounts.get(node, 0),)
        return tuple(self.site.nodes[node].amounts)

    def parts(self, shape: Shape, tasks: Tasks) -> list[tuple[int | str, Vector]]:
        """What a place takes: on each node, and of each amount of the site."""
        nodes: list[tuple[int | str, Vector]] = [
            (node, self.takes(shape, node, count)) for node, count in tasks.items()
        ]
        return nodes + [(name, (count,)) for name, count in self.of_site(shape)]

    def of_site(self, shape: Shape) -> list[tuple[str, int]]:
        """What it takes of what the whole site has. A licence that the site does not name is not
        there; anything else that it does not name has no bound."""
        return [
            (name, count)
            for name, count in shape.request.amounts
            if name in self.site.amounts or name in self.bounds or name.startswith("license/")
        ]

    def takes(self, shape: Shape, node: int, tasks: int) -> Vector:
        if shape.exclusive:
            return self.capacity(node)
        amounts = [f + math.ceil(tasks * t) for f, t in zip(shape.fixed, shape.task, strict=True)]
        amounts[0] = max(amounts[0], shape.floor)
        if shape.all_memory:
            k = self.site.resources.index("memory")
            amounts[k] = self.capacity(node)[k]
        return tuple(amounts)

    def holds(self, shape: Shape, node: int, free: Vector) -> int:
        """How many tasks a node holds with certain amounts free."""
        if shape.exclusive and free != self.capacity(node):
            return 0
        most = 0
        for tasks in range(1, min(shape.per_node, shape.tasks) + 1):
            amounts = [
                f + math.ceil(tasks * t) for f, t in zip(shape.fixed, shape.task, strict=True)
            ]
            amounts[0] = max(amounts[0], shape.floor)
            if shape.all_memory:
                k = self.site.resources.index("memory")
                amounts[k] = max(amounts[k], self.capacity(node)[k])
            if not all(a <= f for a, f in zip(amounts, free, strict=True)):
                break  # more tasks take no less
            most = tasks
        return most

    def held_by_running(self) -> list[Held]:
        return [held for run in self.running for held in self.held_by_run(run)]

    def held_by_run(self, run: Run) -> list[Held]:
        end = run.expected_end(self.now)
        return [Held(what, self.now, end, some) for what, some in self.parts(run.shape, run.tasks)]

    def held_by(self, plan: Plan, length: int) -> list[Held]:
        end = plan.start + length
        return [
            Held(what, plan.start, end, some) for what, some in self.parts(plan.shape, plan.tasks)
        ]

    def amounts_free(self, shape: Shape, held: list[Held], start: int, length: int) -> bool:
        return all(
            count <= self.free_during(held, name, start, length)[0]
            for name, count in self.of_site(shape)
        )

    def free_at(self, held: list[Held], node: int | str, when: int) -> Vector:
        free = list(self.capacity(node, when))
        for h in held:
            if h.node == node and h.start <= when < h.end:
                free = [a - b for a, b in zip(free, h.amounts, strict=True)]
        return tuple(free)

    def free_during(self, held: list[Held], node: int | str, start: int, length: int) -> Vector:
        moments = [start] + [h.start for h in held if h.node == node] + self.changes(node)
        free = self.free_at(held, node, start)
        for t in moments:
            if start <= t < start + length:
                free = tuple(map(min, free, self.free_at(held, node, t)))
        return free

    def changes(self, *names: int | str) -> list[int]:
        """When the bounds of amounts change, of all of them without names."""
        own = [one for name, one in self.bounds.items() if not names or name in names]
        return [int(t) for one in own for t in one.time]

    @cached_property
    def bounds(self) -> dict[str, Series]:
        """Amounts whose bounds change over time."""
        return bounds_of(self.workload, self.site.amounts)

    def closed(self, shape: Shape, node: int, start: int, length: int) -> bool:
        named = shape.reservation.name if shape.reservation is not None else None
        return any(
            c.node == node
            and c.known <= self.now
            and c.begin < start + length
            and start < c.end
            and (not c.reservation or c.reservation != named)
            for c in self.closings
        )

    def in_cap(self, shape: Shape, node: int) -> int:
        """Tasks that may be planned on a node of class one beside the plans of this pass."""
        most = 0
        for tasks in range(1, shape.tasks + 1):
            taken = zip(self.planned[node], self.takes(shape, node, tasks), strict=True)
            bound = [self.times * amount for amount in self.capacity(node)]
            if all(a + b <= c for (a, b), c in zip(taken, bound, strict=True)):
                most = tasks
        return most

    def reservation_open(self, shape: Shape, start: int, length: int) -> bool:
        r = shape.reservation
        if r is None:
            return True
        epoch = self.workload.epoch or 0
        known = r.known_at is None or r.known_at - epoch <= self.now
        return bool(known and r.begin - epoch <= start and start + length <= r.end - epoch)

    def estimate(self, row: int) -> int:
        """What the job's next attempt is expected to take."""
        whole = self.estimates.of(self.jobs[row])
        if row not in self.saved:
            return whole
        return self.restart + max(1, whole - self.saved[row])
