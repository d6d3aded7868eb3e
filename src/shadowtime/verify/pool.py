"""Slow, obvious reference of the pool policies, written from the specification alone.

Every compiled pass is compared with this file job by job on random small worlds, so it shares
nothing with the package: plain lists, one paper's step per line, no cleverness.

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
- Keys read R as the current estimate: a key is handed the job with ``request`` = its estimate.
- Conservative, a running job past its estimate: the promises that still hold around the running
  jobs (checked in submit order) stay; the broken ones are re-inserted in submit order around
  them, before the compression sweep and the arrivals. An end is early iff it comes before the
  expected end as it stood one second earlier.
- PV-EASY: ``venture=False`` leaves out step 3c only. Pruning spares victims from the highest
  priority down. The state "at r0" in 2.7 is the one before anything starts at r0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

HEAD, RESERVED, BACKFILLED, PREEMPTING = 1, 2, 3, 4

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
    return tuple(x + y for x, y in zip(a, b, strict=True))


def minus(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def fits(need: Vector, free: Vector) -> bool:
    return all(x <= y for x, y in zip(need, free, strict=True))


def total(needs: Iterable[Vector], zero: Vector) -> Vector:
    for need in needs:
        zero = plus(zero, need)
    return zero


# ----------------------------------------------------------------- estimates (spec: algorithms 1.6)
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
class Block:
    """A head that could not start: which jobs ran at that moment, before any backfilling.

    spec: algorithms 2.6.
    """

    job: Job
    at: int
    promised: int
    running: list[tuple[Job, int]]  # with their true ends


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
    blocks: dict[int, Block] = field(default_factory=dict)
    passes: int = 0
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
            running = [(run.job, run.end) for run in self.running]
            self.blocks[job.id] = Block(job, self.now, promised, running)
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
            run = self.last[job.id]
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
                    blocked_at=self.blocks[job.id].at if job.id in self.blocks else -1,
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


def fits_during(capacity: Vector, held: list[Held], need: Vector, start: int, length: int) -> bool:
    """Is ``need`` free during all of [start, start + length)?"""
    end = start + length
    # what is free can only fall where something begins
    moments = [start] + [h.start for h in held if start < h.start < end]
    for t in moments:
        used = total((h.need for h in held if h.start <= t < h.end), tuple(0 for _ in capacity))
        if not fits(need, minus(capacity, used)):
            return False
    return True


def earliest(capacity: Vector, held: list[Held], need: Vector, length: int, now: int) -> int:
    """The first t >= now with ``need`` free during [t, t + length)."""
    for t in sorted({now} | {h.end for h in held if h.end > now}):
        if fits_during(capacity, held, need, t, length):
            return t
    raise AssertionError("does not even fit when all is over")


# ----------------------------------------------------------------------------- fcfs and greedy
def fcfs(jobs: list[Job], capacity: Vector, *, estimate: object = "requested") -> Result:
    """The head blocks all (spec: algorithms 5.4)."""

    def one_pass(world: World) -> None:
        while world.waiting and fits(world.waiting[0].need, world.free()):
            world.start_first(world.waiting[0])
        if world.waiting:
            world.block(world.waiting[0])

    return replay(make_world(jobs, capacity, estimate), one_pass).result()


def greedy(jobs: list[Job], capacity: Vector, *, estimate: object = "requested") -> Result:
    """5.4 "best-fit": first fit down the queue, no reservation."""

    def one_pass(world: World) -> None:
        blocked = False
        for job in list(world.waiting):
            if fits(job.need, world.free()):
                if blocked:
                    world.start(job, BACKFILLED)
                else:
                    world.start_first(job)
            elif not blocked:
                world.block(job)
                blocked = True

    return replay(make_world(jobs, capacity, estimate), one_pass).result()


# ----------------------------------------------------------------- EASY (spec: algorithms 1.2, 5.1)
def easy_world(
    jobs: list[Job],
    capacity: Vector,
    *,
    backfill: str = "order",
    estimate: object = "requested",
    extra_update: bool = True,
    fixed_reservation: bool | str = False,
) -> World:
    assert backfill in ("order", "sjbf")
    kept: dict[int, int] = {}  # fixed_reservation: head -> shadow

    def one_pass(world: World) -> None:
        # 1. while the first queued job fits: start it
        while world.waiting and fits(world.waiting[0].need, world.free()):
            world.start_first(world.waiting[0])
        if not world.waiting:
            return
        head, rest = world.waiting[0], world.waiting[1:]
        # 2. shadow time and extra
        missed = fixed_reservation == "until-missed" and kept.get(head.id, 0) <= world.now
        if fixed_reservation and head.id in kept and not missed:
            shadow = kept[head.id]
            extra = minus(world.free_at(shadow), head.need)
        else:
            shadow, extra = shadow_and_extra(world, head)
        world.block(head, promised=shadow)
        # 3. scan the rest
        if backfill == "sjbf":
            rest = sorted(rest, key=world.estimate)  # stable: ties in queue order
        for job in rest:
            if not fits(job.need, world.free()):
                continue
            ends_in_time = world.now + world.estimate(job) <= shadow
            if ends_in_time or fits(job.need, extra):
                world.start(job, BACKFILLED)
                if not ends_in_time and extra_update:
                    extra = minus(extra, job.need)
        # 4. recomputed at every pass, unless the first shadow time is kept
        kept[head.id] = shadow

    return replay(make_world(jobs, capacity, estimate), one_pass)


def shadow_and_extra(world: World, head: Job) -> tuple[int, Vector]:
    """The first expected end at which the head fits, and what is left beside it then."""
    for t in sorted({r.expected_end(world.now) for r in world.running}):
        if fits(head.need, world.free_at(t)):
            return t, minus(world.free_at(t), head.need)
    raise AssertionError("the head does not even fit into the empty machine")


def easy(
    jobs: list[Job],
    capacity: Vector,
    *,
    backfill: str = "order",
    estimate: object = "requested",
    extra_update: bool = True,
    fixed_reservation: bool | str = False,
) -> Result:
    """EASY; with ``backfill="sjbf"`` and ``estimate="last-two"`` it is EASY++.

    spec: algorithms 1.6.
    """
    return easy_world(
        jobs,
        capacity,
        backfill=backfill,
        estimate=estimate,
        extra_update=extra_update,
        fixed_reservation=fixed_reservation,
    ).result()


# -------------------------------------------------------------- conservative (spec: algorithms 1.3)
def conservative(
    jobs: list[Job], capacity: Vector, *, compress: bool = True, estimate: object = "requested"
) -> Result:
    """Every waiting job holds a promise; promises live on between passes."""
    assert estimate != "last", "a promise needs an estimate that does not change while waiting"
    promise: dict[int, int] = {}  # of the waiting jobs

    def plan(world: World, without: Job | None = None) -> list[Held]:
        """Running jobs and the promises, but for one job's."""
        held = held_by_running(world)
        for job in world.waiting:
            if job is not without and job.id in promise:
                start = promise[job.id]
                held.append(Held(start, start + world.estimate(job), job.need))
        return held

    def earliest_for(world: World, job: Job) -> int:
        held = plan(world, without=job)
        return earliest(world.capacity, held, job.need, world.estimate(job), world.now)

    def repair(world: World) -> None:
        """Promises that no longer hold, since a job outran its estimate, are renewed."""
        held, broken = held_by_running(world), []
        for job in world.waiting:
            start, length = promise[job.id], world.estimate(job)
            if fits_during(world.capacity, held, job.need, start, length):
                held.append(Held(start, start + length, job.need))
            else:
                broken.append(job)
        for job in broken:
            del promise[job.id]
        for job in broken:
            promise[job.id] = earliest_for(world, job)

    def after_ends(world: World, ended: list[Running]) -> None:
        repair(world)
        early = [r for r in ended if r.expected_end(world.now - 1) > world.now]
        if compress and early:
            for job in world.waiting:  # one sweep in submit order
                better = earliest_for(world, job)
                assert better <= promise[job.id], "compression never moves a promise later"
                promise[job.id] = better

    def arrived(world: World, job: Job) -> None:
        promise[job.id] = earliest_for(world, job)
        world.promised[job.id] = promise[job.id]

    def next_timer(world: World) -> int | None:
        return min((promise[job.id] for job in world.waiting), default=None)

    def one_pass(world: World) -> None:
        started = []
        for job in list(world.waiting):
            due = promise[job.id] == world.now
            if not due and not compress:
                held, length = plan(world, without=job), world.estimate(job)
                due = fits_during(world.capacity, held, job.need, world.now, length)
            if due:
                world.start(job, HEAD)
                started.append(job)
        for job in started:  # the reason is known when the pass is over
            if any(other.priority < job.priority for other in world.waiting):
                world.reason[job.id] = BACKFILLED
            elif job.id in world.blocks:
                world.reason[job.id] = RESERVED
        if world.waiting:
            world.block(world.waiting[0])

    world = make_world(jobs, capacity, estimate)
    return replay(
        world, one_pass, after_ends=after_ends, arrived=arrived, next_timer=next_timer
    ).result()


