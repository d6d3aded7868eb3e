"""Delays and violated reservations of a run, job by job: tables 1 and 2 of PV-EASY.

spec: algorithms 2.6, 2.7.

The state "at r0" is the one before anything starts at r0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from naive.shorthand import easy_world
from shadowtime.verify.world import Job, Vector, World, fits, minus, plus, total


@dataclass(frozen=True)
class Delay:
    """How long a blocked job was held up by later ones."""

    id: int
    blocked_at: int
    fst2: int  # when it could start if no job started after it was blocked
    fst: int  # the same with the lower-priority jobs out of the way
    start: int

    @property
    def delay2(self) -> int:
        return max(0, self.start - self.fst2)

    @property
    def delay(self) -> int:
        return max(0, self.start - self.fst)


@dataclass(frozen=True)
class Violation:
    """A job that could not start at its first reservation because of backfilled ones."""

    id: int
    reserved: int
    start: int
    run: int

    @property
    def dtr(self) -> int:
        return self.start - self.reserved

    @property
    def si(self) -> float:
        return self.dtr / max(self.run, 10)


def when_free(capacity: Vector, running: list[tuple[Job, int]], need: Vector, since: int) -> int:
    """First moment >= since with ``need`` free, by the true ends, if nothing else starts."""
    for t in sorted({since} | {end for _, end in running if end > since}):
        used = total((job.need for job, end in running if end > t), tuple(0 for _ in capacity))
        if fits(need, minus(capacity, used)):
            return t
    raise AssertionError("does not even fit into the empty machine")


def running_when_blocked(world: World, at: int) -> list[tuple[Job, int]]:
    """Jobs that ran when a head could not start, before any backfilling, with their true ends."""
    return [
        (run.job, run.start + run.restart + run.job.effective_run - run.saved)
        for run in world.starts
        if run.start <= at < run.end and not (run.backfilled and run.start == at)
    ]


def delays(world: World) -> list[Delay]:
    """Every job that was blocked as head, in (submit, id) order."""
    found = []
    for job in world.jobs:
        if job.id in world.blocks:
            at = world.blocks[job.id]
            running = running_when_blocked(world, at)
            older = [(j, end) for j, end in running if j.priority < job.priority]
            fst2 = when_free(world.capacity, running, job.need, at)
            fst = when_free(world.capacity, older, job.need, at)
            found.append(Delay(job.id, at, fst2, fst, world.last[job.id].start))
    return found


def violations(world: World) -> list[Violation]:
    """Late starts for which a lower-priority job that outran its prediction is to blame.

    The state "at r0" is the one before anything starts at r0.
    """
    found = []
    for job in world.jobs:
        if job.id not in world.blocks:
            continue
        at, start = world.blocks[job.id], world.last[job.id].start
        r0 = world.promised[job.id]
        if start <= r0:
            continue
        running = [run for run in world.starts if run.start < r0 < run.end]
        free = world.capacity
        for run in running:
            free = minus(free, run.job.need)
        for run in running:
            lower = run.job.priority > job.priority
            if lower and run.start >= at and run.start + run.frozen <= r0:
                free = plus(free, run.job.need)
        if fits(job.need, free):
            found.append(Violation(job.id, r0, start, job.effective_run))
    return found


def easy_fairness(
    jobs: list[Job], capacity: Vector, **options: Any
) -> tuple[list[Delay], list[Violation]]:
    """Tables 1 and 2 of the PV-EASY paper, job by job, for the run that ``easy`` makes."""
    world = easy_world(jobs, capacity, **options)
    return delays(world), violations(world)
