"""Ten jobs scheduled slowly, with the reason for every decision: for teaching.

Policies are objects with ``decide(snapshot)``, as everywhere: those of lesson_rules.py, written to
be read and to explain themselves, or a user's own. Nothing is compiled: a few jobs are scheduled
before the engine would be loaded. Tests compare starts and reasons of the two, job by job.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Any, Literal

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.errors import PolicyError, UsageError
from shadowtime.policy import parse, parse_policy
from shadowtime.policy.snapshot import (
    Promise,
    PythonPolicy,
    RunningJob,
    Snapshot,
    Start,
    Stop,
    Wait,
    WaitingJob,
    Wake,
    ask_policy,
    name_of,
)
from shadowtime.study.lesson_rules import EXPLAINED, are_free, plural, started
from shadowtime.workload import Workload

Kind = Literal["head", "reserved", "backfilled", "waits"]


@dataclass(frozen=True)
class Job:
    """A job of the lesson: minutes and processors. It runs ``run`` but requests ``request``."""

    name: str
    submit: int
    procs: int
    request: int
    run: int

    @property
    def waiting(self) -> WaitingJob:
        """The job as a policy sees it."""
        return WaitingJob(self.name, self.submit, (self.procs,), self.request, self.request)


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
"""The jobs of the lesson, for eight processors. A and G request more time than they use."""


@dataclass(frozen=True)
class Outcome:
    """One job at one pass: started or not, and why."""

    job: WaitingJob
    kind: Kind
    why: str

    @property
    def starts(self) -> bool:
        """True if the job was started."""
        return self.kind != "waits"


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One instant of the lesson, after its pass."""

    snapshot: Snapshot
    """What the policy saw."""
    ended: tuple[RunningJob, ...]
    arrived: tuple[WaitingJob, ...]
    outcomes: tuple[Outcome, ...]
    """Every job that waited when the pass began, in the order of the decisions."""
    promises: tuple[Promise, ...]
    """Promised starts of waiting jobs as they stand after the pass."""
    remarks: tuple[str, ...]
    running: tuple[RunningJob, ...]
    waiting: tuple[WaitingJob, ...]

    @property
    def now(self) -> int:
        """The minute."""
        return self.snapshot.now

    @property
    def free(self) -> int:
        """Processors that are free after the pass."""
        return self.snapshot.capacity[0] - sum(one.procs for one in self.running)


def lesson(
    policy: str | PythonPolicy = "easy", *, jobs: Sequence[Job] = TEN, procs: int = PROCS
) -> Iterator[Moment]:
    """Schedule jobs, instant by instant.

    At one instant jobs end, then others arrive, then there is one pass.

    Examples
    --------
    >>> [(m.now, one.job.id) for m in lesson("easy") for one in m.outcomes if one.starts][:4]
    [(0, 'A'), (2, 'C'), (4, 'E'), (7, 'B')]
    """
    yield from _Lesson(find_policy(policy), tuple(jobs), procs).run()


def find_policy(policy: str | PythonPolicy) -> PythonPolicy:
    """A policy that explains itself by its name in the catalogue, or one written in Python."""
    if not isinstance(policy, str):
        return policy
    if policy in EXPLAINED:
        return EXPLAINED[policy]()
    if ":" in policy or policy in parse.added_policies():  # file.py:name, or of another package
        found: Any = parse_policy(policy)
        if hasattr(found, "decide"):
            return found  # type: ignore[no-any-return]
    raise UsageError(
        f"--step supports {', '.join(EXPLAINED)} and policies with decide (mine.py:name), "
        f"not {policy!r}"
    )


