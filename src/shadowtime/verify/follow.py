"""follow(workload, machine, policy): what the policy makes of the jobs, by the verifier.

The general pass on a pool or on hosts plans its reservations anew at every pass: the jobs in order,
one that fits starts, one that does not is blocked, and the first blocked ones get a reservation.
Behind the last reservation the backfill part decides. A pool is one host. spec: algorithms 3.3.
Functions in slots are those of docs/guides/your-own-policy.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.policy.partition import ByClass
from shadowtime.policy.policy import Policy
from shadowtime.verify import balance, parts, pool, select
from shadowtime.verify.expected import Attempt, Expected, Followed
from shadowtime.verify.hosts import (
    HostWorld,
    Partitioned,
    Plan,
    Rules,
    SingleClass,
    make_host_world,
)
from shadowtime.verify.on_site import follow_site
from shadowtime.verify.parts import KEYS, Key, NotFollowedError, in_order
from shadowtime.verify.pv_easy import pv_easy
from shadowtime.verify.slots import Function, Functions, Predictions, Seen
from shadowtime.verify.world import BACKFILLED, HEAD, NEVER, RESERVED, Job, Running, World, replay
from shadowtime.workload import Workload
from shadowtime.workload.series import bounded_amounts
from shadowtime.workload.site_requests import pool_as_site

NO_BOUND = 1 << 60


def follow(
    workload: Workload, machine: Cluster | Site, policy: Policy | Any, *, until: int = NEVER
) -> Followed:
    """Carry out a policy pass by pass, slowly and obviously, sharing nothing with the engine.

    Raises NotFollowedError where a part of the policy has no second implementation.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], procs=[3, 4, 1])
    >>> [row.start for row in follow(jobs, Cluster.pool(4), parse_policy("easy")).rows]
    [0, 9, 2]
    """
    if not isinstance(policy, Policy):
        raise NotFollowedError("it is a scheduler of its own, not made of parts")
    if int(workload.effective_run.min(initial=1)) < 1:
        raise NotFollowedError("some jobs run for no time")
    if isinstance(machine, Site):
        return follow_site(workload, machine, policy, until)
    if machine.shape == "nodes":
        raise NotFollowedError("jobs slow each other down on nodes that share bandwidth")
    leaving = workload.extra.get("cancel_at")
    if (leaving is not None and bool((leaving >= 0).any())) or bounded_amounts(workload):
        asked, site = pool_as_site(workload, machine)
        return follow_site(asked, site, policy, until, places=False)
    if policy.order.by_event:
        raise NotFollowedError(f"order={policy.order} has no second implementation")
    return on_cluster(workload, machine, policy, until)


def jobs_of(workload: Workload, cluster: Cluster) -> list[Job]:
    """The jobs with what they take of each of the cluster's resources."""
    have = {name: k for k, name in enumerate(workload.resources)}
    columns = [have.get(name) for name in cluster.resources]
    return [
        Job(
            id=int(workload.job_id[i]),
            submit=int(workload.submit[i]),
            need=tuple(0 if k is None else int(workload.demand[i, k]) for k in columns),
            request=max(1, int(workload.request[i])),
            run=int(workload.run[i]),
            limit=int(workload.limit[i]),
            user=int(workload.user[i]),
        )
        for i in range(len(workload))
    ]


def on_cluster(workload: Workload, cluster: Cluster, policy: Policy, until: int) -> Followed:
    """On a pool, which is one host, or on hosts."""
    policy.refuse_nonsense(cluster.shape)
    capacities = [tuple(host.capacity) for host in cluster.hosts]
    dedicated = None
    limits = cluster.options.get("dedicated", {})
    if cluster.shape == "hosts" and limits and cluster.options.get("dedicated_exclusive", True):
        dedicated = tuple(int(limits.get(name, NO_BOUND)) for name in cluster.resources)
    jobs, estimate = jobs_of(workload, cluster), parts.estimate_of(policy, workload)
    world = make_host_world(jobs, capacities, dedicated, estimate)
    world.until = until
    carry_out(world, policy, workload, cluster)
    names = None if cluster.shape == "pool" else [host.name for host in cluster.hosts]
    result = world.result()
    need = {job.id: job.need[0] for job in world.jobs}
    rows = {
        row.id: Expected(
            job_id=row.id,
            start=row.start,
            end=row.end,
            reason=row.reason,
            kills=row.kills,
            killed=row.killed,
            place=None if names is None else ((names[world.place[row.id]], need[row.id]),),
            promised=row.promised,
            blocked_at=row.blocked_at,
            promised_at=world.promised_at.get(row.id, -1),
        )
        for row in result.rows
    }
    for job in world.jobs:
        if job.id not in rows:
            promised, blocked = world.promised.get(job.id, -1), world.blocks.get(job.id, -1)
            rows[job.id] = Expected(job_id=job.id, promised=promised, blocked_at=blocked)
    ordered = tuple(rows[job.id] for job in world.jobs)
    return Followed(ordered, tuple(sorted(attempts_of(world))), result.passes, until)


