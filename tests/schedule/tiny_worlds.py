"""Small random worlds and two tiny schedulers, so that proofs and metrics have true schedules.

Both are written for obviousness: one instant after the other, plain lists. ``greedy`` starts in
(submit, id) order whatever fits; ``preemptive`` also stops later jobs for the sake of the first
waiting one, which makes it strictly fair.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from shadowtime.cluster import Cluster
from shadowtime.schedule import Attempts, Schedule
from shadowtime.types import Reason
from shadowtime.workload import Workload


@dataclass(frozen=True)
class World:
    """Jobs and a machine that can hold each of them."""

    workload: Workload
    cluster: Cluster


@st.composite
def worlds(draw: st.DrawFn, *, memory: bool = False, most: int = 12) -> World:
    """A few jobs with many ties: equal submits, jobs as wide as the machine, runs past limits."""
    procs = draw(st.integers(1, 6))
    n = draw(st.integers(0, most))

    def numbers(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=n, max_size=n))

    extra = {"demand": {"memory": numbers(0, 4)}} if memory else {}
    workload = Workload.build(
        submit=numbers(0, 15),
        run=numbers(1, 12),
        procs=numbers(1, procs),
        request=numbers(1, 14),
        user=numbers(-1, 3),
        job_id=[10 + 3 * k for k in range(n)],
        **extra,
    )
    return World(workload, Cluster.pool(procs, memory=4) if memory else Cluster.pool(procs))


@dataclass
class _Run:
    """The scheduler's state."""

    world: World
    start: dict[int, int] = field(default_factory=dict)
    reason: dict[int, Reason] = field(default_factory=dict)
    blocked: dict[int, int] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    attempts: list[tuple[int, int, int, int]] = field(default_factory=list)
    running: dict[int, int] = field(default_factory=dict)
    """job -> end"""
    waiting: list[int] = field(default_factory=list)

    def fits(self, job: int) -> bool:
        w, c = self.world.workload, self.world.cluster
        for k, name in enumerate(c.resources):
            taken = sum(int(w.demand[other, k]) for other in self.running)
            if taken + int(w.demand[job, k]) > c.total[name]:
                return False
        return True

    def begin(self, job: int, now: int, reason: Reason) -> None:
        self.waiting.remove(job)
        self.start[job], self.reason[job] = now, reason
        self.running[job] = now + int(self.world.workload.effective_run[job])

    def begin_as_head(self, job: int, now: int) -> None:
        self.begin(job, now, Reason.RESERVED if job in self.blocked else Reason.HEAD)

    def stop(self, job: int, now: int) -> None:
        self.attempts.append((job, self.start[job], now, 1))
        del self.running[job]
        self.waiting.append(job)
        self.waiting.sort()

    def backfill(self, now: int) -> None:
        self.blocked.setdefault(self.waiting[0], now)
        for job in list(self.waiting[1:]):
            if self.fits(job):
                self.begin(job, now, Reason.BACKFILLED)

    def schedule(self) -> Schedule:
        w = self.world.workload
        n = len(w)

        def column(values: dict[int, int]) -> np.ndarray:
            return np.array([values.get(job, -1) for job in range(n)], np.int64)

        lost = list(self.attempts)
        last = [(j, self.start[j], self.start[j] + int(w.effective_run[j]), 0) for j in range(n)]
        rows = sorted(lost + [a for a in last if a[0] in {b[0] for b in lost}], key=lambda a: a[1])
        start = column(self.start)
        return Schedule(
            job_id=w.job_id,
            submit=w.submit,
            start=start,
            end=start + w.effective_run,
            procs=w.procs,
            reason=np.array([self.reason[j] for j in range(n)], np.int8),
            kills=np.array([sum(a[0] == j for a in lost) for j in range(n)], np.int64),
            killed=(w.run > w.limit).astype(np.int8),
            promised=column(self.promised),
            blocked_at=column(self.blocked),
            attempts=Attempts(
                job_id=np.array([w.job_id[a[0]] for a in rows], np.int64),
                start=np.array([a[1] for a in rows], np.int64),
                end=np.array([a[2] for a in rows], np.int64),
                killed=np.array([a[3] for a in rows], np.int8),
            ),
        )


