"""The world of the policies on a pool or hosts: jobs, estimates, running jobs, one instant.

Written from the specification alone, with plain lists and no cleverness: one rule per line.

Conventions
-----------
- A machine is a tuple of capacities, one per resource; a job fits iff it fits in each (spec:
  algorithms 5.1).
- Order of jobs is (submit, id). Times are whole seconds, intervals are half-open.
- One instant: ends by id, corrections, submissions by id, timers, then one pass (spec: algorithms
  1.1).

Readings chosen where the specification leaves room
---------------------------------------------------
- A user below 0 is unknown: no history is kept for it, its prediction is the request.
- Last Model rounds half up, in exact integers: round(run_last * request / request_last).
- A ``("noisy", predictions)`` list is aligned with the jobs in (submit, id) order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import add, le, sub

HEAD, RESERVED, BACKFILLED, PREEMPTING = 1, 2, 3, 4
NEVER = 1 << 62

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Job:
    """One job: ``need[0]`` is processors, further resources follow."""

    id: int
    submit: int
    need: Vector
    request: int
    run: int
    limit: int
    user: int = -1

    @property
    def effective_run(self) -> int:
        """The kill rule (spec: algorithms 1.1): no job runs past the limit."""
        return min(self.run, self.limit)

    @property
    def priority(self) -> tuple[int, int]:
        """Smaller is more important."""
        return (self.submit, self.id)


@dataclass(frozen=True)
class Row:
    """What became of one job."""

    id: int
    start: int
    end: int
    reason: int
    kills: int
    killed: int
    promised: int
    blocked_at: int


@dataclass(frozen=True)
class Result:
    """Rows in (submit, id) order; attempts of jobs preempted at least once; number of passes."""

    rows: list[Row]
    attempts: list[tuple[int, int, int, bool]]
    passes: int


# ----------------------------------------------------------------------------- vectors
def plus(a: Vector, b: Vector) -> Vector:
    return tuple(map(add, a, b))


def minus(a: Vector, b: Vector) -> Vector:
    return tuple(map(sub, a, b))


def fits(need: Vector, free: Vector) -> bool:
    return all(map(le, need, free))


def total(needs: Iterable[Vector], zero: Vector) -> Vector:
    for need in needs:
        zero = plus(zero, need)
    return zero


# ----------------------------------------------------------------------------- estimates
CORRECTIONS = [60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000]


class Estimates:
    """How long the scheduler believes a job will run; learns at submissions and ends."""

    def __init__(self, kind: object, jobs: list[Job]) -> None:
        self.kind = kind
        self.drawn: dict[int, int] = {}
        if isinstance(kind, tuple):
            name, predictions = kind
            assert name == "noisy" and len(predictions) == len(jobs)
            self.drawn = {job.id: p for job, p in zip(jobs, predictions, strict=True)}
        else:
            assert kind in ("requested", "actual", "last", "last-two"), kind
        self.at_submission: dict[int, int] = {}
        self.finished: dict[int, list[Job]] = {}  # of each user, in order of their ends

    def submitted(self, job: Job) -> None:
        """EASY++ predicts once, at submission: the mean of the user's last two runs."""
        history = self.finished.get(job.user, [])
        if len(history) < 2:
            self.at_submission[job.id] = job.request
        else:
            mean = (history[-1].effective_run + history[-2].effective_run) // 2
            self.at_submission[job.id] = min(mean, job.request)

    def ended(self, job: Job) -> None:
        if job.user >= 0:
            self.finished.setdefault(job.user, []).append(job)

    def of(self, job: Job) -> int:
        """The estimate of a waiting job now; never below 1."""
        return max(1, self._of(job))

    def _of(self, job: Job) -> int:
        if self.kind == "requested":
            return job.request
        if self.kind == "actual":
            return job.effective_run
        if self.kind == "last-two":
            return self.at_submission[job.id]
        if self.kind == "last":
            history = self.finished.get(job.user, [])
            if not history:
                return job.request
            last = history[-1]
            # accuracy * request, to the nearest second, in [1, request]
            nearest = (2 * last.effective_run * job.request + last.request) // (2 * last.request)
            return min(nearest, job.request)
        return self.drawn[job.id]

    @property
    def corrected(self) -> bool:
        return self.kind == "last-two"