# ----------------------------------------------------------------------------- K reservations
Key = Callable[[Job, int], float]


def weighted(wx: float, ww: float, wp: float) -> Key:
    """(W_x * sqrt((w + R) / R) + W_w * w) + W_p * P, hours, in this order of evaluation.

    spec: algorithms 3.2.
    """

    def key(job: Job, now: int) -> float:
        w = (now - job.submit) / 3600.0
        r = job.request / 3600.0
        return (wx * math.sqrt((w + r) / r) + ww * w) + wp * job.need[0]

    return key


def by_submit(job: Job, now: int) -> float:
    return -float(job.submit)


def by_estimate(job: Job, now: int) -> float:
    return -float(job.request)


def by_expansion(job: Job, now: int) -> float:
    return (now - job.submit + job.request) / job.request


KEYS: dict[str, Key] = {
    "fcfs": by_submit,
    "sjf": by_estimate,
    "lxf": by_expansion,
    "lxfw": weighted(1, 0.02, 0),
    "lxfwp": weighted(1, 0.02, 0.01),
    "lpf": weighted(0, 0, 1),
}


def in_order(world: World, key: Key) -> list[Job]:
    """Waiting jobs, highest key first, ties (submit, id); R in a key is the current estimate."""
    keys = {
        job.id: key(replace(job, request=world.estimate(job)), world.now) for job in world.waiting
    }
    return sorted(world.waiting, key=lambda job: (-keys[job.id], job.priority))