@dataclass
class _Lesson:
    """What happens between the passes, and how decisions take effect."""

    policy: PythonPolicy
    jobs: tuple[Job, ...]
    procs: int
    waiting: list[WaitingJob] = field(default_factory=list)
    running: list[RunningJob] = field(default_factory=list)
    promises: tuple[Promise, ...] = ()
    blocked: set[str] = field(default_factory=set)
    """Jobs that were once first in the queue and could not start."""
    wake: int | None = None

    def run(self) -> Iterator[Moment]:
        """All instants."""
        truth = {job.name: job.run for job in self.jobs}
        coming = sorted(self.jobs, key=lambda job: job.submit)
        while True:
            times = [one.start + truth[one.id] for one in self.running]
            times += [job.submit for job in coming[:1]]
            times += [] if self.wake is None else [self.wake]
            if not times:
                break
            now = min(times)
            ended = [one for one in self.running if one.start + truth[one.id] == now]
            self.running = [one for one in self.running if one not in ended]
            arrived = [job.waiting for job in coming if job.submit == now]
            coming = [job for job in coming if job.submit > now]
            self.waiting += arrived
            self.wake = None
            yield self._pass(now, tuple(ended), tuple(arrived))
        if self.waiting:
            raise PolicyError(
                f"{name_of(self.policy)} never starts job {self.waiting[0].id}: "
                "nothing is left to wait for"
            )

    def _pass(
        self, now: int, ended: tuple[RunningJob, ...], arrived: tuple[WaitingJob, ...]
    ) -> Moment:
        seen = Snapshot(
            now=now,
            cluster=Cluster.pool(self.procs),
            waiting=tuple(self.waiting),
            running=tuple(sorted(self.running, key=lambda one: one.expected_end)),
            free=(self._free(),),
            capacity=(self.procs,),
        )
        found: dict[str, Outcome] = {}
        promises: dict[str, Promise] = {}
        for decision in ask_policy(self.policy, seen):
            self._carry_out(decision, seen, found, promises)
        for job in self.waiting:
            if job.id not in found and job in seen.waiting:
                found[job.id] = Outcome(job, "waits", self._why_waiting(job, promises))
        first = self.waiting[0] if self.waiting else None
        if first is not None:
            self.blocked.add(first.id)
        before, self.promises = (
            self.promises,
            tuple(promises[job.id] for job in self.waiting if job.id in promises),
        )
        early = any(one.expected_end > now for one in ended)
        return Moment(
            snapshot=seen,
            ended=ended,
            arrived=arrived,
            outcomes=tuple(self._ranked(one, first) for one in found.values()),
            promises=self.promises,
            remarks=tuple(moved(before, promises, now) if early else ()),
            running=tuple(self.running),
            waiting=tuple(self.waiting),
        )

    def _free(self) -> int:
        return self.procs - sum(one.procs for one in self.running)

    def _carry_out(
        self,
        decision: object,
        seen: Snapshot,
        found: dict[str, Outcome],
        promises: dict[str, Promise],
    ) -> None:
        name, now = name_of(self.policy), seen.now
        waiting = {job.id: job for job in self.waiting}
        running = {one.id: one for one in self.running}
        job: Any = getattr(decision, "job", None)
        if isinstance(decision, Wake):
            if decision.at > now:
                self.wake = decision.at if self.wake is None else min(self.wake, decision.at)
        elif isinstance(decision, Start) and job in waiting:
            one, free = waiting[job], self._free()
            if one.procs > free:
                if not decision.optional:
                    raise PolicyError(f"{name} at {now} starts job {job}, but it does not fit now")
                return
            why = decision.why or f"{plural(one.procs)} of {free} free are enough"
            found[job] = Outcome(one, "reserved" if job in self.blocked else "head", why)
            self.waiting.remove(one)
            self.running.append(started(one, now))
        elif isinstance(decision, Stop) and job in running:
            self.running.remove(running[job])
            back = next(one for one in self.jobs if one.name == job).waiting
            self.waiting = sorted([*self.waiting, back], key=lambda one: one.submit)
        elif isinstance(decision, Promise) and job in waiting:
            promises[job] = decision
            if decision.why:
                found[job] = Outcome(waiting[job], "waits", decision.why)
        elif isinstance(decision, Wait) and job in waiting:
            found[job] = Outcome(waiting[job], "waits", decision.why)
        else:
            raise PolicyError(f"{name} at {now}: {decision!r} cannot be carried out")

    def _why_waiting(self, job: WaitingJob, promises: dict[str, Promise]) -> str:
        free = self._free()
        if job.id in promises:
            return f"it is promised minute {promises[job.id].start}"
        if job.procs > free:
            return f"it needs {plural(job.procs)}, and {are_free(free)}"
        return (
            f"{plural(job.procs)} of {free} free would be enough, but the policy does not start it"
        )

    def _ranked(self, one: Outcome, first: WaitingJob | None) -> Outcome:
        """A job is backfilled if an earlier submission is still waiting."""
        if first is None or not one.starts:
            return one
        order = [job.name for job in sorted(self.jobs, key=lambda job: job.submit)]
        late = order.index(one.job.id) > order.index(first.id)
        return replace(one, kind="backfilled") if late else one


def moved(before: tuple[Promise, ...], after: dict[str, Promise], now: int) -> list[str]:
    """What an early end changed for jobs that all hold promises; nothing under EASY."""
    if not before or any(one.extra is not None for one in before):
        return []
    found = []
    for one in before:
        start = after[one.job].start if one.job in after else now
        if start < one.start:
            found.append(f"{one.job} from {one.start} to {start}")
    return [f"promises move forward: {', '.join(found)}" if found else "no promise can move"]


MOST = len(ascii_uppercase)
"""A job is a letter."""


def lesson_jobs(workload: Workload, first: int, last: int | None) -> dict[str, tuple[int, Job]]:
    """The jobs from a place to before another, by letter, each with its number in the log.

    Times are minutes from the first of them on, rounded up, so that none ends before it has.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> log = Workload.build(job_id=[7, 9], submit=[600, 690], run=[61, 60], procs=[2, 1])
    >>> lesson_jobs(log, 0, None)["B"]
    (9, Job(name='B', submit=2, procs=1, request=1, run=1))
    """
    rows = range(len(workload))[first : first + MOST if last is None else last]
    if not rows:
        raise UsageError(f"--jobs: {workload.name} has {len(workload):,} jobs: take some of them")
    if len(rows) > MOST:
        raise UsageError(f"--jobs: at most {MOST} can be watched at once, not {len(rows):,}")
    zero = int(workload.submit[rows[0]])
    found = {}
    for letter, row in zip(ascii_uppercase, rows, strict=False):
        seconds = [int(workload.submit[row]) - zero, int(workload.request[row])]
        submit, request = (int(-(-one // 60)) for one in seconds)
        run = int(np.ceil(min(int(workload.run[row]), int(workload.request[row])) / 60))
        procs = int(workload.procs[row])
        job = Job(letter, submit, procs, max(1, request), max(1, run))
        found[letter] = (int(workload.job_id[row]), job)
    return found
