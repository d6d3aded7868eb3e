"""Policies that explain themselves: ``demo --step`` prints their reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from shadowtime.policy.snapshot import (
    JobId,
    Promise,
    PythonPolicy,
    RunningJob,
    Snapshot,
    Start,
    Wait,
    WaitingJob,
    Wake,
)


def plural(count: int, noun: str = "processor") -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1), plural(3)
    ('1 processor', '3 processors')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def are_free(count: int) -> str:
    """What is free, as the end of a sentence.

    Examples
    --------
    >>> are_free(0), are_free(1), are_free(2)
    ('none is free', '1 is free', '2 are free')
    """
    return f"{count or 'none'} {'are' if count > 1 else 'is'} free"


def started(job: WaitingJob, now: int) -> RunningJob:
    """A job from its start on, as a policy sees it."""
    end = now + job.estimate
    return RunningJob(
        job.id, job.submit, job.need, job.request, job.estimate, start=now, expected_end=end
    )


@dataclass
class InOrder:
    """What all of them share: jobs start in arrival order while the first one fits."""

    blocked: set[str] = field(default_factory=set)
    """Jobs that were once first in the queue and could not start."""

    def start_first(self, seen: Snapshot) -> tuple[list[Start], list[WaitingJob], int]:
        """Start from the front; returns the starts, the jobs left, and what is free."""
        made, left, free = [], list(seen.waiting), seen.free[0]
        while left and left[0].procs <= free:
            job = left.pop(0)
            waited = job.id in self.blocked
            after = "it has waited for this at the front" if waited else "it is first in the queue"
            why = f"{after}, and {plural(job.procs)} of {free} free are enough"
            made.append(Start(job.id, why=why))
            free -= job.procs
        if left:
            self.blocked.add(left[0].id)
        return made, left, free


class Fcfs(InOrder):
    """First come, first served: no job overtakes another."""

    name = "fcfs"

    def decide(self, snapshot: Snapshot) -> Iterator[object]:
        """Start from the front, and stop at the first job that does not fit."""
        made, left, free = self.start_first(snapshot)
        yield from made
        for head in left[:1]:
            yield Wait(head.id, f"it is first, needs {plural(head.procs)}, and {are_free(free)}")
            for job in left[1:]:
                yield Wait(job.id, f"no job overtakes {head.id}, the first in the queue")


class Greedy(InOrder):
    """Every job that fits starts; no job holds a reservation."""

    name = "greedy"

    def decide(self, snapshot: Snapshot) -> Iterator[object]:
        """Start all that fit, in order."""
        made, left, free = self.start_first(snapshot)
        yield from made
        for place, job in enumerate(left):
            if job.procs <= free:
                why = f"it takes {job.procs} of {free} free; {left[0].id} is promised nothing"
                yield Start(job.id, why=why)
                free -= job.procs
            else:
                first = "it is first, but " if place == 0 else ""
                yield Wait(job.id, f"{first}it needs {plural(job.procs)}, and {are_free(free)}")


@dataclass
class Easy(InOrder):
    """The first in the queue is promised a start; others overtake if they do not delay it."""

    shortest_first: bool = False

    @property
    def name(self) -> str:
        """As in the catalogue."""
        return "easy-sjbf" if self.shortest_first else "easy"

    def decide(self, snapshot: Snapshot) -> Iterator[object]:
        """Start from the front, promise the head its shadow time, backfill behind it."""
        made, left, free = self.start_first(snapshot)
        yield from made
        if not left:
            return
        head, rest = left[0], left[1:]
        begun = {one.job for one in made}
        ends = [(one.expected_end, one.procs) for one in snapshot.running]
        ends += [
            (snapshot.now + job.estimate, job.procs) for job in snapshot.waiting if job.id in begun
        ]
        shadow, available = shadow_time(head, free, ends)
        extra = available - head.procs
        spare_then = f"{extra} to spare" if extra else "none to spare"
        why = (
            f"it is first, needs {plural(head.procs)}, and {are_free(free)}; by their estimates "
            f"enough are free at minute {shadow}, its shadow time, with {spare_then}"
        )
        yield Promise(head.id, shadow, extra=extra, why=why)
        if self.shortest_first:
            rest = sorted(rest, key=lambda job: job.estimate)
        spare = extra
        for job in rest:
            starts, why, used = may_overtake(job, head, snapshot.now, free, shadow, spare)
            if starts:
                yield Start(job.id, why=why)
                free -= job.procs
                spare -= used
            else:
                yield Wait(job.id, why)


def may_overtake(
    job: WaitingJob, head: WaitingJob, now: int, free: int, shadow: int, spare: int
) -> tuple[bool, str, int]:
    """Whether a job may start ahead of the head, why, and what it takes of the extra processors."""
    end = now + job.estimate
    if job.procs > free:
        return False, f"it needs {plural(job.procs)}, and {are_free(free)}", 0
    if end <= shadow:
        why = f"it overtakes: it will end by minute {end}, and {head.id} needs its "
        return True, f"{why}processors only at {shadow}", 0
    if job.procs <= spare:
        why = (
            f"it overtakes: it runs past {head.id}'s shadow time {shadow}, but takes "
            f"{job.procs} of the {plural(spare)} to spare then"
        )
        return True, why, job.procs
    left = f"only {spare} are to spare" if spare > 0 else "none are to spare"
    why = (
        f"it fits now, but would still run at minute {shadow}, when {left}: "
        f"it would delay {head.id}"
    )
    return False, why, 0


def shadow_time(head: WaitingJob, free: int, ends: list[tuple[int, int]]) -> tuple[int, int]:
    """When enough processors are back for a job, by the estimates, and how many there are then.

    Examples
    --------
    >>> shadow_time(WaitingJob("B", 1, (6,), 4), 3, [(12, 2), (10, 5)])
    (10, 8)
    """
    for moment in sorted({end for end, _ in ends}):
        back = free + sum(procs for end, procs in ends if end <= moment)
        if back >= head.procs:
            return moment, back
    raise AssertionError(f"{head.id} is wider than the machine")


@dataclass
class Conservative:
    """Every job is promised a start on arrival; a promise only ever moves forward."""

    name = "conservative"
    promise: dict[str, int] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)
    ran: dict[str, RunningJob] = field(default_factory=dict)
    """The jobs that ran after the pass before, to see which ended early."""

    def decide(self, snapshot: Snapshot) -> Iterator[object]:
        """Move promises forward after an early end, promise to new jobs, start what is due."""
        now, waiting = snapshot.now, snapshot.waiting
        running = {one.id: one for one in snapshot.running}
        arrived = [job for job in waiting if job.id not in self.promise]
        if any(one.expected_end > now for one in self.ran.values() if one.id not in running):
            self._compress(snapshot, [job for job in waiting if job.id in self.promise])
        for job in arrived:
            others = [(one, self.promise[one.id]) for one in waiting if one.id in self.promise]
            self.promise[job.id] = earliest(job, snapshot, others)
        left = [job for job in waiting if self.promise[job.id] > now]
        for place, job in enumerate(waiting):
            if job in left:
                yield Promise(job.id, self.promise[job.id], why=self._waits(job, job in arrived))
                continue
            ahead = [one.id for one in waiting[:place] if one in left]
            yield Start(job.id, why=self._starts(job, ahead))
            running[job.id] = started(job, now)
            del self.promise[job.id]
        if left:
            self.blocked.add(left[0].id)
            yield Wake(min(self.promise[job.id] for job in left))
        self.ran = running

    def _compress(self, seen: Snapshot, waiting: list[WaitingJob]) -> None:
        """One sweep in arrival order: each promise to the earliest moment that is free now."""
        for job in waiting:
            others = [(one, self.promise[one.id]) for one in waiting if one is not job]
            self.promise[job.id] = min(self.promise[job.id], earliest(job, seen, others))

    def _starts(self, job: WaitingJob, ahead: list[JobId]) -> str:
        if ahead:
            behind = ", ".join(map(str, ahead))
            return f"its promise is now, ahead of {behind}; no other promise is touched"
        if job.id in self.blocked:
            return "its promise falls due"
        return "it is first in the queue, and there is room"

    def _waits(self, job: WaitingJob, new: bool) -> str:
        when = self.promise[job.id]
        if not new:
            return f"it is promised minute {when}"
        return (
            f"it is promised minute {when}: the first hole of {plural(job.procs)} for "
            f"{plural(job.estimate, 'minute')} around all other promises"
        )


def earliest(job: WaitingJob, seen: Snapshot, promised: list[tuple[WaitingJob, int]]) -> int:
    """The first moment from which a job fits for its whole estimate, promises kept."""
    taken = [(seen.now, one.expected_end, one.procs) for one in seen.running]
    taken += [(when, when + one.estimate, one.procs) for one, when in promised if one is not job]
    for moment in sorted({seen.now, *(end for _, end, _ in taken if end > seen.now)}):
        ends = moment + job.estimate
        marks = {moment, *(since for since, _, _ in taken if moment < since < ends)}
        if all(_used(taken, mark) + job.procs <= seen.capacity[0] for mark in marks):
            return moment
    raise AssertionError(f"{job.id} is wider than the machine")


def _used(taken: list[tuple[int, int, int]], moment: int) -> int:
    return sum(procs for since, until, procs in taken if since <= moment < until)


EXPLAINED: dict[str, Callable[[], PythonPolicy]] = {
    "fcfs": Fcfs,
    "greedy": Greedy,
    "easy": Easy,
    "easy-sjbf": lambda: Easy(shortest_first=True),
    "conservative": Conservative,
}
"""By the names of the catalogue."""
