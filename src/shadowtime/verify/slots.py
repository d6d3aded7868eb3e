"""The slow reference for functions in slots and for the policies written with them.

Written from the guide (docs/guides/your-own-policy.md) and the papers' formulas, not from the
engine. A function gets a ``Seen``: the guide's job record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shadowtime.verify.pool import (
    BACKFILLED,
    Estimates,
    Held,
    Job,
    Result,
    Running,
    Vector,
    World,
    earliest,
    fits_during,
    held_by_running,
    make_world,
    replay,
)


@dataclass(frozen=True)
class Seen:
    """A job as a function sees it."""

    submit: int
    wait: int
    request: int
    estimate: int
    procs: int
    user: int
    ran: int
    promised: int


Function = Callable[..., Any]


def first_come(now: int, job: Seen, user: Any) -> float:
    return 0.0


class Predictions(Estimates):
    """One prediction at submission: whole seconds within [1, request]."""

    def __init__(self, predict: Function | None, jobs: list[Job]) -> None:
        super().__init__("requested", jobs)
        self.predict = predict
        self.guess: dict[int, int] = {}

    def _of(self, job: Job) -> int:
        return self.guess.get(job.id, job.request)


def frame(
    jobs: list[Job],
    capacity: Vector,
    *,
    order: Function = first_come,
    reserve: Function | None = None,
    plan: Function | None = None,
    key: Function | None = None,
    test: Function | None = None,
    depth: int = 1,
    predict: Function | None = None,
    learn: dict[str, Any] | None = None,
) -> Result:
    """A pass in order; the first ``depth`` blocked jobs (or the chosen ones) hold a reservation."""
    learned = learn or {}
    memory: dict[int, list[float]] = {}
    world = make_world(jobs, capacity, "requested")
    world.estimates = Predictions(predict, world.jobs)
    guess = world.estimates.guess

    def seen(world: World, job: Job, ran: int = 0) -> Seen:
        return Seen(
            submit=job.submit,
            wait=world.now - job.submit,
            request=job.request,
            estimate=world.estimate(job),
            procs=job.need[0],
            user=job.user,
            ran=ran,
            promised=world.promised.get(job.id, -1),
        )

    def call(function: Function, world: World, job: Job, *more: Any, ran: int = 0) -> Any:
        row = memory.setdefault(job.user, [0.0] * 4)
        return function(world.now, seen(world, job, ran), row, *more)

    upto = -1  # timers went off until then

    def tick(until: int) -> None:
        nonlocal upto
        every, function = learned.get("timer", (1 << 40, None))
        if upto < 0:  # the first instant
            upto = world.now
        for when in range((upto // every + 1) * every, until + 1, every):
            for user in {job.user for job in world.jobs}:
                function(when, memory.setdefault(user, [0.0] * 4))
        upto = max(upto, until)

    def arrived(world: World, job: Job) -> None:
        if predict is not None:
            number = math.floor(call(predict, world, job) + 0.5)
            guess[job.id] = int(max(1, min(job.request, number)))
        if "submit" in learned:
            call(learned["submit"], world, job)

    def after_ends(world: World, ended: list[Running]) -> None:
        tick(world.now - 1)
        for run in ended:
            if "end" in learned:
                call(learned["end"], world, run.job, ran=world.now - run.start)

    def one_pass(world: World) -> None:
        tick(world.now)
        before = len(world.starts)
        keys = {job.id: call(order, world, job) for job in world.waiting}
        queue = sorted(world.waiting, key=lambda job: (-keys[job.id], job.priority))
        reserved: list[Held] = []
        blocked = False

        def fits_now(job: Job) -> bool:
            held = held_by_running(world) + reserved
            return fits_during(world.capacity, held, job.need, world.now, world.estimate(job))

        def may_overtake(job: Job) -> bool:
            return test is None or bool(call(test, world, job))

        while queue:
            if blocked and key is not None and len(reserved) == depth:
                break
            job = queue.pop(0)
            if fits_now(job) and not blocked:
                world.start_first(job)
            elif fits_now(job):
                if may_overtake(job):
                    world.start(job, BACKFILLED)
            else:
                chosen = len(reserved) < depth if reserve is None else call(reserve, world, job)
                start = -1
                if chosen:
                    length = world.estimate(job)
                    held = held_by_running(world) + reserved
                    start = earliest(world.capacity, held, job.need, length, world.now)
                    at = start
                    if plan is not None:
                        at = max(start, int(call(plan, world, job, float(start))))
                    reserved.append(Held(at, at + length, job.need))
                if not blocked:
                    world.block(job, promised=start)
                    if reserve is not None and start >= 0:
                        world.promised.setdefault(job.id, start)
                blocked = True
        if key is not None:
            keys = {job.id: call(key, world, job) for job in queue}
            queue.sort(key=lambda job: (-keys[job.id], job.priority))
        for job in queue:
            if may_overtake(job) and fits_now(job):
                world.start(job, BACKFILLED)
        if "start" in learned:
            for run in world.starts[before:]:
                call(learned["start"], world, run.job)

    return replay(world, one_pass, arrived=arrived, after_ends=after_ends).result()


# ----------------------------------------------------------------------- the papers' formulas
def area(job: Seen) -> float:
    return float(job.estimate * job.procs)


def wfp3(now: int, job: Seen, user: Any) -> float:
    """-(w / r)^3 n, smallest first."""
    share = job.wait / job.estimate
    return share * share * share * job.procs


def unicef(now: int, job: Seen, user: Any) -> float:
    """-w / (log2(n) r), smallest first; log2(1) = 0 is taken as 1."""
    return job.wait / (math.log2(max(2, job.procs)) * job.estimate)


def learned(f: Callable[[float, float], float], weight: float) -> Function:
    """f(r, n) + weight * log10(s), smallest first; s = 0 is taken as 1."""
    return lambda now, job, user: (
        -(f(job.estimate, job.procs) + weight * math.log10(max(1, job.submit)))
    )


def saf(now: int, job: Seen, user: Any) -> float:
    return -area(job)


def saf_wait(hours: float) -> Function:
    """Jobs that waited longer than the threshold first, by arrival; then by area."""
    return lambda now, job, user: 1e18 - job.submit if job.wait > hours * 3600 else -area(job)


def expansion(now: int, job: Seen, user: Any) -> float:
    return (job.wait + job.estimate) / job.estimate


def relax(factor: float) -> Function:
    """The head's reservation lies later by a factor of the wait that it was first promised."""

    def plan(now: int, job: Seen, user: Any, start: float) -> float:
        first = job.promised if job.promised >= 0 else start
        return first + factor * (first - job.submit)

    return plan


