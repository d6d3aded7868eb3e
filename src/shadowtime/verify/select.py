"""The slow reference for policies that choose a set of jobs (spec: algorithms 1.5).

Written from the specification and the policies' pages, not from the engine: sets are found by
trying all of them, plans are lists of what each job holds and when.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from shadowtime.verify.pool import (
    BACKFILLED,
    Held,
    Job,
    Result,
    Vector,
    World,
    earliest,
    fits,
    fits_during,
    held_by_running,
    make_world,
    minus,
    replay,
    total,
)
from shadowtime.verify.slots import Seen, expansion, frame

Key = Callable[[World, Job], float]


def held(world: World, job: Job, start: int) -> Held:
    return Held(start, start + world.estimate(job), job.need)


def in_order(world: World, key: Key | None) -> list[Job]:
    if key is None:
        return list(world.waiting)
    return sorted(world.waiting, key=lambda job: (-key(world, job), job.priority))


def by_expansion(world: World, job: Job) -> float:
    return (world.now - job.submit + world.estimate(job)) / world.estimate(job)


def by_shortness(world: World, job: Job) -> float:
    return -world.estimate(job)


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
def los(
    jobs: list[Job],
    capacity: Vector,
    *,
    depth: int = 50,
    area: bool = False,
    key: Key | None = None,
) -> Result:
    """After the head is blocked: of all sets around its reservation the one with most processors.

    Of equally good sets the one that leaves later jobs out.
    """

    def one_pass(world: World) -> None:
        queue = in_order(world, key)
        while queue and fits(queue[0].need, world.free()):
            world.start_first(queue.pop(0))
        if not queue:
            return
        head, rest = queue[0], queue[1 : 1 + depth]
        shadow = earliest(
            world.capacity, held_by_running(world), head.need, world.estimate(head), world.now
        )
        world.block(head)
        world.promised.setdefault(head.id, shadow)
        best: list[Job] = []
        worth = 0
        # the last job's place in the product changes slowest: sets without it come first
        for taken in product((False, True), repeat=len(rest)):
            some = [job for job, yes in zip(rest, reversed(taken), strict=True) if yes]
            value = sum(j.need[0] * (world.estimate(j) if area else 1) for j in some)
            now = total((j.need for j in some), (0,))
            stay = [j for j in some if world.now + world.estimate(j) > shadow]
            then = total((j.need for j in stay), (0,))
            left = minus(world.free_at(shadow), head.need)
            if fits(now, world.free()) and fits(then, left) and value > worth:
                best, worth = some, value
        for job in best:
            world.start(job, BACKFILLED)

    return replay(make_world(jobs, capacity, "requested"), one_pass).result()


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


def priority_conservative(
    jobs: list[Job], capacity: Vector, *, key: Key | None = by_expansion
) -> Result:
    plans = Plans()

    def one_pass(world: World) -> None:
        queue = in_order(world, key)
        plans.compress(world, queue)
        for job in queue:
            world.promised.setdefault(job.id, plans.due[job.id])
        start_chosen(world, queue, [job for job in queue if plans.due[job.id] == world.now])

    world = make_world(jobs, capacity, "requested")
    return replay(world, one_pass, next_timer=plans.next).result()


def slack(
    jobs: list[Job], capacity: Vector, *, factor: float = 1.0, key: Key | None = None
) -> Result:
    plans = Plans()

    def one_pass(world: World) -> None:
        queue = in_order(world, key)
        plans.compress(world, queue)
        for job in queue:
            latest = plans.due[job.id] + int(factor * world.estimate(job))
            world.promised.setdefault(job.id, latest)
        chosen = [job for job in queue if plans.due[job.id] == world.now]
        for job in queue:
            free = minus(world.free(), total((j.need for j in chosen), (0,) * len(capacity)))
            if job in chosen or not fits(job.need, free):
                continue
            trial = {j.id: world.now for j in [*chosen, job]}
            taken = held_by_running(world) + [held(world, j, world.now) for j in [*chosen, job]]
            others = [j for j in queue if j.id not in trial]
            for other in sorted(others, key=lambda j: world.promised[j.id]):
                start = earliest(capacity, taken, other.need, world.estimate(other), world.now)
                trial[other.id] = start
                taken.append(held(world, other, start))
            if all(trial[j.id] <= world.promised[j.id] for j in others):
                plans.due.update(trial)
                chosen = [j for j in queue if trial[j.id] == world.now]
        start_chosen(world, queue, chosen)

    world = make_world(jobs, capacity, "requested")
    return replay(world, one_pass, next_timer=plans.next).result()


# ----------------------------------------------------------------------------- adaptive selective
def selective_adaptive(jobs: list[Job], capacity: Vector) -> Result:
    """A reservation from the mean slowdown of the jobs that ended on; 2 while none has."""
    ended: list[float] = []

    def chosen(now: int, job: Seen, user: object) -> bool:
        mean = sum(ended) / len(ended) if ended else 2.0
        return expansion(now, job, user) > mean

    def note(now: int, job: Seen, user: object) -> None:
        ended.append((now - job.submit) / max(1, job.ran))

    return frame(jobs, capacity, order=expansion, reserve=chosen, learn={"end": note})


TWINS: dict[str, Callable[[list[Job], Vector], Result]] = {
    "los": los,
    "los(depth=2)": lambda jobs, cap: los(jobs, cap, depth=2),
    "los(area=yes, order=lxf)": lambda jobs, cap: los(jobs, cap, area=True, key=by_expansion),
    "priority-conservative": priority_conservative,
    "priority-conservative(order=fcfs)": lambda jobs, cap: priority_conservative(
        jobs, cap, key=None
    ),
    "priority-conservative(order=sjf)": lambda jobs, cap: priority_conservative(
        jobs, cap, key=by_shortness
    ),
    "slack": slack,
    "slack(factor=0)": lambda jobs, cap: slack(jobs, cap, factor=0),
    "slack(factor=2.5, order=sjf)": lambda jobs, cap: slack(
        jobs, cap, factor=2.5, key=by_shortness
    ),
    "selective-adaptive": selective_adaptive,
}
MANY_RESOURCES = [name for name in TWINS if not name.startswith("los")]

__all__ = ["MANY_RESOURCES", "TWINS", "fits_during"]
