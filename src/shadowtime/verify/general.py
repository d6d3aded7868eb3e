"""The general pass on a pool or on hosts: reservations planned anew at every pass.

The jobs in order: one that fits starts, one that does not is blocked, and the first blocked ones
get a reservation. Behind the last reservation the backfill part decides. A pool is one host.
spec: algorithms 3.3. Functions in slots are those of docs/guides/your-own-policy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from shadowtime.verify.hosts import (
    HostWorld,
    Plan,
    Rules,
)
from shadowtime.verify.orders import KEYS, Key, in_order
from shadowtime.verify.slots import Function, Functions, Predictions, Seen
from shadowtime.verify.world import BACKFILLED, HEAD, RESERVED, Job, Running, World, replay

EVERY = 10**9
"""A depth beyond any queue."""


@dataclass(frozen=True)
class General:
    """The parts of a policy that the general pass carries out."""

    order: Key = KEYS["fcfs"]
    depth: int = 1
    """Reservations of a pass; where jobs are divided into classes these have their own bounds."""
    backfill: str = "in-order"
    """in-order or sjbf (around the reservations), any (that fits now), or never."""
    own: Functions = field(default_factory=Functions)


class Asked:
    """A policy's functions along one run: their memory, and the news they learn from."""

    def __init__(self, functions: Functions, world: HostWorld) -> None:
        self.do, self.world = functions, world
        self.memory: dict[object, list[float]] = {}
        self.ticked = -1
        self.guess: dict[int, int] | None = None
        if functions.predict is not None:
            predictions = Predictions(functions.predict, world.jobs)
            world.estimates, self.guess = predictions, predictions.guess

    def row(self, user: int) -> list[float]:
        """The memory of a user, or of all jobs together."""
        return self.memory.setdefault("all" if self.do.shared else user, [0.0] * 4)

    def call(self, function: Function, job: Job, *more: Any, ran: int = 0) -> Any:
        """The answer of a function about a job."""
        world = self.world
        seen = Seen(
            submit=job.submit,
            wait=world.now - job.submit,
            request=job.request,
            estimate=world.estimate(job),
            procs=job.need[0],
            user=job.user,
            ran=ran,
            promised=world.promised.get(job.id, -1),
        )
        return function(world.now, seen, self.row(job.user), *more)

    def may_overtake(self, job: Job) -> bool:
        """What the backfill test says."""
        return self.do.test is None or bool(self.call(self.do.test, job))

    def tick(self, until: int) -> None:
        """Let the timer go off as often as it is due."""
        every, function = self.do.learn.get("timer", (1 << 40, None))
        if self.ticked < 0:  # the first instant
            self.ticked = self.world.now
        for when in range((self.ticked // every + 1) * every, until + 1, every):
            for user in {-1} if self.do.shared else {job.user for job in self.world.jobs}:
                function(when, self.row(user))
        self.ticked = max(self.ticked, until)

    def arrived(self, world: World, job: Job) -> None:
        """A submission: its prediction, and what is learnt from it."""
        if self.guess is not None:
            number = math.floor(self.call(self.do.predict, job) + 0.5)  # type: ignore[arg-type]
            self.guess[job.id] = int(max(1, min(job.request, number)))
        if "submit" in self.do.learn:
            self.call(self.do.learn["submit"], job)

    def after_ends(self, world: World, ended: list[Running]) -> None:
        """What is learnt from ends."""
        self.tick(world.now - 1)
        for run in ended:
            if "end" in self.do.learn:
                self.call(self.do.learn["end"], run.job, ran=world.now - run.start)


def general(world: HostWorld, hosts: Rules, parts: General) -> World:
    """Run the general pass until every job has ended."""
    asked = Asked(parts.own, world)

    def one_pass(_: World) -> None:
        asked.tick(world.now)
        before = len(world.starts)
        rest, plan = reserve_in_order(world, hosts, parts, asked)
        fill(world, hosts, parts, asked, rest, plan)
        if "start" in parts.own.learn:
            for run in world.starts[before:]:
                asked.call(parts.own.learn["start"], run.job)

    return replay(world, one_pass, arrived=asked.arrived, after_ends=asked.after_ends)


def queue_of(world: HostWorld, parts: General, asked: Asked) -> list[Job]:
    """The waiting jobs in the policy's order."""
    if parts.own.order is None:
        return in_order(world, parts.order)
    keys = {job.id: asked.call(parts.own.order, job) for job in world.waiting}
    return sorted(world.waiting, key=lambda job: (-keys[job.id], job.priority))


def reserve_in_order(
    world: HostWorld, hosts: Rules, parts: General, asked: Asked
) -> tuple[list[Job], Plan]:
    """Start jobs in order, reserve for those that do not fit; returns the jobs not looked at."""
    own = parts.own
    plan = Plan(world, {host: [] for host in range(len(world.hosts))})
    sorted_anew = parts.backfill != "in-order" or own.key is not None
    blocked, made = False, 0
    queue = queue_of(world, parts, asked)
    while queue:
        if blocked and (parts.backfill == "never" or (sorted_anew and made >= parts.depth)):
            break
        job = queue.pop(0)
        host = hosts.start_host(plan, job)
        if host is not None and not blocked:
            world.start_on(job, RESERVED if job.id in world.blocks else HEAD, host)
            continue
        if host is not None:
            if asked.may_overtake(job):
                world.start_on(job, BACKFILLED, host)
            continue
        choice = None
        if made < parts.depth and (own.reserve is None or asked.call(own.reserve, job)):
            choice = hosts.reservation(plan, job)
        if choice is not None:
            start, at_host = choice
            made += 1
            at = start
            if own.plan is not None:
                at = max(start, int(asked.call(own.plan, job, float(start))))
            plan.reserve(job, at, at_host)
        if not blocked:
            world.block(job, promised=-1 if choice is None else choice[0])
            if own.reserve is not None and choice is not None:
                world.promised.setdefault(job.id, choice[0])
        blocked = True
    return queue, plan


def fill(
    world: HostWorld, hosts: Rules, parts: General, asked: Asked, rest: list[Job], plan: Plan
) -> None:
    """What the backfill part starts of the jobs behind the reservations."""
    if parts.backfill == "never":
        return
    if parts.backfill == "any":  # whatever was reserved
        plan = Plan(world, {host: [] for host in range(len(world.hosts))})
    if parts.backfill == "sjbf":
        rest = sorted(rest, key=world.estimate)  # stable: ties in the order of the queue
    if parts.own.key is not None:
        keys = {job.id: asked.call(parts.own.key, job) for job in rest}
        rest = sorted(rest, key=lambda job: (-keys[job.id], job.priority))
    for job in rest:
        if asked.may_overtake(job):
            host = hosts.start_host(plan, job)
            if host is not None:
                world.start_on(job, BACKFILLED, host)
