"""The hosts of a job that waits for them: when they are free, and what would delay it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.live_pass import Start
from shadowtime.live.placing import first_fit, free_of, held_by, portion, with_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.engine.live_pass import Decision, Snapshot, WaitingJob


class Reservation:
    """A reservation on hosts, as EASY makes one on a number of processors.

    Rules
    -----
    ``at`` is the earliest instant at which the job finds its hosts if every job runs as long as it
    asks for; one that has run longer ends in the next second. The starts in ``before`` were decided
    ahead of it and are in no job's way. Another start is if it lasts beyond that instant and
    the job would find no hosts then.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    >>> run = RunningJob(id="1", submit=0, need=(4,), request=9, start=0, place=(("n1", 4),))
    >>> head = WaitingJob(id="2", submit=0, need=(4,), request=9, only=("n1",))
    >>> long = WaitingJob(id="3", submit=0, need=(4,), request=99)
    >>> state = Snapshot(now=2, cluster=two, running=(run,), waiting=(head, long))
    >>> found = Reservation(head, state)
    >>> found.at, found.in_the_way([Start(job="3", place=(("n2", 4),))])
    (9, set())
    >>> found.in_the_way([Start(job="3", place=(("n1", 4),))])
    {'3'}
    """

    def __init__(self, job: WaitingJob, state: Snapshot, before: Sequence[Decision] = ()) -> None:
        self.job, self.state = job, state
        self.capacity = {host.name: list(host.capacity) for host in state.cluster.hosts}
        self.free = free_of(state)
        self.senior = {decision.job for decision in before}
        waiting = {one.id: one for one in state.waiting}
        ends = [
            (max(state.now + 1, run.start + run.request), held_by(run)) for run in state.running
        ]
        for decision in before:
            if isinstance(decision, Start) and decision.job in waiting:
                held = self._taken(decision, waiting[decision.job])
                for host, amounts in held:
                    self._add(host, [-amount for amount in amounts])
                request = decision.limit or waiting[decision.job].request
                ends.append((state.now + request, held))
        self.at = state.now
        for end, held in sorted(ends, key=lambda entry: entry[0]):
            if end > self.at and first_fit(job, self.free, self.capacity):
                break
            self.at = end
            for host, amounts in held:
                self._add(host, amounts)

    def _taken(self, start: Start, job: WaitingJob) -> list[tuple[str, tuple[int, ...]]]:
        """What a start takes of each host."""
        job = with_start(job, start, self.state.cluster)
        return [
            (host, tuple(self.capacity[host]) if job.alone else portion(job, count))
            for host, count in start.place
        ]

    def _add(self, host: str, amounts: Sequence[int]) -> None:
        if host in self.free:
            self.free[host] = [a + b for a, b in zip(self.free[host], amounts, strict=True)]

    def in_the_way(self, decisions: Sequence[Decision]) -> set[str]:
        """The jobs whose starts would push the reservation back, taken in their order."""
        waiting = {job.id: job for job in self.state.waiting}
        free = {host: list(amounts) for host, amounts in self.free.items()}
        found = set()
        for decision in decisions:
            job = waiting.get(decision.job)
            if not isinstance(decision, Start) or job is None or not decision.place:
                continue
            ends = self.state.now + (decision.limit or job.request)
            if decision.job in self.senior or ends <= self.at:
                continue
            trial = {host: list(amounts) for host, amounts in free.items()}
            for host, need in self._taken(decision, job):
                trial[host] = [a - b for a, b in zip(trial[host], need, strict=True)]
            if first_fit(self.job, trial, self.capacity):
                free = trial
            else:
                found.add(decision.job)
        return found
