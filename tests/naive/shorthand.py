"""The verifier's policies on lists of jobs, as the tests call them."""

from __future__ import annotations

from typing import Any

from shadowtime.verify import balance, pool
from shadowtime.verify import pv_easy as pv
from shadowtime.verify.follow import EVERY, General, general
from shadowtime.verify.hosts import HostResult, Partitioned, SingleClass, make_host_world
from shadowtime.verify.parts import KEYS, Key, weighted
from shadowtime.verify.slots import Functions
from shadowtime.verify.world import (
    Job,
    Result,
    Running,
    Vector,
    World,
    correct,
    make_world,
    replay,
)


def easy_world(
    jobs: list[Job], capacity: Vector, *, estimate: object = "requested", **options: Any
) -> World:
    """EASY and its looser readings."""
    return pool.easy(make_world(jobs, capacity, estimate), **options)


def easy(jobs: list[Job], capacity: Vector, **options: Any) -> Result:
    """EASY; with ``backfill="sjbf"`` and ``estimate="last-two"`` it is EASY++."""
    return easy_world(jobs, capacity, **options).result()


def conservative(
    jobs: list[Job], capacity: Vector, *, compress: bool = True, estimate: object = "requested"
) -> Result:
    """Every waiting job holds a promise."""
    return pool.conservative(make_world(jobs, capacity, estimate), compress=compress).result()


def pv_easy_world(
    jobs: list[Job],
    capacity: Vector,
    *,
    predictor: object = "last",
    every: int = 0,
    restart: int = 0,
    **options: Any,
) -> World:
    """PV-EASY; a stopped job saves its work ``every`` so many seconds of it (0: never)."""
    world = make_world(jobs, capacity, predictor)
    world.every, world.restart = every, restart
    return pv.pv_easy(world, **options)


def pv_easy(jobs: list[Job], capacity: Vector, **options: Any) -> Result:
    """PV-EASY's rows."""
    return pv_easy_world(jobs, capacity, **options).result()


def bb(jobs: list[Job], capacity: Vector, *, per_pass: str = "one") -> Result:
    """Backfill Balanced."""
    return balance.bb(make_world(jobs, capacity, "requested"), per_pass=per_pass).result()


def bl(jobs: list[Job], capacity: Vector, *, per_pass: str = "until-none") -> Result:
    """Backfill Lowest."""
    return balance.bl(make_world(jobs, capacity, "requested"), per_pass=per_pass).result()


def ibb(jobs: list[Job], capacity: Vector, *, threshold: str = "live") -> Result:
    """Improved Backfill Balanced."""
    return balance.ibb(make_world(jobs, capacity, "requested"), threshold=threshold).result()


is_shadow = pv.is_shadow


def on_pool(jobs: list[Job], capacity: Vector, parts: General, estimate: object) -> Result:
    """The general pass on a pool, which is one host."""
    world = make_host_world(jobs, [capacity], None, estimate)
    return general(world, SingleClass([0]), parts).result()


def by_name(key: str | Key) -> Key:
    return KEYS[key] if isinstance(key, str) else key


def reservations(
    jobs: list[Job],
    capacity: Vector,
    *,
    depth: int,
    key: str | Key = "fcfs",
    backfill: str = "in-order",
    estimate: object = "requested",
) -> Result:
    """On a pool the first ``depth`` blocked jobs of every pass get a reservation."""
    parts = General(order=by_name(key), depth=depth, backfill=backfill)
    return on_pool(jobs, capacity, parts, estimate)


def fcfs(jobs: list[Job], capacity: Vector, *, estimate: object = "requested") -> Result:
    """The head blocks all."""
    return reservations(jobs, capacity, depth=0, backfill="never", estimate=estimate)


def greedy(jobs: list[Job], capacity: Vector, *, estimate: object = "requested") -> Result:
    """First fit down the queue, no reservation."""
    return reservations(jobs, capacity, depth=0, backfill="any", estimate=estimate)


def frame(jobs: list[Job], capacity: Vector, *, depth: int = 1, **functions: Any) -> Result:
    """Functions in slots on a pool: the first ``depth`` blocked jobs, or the chosen ones."""
    own = Functions(**functions)
    deep = EVERY if own.reserve is not None else depth
    return on_pool(jobs, capacity, General(depth=deep, own=own), "requested")


def dyn_k(
    jobs: list[Job],
    hosts: list[Vector],
    *,
    depth: int,
    key: str | Key = "lxfw",
    dedicated: tuple[int, ...] | None = (64, 25_000),
    estimate: object = "requested",
) -> HostResult:
    """Single class, ``depth`` dynamic reservations; None: no job takes its whole host."""
    world = make_host_world(jobs, hosts, dedicated, estimate)
    everywhere = SingleClass(list(range(len(hosts))))
    general(world, everywhere, General(order=by_name(key), depth=depth))
    return HostResult(world.result(), dict(world.place))


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
) -> HostResult:
    """part-L/SM, or part-L/A with ``large_in_two``; ``short`` is r in seconds, inclusive."""
    world = make_host_world(jobs, hosts, dedicated, "requested")
    rules = Partitioned(
        class_one,
        [host for host in range(len(hosts)) if host not in class_one],
        lambda job: job.need[0] > large,
        lambda job: job.request <= short,
        large_in_two,
        times,
        depth_two,
    )
    for job in world.jobs:
        allowed = [host for group in rules.preference(job) for host in group]
        assert any(world.could_hold(job, host) for host in allowed), f"job {job.id} too big"
    general(world, rules, General(order=by_name(key), depth=EVERY))
    return HostResult(world.result(), dict(world.place))


def part_l_sm(jobs: list[Job], hosts: list[Vector], **options: Any) -> HostResult:
    """Only small and medium jobs run in class two."""
    return part_l(jobs, hosts, large_in_two=False, **options)


def part_l_a(jobs: list[Job], hosts: list[Vector], **options: Any) -> HostResult:
    """All jobs run in class two."""
    return part_l(jobs, hosts, large_in_two=True, **options)


__all__ = ["KEYS", "Running", "correct", "is_shadow", "replay", "weighted"]
