"""The sentences of an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.amounts import kind_of
from shadowtime.metrics import classes, unstarted
from shadowtime.report.clock import moment, unix_start
from shadowtime.report.counterfactual_words import otherwise_lines
from shadowtime.report.machine import memory
from shadowtime.report.numbers import count, number, span
from shadowtime.report.obstacle_words import standing_line, way_lines
from shadowtime.schedule import Schedule
from shadowtime.schedule.runs import runs
from shadowtime.types import FULL_SPEED, UNKNOWN, Reason
from shadowtime.workload import Workload, site_requests
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from shadowtime.report.explanation import Explanation, Promise


CHANGES = 12
"""Changes of a job that are told before the rest is counted."""

NAMED = 6
"""Jobs named one by one before the rest is counted."""

WHY = {
    Reason.HEAD: "It was first in the order and fitted at once.",
    Reason.RESERVED: "It was first in the order and started as soon as it fitted.",
    Reason.BACKFILLED: "It was backfilled: it started ahead of a blocked job.",
    Reason.PREEMPTING: "It was first in the order and started by stopping others.",
    Reason.RECORDED: "The log records the start without a reason.",
}


@dataclass(eq=False, kw_only=True)
class Words:
    """What is needed to write about one job."""

    workload: Workload
    schedule: Schedule
    row: int

    def lines(self, facts: Explanation) -> tuple[str, ...]:
        """The explanation, a sentence or two per line, in the order of time."""
        parts = [self._job(), self._released(), self._arrival(facts)]
        parts += [standing_line(one, self._at, self._named) for one in facts.standings]
        parts += way_lines(facts.in_the_way, self._at, self._named)
        parts += self._others(facts)
        parts += [
            self._held_up(facts),
            self._start(facts),
            self._overtook(facts),
            self._overtaken(facts),
        ]
        parts += [self._changes(), self._end()]
        if facts.otherwise is not None:
            parts += otherwise_lines(facts.otherwise, self._at, self._called)
        return tuple(part for part in parts if part)

    def _at(self, seconds: int) -> str:
        return moment(seconds, unix_start(self.workload))

    def _job(self) -> str:
        jobs, row = self.workload, self.row
        user = jobs.name_of("user", int(jobs.user[row]))
        whose = f" of user {user}" if user else ""
        asked = count(int(jobs.procs[row]), "processor")
        if jobs.requests is not None:
            belongs = [
                f"{classes.called(jobs, kind)} {jobs.name_of(kind, number)}"
                for kind in ("group", "queue")
                if (number := int(getattr(jobs, kind)[row])) >= 0
            ]
            whose += f" ({', '.join(belongs)})" if belongs else ""
            partition = jobs.name_of("partition", int(jobs.partition[row]))
            asked = asked_words(jobs.requests[row], partition=partition)
        return (
            f"Job {self._called(int(jobs.job_id[row]))}{whose} asks for {asked} for "
            f"{span(int(jobs.request[row]))}; submitted {self._at(int(jobs.submit[row]))}."
        )

    def _released(self) -> str:
        """When a job of a site may start at the earliest, if that is not its submission."""
        asked, row = self.workload.requests, self.row
        parts = [self._followed()]
        if asked is None:
            return parts[0]
        begun = int(self.schedule.start[row])
        # Slurm considers an array as a whole: a task's own time in the log does not bind it.
        if asked.begin[row] > self.workload.submit[row] and not 0 <= begun < asked.begin[row]:
            parts.append(
                f"It may not start before {self._at(int(asked.begin[row]))}: a begin time, a "
                "dependency or a hold."
            )
        waits_for = [one for one in asked.dependencies if one.job == row]
        for one in waits_for:
            ids = f" {self._named(one.on)}" if one.on else ""
            parts.append(f"It depends on other jobs ({one.kind}{ids}).")
        if asked.throttle[row] > 0 and asked.array[row] >= 0:
            parts.append(
                f"Of its array ({asked.array[row]}) at most {asked.throttle[row]} run at once."
            )
        return " ".join(part for part in parts if part)

    def _followed(self) -> str:
        """Which jobs let this one come."""
        mine = self.workload.follows[:, 0] == self.workload.job_id[self.row]
        parts = []
        for _, other, seconds, since in self.workload.follows[mine].tolist():
            place = np.flatnonzero(self.workload.job_id == other)
            if len(place):
                column = self.schedule.submit if since else self.schedule.end
                what = "submission" if since else "end"
                at = int(column[int(place[0])])
                when = f" ({self._at(at)})" if at >= 0 else ""
                more = f" and {span(seconds)} more" if seconds else ""
                parts.append(f"the {what} of job {self._called(other)}{when}{more}")
        return f"Before it is submitted it waits for {', '.join(parts)}." if parts else ""

    def _arrival(self, facts: Explanation) -> str:
        used = self._used(facts.submit)
        running = f"{count(len(facts.running_on_arrival), 'job')} ran on {count(used, 'processor')}"
        if not facts.ahead_on_arrival:
            return f"On arrival no job was ahead of it; {running}."
        asked = self._width(facts.ahead_on_arrival)
        return (
            f"On arrival {count(len(facts.ahead_on_arrival), 'job')} waited ahead of it "
            f"({self._named(facts.ahead_on_arrival)}), asking for "
            f"{count(asked, 'processor')}; {running}."
        )

    def _held_up(self, facts: Explanation) -> str:
        if facts.blocked_at == UNKNOWN:
            return ""
        text = f"From {self._at(facts.blocked_at)} it was first in the order and did not fit"
        if facts.promised == UNKNOWN:
            return f"{text}; no start was promised."
        return f"{text}; it was promised {self._at(facts.promised)}."

    def _others(self, facts: Explanation) -> list[str]:
        """The promises of others that blocked it."""
        if not facts.promises or facts.start == facts.submit:
            return []
        shown = facts.promises[-NAMED:]
        left = len(facts.promises) - len(shown)
        before = [
            f"While it waited {count(left, 'job')} more were blocked at the head of the queue "
            "before these."
        ]
        return (before if left else []) + [self._promise(promise) for promise in shown]

    def _promise(self, promise: Promise) -> str:
        given = (
            "without a promise"
            if promise.promised == UNKNOWN
            else f"promised {self._at(promise.promised)}"
        )
        began = f"started {self._at(promise.start)}" if promise.start >= 0 else "never started"
        return (
            f"Job {self._called(promise.job)} was blocked at the head of the queue from "
            f"{self._at(promise.blocked_at)}, "
            f"{given}, and {began}."
        )

    def _start(self, facts: Explanation) -> str:
        if facts.reason is None:
            return f"It has no start in this schedule.{self._cancelled()}"
        if facts.reason is Reason.UNSTARTED:
            until = int(unstarted.waited_until(self.schedule, self.workload)[self.row])
            least = span(until - facts.submit)
            return f"It never started: it waited {least} or longer.{self._cancelled()}"
        waited = facts.start - facts.submit
        when = f"It started {self._at(facts.start)}, " + (
            f"after {span(waited)}" if waited else "at once"
        )
        when += f"{self._place()}."
        text = f"{when} {WHY[facts.reason]}"
        if facts.ended_at_start and waited:
            freed = self._width(facts.ended_at_start)
            text += (
                f" At that time {count(len(facts.ended_at_start), 'job')} ended "
                f"({self._named(facts.ended_at_start)}) and released {count(freed, 'processor')}."
            )
        if facts.promised != UNKNOWN:
            slip = facts.start - facts.promised
            text += (
                f" The promise was missed by {span(slip)}."
                if slip > 0
                else f" That is {span(-slip)} earlier than promised."
                if slip
                else " As promised."
            )
        return text

    def _place(self) -> str:
        """The nodes that it got, if the schedule names them."""
        place = self.schedule.place
        where = place[self.row] if place is not None and self.workload.requests is not None else ""
        return f", on {where} (cpus after the colon)" if where else ""

    def _cancelled(self) -> str:
        asked = self.workload.requests
        moment = UNKNOWN if asked is None else int(asked.cancel_at[self.row])
        return f" It was cancelled in the queue {self._at(moment)}." if moment >= 0 else ""

    def _overtook(self, facts: Explanation) -> str:
        if not facts.still_ahead:
            return ""
        text = (
            f"{count(len(facts.still_ahead), 'job')} submitted before it still waited then "
            f"({self._named(facts.still_ahead)})."
        )
        held = [p for p in facts.promises if p.blocked_at <= facts.start < p.start]
        promised = [p for p in held if p.promised != UNKNOWN]
        if facts.reason is not Reason.BACKFILLED or not promised:
            return text
        end = facts.start + int(self.workload.request[self.row])
        first = promised[0]
        fits = end <= first.promised
        return f"{text} According to its request it would end {self._at(end)}, " + (
            f"before job {self._called(first.job)}'s promise of {self._at(first.promised)}."
            if fits
            else f"after job {self._called(first.job)}'s first promise of "
            f"{self._at(first.promised)}: it used spare processors, or the promise "
            "had moved."
        )

    def _overtaken(self, facts: Explanation) -> str:
        if not facts.overtaken_by:
            return ""
        return (
            f"{count(len(facts.overtaken_by), 'job')} submitted after it started before it "
            f"({self._named(facts.overtaken_by)})."
        )

    def _changes(self) -> str:
        """What its size and speed were, and what happened when they changed."""
        a, s = self.schedule.attempts, self.schedule
        if a.procs is None or a.speed is None:
            return ""
        mine = np.flatnonzero(a.job_id == s.job_id[self.row])
        mine = mine[np.argsort(a.start[mine], kind="stable")]
        if not len(mine):
            return ""
        said: list[str] = []
        before, before_k = (int(s.procs[self.row]), FULL_SPEED), int(mine[0])
        for k in mine.tolist():
            at, now = int(a.start[k]), (int(a.procs[k]), int(a.speed[k]))
            size = "grew" if now[0] > before[0] else "shrank"
            did = [f"{size} to {count(now[0], 'processor')}"] if now[0] != before[0] else []
            did += [f"went to {now[1] / 10:g} % of full speed"] if now[1] != before[1] else []
            if now[1] == 0:
                did, now = ["was suspended and gave its processors back"], (before[0], 0)
            elif before[1] == 0 and not a.killed[before_k]:
                did = [f"continued on {count(now[0], 'processor')} at {now[1] / 10:g} %"]
            if k == mine[0] or a.killed[before_k]:
                verb = "went on" if said else "began"
                did = [f"{verb} on {count(now[0], 'processor')} at {now[1] / 10:g} %"]
            said.append(f"{self._at(at)} it {' and '.join(did)}{self._when(at)}")
            if a.killed[k]:
                said.append(f"{self._at(int(a.end[k]))} it was stopped{self._when(int(a.end[k]))}")
            before, before_k = now, k
        left = len(said) - CHANGES
        more = f"; then {number(left)} more changes" if left > 0 else ""
        return f"Its size and speed: {'; '.join(said[:CHANGES])}{more}."

    def _when(self, moment: int) -> str:
        """What else happened at the instant of a change."""
        s, own = self.schedule, np.arange(len(self.schedule)) != self.row
        for column, word in ((s.end, "ended"), (s.start, "started"), (s.submit, "came")):
            rows = np.flatnonzero((column == moment) & own)
            if len(rows):
                named = self._named(s.job_id[rows].tolist())
                return f", as {count(len(rows), 'job')} {word} ({named})"
        return ""

    def _end(self) -> str:
        row, schedule = self.row, self.schedule
        parts = []
        if schedule.kills[row]:
            times = int(schedule.kills[row])
            parts.append(f"It had been preempted {number(times)} time{'s' * (times > 1)} before.")
        if schedule.end[row] >= schedule.start[row] >= 0:
            ran = int(schedule.end[row] - schedule.start[row])
            parts.append(f"It ran {span(ran)} and ended {self._at(int(schedule.end[row]))}.")
        lost = 0 if schedule.penalised is None else int(schedule.penalised[row])
        if lost:
            parts.append(f"Of that, {span(lost)} were lost to contention on its nodes.")
        if schedule.killed[row]:
            alone = lost and self.workload.run[row] < self.workload.request[row]
            parts.append(
                "It was killed at its limit"
                + (", which it would not have reached without contention." if alone else ".")
            )
        return " ".join(parts)

    @cached_property
    def _array_ids(self) -> dict[int, str]:
        return site_requests.array_ids(self.workload)

    def _called(self, job: int) -> str:
        """A job as squeue shows it: a task of an array by its array."""
        return self._array_ids.get(job, str(job))

    def _named(self, ids: Sequence[int]) -> str:
        return _named([self._called(one) for one in ids])

    def _used(self, at: int) -> int:
        """Processors that the other jobs had at a time, at the sizes that they had then."""
        every = runs(self.schedule)
        there = (every.since <= at) & (at < every.until) & (every.row != self.row)
        return int(every.taken(self.workload.procs)[there].sum())

    def _width(self, ids: Sequence[int]) -> int:
        wanted = set(ids)
        procs = zip(self.workload.job_id.tolist(), self.workload.procs.tolist(), strict=True)
        return sum(width for job, width in procs if job in wanted)


def _named(ids: Sequence[object]) -> str:
    """The first few by id, the rest counted.

    Examples
    --------
    >>> _named([3, 4]), _named(range(1, 9))
    ('3, 4', '1, 2, 3, 4, 5, 6 and 2 more')
    """
    names = ", ".join(map(str, ids[:NAMED]))
    return names + (f" and {number(len(ids) - NAMED)} more" if len(ids) > NAMED else "")


def asked_words(request: Request, *, partition: str = "") -> str:
    """Cpus, nodes, memory, GRES and where, as the object of "asks for".

    ``partition`` is the log's own, for a job that names none.

    Examples
    --------
    >>> from shadowtime.workload.request import Gres, Request
    >>> asked_words(Request(nodes=2, tasks=8, memory=4 << 20, partitions=("long", "all")))
    '8 cpus on 2 nodes with 4 GB memory per node in partition long or all'
    >>> asked_words(Request(gres=(Gres(name="gpu", count=1),), features="fast"), partition="p")
    '1 cpu on 1 node with 1 gpu per node on nodes with fast in partition p'
    >>> asked_words(Request(memory=0, exclusive=True, wanted=("n1",)))
    '1 cpu on 1 node alone with all memory of its nodes on n1'
    """
    parts = [count(request.cpus, "cpu"), f"on {_nodes(request)}"]
    if request.exclusive:
        parts.append("alone")
    holds = [*_memory(request), *(f"{one.count} {one.name} per {one.per}" for one in request.gres)]
    for name, amount in request.amounts:
        kind = kind_of(name)
        holds.append(f"{kind.title(name)} ({kind.count(str(amount))})")
    if holds:
        parts.append(f"with {' and '.join(holds)}")
    if request.features:
        parts.append(f"on nodes with {request.features}")
    if request.wanted:
        parts.append(f"on {','.join(request.wanted)}")
    if request.excluded:
        parts.append(f"not on {','.join(request.excluded)}")
    where = " or ".join(request.partitions) or partition
    if where:
        parts.append(f"in partition {where}")
    if request.reservation:
        parts.append(f"in reservation {request.reservation}")
    return " ".join(parts)


def _nodes(request: Request) -> str:
    if request.max_nodes is None or request.max_nodes == request.nodes:
        return count(request.nodes, "node")
    return f"{number(request.nodes)} to {count(request.max_nodes, 'node')}"


def _memory(request: Request) -> list[str]:
    if request.memory is None:
        return []
    if request.memory == 0:
        return ["all memory of its nodes"]
    return [f"{memory(request.memory)} memory per {request.memory_per}"]