def attempts_of(world: World) -> Iterator[Attempt]:
    """The runs of stopped jobs: those that were stopped, and the last."""
    for job, lost in world.lost.items():
        for (start, end), (overhead, kept) in zip(lost, world.worked[job], strict=True):
            yield Attempt(job, start, end, 1, overhead, kept)
        run = world.last[job]
        if run.preempted_at is None:
            kept = run.job.effective_run - run.saved
            yield Attempt(job, run.start, run.end, 0, run.restart, kept)


def carry_out(world: HostWorld, policy: Policy, workload: Workload, cluster: Cluster) -> World:
    """The reference of a policy's parts."""
    part, reserve = policy.backfill, policy.reserve
    if part.selects:
        return choose(world, policy)
    if reserve.kept:
        return pool.conservative(world, compress=reserve.compresses)
    if reserve.sunny:
        parts.functions_of(policy)
        world.every, world.restart = policy.preempt.save_every, policy.preempt.restart_s
        return pv_easy(
            world,
            backfills=bool(part.phases),
            venture=parts.ventures(policy),
            preempt=policy.preempt.stops,
            prune=policy.preempt.spares,
        )
    if policy.preempt.stops:
        raise NotFollowedError(f"preempt={policy.preempt} without reserve=sunny")
    if part.weighs:
        if not policy.order.by_arrival or reserve.first != 1:
            raise NotFollowedError(f"backfill={part} with another order or depth")
        name, options = parts.weighing_of(policy)
        return getattr(balance, name)(world, **options)  # type: ignore[no-any-return]
    if not part.exact or reserve.fixed != "no":
        backfill = parts.backfill_of(policy)
        return pool.easy(
            world, backfill=backfill, extra_update=part.exact, fixed_reservation=reserve.fixed
        )
    hosts: Rules = SingleClass(list(range(len(cluster.hosts))))
    depth = reserve.depth(EVERY)
    if policy.partition.classes is not None:
        hosts, depth = classes_of(policy.partition.classes, workload, cluster), EVERY
    return general(
        world,
        hosts,
        General(
            order=parts.key_of(policy),
            depth=depth,
            backfill=parts.backfill_of(policy),
            own=parts.functions_of(policy),
        ),
    )


def choose(world: World, policy: Policy) -> World:
    """The policies that choose from the whole queue."""
    part = policy.backfill
    name = str(part).partition("(")[0]
    known = {"los": select.los, "slack": select.slack, "promise-all": select.priority_conservative}
    if name not in known or not part.bundled:  # type: ignore[attr-defined]
        raise NotFollowedError(f"backfill={part} is a function of your own")
    if policy.order.written:
        raise NotFollowedError(f"order={policy.order} with backfill={part}")
    return known[name](world, key=parts.key_of(policy), **part.settings())


def classes_of(part: ByClass, workload: Workload, cluster: Cluster) -> Partitioned:
    """Class partitioning: class one is the widest hosts."""
    sizes = [host.capacity for host in cluster.hosts]
    widest = sorted(range(len(sizes)), key=lambda host: ([-size for size in sizes[host]], host))
    one = sorted(widest[: part.hosts])
    if part.by == "procs":
        measure = workload.procs
    elif part.by == "memory":
        measure = workload.demand[:, workload.resources.index("memory")]
    else:
        measure = getattr(workload, part.by)
    ids = workload.job_id.tolist()
    large = {job for job, value in zip(ids, measure.tolist(), strict=True) if value > part.above}
    asked = zip(ids, workload.request.tolist(), strict=True)
    short = {job for job, request in asked if request <= part.hours * 3600}
    return Partitioned(
        one,
        [host for host in range(len(sizes)) if host not in one],
        lambda job: job.id in large,
        lambda job: job.id in short,
        part.large == "anywhere",
        part.times,
        part.reservations,
    )


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