# ----------------------------------------------------------------------------- the world
@dataclass
class Running:
    """One execution of a job."""

    job: Job
    start: int
    frozen: int  # the estimate when it started
    estimate: int  # the same, after corrections
    backfilled: bool = False
    corrections: int = 0
    preempted_at: int | None = None
    saved: int = 0  # seconds of its work that earlier attempts left behind
    restart: int = 0  # seconds that go into starting again

    @property
    def end(self) -> int:
        if self.preempted_at is not None:
            return self.preempted_at
        return self.start + self.restart + self.job.effective_run - self.saved

    def left_of(self, whole: int) -> int:
        """What this attempt takes if the whole job takes so long: a second of work at least."""
        return self.restart + max(1, whole - self.saved)

    def expected_end(self, now: int) -> int:
        """Start + estimate; past it, start + request; past that, the next second.

        spec: algorithms 1.2.
        """
        if self.start + self.estimate > now:
            return self.start + self.estimate
        if self.start + self.restart + self.job.request - self.saved > now:
            return self.start + self.restart + self.job.request - self.saved
        return now + 1


@dataclass
class World:
    """Everything that is known at one instant."""

    jobs: list[Job]
    capacity: Vector
    estimates: Estimates
    now: int = 0
    waiting: list[Job] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    starts: list[Running] = field(default_factory=list)  # every execution, in order of start
    last: dict[int, Running] = field(default_factory=dict)
    reason: dict[int, int] = field(default_factory=dict)
    lost: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    promised_at: dict[int, int] = field(default_factory=dict)  # the pass that gave the promise
    blocks: dict[int, int] = field(default_factory=dict)  # when a head first could not start
    passes: int = 0
    until: int = NEVER  # passes from then on are not made
    every: int = 0  # seconds of work between checkpoints; 1: suspended; 0: killed
    restart: int = 0  # seconds of starting again after a stop
    saved: dict[int, int] = field(default_factory=dict)  # work that stopped jobs have behind them
    worked: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # (overhead, kept)

    def estimate(self, job: Job) -> int:
        """What the job's next attempt is expected to take."""
        whole = self.estimates.of(job)
        if job.id not in self.saved:
            return whole
        return self.restart + max(1, whole - self.saved[job.id])

    def free(self) -> Vector:
        free = self.capacity
        for r in self.running:
            free = minus(free, r.job.need)
        assert all(x >= 0 for x in free), "more in use than there is"
        return free

    def free_at(self, when: int, running: list[Running] | None = None) -> Vector:
        """Free at ``when`` >= now if every job leaves at its expected end and none comes."""
        free = self.capacity
        for r in self.running if running is None else running:
            if r.expected_end(self.now) > when:
                free = minus(free, r.job.need)
        return free

    def start(self, job: Job, reason: int) -> None:
        assert fits(job.need, self.free())
        whole, estimate = self.estimates.of(job), self.estimate(job)
        run = Running(job, self.now, whole, estimate, backfilled=reason == BACKFILLED)
        if job.id in self.saved:
            run.saved, run.restart = self.saved[job.id], self.restart
        self.waiting.remove(job)
        self.running.append(run)
        self.starts.append(run)
        self.last[job.id] = run
        self.reason[job.id] = reason

    def start_first(self, job: Job) -> None:
        """Start the first in the order: HEAD, or RESERVED if it was blocked before."""
        self.start(job, RESERVED if job.id in self.blocks else HEAD)

    def block(self, job: Job, promised: int = -1) -> None:
        """The first in the order cannot start: remember the first time that happens."""
        if job.id not in self.blocks:
            self.blocks[job.id] = self.now
            if promised != -1:
                self.promised[job.id] = promised

    def preempt(self, run: Running) -> None:
        """Stop a running job; it waits again with its old priority, its work is lost or saved."""
        self.running.remove(run)
        starting = min(run.restart, self.now - run.start)
        work = run.saved + self.now - run.start - starting
        safe = work - work % self.every if self.every else 0
        self.worked.setdefault(run.job.id, []).append((starting, safe - run.saved))
        self.saved[run.job.id] = safe
        run.preempted_at = self.now
        self.lost.setdefault(run.job.id, []).append((run.start, self.now))
        self.waiting.append(run.job)
        self.waiting.sort(key=lambda job: job.priority)

    def result(self) -> Result:
        rows, attempts = [], []
        for job in self.jobs:
            run = self.last.get(job.id)
            if run is None or run.preempted_at is not None:  # it waits
                continue
            lost = self.lost.get(job.id, [])
            rows.append(
                Row(
                    id=job.id,
                    start=run.start,
                    end=run.end,
                    reason=self.reason[job.id],
                    kills=len(lost),
                    killed=int(job.run > job.limit),
                    promised=self.promised.get(job.id, -1),
                    blocked_at=self.blocks.get(job.id, -1),
                )
            )
            if lost:
                attempts += [(job.id, start, end, True) for start, end in lost]
                attempts.append((job.id, run.start, run.end, False))
        return Result(rows, attempts, self.passes)


