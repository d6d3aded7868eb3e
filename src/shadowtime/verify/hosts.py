"""Slow, obvious reference of the multi-host policies (spec: algorithms 3).

A machine is a list of hosts, each a vector of capacities (processors, memory, ...). A job runs
inside one host. A dedicated job takes the whole host while it runs (spec: algorithms 3.1).

Readings chosen where the specification leaves room
---------------------------------------------------
- "Free now" in best fit counts the running jobs; "free at its start instant" counts running
  jobs and the reservations made earlier in this pass. Further resources break ties after memory.
- A job is large by its processors alone; a small job with much memory is still dedicated.
- A start looks at the preferred partition first and takes best fit inside it; it goes to the
  other partition only if no host of the preferred one can hold it now.
- A job that may not reserve anywhere is skipped; as first blocked job it is promised -1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.verify.pool import (
    BACKFILLED,
    HEAD,
    KEYS,
    RESERVED,
    Estimates,
    Held,
    Job,
    Key,
    Result,
    Running,
    Vector,
    World,
    earliest,
    fits,
    fits_during,
    in_order,
    minus,
    plus,
    replay,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class HostResult:
    """The rows of the jobs, and on which host each ran."""

    result: Result
    place: dict[int, int]


@dataclass
class HostWorld(World):
    """A world whose running jobs sit on hosts."""

    hosts: list[Vector] = field(default_factory=list)
    dedicated: tuple[int, ...] | None = None
    place: dict[int, int] = field(default_factory=dict)

    def takes(self, job: Job, host: int) -> Vector:
        """What a job takes on a host: all of it if it is dedicated."""
        limits = self.dedicated
        if limits is not None and any(n > m for n, m in zip(job.need, limits, strict=True)):
            return self.hosts[host]
        return job.need

    def could_hold(self, job: Job, host: int) -> bool:
        return fits(job.need, self.hosts[host])

    def start_on(self, job: Job, reason: int, host: int) -> None:
        used = total(
            (self.takes(r.job, host) for r in self.running if self.place[r.job.id] == host),
            tuple(0 for _ in self.hosts[host]),
        )
        assert fits(self.takes(job, host), minus(self.hosts[host], used))
        estimate = self.estimate(job)
        run = Running(job, self.now, estimate, estimate, backfilled=reason == BACKFILLED)
        self.waiting.remove(job)
        self.running.append(run)
        self.starts.append(run)
        self.last[job.id] = run
        self.reason[job.id] = reason
        self.place[job.id] = host


@dataclass
class Plan:
    """The hosts over future time, as one pass sees them: running jobs and reservations."""

    world: HostWorld
    reserved: dict[int, list[Held]]

    def held(self, host: int) -> list[Held]:
        world = self.world
        running = [
            Held(world.now, r.expected_end(world.now), world.takes(r.job, host))
            for r in world.running
            if world.place[r.job.id] == host
        ]
        return running + self.reserved[host]

    def left(self, job: Job, host: int, when: int) -> Vector:
        """What is left on the host at ``when`` once the job is there."""
        left = minus(self.world.hosts[host], self.world.takes(job, host))
        for h in self.held(host):
            if h.start <= when < h.end:
                left = minus(left, h.need)
        return left

    def host_now(self, job: Job, hosts: Iterable[int]) -> int | None:
        """Best fit among the hosts that hold the job now for its whole estimate."""
        world, able = self.world, []
        for host in hosts:
            if not world.could_hold(job, host):
                continue
            need, length = world.takes(job, host), world.estimate(job)
            if fits_during(world.hosts[host], self.held(host), need, world.now, length):
                able.append((self.left(job, host, world.now), host))
        return min(able)[1] if able else None

    def earliest_start(self, job: Job, hosts: Iterable[int]) -> tuple[int, int] | None:
        """(start, host): earliest over the hosts, ties best fit at that instant, then index."""
        world, able = self.world, []
        for host in hosts:
            if not world.could_hold(job, host):
                continue
            need, length = world.takes(job, host), world.estimate(job)
            start = earliest(world.hosts[host], self.held(host), need, length, world.now)
            able.append((start, self.left(job, host, start), host))
        if not able:
            return None
        start, _, host = min(able)
        return start, host

    def reserve(self, job: Job, start: int, host: int) -> None:
        end = start + self.world.estimate(job)
        self.reserved[host].append(Held(start, end, self.world.takes(job, host)))

    def reserved_sum(self, host: int) -> Vector:
        zero = tuple(0 for _ in self.world.hosts[host])
        return total((h.need for h in self.reserved[host]), zero)

    def count(self, hosts: Iterable[int]) -> int:
        return sum(len(self.reserved[host]) for host in hosts)


def make_host_world(
    jobs: list[Job],
    hosts: list[Vector],
    dedicated: tuple[int, ...] | None,
    estimate: object,
) -> HostWorld:
    jobs = sorted(jobs, key=lambda job: job.priority)
    assert len({job.id for job in jobs}) == len(jobs), "job ids must differ"
    nothing = tuple(0 for _ in hosts[0])
    return HostWorld(jobs, nothing, Estimates(estimate, jobs), hosts=hosts, dedicated=dedicated)


def walk(world: HostWorld, key: Key, rules: Rules) -> None:
    """The jobs in priority order; start, or else reserve, or else skip (spec: algorithms 3.3)."""
    plan = Plan(world, {host: [] for host in range(len(world.hosts))})
    blocked = False
    for job in in_order(world, key):
        host = rules.start_host(plan, job)
        if host is not None:
            as_first = RESERVED if job.id in world.blocks else HEAD
            world.start_on(job, BACKFILLED if blocked else as_first, host)
            continue
        choice = rules.reservation(plan, job)
        if choice is not None:
            plan.reserve(job, *choice)
        if not blocked:
            world.block(job, promised=-1 if choice is None else choice[0])
        blocked = True


class Rules:
    """Where a job may start now, and which reservation it gets."""

    def start_host(self, plan: Plan, job: Job) -> int | None:
        raise NotImplementedError

    def reservation(self, plan: Plan, job: Job) -> tuple[int, int] | None:
        raise NotImplementedError


@dataclass
class SingleClass(Rules):
    """All hosts for all; at most ``depth`` reservations (spec: algorithms 3.3)."""

    hosts: list[int]
    depth: int

    def start_host(self, plan: Plan, job: Job) -> int | None:
        return plan.host_now(job, self.hosts)

    def reservation(self, plan: Plan, job: Job) -> tuple[int, int] | None:
        if plan.count(self.hosts) < self.depth:
            return plan.earliest_start(job, self.hosts)
        return None


@dataclass
class Partitioned(Rules):
    """Class one for large jobs, class two for the others (spec: algorithms 3.4)."""

    one: list[int]
    two: list[int]
    large: int
    short: int
    large_in_two: bool
    times: int
    depth_two: int

    def is_large(self, job: Job) -> bool:
        return job.need[0] > self.large

    def preference(self, job: Job) -> list[list[int]]:
        if self.is_large(job):
            return [self.one, self.two] if self.large_in_two else [self.one]
        if job.request <= self.short:
            return [self.two, self.one]
        return [self.two]

    def start_host(self, plan: Plan, job: Job) -> int | None:
        for hosts in self.preference(job):
            host = plan.host_now(job, hosts)
            if host is not None:
                return host
        return None

    def reservation(self, plan: Plan, job: Job) -> tuple[int, int] | None:
        in_two = None
        if plan.count(self.two) < self.depth_two and (self.large_in_two or not self.is_large(job)):
            in_two = plan.earliest_start(job, self.two)
        if not self.is_large(job):
            return in_two  # short jobs never reserve in class one
        in_one = plan.earliest_start(job, [h for h in self.one if self.may_reserve(plan, job, h)])
        if in_one is None:
            return in_two
        if in_two is not None and in_two[0] < in_one[0]:
            return in_two
        return in_one

    def may_reserve(self, plan: Plan, job: Job, host: int) -> bool:
        """Up to ``times`` the resources of each class-one host."""
        wanted = plus(plan.reserved_sum(host), plan.world.takes(job, host))
        return fits(wanted, tuple(self.times * c for c in plan.world.hosts[host]))


def simulate(world: HostWorld, key: str | Key, rules: Rules) -> HostResult:
    order = KEYS[key] if isinstance(key, str) else key

    def one_pass(_: World) -> None:
        walk(world, order, rules)

    replay(world, one_pass)
    return HostResult(world.result(), dict(world.place))


def dyn_k(
    jobs: list[Job],
    hosts: list[Vector],
    *,
    depth: int,
    key: str | Key = "lxfw",
    dedicated: tuple[int, ...] | None = (64, 25_000),
    estimate: object = "requested",
) -> HostResult:
    """Single class, ``depth`` dynamic reservations.

    ``dedicated`` holds one limit per resource; a job above any of them takes its whole host.
    None: every job takes what it asks for.
    """
    world = make_host_world(jobs, hosts, dedicated, estimate)
    everywhere = list(range(len(hosts)))
    for job in world.jobs:
        assert any(world.could_hold(job, host) for host in everywhere), f"job {job.id} too big"
    return simulate(world, key, SingleClass(everywhere, depth))


def part_l(
    jobs: list[Job],
    hosts: list[Vector],
    *,
    class_one: list[int],
    short: int,
    large_in_two: bool,
    large: int = 64,
    times: int = 2,
    depth_two: int = 2,
    key: str | Key = "lxfw",
    dedicated: tuple[int, ...] | None = (64, 25_000),
    estimate: object = "requested",
) -> HostResult:
    """part-L/SM, or part-L/A with ``large_in_two``; ``short`` is r in seconds, inclusive."""
    world = make_host_world(jobs, hosts, dedicated, estimate)
    two = [host for host in range(len(hosts)) if host not in class_one]
    rules = Partitioned(class_one, two, large, short, large_in_two, times, depth_two)
    for job in world.jobs:
        allowed = [host for group in rules.preference(job) for host in group]
        assert any(world.could_hold(job, host) for host in allowed), f"job {job.id} too big"
    return simulate(world, key, rules)


def part_l_sm(
    jobs: list[Job], hosts: list[Vector], *, class_one: list[int], short: int, **options: object
) -> HostResult:
    """Only small and medium jobs run in class two."""
    return part_l(
        jobs,
        hosts,
        class_one=class_one,
        short=short,
        large_in_two=False,
        **options,  # type: ignore[arg-type]
    )


def part_l_a(
    jobs: list[Job], hosts: list[Vector], *, class_one: list[int], short: int, **options: object
) -> HostResult:
    """All jobs run in class two."""
    return part_l(
        jobs,
        hosts,
        class_one=class_one,
        short=short,
        large_in_two=True,
        **options,  # type: ignore[arg-type]
    )
