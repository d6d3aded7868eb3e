"""Backfilling that weighs several resources: BB, BL and IBB (spec: algorithms 5)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from shadowtime.verify.pool import shadow_and_extra
from shadowtime.verify.world import BACKFILLED, Job, World, fits, minus, plus, replay


def used_shares(world: World, job: Job | None = None) -> list[Fraction]:
    """S_i, or S_i + R_i with a job: used over capacity, exact."""
    used = minus(world.capacity, world.free())
    if job is not None:
        used = plus(used, job.need)
    return [Fraction(u, c) for u, c in zip(used, world.capacity, strict=True)]


def average(shares: list[Fraction]) -> Fraction:
    return sum(shares, Fraction(0)) / len(shares)


class HeadReservation:
    """EASY's frame with vectors (spec: algorithms 5.1): which jobs may backfill now."""

    def __init__(self, world: World, head: Job) -> None:
        self.world = world
        self.shadow, self.extra = shadow_and_extra(world, head)
        world.block(head, promised=self.shadow)

    def ends_in_time(self, job: Job) -> bool:
        return self.world.now + self.world.estimate(job) <= self.shadow

    def allows(self, job: Job) -> bool:
        if not fits(job.need, self.world.free()):
            return False
        return self.ends_in_time(job) or fits(job.need, self.extra)

    def start(self, job: Job) -> None:
        self.world.start(job, BACKFILLED)
        if not self.ends_in_time(job):
            self.extra = minus(self.extra, job.need)


def backfilling(
    world: World, backfill_jobs: Callable[[World, HeadReservation, list[Job]], None]
) -> World:
    """Heads first, then ``backfill_jobs`` around the reservation of the blocked head."""

    def one_pass(world: World) -> None:
        while world.waiting and fits(world.waiting[0].need, world.free()):
            world.start_first(world.waiting[0])
        if world.waiting:
            head, rest = world.waiting[0], world.waiting[1:]
            backfill_jobs(world, HeadReservation(world, head), rest)

    return replay(world, one_pass)


def best_first(
    score: Callable[[World, Job], Fraction], per_pass: str
) -> Callable[[World, HeadReservation, list[Job]], None]:
    """Start the allowed job of smallest score (ties by arrival); once, or until there is none."""
    assert per_pass in ("one", "until-none")

    def backfill_jobs(world: World, reservation: HeadReservation, rest: list[Job]) -> None:
        while True:
            allowed = [job for job in rest if reservation.allows(job)]
            if not allowed:
                return
            best = min(allowed, key=lambda job: (score(world, job), job.priority))
            reservation.start(best)
            rest = [job for job in rest if job is not best]
            if per_pass == "one":
                return

    return backfill_jobs


def bb(world: World, *, per_pass: str = "one") -> World:
    """Smallest max / avg * (1 - avg) of the shares in use with the job (spec: algorithms 5.2)."""

    def score(world: World, job: Job) -> Fraction:
        shares = used_shares(world, job)
        return max(shares) / average(shares) * (1 - average(shares))

    return backfilling(world, best_first(score, per_pass))


def bl(world: World, *, per_pass: str = "until-none") -> World:
    """The largest request for the resource that is least used now (spec: algorithms 5.2)."""

    def score(world: World, job: Job) -> Fraction:
        shares = used_shares(world)
        least = shares.index(min(shares))  # lower index on a tie
        return Fraction(-job.need[least])

    return backfilling(world, best_first(score, per_pass))


def ibb(world: World, *, threshold: str = "live") -> World:
    """No job that worsens the imbalance (spec: algorithms 5.3).

    ``threshold="literal"`` is the paper's Algorithm 1 as printed, which accepts no job.
    """
    assert threshold in ("live", "frozen", "literal")

    def backfill_jobs(world: World, reservation: HeadReservation, rest: list[Job]) -> None:
        at_first = used_shares(world)
        for job in rest:
            if not reservation.allows(job):
                continue
            now = used_shares(world) if threshold == "live" else at_first
            then = used_shares(world, job)
            if threshold == "literal":
                accepted = average(then) <= average(at_first)
            else:
                accepted = max(then) * sum(now) <= max(now) * sum(then)
            if accepted:
                reservation.start(job)

    return backfilling(world, backfill_jobs)