def make_world(jobs: list[Job], capacity: Vector, estimate: object) -> World:
    jobs = sorted(jobs, key=lambda job: job.priority)
    assert len({job.id for job in jobs}) == len(jobs), "job ids must differ"
    for job in jobs:
        assert fits(job.need, capacity), f"job {job.id} fits nowhere"
        assert job.run >= 1 and job.limit >= 1 and job.request >= 1, f"job {job.id}: no time"
    return World(jobs, capacity, Estimates(estimate, jobs))


def nothing(*_: object) -> None:
    return None


def replay(
    world: World,
    one_pass: Callable[[World], None],
    *,
    after_ends: Callable[[World, list[Running]], None] = nothing,
    arrived: Callable[[World, Job], None] = nothing,
    next_timer: Callable[[World], int | None] = nothing,
) -> World:
    """Go from instant to instant (spec: algorithms 1.1) until every job has ended."""
    coming = list(world.jobs)
    while coming or world.waiting or world.running:
        times = [r.end for r in world.running] + [job.submit for job in coming]
        timer = next_timer(world)
        if timer is not None:
            times.append(timer)
        assert times, "jobs wait and nothing will ever happen"
        if min(times) >= world.until:
            break
        world.now = min(times)

        # ends and kills, by job id
        ended = sorted((r for r in world.running if r.end == world.now), key=lambda r: r.job.id)
        for r in ended:
            world.running.remove(r)
            world.estimates.ended(r.job)
        # corrections; done here for all moments since the last instant, for none of them has a pass
        if world.estimates.corrected:
            for r in world.running:
                correct(r, world.now)
        after_ends(world, ended)
        # submissions, by id
        while coming and coming[0].submit == world.now:
            job = coming.pop(0)
            world.waiting.append(job)
            world.estimates.submitted(job)
            arrived(world, job)
        # one pass
        world.passes += 1
        one_pass(world)
        for job_id in world.promised.keys() - world.promised_at.keys():
            world.promised_at.setdefault(job_id, world.now)
    return world


def correct(run: Running, now: int) -> None:
    """The k-th correction sets the prediction to min(request, first + c_k).

    spec: algorithms 1.6.
    """
    whole = run.left_of(run.job.request)
    while run.start + run.estimate <= now and run.estimate < whole:
        if run.corrections < len(CORRECTIONS):
            longer = min(run.job.request, run.frozen + CORRECTIONS[run.corrections])
            run.estimate = run.left_of(longer)
        else:
            run.estimate = whole
        run.corrections += 1


# ----------------------------------------------------------------------------- plans over time
@dataclass(frozen=True)
class Held:
    """``need`` is taken during [start, end)."""

    start: int
    end: int
    need: Vector


def held_by_running(world: World) -> list[Held]:
    return [Held(world.now, r.expected_end(world.now), r.job.need) for r in world.running]


Steps = list[tuple[int, Vector]]
"""What is free from a moment on, and from each later moment at which that changes."""


def steps(capacity: Vector, held: list[Held], since: int) -> Steps:
    """What is free from ``since`` on beside what is held."""
    change: dict[int, Vector] = {since: capacity}
    zero = tuple(0 for _ in capacity)
    for h in held:
        begin = max(h.start, since)
        if h.end > begin:
            change[begin] = minus(change.get(begin, zero), h.need)
            change[h.end] = plus(change.get(h.end, zero), h.need)
    found, free = [], zero
    for when in sorted(change):
        free = plus(free, change[when])
        found.append((when, free))
    return found


def fits_until(free: Steps, need: Vector, end: int) -> bool:
    """Is ``need`` free from the first step to ``end``?"""
    for when, amounts in free:
        if when >= end:
            break
        if not fits(need, amounts):
            return False
    return True


def first_fit(free: Steps, need: Vector, length: int) -> int:
    """The first moment from which ``need`` is free for so long."""
    begin: int | None = None
    for when, amounts in free:
        if begin is not None and when >= begin + length:
            return begin
        if not fits(need, amounts):
            begin = None
        elif begin is None:
            begin = when
    assert begin is not None, "does not even fit when all is over"
    return begin


def fits_during(capacity: Vector, held: list[Held], need: Vector, start: int, length: int) -> bool:
    """Is ``need`` free during all of [start, start + length)?"""
    return fits_until(steps(capacity, held, start), need, start + length)


def earliest(capacity: Vector, held: list[Held], need: Vector, length: int, now: int) -> int:
    """The first t >= now with ``need`` free during [t, t + length)."""
    return first_fit(steps(capacity, held, now), need, length)