def reservations(
    jobs: list[Job],
    capacity: Vector,
    *,
    depth: int,
    key: str | Key = "fcfs",
    backfill: str = "order",
    estimate: object = "requested",
) -> Result:
    """3.3 on a pool: the first ``depth`` blocked jobs of every pass get a reservation."""
    assert depth >= 1 and backfill in ("order", "sjbf")
    order = KEYS[key] if isinstance(key, str) else key

    def one_pass(world: World) -> None:
        reserved: list[Held] = []
        blocked = False

        def fits_now(job: Job) -> bool:
            held = held_by_running(world) + reserved
            return fits_during(world.capacity, held, job.need, world.now, world.estimate(job))

        queue = in_order(world, order)
        while queue:
            if backfill == "sjbf" and len(reserved) == depth:
                break
            job = queue.pop(0)
            if fits_now(job):
                if blocked:
                    world.start(job, BACKFILLED)
                else:
                    world.start_first(job)
            elif len(reserved) < depth:
                length = world.estimate(job)
                held = held_by_running(world) + reserved
                start = earliest(world.capacity, held, job.need, length, world.now)
                reserved.append(Held(start, start + length, job.need))
                if not blocked:
                    world.block(job, promised=start)
                blocked = True
        # only shortest-first leaves a job here; stable: ties in the order of the queue
        for job in sorted(queue, key=world.estimate):
            if fits_now(job):
                world.start(job, BACKFILLED)

    return replay(make_world(jobs, capacity, estimate), one_pass).result()


# ----------------------------------------------------------------------------- PV-EASY (2)
def pv_easy_world(
    jobs: list[Job],
    capacity: Vector,
    *,
    predictor: object = "last",
    venture: bool = True,
    preempt: bool = True,
    prune: bool = False,
    every: int = 0,
    restart: int = 0,
    first: Callable[[Running, int], float] | None = None,
) -> World:
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

    world = make_world(jobs, capacity, predictor)
    world.every, world.restart = every, restart
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


def pv_easy(
    jobs: list[Job],
    capacity: Vector,
    *,
    predictor: object = "last",
    venture: bool = True,
    preempt: bool = True,
    prune: bool = False,
    every: int = 0,
    restart: int = 0,
) -> Result:
    """PV-EASY; ``venture=False`` leaves out step 3c, ``preempt=False`` leaves out step 2.

    A stopped job saves its work ``every`` so many seconds of it (0: never), and spends ``restart``
    seconds on starting again.
    """
    return pv_easy_world(
        jobs,
        capacity,
        predictor=predictor,
        venture=venture,
        preempt=preempt,
        prune=prune,
        every=every,
        restart=restart,
    ).result()


# ------------------------------------------------------------- fairness (spec: algorithms 2.6, 2.7)
@dataclass(frozen=True)
class Delay:
    """How long a blocked job was held up by later ones (spec: algorithms 2.6)."""

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
    """A job that could not start at its first reservation because of backfilled ones.

    spec: algorithms 2.7.
    """

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


