"""Ten jobs scheduled slowly, with the reason for every decision: for teaching.

The policies here are written to be read, not to be fast, and know nothing of the engine: a test
holds the two to the same starts and the same reasons, job by job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from shadowtime.errors import UsageError

Kind = Literal["head", "reserved", "backfilled", "waits"]


@dataclass(frozen=True)
class Job:
    """A job of the lesson: minutes and processors. It runs ``run`` but asks for ``request``."""

    name: str
    submit: int
    procs: int
    request: int
    run: int


PROCS = 8
TEN = (
    Job("A", 0, 5, 10, 6),
    Job("B", 1, 6, 4, 4),
    Job("C", 2, 2, 5, 5),
    Job("D", 3, 3, 3, 3),
    Job("E", 4, 1, 12, 12),
    Job("F", 5, 4, 2, 2),
    Job("G", 6, 8, 3, 2),
    Job("H", 7, 2, 2, 2),
    Job("I", 9, 1, 4, 3),
    Job("J", 12, 3, 5, 5),
)
"""The world of the lesson, for eight processors. A and G ask for longer than they run."""


@dataclass(frozen=True)
class Running:
    """A job that runs; the scheduler knows when it is expected to end, not when it will."""

    job: Job
    start: int

    @property
    def expected(self) -> int:
        return self.start + self.job.request

    @property
    def end(self) -> int:
        return self.start + self.job.run


@dataclass(frozen=True)
class View:
    """What a policy sees at a pass: the queue by arrival, and who runs."""

    now: int
    procs: int
    waiting: tuple[Job, ...]
    running: tuple[Running, ...]
    arrived: tuple[Job, ...] = ()
    early: tuple[Job, ...] = ()
    """Jobs that have just ended before they were expected to."""

    @property
    def free(self) -> int:
        return self.procs - sum(one.job.procs for one in self.running)


@dataclass(frozen=True)
class Decision:
    """One job at one pass: started or not, and why."""

    job: Job
    kind: Kind
    why: str

    @property
    def starts(self) -> bool:
        return self.kind != "waits"


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Everything decided at one instant."""

    decisions: tuple[Decision, ...]
    promises: tuple[tuple[Job, int], ...] = ()
    """Reserved starts of waiting jobs as they stand after the pass."""
    extra: int | None = None
    """Processors that are over at the shadow time of the first promise."""
    remarks: tuple[str, ...] = ()
    wake: int | None = None
    """The next moment at which a promise falls due."""


class Teacher(Protocol):
    """A policy that explains itself."""

    def decide(self, view: View) -> Pass: ...


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One instant of the lesson, after its pass."""

    now: int
    ended: tuple[Running, ...]
    arrived: tuple[Job, ...]
    queue: tuple[Job, ...]
    """Who waited when the pass began."""
    made: Pass
    running: tuple[Running, ...]
    waiting: tuple[Job, ...]
    free: int


@dataclass
class _World:
    """What happens between the passes."""

    jobs: tuple[Job, ...]
    procs: int
    come: int = 0
    waiting: list[Job] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    wake: int | None = None

    def next_instant(self) -> int | None:
        times = [one.end for one in self.running]
        if self.come < len(self.jobs):
            times.append(self.jobs[self.come].submit)
        if self.wake is not None:
            times.append(self.wake)
        return min(times, default=None)


def lesson(
    policy: str = "easy", *, jobs: tuple[Job, ...] = TEN, procs: int = PROCS
) -> Iterator[Moment]:
    """Schedule jobs, instant by instant.

    At one instant jobs end, then others arrive, then there is one pass.

    Examples
    --------
    >>> [(m.now, d.job.name) for m in lesson("easy") for d in m.made.decisions if d.starts][:4]
    [(0, 'A'), (2, 'C'), (4, 'E'), (7, 'B')]
    """
    from shadowtime.study.lesson_rules import TEACHERS

    if policy not in TEACHERS:
        raise UsageError(f"the lesson knows {', '.join(TEACHERS)}, not {policy!r}")
    teacher = TEACHERS[policy]()
    ordered = tuple(sorted(jobs, key=lambda job: job.submit))
    world = _World(ordered, procs)
    while (now := world.next_instant()) is not None:
        yield _instant(world, teacher, now)


def _instant(world: _World, teacher: Teacher, now: int) -> Moment:
    ended = tuple(one for one in world.running if one.end == now)
    world.running = [one for one in world.running if one.end != now]
    first = world.come
    while world.come < len(world.jobs) and world.jobs[world.come].submit == now:
        world.come += 1
    arrived = world.jobs[first : world.come]
    world.waiting += arrived
    view = View(
        now,
        world.procs,
        tuple(world.waiting),
        tuple(world.running),
        arrived,
        tuple(one.job for one in ended if one.expected > now),
    )
    made = teacher.decide(view)
    for decision in made.decisions:
        if decision.starts:
            world.waiting.remove(decision.job)
            world.running.append(Running(decision.job, now))
    world.wake = made.wake
    return Moment(
        now=now,
        ended=ended,
        arrived=arrived,
        queue=view.waiting,
        made=made,
        running=tuple(world.running),
        waiting=tuple(world.waiting),
        free=world.procs - sum(one.job.procs for one in world.running),
    )


Teachers = dict[str, Callable[[], Teacher]]