TWINS: dict[str, Callable[[list[Job], Vector], Result]] = {
    "wfp3": lambda jobs, cap: frame(jobs, cap, order=wfp3),
    "unicef": lambda jobs, cap: frame(jobs, cap, order=unicef),
    "f1": lambda jobs, cap: frame(jobs, cap, order=learned(lambda r, n: math.log10(r) * n, 870.0)),
    "f1(weight=2)": lambda jobs, cap: frame(
        jobs, cap, order=learned(lambda r, n: math.log10(r) * n, 2.0)
    ),
    "f2": lambda jobs, cap: frame(jobs, cap, order=learned(lambda r, n: math.sqrt(r) * n, 25600.0)),
    "f3": lambda jobs, cap: frame(jobs, cap, order=learned(lambda r, n: r * n, 6.86e6)),
    "f4": lambda jobs, cap: frame(jobs, cap, order=learned(lambda r, n: r * math.sqrt(n), 5.3e5)),
    "saf": lambda jobs, cap: frame(jobs, cap, order=saf),
    "spt": lambda jobs, cap: frame(jobs, cap, order=lambda now, job, user: -job.estimate),
    "sqf": lambda jobs, cap: frame(jobs, cap, order=lambda now, job, user: -job.procs),
    "saf-wait(hours=0.002)": lambda jobs, cap: frame(jobs, cap, order=saf_wait(0.002)),
    "easy-saf": lambda jobs, cap: frame(jobs, cap, key=saf),
    "easy-saf(reserve=2)": lambda jobs, cap: frame(jobs, cap, key=saf, depth=2),
    "relaxed": lambda jobs, cap: frame(jobs, cap, plan=relax(0.5)),
    "relaxed(factor=2, order=lxf)": lambda jobs, cap: frame(
        jobs, cap, plan=relax(2), order=expansion
    ),
    "selective": lambda jobs, cap: frame(
        jobs, cap, order=expansion, reserve=lambda now, job, user: expansion(now, job, user) > 2
    ),
    "selective(threshold=1.3, order=fcfs)": lambda jobs, cap: frame(
        jobs, cap, reserve=lambda now, job, user: expansion(now, job, user) > 1.3
    ),
    "dynamic-conservative": lambda jobs, cap: frame(jobs, cap, depth=99),
}