def delays(world: World) -> list[Delay]:
    """Every job that was blocked as head, in (submit, id) order."""
    found = []
    for job in world.jobs:
        if job.id in world.blocks:
            block = world.blocks[job.id]
            older = [(j, end) for j, end in block.running if j.priority < job.priority]
            fst2 = when_free(world.capacity, block.running, job.need, block.at)
            fst = when_free(world.capacity, older, job.need, block.at)
            found.append(Delay(job.id, block.at, fst2, fst, world.last[job.id].start))
    return found


def violations(world: World) -> list[Violation]:
    """Late starts for which a lower-priority job that outran its prediction is to blame.

    The state "at r0" is the one before anything starts at r0.
    """
    found = []
    for job in world.jobs:
        if job.id not in world.blocks:
            continue
        block, start = world.blocks[job.id], world.last[job.id].start
        r0 = block.promised
        if start <= r0:
            continue
        running = [run for run in world.starts if run.start < r0 < run.end]
        free = world.capacity
        for run in running:
            free = minus(free, run.job.need)
        for run in running:
            lower = run.job.priority > job.priority
            if lower and run.start >= block.at and run.start + run.frozen <= r0:
                free = plus(free, run.job.need)
        if fits(job.need, free):
            found.append(Violation(job.id, r0, start, job.effective_run))
    return found


def easy_fairness(
    jobs: list[Job],
    capacity: Vector,
    *,
    backfill: str = "order",
    estimate: object = "requested",
    extra_update: bool = True,
    fixed_reservation: bool | str = False,
) -> tuple[list[Delay], list[Violation]]:
    """Tables 1 and 2 of the PV-EASY paper, job by job, for the run that ``easy`` makes."""
    world = easy_world(
        jobs,
        capacity,
        backfill=backfill,
        estimate=estimate,
        extra_update=extra_update,
        fixed_reservation=fixed_reservation,
    )
    return delays(world), violations(world)


# ----------------------------------------------------------------------------- BB, BL, IBB (5)
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
    jobs: list[Job],
    capacity: Vector,
    estimate: object,
    backfill_jobs: Callable[[World, HeadReservation, list[Job]], None],
) -> Result:
    """Heads first, then ``backfill_jobs`` around the reservation of the blocked head."""

    def one_pass(world: World) -> None:
        while world.waiting and fits(world.waiting[0].need, world.free()):
            world.start_first(world.waiting[0])
        if world.waiting:
            head, rest = world.waiting[0], world.waiting[1:]
            backfill_jobs(world, HeadReservation(world, head), rest)

    return replay(make_world(jobs, capacity, estimate), one_pass).result()


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


def bb(
    jobs: list[Job], capacity: Vector, *, per_pass: str = "one", estimate: object = "requested"
) -> Result:
    """5.2 eq. 1: max / avg * (1 - avg) of the shares in use with the job, smallest first."""

    def score(world: World, job: Job) -> Fraction:
        shares = used_shares(world, job)
        return max(shares) / average(shares) * (1 - average(shares))

    return backfilling(jobs, capacity, estimate, best_first(score, per_pass))


def bl(
    jobs: list[Job],
    capacity: Vector,
    *,
    per_pass: str = "until-none",
    estimate: object = "requested",
) -> Result:
    """The largest request for the resource that is least used now (spec: algorithms 5.2)."""

    def score(world: World, job: Job) -> Fraction:
        shares = used_shares(world)
        least = shares.index(min(shares))  # lower index on a tie
        return Fraction(-job.need[least])

    return backfilling(jobs, capacity, estimate, best_first(score, per_pass))


def ibb(
    jobs: list[Job],
    capacity: Vector,
    *,
    threshold: str = "live",
    literal: bool = False,
    estimate: object = "requested",
) -> Result:
    """5.3 eq. 2; ``literal`` is Algorithm 1 as printed, which accepts no job."""
    assert threshold in ("live", "frozen")

    def backfill_jobs(world: World, reservation: HeadReservation, rest: list[Job]) -> None:
        at_first = used_shares(world)
        for job in rest:
            if not reservation.allows(job):
                continue
            now = used_shares(world) if threshold == "live" else at_first
            then = used_shares(world, job)
            if literal:
                accepted = average(then) <= average(at_first)
            else:
                accepted = max(then) * sum(now) <= max(now) * sum(then)
            if accepted:
                reservation.start(job)

    return backfilling(jobs, capacity, estimate, backfill_jobs)
