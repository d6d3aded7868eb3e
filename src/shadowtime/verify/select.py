"""The slow reference for policies that choose a set of jobs (spec: algorithms 1.5).

Written from the specification and the policies' pages, not from the engine: sets are found by
trying all of them, plans are lists of what each job holds and when.
"""

from __future__ import annotations

from functools import cache

from shadowtime.verify.parts import KEYS, Key, in_order
from shadowtime.verify.world import (
    BACKFILLED,
    Held,
    Job,
    World,
    earliest,
    fits,
    fits_during,
    held_by_running,
    minus,
    replay,
    total,
)


def held(world: World, job: Job, start: int) -> Held:
    return Held(start, start + world.estimate(job), job.need)


def start_chosen(world: World, queue: list[Job], chosen: list[Job]) -> None:
    """Start a set; a job that starts behind one that stays in the queue is backfilled."""
    blocked = False
    for job in queue:
        if job not in chosen:
            if not blocked:
                world.block(job)
            blocked = True
        elif blocked:
            world.start(job, BACKFILLED)
        else:
            world.start_first(job)


# ----------------------------------------------------------------------------- LOS
def los(world: World, *, depth: int = 50, area: bool = False, key: Key = KEYS["fcfs"]) -> World:
    """After the head is blocked: of all sets around its reservation the one with most processors.

    Of equally good sets the one that leaves later jobs out. The set is chosen by processors; each
    of its jobs starts if the other resources suffice too.
    """

    def one_pass(world: World) -> None:
        queue = in_order(world, key)
        while queue and fits(queue[0].need, world.free()):
            world.start_first(queue.pop(0))
        if not queue:
            return
        head, rest = queue[0], queue[1 : 1 + depth]
        running = held_by_running(world)
        shadow = earliest(world.capacity, running, head.need, world.estimate(head), world.now)
        world.block(head, promised=shadow)
        worth = {j.id: j.need[0] * (world.estimate(j) if area else 1) for j in rest}
        late = {j.id: j.need[0] * (world.now + world.estimate(j) > shadow) for j in rest}

        @cache
        def best(count: int, now: int, then: int) -> tuple[int, tuple[Job, ...]]:
            """The best set of the first jobs with so many processors now and at the shadow."""
            if count == 0:
                return 0, ()
            job = rest[count - 1]
            without = best(count - 1, now, then)
            if job.need[0] > now or late[job.id] > then:
                return without
            value, some = best(count - 1, now - job.need[0], then - late[job.id])
            value += worth[job.id]
            return (value, (*some, job)) if value > without[0] else without

        left = minus(world.free_at(shadow), head.need)[0]
        held = [Held(shadow, shadow + world.estimate(head), head.need)]
        for job in best(len(rest), world.free()[0], left)[1]:
            taken, length = held_by_running(world) + held, world.estimate(job)
            if fits_during(world.capacity, taken, job.need, world.now, length):
                world.start(job, BACKFILLED)

    return replay(world, one_pass)


# ----------------------------------------------------------------------------- kept plans
class Plans:
    """When each waiting job is planned to start."""

    def __init__(self) -> None:
        self.due: dict[int, int] = {}

    def next(self, world: World) -> int | None:
        ahead = [self.due[job.id] for job in world.waiting if self.due.get(job.id, -1) > world.now]
        return min(ahead, default=None)

    def around(self, world: World, without: Job) -> list[Held]:
        """What all others hold: the running, and the waiting by their plans."""
        others = [job for job in world.waiting if job != without and job.id in self.due]
        return held_by_running(world) + [held(world, job, self.due[job.id]) for job in others]

    def compress(self, world: World, queue: list[Job]) -> None:
        for job in queue:
            self.due[job.id] = earliest(
                world.capacity, self.around(world, job), job.need, world.estimate(job), world.now
            )


def priority_conservative(world: World, *, key: Key = KEYS["lxf"]) -> World:
    """Every job is promised a start; promises move up in the order of the key at every pass."""
    plans = Plans()

    def one_pass(world: World) -> None:
        queue = in_order(world, key)
        plans.compress(world, queue)
        for job in queue:
            world.promised.setdefault(job.id, plans.due[job.id])
        start_chosen(world, queue, [job for job in queue if plans.due[job.id] == world.now])

    return replay(world, one_pass, next_timer=plans.next)


def slack(world: World, *, factor: float = 1.0, tries: int = 50, key: Key = KEYS["fcfs"]) -> World:
    """Any job starts, in order, while all others still keep what they were promised."""
    plans = Plans()

    def one_pass(world: World) -> None:
        queue = in_order(world, key)
        plans.compress(world, queue)
        for job in queue:
            latest = plans.due[job.id] + int(factor * world.estimate(job))
            world.promised.setdefault(job.id, latest)
        chosen = [job for job in queue if plans.due[job.id] == world.now]
        left = tries
        for job in queue:
            free = minus(world.free(), total((j.need for j in chosen), (0,) * len(world.capacity)))
            if left == 0 or job in chosen or not fits(job.need, free):
                continue
            left -= 1
            trial = {j.id: world.now for j in [*chosen, job]}
            taken = held_by_running(world) + [held(world, j, world.now) for j in [*chosen, job]]
            others = [j for j in queue if j.id not in trial]
            for other in sorted(others, key=lambda j: world.promised[j.id]):
                start = earliest(
                    world.capacity, taken, other.need, world.estimate(other), world.now
                )
                trial[other.id] = start
                taken.append(held(world, other, start))
            if all(trial[j.id] <= world.promised[j.id] for j in others):
                plans.due.update(trial)
                chosen = [j for j in queue if trial[j.id] == world.now]
        start_chosen(world, queue, chosen)

    return replay(world, one_pass, next_timer=plans.next)
