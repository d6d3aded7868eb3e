"""PV-EASY: predict, venture, preempt (spec: algorithms 2).

Readings chosen where the specification leaves room: ``venture=False`` leaves out step 3c only.
Pruning spares victims from the highest priority down.
"""

from __future__ import annotations

from collections.abc import Callable

from shadowtime.verify.world import (
    BACKFILLED,
    PREEMPTING,
    Job,
    Running,
    World,
    fits,
    replay,
    total,
)


def pv_easy(
    world: World,
    *,
    backfills: bool = True,
    venture: bool = True,
    preempt: bool = True,
    prune: bool = False,
    first: Callable[[Running, int], float] | None = None,
) -> World:
    """PV-EASY; ``venture=False`` leaves out step 3c, ``preempt=False`` leaves out step 2.

    What a stopped job saves and what starting again costs is the world's ``every``, ``restart``.
    """

    def one_pass(world: World) -> None:
        while world.waiting:
            head = world.waiting[0]
            # 1. regular start
            if fits(head.need, world.free()):
                world.start_first(head)
                continue
            # 2. shadow load preemption, if it lets the head start right away
            victims = choose_victims(world, head, prune=prune, first=first) if preempt else []
            if not victims:
                break
            for run in victims:
                world.preempt(run)
            world.start(head, PREEMPTING)
        if not world.waiting:
            return
        # 3. the head is blocked: venture backfilling
        head, rest = world.waiting[0], world.waiting[1:]
        # a. its reservation, as if the shadow jobs were not there
        reserved = sunny_reservation(world, head)
        world.block(head, promised=reserved)
        if not backfills:
            return
        # b. jobs that should have ended by then, nearest predicted completion first
        safe = [job for job in rest if world.now + world.estimate(job) <= reserved]
        for job in sorted(safe, key=world.estimate):  # stable: ties by priority
            if fits(job.need, world.free()):
                world.start(job, BACKFILLED)
        # c. any other job that fits, by priority
        if venture:
            for job in rest:
                if job in world.waiting and fits(job.need, world.free()):
                    world.start(job, BACKFILLED)

    return replay(world, one_pass)


def is_shadow(run: Running, head: Job) -> bool:
    """Some waiting job, that is the head, has higher priority (spec: algorithms 2.2)."""
    return run.job.priority > head.priority


def choose_victims(
    world: World,
    head: Job,
    *,
    prune: bool,
    first: Callable[[Running, int], float] | None = None,
) -> list[Running]:
    """Shadow jobs from the lowest priority up until the head fits; none if all are too few.

    ``first`` puts those with the highest values before the others. Pruning spares a victim, the
    last chosen first, if the head fits without its death.
    """
    shadow = [run for run in world.running if is_shadow(run, head)]
    shadow.sort(key=lambda run: run.job.priority, reverse=True)
    if first is not None:
        shadow.sort(key=lambda run: -first(run, world.now))  # stable
    victims: list[Running] = []
    for run in shadow:
        victims.append(run)
        if fits(head.need, total((v.job.need for v in victims), world.free())):
            break
    else:
        return []
    if prune:
        for run in reversed(list(victims)):
            others = [v for v in victims if v is not run]
            if fits(head.need, total((v.job.need for v in others), world.free())):
                victims = others
    return victims


def sunny_reservation(world: World, head: Job) -> int:
    sunny = [run for run in world.running if not is_shadow(run, head)]
    for t in sorted({world.now} | {run.expected_end(world.now) for run in sunny}):
        if fits(head.need, world.free_at(t, sunny)):
            return t
    raise AssertionError("the head does not even fit into the empty machine")
