"""Jobs that change on a pool, slow and obvious, written from the specification (spec: changing)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import floor

MILLION = 10**6


@dataclass
class Job:
    """A job of the table, and how far it is."""

    id: int
    submit: int
    run: int
    procs: int
    request: int
    least: int
    most: int
    speedup: Callable[[int], float]
    cost: int = 0
    checkpoint: int = 0
    beta: float = 1.0
    memory: int = 0
    # How far it is.
    size: int = 0
    speed: int = 1000
    done: int = 0
    safe: int = 0  # done when the piece began
    since: int = 0
    works_from: int = 0
    stops: int = 0
    over: bool = False
    start: int = -1
    end: int = -1
    pieces: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)

    @property
    def work(self) -> int:
        return MILLION * self.run

    @property
    def halted(self) -> bool:
        """Whether it is suspended."""
        return self.size > 0 and self.speed == 0

    def rate_of(self, size: int, speed: int) -> int:
        if speed == 0:
            return 0
        r = floor(MILLION * self.speedup(size) / self.speedup(self.procs) + 1e-6)
        d = floor(MILLION / (self.beta * (1000 / speed - 1) + 1) + 1e-6)
        return max(1, r * d // MILLION)

    @property
    def rate(self) -> int:
        return self.rate_of(self.size, self.speed)

    def done_at(self, now: int) -> int:
        return min(self.work, self.safe + self.rate * max(0, now - self.works_from))

    def ends_at(self) -> float:
        if self.halted:
            return float("inf")
        left = self.work - self.safe
        return self.works_from + -(-left // self.rate)

    def left(self, now: int) -> int:
        """What a policy knows of the seconds of work that are left."""
        done = self.done_at(now) if self.size else self.safe
        left = self.request * MILLION - done
        return -(-left // MILLION) if left > 0 else 1

    def seconds_at(self, now: int, size: int, speed: int) -> int:
        """How long it is expected to take from now on."""
        wait = 0
        if size == self.size:
            wait = max(0, self.works_from - (self.since if self.halted else now))
        elif self.size or self.stops:
            wait = self.cost
        return wait + -(-self.left(now) * MILLION // self.rate_of(size, speed))

    def close(self, now: int, stopped: int) -> None:
        """End a piece: what was done counts, but for what a stop loses."""
        done = self.done_at(now)
        if stopped and self.checkpoint:
            every = self.checkpoint * MILLION
            done = max(self.safe, done // every * every)
        size = 0 if self.halted else self.size
        self.pieces.append((self.since, now, stopped, size, self.speed, done - self.safe))
        self.safe = done

    def change(self, now: int, size: int, speed: int) -> None:
        if (size, speed) == (self.size, self.speed) or size == self.size == 0:
            return
        if size and speed == 0:  # suspended: what is left of a cost is due when it continues
            assert self.size, "a waiting job cannot be suspended"
            if not self.halted:
                self.close(now, 0)
                self.speed, self.since = 0, now
            return
        if self.size:
            self.close(now, int(size == 0))
        stood = now - self.since if self.halted else 0
        paused = max(now, self.works_from + stood) if self.size == size else now + self.cost
        if self.size == 0:
            self.start = now
            paused = now + (self.cost if self.stops else 0)
        if size == 0:
            self.stops += 1
        self.size, self.speed, self.since, self.works_from = size, speed, now, paused


Decide = Callable[[int, list[Job]], dict[int, tuple[int, int]]]
"""Of a pass: the instant and the jobs that are there, to (size, speed) of each by number."""


def follow(jobs: list[Job], procs: int, decide: Decide) -> bool:
    """Run the jobs and write down their pieces, starts and ends; False if some never end."""
    now = -1
    while any(not job.over for job in jobs):
        ends = [int(job.ends_at()) for job in jobs if job.size and not job.halted]
        times = [job.submit for job in jobs if job.submit > now] + ends
        if not times:
            return False
        now = min(times)
        for job in jobs:
            if job.size and job.ends_at() == now:
                job.close(now, 0)
                job.over, job.end, job.size = True, now, 0
        here = sorted(
            (job for job in jobs if job.submit <= now and not job.over),
            key=lambda job: (job.submit, job.id),
        )
        if not here:
            continue
        wanted = decide(now, here)
        assert sum(size for size, speed in wanted.values() if speed) <= procs
        for job in here:
            job.change(now, *wanted[job.id])
    return True


def amdahl(serial: float) -> Callable[[int], float]:
    return lambda p: 1 / (serial + (1 - serial) / p)


def downey(a: float, sigma: float) -> Callable[[int], float]:
    def speedup(p: int) -> float:
        if sigma <= 1:
            if p <= a:
                return a * p / (a + sigma * (p - 1) / 2)
            if p <= 2 * a - 1:
                return a * p / (sigma * (a - 0.5) + p * (1 - sigma / 2))
            return a
        if p <= a + a * sigma - sigma:
            return p * a * (sigma + 1) / (sigma * (p + a - 1) + a)
        return a

    return speedup


def table(points: dict[int, Fraction]) -> Callable[[int], float]:
    def speedup(p: int) -> float:
        known = sorted(points)
        if p <= known[0]:
            return float(points[known[0]] * p / known[0])
        for before, behind in pairwise(known):
            if p <= behind:
                step = (points[behind] - points[before]) / (behind - before)
                return float(points[before] + step * (p - before))
        return float(points[known[-1]])

    return speedup
