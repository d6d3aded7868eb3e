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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from shadowtime.verify.world import (
    BACKFILLED,
    Estimates,
    Held,
    Job,
    Result,
    Running,
    Steps,
    Vector,
    World,
    first_fit,
    fits,
    fits_until,
    minus,
    plus,
    steps,
    total,
)


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
    known: dict[int, tuple[tuple[int, int], Steps]] = field(default_factory=dict)

    def free(self, host: int) -> Steps:
        """What is free on the host from now on; kept until a job starts or reserves."""
        key = (len(self.world.starts), len(self.reserved[host]))
        if self.known.get(host, (None,))[0] != key:
            found = steps(self.world.hosts[host], self.held(host), self.world.now)
            self.known[host] = (key, found)
        return self.known[host][1]

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
        free = next(free for t, free in reversed(self.free(host)) if t <= when)
        return minus(free, self.world.takes(job, host))

    def host_now(self, job: Job, hosts: Iterable[int]) -> int | None:
        """Best fit among the hosts that hold the job now for its whole estimate."""
        world, able = self.world, []
        for host in hosts:
            if not world.could_hold(job, host):
                continue
            need, length = world.takes(job, host), world.estimate(job)
            if fits_until(self.free(host), need, world.now + length):
                able.append((self.left(job, host, world.now), host))
        return min(able)[1] if able else None

    def earliest_start(self, job: Job, hosts: Iterable[int]) -> tuple[int, int] | None:
        """(start, host): earliest over the hosts, ties best fit at that instant, then index."""
        world, able = self.world, []
        for host in hosts:
            if not world.could_hold(job, host):
                continue
            need, length = world.takes(job, host), world.estimate(job)
            start = first_fit(self.free(host), need, length)
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
    whole = total(hosts, tuple(0 for _ in hosts[0]))
    return HostWorld(jobs, whole, Estimates(estimate, jobs), hosts=hosts, dedicated=dedicated)


class Rules:
    """Where a job may start now, and which reservation it gets."""

    def start_host(self, plan: Plan, job: Job) -> int | None:
        raise NotImplementedError

    def reservation(self, plan: Plan, job: Job) -> tuple[int, int] | None:
        raise NotImplementedError


@dataclass
class SingleClass(Rules):
    """All hosts for all (spec: algorithms 3.3)."""

    hosts: list[int]

    def start_host(self, plan: Plan, job: Job) -> int | None:
        return plan.host_now(job, self.hosts)

    def reservation(self, plan: Plan, job: Job) -> tuple[int, int] | None:
        return plan.earliest_start(job, self.hosts)


@dataclass
class Partitioned(Rules):
    """Class one for large jobs, class two for the others (spec: algorithms 3.4)."""

    one: list[int]
    two: list[int]
    large: Callable[[Job], bool]
    short: Callable[[Job], bool]
    large_in_two: bool
    times: int = 2
    depth_two: int = 2

    def preference(self, job: Job) -> list[list[int]]:
        if self.large(job):
            return [self.one, self.two] if self.large_in_two else [self.one]
        if self.short(job):
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
        if plan.count(self.two) < self.depth_two and (self.large_in_two or not self.large(job)):
            in_two = plan.earliest_start(job, self.two)
        if not self.large(job):
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
