"""The lesson's policies, each with its reasons in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.study.lesson import Decision, Job, Kind, Pass, View

if TYPE_CHECKING:
    from shadowtime.study.lesson import Running, Teachers


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


@dataclass
class InOrder:
    """What all of them share: jobs start in arrival order while the first one fits."""

    blocked: set[str] = field(default_factory=set)
    """Jobs that were once first in the queue and could not start."""

    def start_first(self, view: View) -> tuple[list[Decision], list[Job], int]:
        """Start from the front; returns the decisions, who is left, and what is free."""
        made, left, free = [], list(view.waiting), view.free
        while left and left[0].procs <= free:
            job = left.pop(0)
            waited = job.name in self.blocked
            after = "it has waited for this at the front" if waited else "it is first in the queue"
            why = f"{after}, and {plural(job.procs)} of {free} free are enough"
            made.append(Decision(job, "reserved" if waited else "head", why))
            free -= job.procs
        if left:
            self.blocked.add(left[0].name)
        return made, left, free


class Fcfs(InOrder):
    """Nobody overtakes."""

    def decide(self, view: View) -> Pass:
        made, left, free = self.start_first(view)
        if left:
            head = left[0]
            why = f"it is first, needs {plural(head.procs)}, and {are_free(free)}"
            made.append(Decision(head, "waits", why))
            made += [
                Decision(job, "waits", f"nobody overtakes {head.name}, the first in the queue")
                for job in left[1:]
            ]
        return Pass(decisions=tuple(made))


class Greedy(InOrder):
    """Whoever fits, starts."""

    def decide(self, view: View) -> Pass:
        made, left, free = self.start_first(view)
        for place, job in enumerate(left):
            if job.procs <= free:
                why = f"it takes {job.procs} of {free} free; {left[0].name} is promised nothing"
                made.append(Decision(job, "backfilled", why))
                free -= job.procs
            else:
                first = "it is first, but " if place == 0 else ""
                why = f"{first}it needs {plural(job.procs)}, and {are_free(free)}"
                made.append(Decision(job, "waits", why))
        return Pass(decisions=tuple(made))


@dataclass
class Easy(InOrder):
    """The first in the queue is promised a start; others overtake if they do not delay it."""

    shortest_first: bool = False

    def decide(self, view: View) -> Pass:
        made, left, free = self.start_first(view)
        if not left:
            return Pass(decisions=tuple(made))
        head, rest = left[0], left[1:]
        going = [*view.running, *(_begun(d.job, view.now) for d in made)]
        shadow, available = shadow_time(head, free, going)
        extra = available - head.procs
        over = f"{extra} will be over" if extra else "none will be over"
        why = (
            f"it is first, needs {plural(head.procs)}, and {are_free(free)}; by their estimates "
            f"enough are back at minute {shadow}: its shadow time, when {over}"
        )
        made.append(Decision(head, "waits", why))
        if self.shortest_first:
            rest = sorted(rest, key=lambda job: job.request)
        spare = extra
        for job in rest:
            kind, why, used = self._may(job, head, view.now, free, shadow, spare)
            made.append(Decision(job, kind, why))
            if kind != "waits":
                free -= job.procs
                spare -= used
        return Pass(decisions=tuple(made), promises=((head, shadow),), extra=extra)

    def _may(
        self, job: Job, head: Job, now: int, free: int, shadow: int, spare: int
    ) -> tuple[Kind, str, int]:
        end = now + job.request
        if job.procs > free:
            return "waits", f"it needs {plural(job.procs)}, and {are_free(free)}", 0
        if end <= shadow:
            why = f"it overtakes: it will be gone by minute {end}, and {head.name} needs its "
            return "backfilled", f"{why}processors only at {shadow}", 0
        if job.procs <= spare:
            why = (
                f"it overtakes: it runs past {head.name}'s shadow time {shadow}, but of the "
                f"{plural(spare)} over then it takes {job.procs}"
            )
            return "backfilled", why, job.procs
        over = f"only {spare} will be over" if spare > 0 else "none will be over"
        why = (
            f"it fits now, but would still run at minute {shadow}, when {over}: "
            f"it would delay {head.name}"
        )
        return "waits", why, 0


def shadow_time(head: Job, free: int, running: list[Running]) -> tuple[int, int]:
    """When enough processors are back for a job, by the estimates, and how many there are then."""
    for moment in sorted({one.expected for one in running}):
        back = free + sum(one.job.procs for one in running if one.expected <= moment)
        if back >= head.procs:
            return moment, back
    raise AssertionError(f"{head.name} is wider than the machine")


def _begun(job: Job, now: int) -> Running:
    from shadowtime.study.lesson import Running

    return Running(job, now)


@dataclass
class Conservative:
    """Everybody is promised a start on arrival; a promise only ever moves forward."""

    promise: dict[str, int] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)

    def decide(self, view: View) -> Pass:
        arrived = {job.name for job in view.arrived}
        old = [job for job in view.waiting if job.name not in arrived]
        remarks = self._compress(view, old) if view.early else []
        for job in view.arrived:
            others = [(one, self.promise[one.name]) for one in view.waiting if self._known(one)]
            self.promise[job.name] = earliest(job, view, others)
        due = {job.name for job in view.waiting if self.promise[job.name] == view.now}
        left = [job for job in view.waiting if job.name not in due]
        made = [
            self._started(job, [one.name for one in view.waiting[:place] if one in left])
            if job.name in due
            else self._waits(job, job.name in arrived)
            for place, job in enumerate(view.waiting)
        ]
        for name in due:
            del self.promise[name]
        if left:
            self.blocked.add(left[0].name)
        promises = tuple((job, self.promise[job.name]) for job in left)
        wake = min((when for _, when in promises), default=None)
        return Pass(decisions=tuple(made), promises=promises, remarks=tuple(remarks), wake=wake)

    def _known(self, job: Job) -> bool:
        return job.name in self.promise

    def _compress(self, view: View, waiting: list[Job]) -> list[str]:
        """One sweep in arrival order: each promise to the earliest moment that is free now."""
        moved = []
        for job in waiting:
            others = [(one, self.promise[one.name]) for one in waiting if one is not job]
            before, after = self.promise[job.name], earliest(job, view, others)
            if after < before:
                self.promise[job.name] = after
                moved.append(f"{job.name} from {before} to {after}")
        if not waiting:
            return []
        return [f"promises move forward: {', '.join(moved)}" if moved else "no promise can move"]

    def _started(self, job: Job, ahead: list[str]) -> Decision:
        if ahead:
            why = f"its promise is now, ahead of {', '.join(ahead)}; no other promise is touched"
            return Decision(job, "backfilled", why)
        if job.name in self.blocked:
            return Decision(job, "reserved", "its promise falls due")
        return Decision(job, "head", "it is first in the queue, and there is room")

    def _waits(self, job: Job, new: bool) -> Decision:
        when = self.promise[job.name]
        if new:
            why = (
                f"it is promised minute {when}: the first hole of {plural(job.procs)} for "
                f"{plural(job.request, 'minute')} around everybody's promises"
            )
        else:
            why = f"it is promised minute {when}"
        return Decision(job, "waits", why)


def earliest(job: Job, view: View, promised: list[tuple[Job, int]]) -> int:
    """The first moment from which a job fits for its whole request, promises kept."""
    taken = [(view.now, one.expected, one.job.procs) for one in view.running]
    taken += [(when, when + one.request, one.procs) for one, when in promised if one is not job]
    for moment in sorted({view.now, *(end for _, end, _ in taken if end > view.now)}):
        ends = moment + job.request
        marks = {moment, *(since for since, _, _ in taken if moment < since < ends)}
        if all(_used(taken, mark) + job.procs <= view.procs for mark in marks):
            return moment
    raise AssertionError(f"{job.name} is wider than the machine")


def _used(taken: list[tuple[int, int, int]], moment: int) -> int:
    return sum(procs for since, until, procs in taken if since <= moment < until)


TEACHERS: Teachers = {
    "fcfs": Fcfs,
    "greedy": Greedy,
    "easy": Easy,
    "easy-sjbf": lambda: Easy(shortest_first=True),
    "conservative": Conservative,
}
"""By the names of the catalogue."""