def _instants(run: _Run):  # type: ignore[no-untyped-def]
    """Ends, then submissions, then the caller's pass, instant by instant."""
    submit = run.world.workload.submit.tolist()
    coming = list(range(len(submit)))
    while coming or run.running:
        now = min([submit[j] for j in coming[:1]] + list(run.running.values()))
        for job in [j for j, end in run.running.items() if end == now]:
            del run.running[job]
        while coming and submit[coming[0]] == now:
            run.waiting.append(coming.pop(0))
        run.waiting.sort()
        yield now


def greedy(world: World) -> Schedule:
    """Start in order whatever fits; no reservation."""
    run = _Run(world)
    for now in _instants(run):
        while run.waiting and run.fits(run.waiting[0]):
            run.begin_as_head(run.waiting[0], now)
        if run.waiting:
            run.backfill(now)
    return run.schedule()


def fcfs(world: World) -> Schedule:
    """Start in order; the first that does not fit stops the rest."""
    run = _Run(world)
    for now in _instants(run):
        while run.waiting and run.fits(run.waiting[0]):
            run.begin_as_head(run.waiting[0], now)
        if run.waiting:
            run.blocked.setdefault(run.waiting[0], now)
    return run.schedule()


def preemptive(world: World) -> Schedule:
    """Greedy, but the head takes what later jobs hold if that lets it start (pool of processors).

    The promise is the moment at which the sunny jobs, if each needed half its request, would
    leave enough: often too early, so promises are missed although no job is to blame.
    """
    run, w, total = _Run(world), world.workload, world.cluster.procs
    for now in _instants(run):
        while run.waiting:
            head = run.waiting[0]
            if run.fits(head):
                run.begin_as_head(head, now)
                continue
            shadow = sorted(job for job in run.running if job > head)
            held = sum(int(w.procs[job]) for job in run.running if job < head)
            if total - held < w.procs[head]:
                break
            while not run.fits(head):
                run.stop(shadow.pop(), now)
            run.begin(head, now, Reason.PREEMPTING)
        if run.waiting:
            head = run.waiting[0]
            if head not in run.blocked:
                run.promised[head] = _promise(run, head, now)
            run.backfill(now)
    return run.schedule()


def _promise(run: _Run, head: int, now: int) -> int:
    w = run.world.workload
    half = {
        job: max(now + 1, run.start[job] + int(w.request[job]) // 2)
        for job in run.running
        if job < head
    }
    for when in sorted(half.values()):
        held = sum(int(w.procs[job]) for job, end in half.items() if end > when)
        if run.world.cluster.procs - held >= w.procs[head]:
            return when
    return now + 1


def state(schedule: Schedule, now: int) -> tuple[list[int], list[int]]:
    """Rows running and rows waiting in the second that begins at ``now``, the slow way."""
    spans: dict[int, list[tuple[int, int]]] = {row: [] for row in range(len(schedule))}
    index = {int(job): row for row, job in enumerate(schedule.job_id)}
    for row in range(len(schedule)):
        spans[row].append((int(schedule.start[row]), int(schedule.end[row])))
    a = schedule.attempts
    for job, start, end, killed in zip(a.job_id, a.start, a.end, a.killed, strict=True):
        if killed:
            spans[index[int(job)]].append((int(start), int(end)))
    running = [row for row, runs in spans.items() if any(s <= now < e for s, e in runs)]
    waiting = [
        row
        for row, runs in spans.items()
        if row not in running and schedule.submit[row] <= now < max(s for s, _ in runs)
    ]
    return running, waiting
