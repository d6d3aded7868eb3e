"""A pass in which every start has hosts: a job that finds none does not block others.

``Reservation`` holds the hosts of a job that waits for them: when they are free, and what would
delay it. On a site, a policy that predicts run times may place a job on a node whose reservation
begins after the predicted end and before the job's time limit. In a simulation that is a start like
any other; Slurm, which uses time limits, leaves the job waiting until the reservation is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from shadowtime.engine.live_pass import (
    Continue,
    Decided,
    Decision,
    Memory,
    Note,
    Snapshot,
    Start,
    WaitingJob,
    decide,
)
from shadowtime.engine.live_pass.outcome import Shape
from shadowtime.engine.python_policy import policy_parts
from shadowtime.live import placing
from shadowtime.policy import Policy
from shadowtime.types import Reason


class Reservation:
    """A reservation on hosts, as EASY makes one on a number of processors.

    Rules
    -----
    ``at`` is the earliest instant at which the job finds its hosts if every job runs as long as
    requested; one that has run longer ends in the next second. The starts in ``before`` were
    decided ahead of it and delay nothing. Another start delays it if it lasts beyond that instant
    and the job would find no hosts then.

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
        self.free = placing.free_of(state)
        self.senior = {decision.job for decision in before}
        waiting = {one.id: one for one in state.waiting}
        ends = [
            (max(state.now + 1, run.start + run.request), placing.held_by(run))
            for run in state.running
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
            if end > self.at and placing.first_fit(job, self.free, self.capacity):
                break
            self.at = end
            for host, amounts in held:
                self._add(host, amounts)

    def _taken(self, start: Start, job: WaitingJob) -> list[tuple[str, tuple[int, ...]]]:
        """What a start takes of each host."""
        job = placing.with_start(job, start, self.state.cluster)
        return [
            (host, tuple(self.capacity[host]) if job.alone else placing.portion(job, count))
            for host, count in start.place
        ]

    def _add(self, host: str, amounts: Sequence[int]) -> None:
        if host in self.free:
            self.free[host] = [a + b for a, b in zip(self.free[host], amounts, strict=True)]

    def in_the_way(self, decisions: Sequence[Decision]) -> set[str]:
        """The jobs whose starts would delay the reservation, in their order."""
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
            if placing.first_fit(self.job, trial, self.capacity):
                free = trial
            else:
                found.add(decision.job)
        return found


ROUNDS = 16
"""The largest number of passes on one snapshot."""
NO_HOSTS_NOW = "enough processors are free, but not on hosts that match its request"
WOULD_DELAY = "it would delay a job that waits for its hosts"


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was decided on one snapshot."""

    decided: Decided
    """The last pass; its memory also has the jobs that took no part in it."""
    decisions: tuple[Decision, ...]
    """Its decisions, every start with hosts."""
    aside: Mapping[str, str] = field(default_factory=dict)
    """Jobs that no pass may count on, with the reason."""
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Jobs that a pass would have started and that find no hosts now, with the reason."""


def decide_with_hosts(
    policy: Policy,
    state: Snapshot,
    memory: Memory,
    *,
    shape: Shape = "pool",
    refused: Mapping[str, str] | None = None,
) -> Made:
    """A pass over the jobs that fit somewhere, repeated without those that find no hosts now.

    Rules
    -----
    A job that no set of usable hosts could hold even if they were empty is set aside, and so are
    the jobs in ``refused``. A pass that sees the hosts as one pool may start a job although the
    free processors are not distributed as it requests: the pass is repeated without it, so that
    others can use the room. The first such job that was at the head of the queue keeps a
    reservation: the earliest instant at which its hosts are free by the requests of running jobs;
    no job that would delay it starts. Under a policy without backfilling no job behind it starts.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import Memory, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    >>> wide = WaitingJob(id="1", submit=0, need=(4,), request=9, only=("none",))
    >>> small = WaitingJob(id="2", submit=1, need=(8,), request=9)
    >>> made = decide_with_hosts(
    ...     parse_policy("easy"), Snapshot(now=2, cluster=two, waiting=(wide, small)), Memory()
    ... )
    >>> [decision.job for decision in made.decisions], made.aside
    (['2'], {'1': 'no usable host has what it asks for'})
    """
    if shape == "site":
        return decide_on_site(policy, state, memory, refused=refused)
    backfill = policy_parts(policy).backfill
    first: list[Decision] = []
    if not backfill.changes:
        state, first = continued(state)
    left, aside = set_aside(state, refused, shape=shape)
    blocked: dict[str, str] = {}
    reserved: Reservation | None = None
    strict = not backfill.phases
    for turn in range(ROUNDS):
        seen = without(left, blocked)
        decided = decide(policy, seen, memory, shape=shape)
        found = placing.placed(decided.decisions, seen)
        failed = _failed(found, reserved)
        if not failed:
            break
        if strict or turn == ROUNDS - 1:
            found = _cut(found, failed, strict=strict)
            blocked |= failed
            break
        if reserved is None and backfill.respects:
            reserved = _reservation(found, failed, left)
        blocked |= _and_alike(failed, seen, found)
    kept = [job for job in state.waiting if job.id in aside or job.id in blocked]
    return Made(
        decided=replace(decided, memory=_with_notes(decided.memory, memory, kept)),
        decisions=(*first, *found),
        aside=aside,
        blocked=blocked,
    )


def continued(state: Snapshot) -> tuple[Snapshot, list[Decision]]:
    """For a policy that suspends no jobs: those that are go on before any other starts.

    One whose processors are in use is left out until they are free.
    """
    halted = [run for run in state.running if run.suspended]
    if not halted:
        return state, []
    wished = placing.placed([Continue(run.id) for run in halted if run.ours], state)
    found = [one for one in wished if isinstance(one, Continue) and one.place]
    goes_on = {one.job for one in found}
    running = tuple(
        replace(run, suspended=False, settled=False) if run.suspended else run
        for run in state.running
        if not run.suspended or run.id in goes_on
    )
    return state.replace(running=running), [*found]


def decide_on_site(
    policy: Policy,
    state: Snapshot,
    memory: Memory,
    *,
    refused: Mapping[str, str] | None = None,
) -> Made:
    """The same for a pass on a site: its starts already have nodes, and one pass is enough.

    If a start would overlap a reservation by its time limit, as a policy that predicts may decide,
    the pass is repeated with no job on nodes that close before its limit.
    """
    refused = {job.id: refused[job.id] for job in state.waiting if refused and job.id in refused}
    seen = without(state, refused)
    decided = decide(policy, seen, memory, shape="site")
    aside = {**refused, **dict.fromkeys(decided.unfit, placing.NOWHERE_ON_SITE)}
    left_out = {*aside}
    if reaches_a_closing(decided.decisions, seen):
        again = decide(policy, kept_clear(seen), memory, shape="site")
        left_out |= {*again.unfit}  # for now: the reservation begins, and they are planned again
        decided = replace(again, unfit=decided.unfit)
    kept = [job for job in state.waiting if job.id in left_out]
    return Made(
        decided=replace(decided, memory=_with_notes(decided.memory, memory, kept)),
        decisions=decided.decisions,
        aside=aside,
    )


def closing_for(job: WaitingJob, state: Snapshot) -> frozenset[str]:
    """The nodes that a reservation other than the job's own closes before its time limit.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.cluster.site import Node, Reservation, Site
    >>> from shadowtime.engine.live_pass import Snapshot, WaitingJob
    >>> course = Reservation(name="course", nodes=("n1",), begin=50, end=90)
    >>> site = Site(nodes=(Node(name="n1", amounts=(4,)),), reservations=(course,))
    >>> one = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> state = Snapshot(now=10, cluster=one, site=site)
    >>> long = WaitingJob(id="7", submit=0, need=(1,), request=60)
    >>> sorted(closing_for(long, state)), sorted(closing_for(replace(long, request=40), state))
    (['n1'], [])
    """
    named = job.ask.reservation if job.ask is not None else ""
    return frozenset(
        node
        for one in (state.site.reservations if state.site is not None else ())
        if one.name != named and state.now < one.begin < state.now + job.request
        for node in one.nodes
    )


def reaches_a_closing(decisions: Sequence[Decision], state: Snapshot) -> bool:
    """Whether a start lies on a node that closes before the job's time limit."""
    if state.site is None or not any(one.begin > state.now for one in state.site.reservations):
        return False
    waiting = {job.id: job for job in state.waiting}
    return any(
        not closing_for(waiting[start.job], state).isdisjoint(host for host, _ in start.place)
        for start in decisions
        if isinstance(start, Start) and start.job in waiting
    )


def kept_clear(state: Snapshot) -> Snapshot:
    """The state in which no job accepts a node that closes before its time limit."""
    return state.replace(waiting=tuple(_clear_of(job, state) for job in state.waiting))


def _clear_of(job: WaitingJob, state: Snapshot) -> WaitingJob:
    closing = closing_for(job, state)
    if job.ask is None or closing <= set(job.ask.excluded):
        return job
    excluded = tuple(sorted({*job.ask.excluded, *closing}))
    return replace(job, ask=replace(job.ask, excluded=excluded))


def set_aside(
    state: Snapshot, refused: Mapping[str, str] | None = None, *, shape: Shape = "pool"
) -> tuple[Snapshot, dict[str, str]]:
    """The state without jobs that fit nowhere or are refused, and these with the reason."""
    refused = refused or {}
    empty = placing.Empty(state.cluster, shape=shape)
    found = ((job.id, refused.get(job.id) or empty.why_nowhere(job)) for job in state.waiting)
    aside = {job: why for job, why in found if why}
    return without(state, aside), aside


def without(state: Snapshot, jobs: Mapping[str, str]) -> Snapshot:
    """The state as if some jobs did not wait, or could not be changed if they are suspended."""
    if not jobs:
        return state
    return state.replace(
        waiting=tuple(job for job in state.waiting if job.id not in jobs),
        running=tuple(
            replace(run, settled=False) if run.suspended and run.id in jobs else run
            for run in state.running
        ),
    )


def _wish(job: WaitingJob) -> object:
    """Everything that determines where a job fits."""
    return (job.need, job.nodes, job.alone, job.only, job.chunk, job.each)


def _failed(found: Sequence[Decision], reserved: Reservation | None) -> dict[str, str]:
    """Starts that find no hosts, or would delay the one whose hosts are reserved."""
    failed = {
        decision.job: NO_HOSTS_NOW
        for decision in found
        if isinstance(decision, Start | Continue) and not decision.place
    }
    if reserved is not None:
        failed |= dict.fromkeys(reserved.in_the_way(found), WOULD_DELAY)
    return failed


def _reservation(
    found: Sequence[Decision], failed: Mapping[str, str], state: Snapshot
) -> Reservation | None:
    """The reservation of the first failed start that was not a backfilled one."""
    waiting = {job.id: job for job in state.waiting}
    for at, decision in enumerate(found):
        head = isinstance(decision, Start) and decision.reason is not Reason.BACKFILLED
        if head and decision.job in failed and decision.job in waiting:
            ahead = [one for one in found[:at] if one.job not in failed]
            return Reservation(waiting[decision.job], state, ahead)
    return None


def _and_alike(
    failed: Mapping[str, str], seen: Snapshot, found: Sequence[Decision]
) -> dict[str, str]:
    """With every job that has the same request: an array of thousands costs one pass.

    One of them that has found the last hosts keeps them.
    """
    started = {one.job for one in found if isinstance(one, Start) and one.place}
    jobs = {job.id: job for job in seen.waiting}
    nowhere = {
        _wish(jobs[job]): why for job, why in failed.items() if job in jobs and why == NO_HOSTS_NOW
    }
    alike = {
        job.id: nowhere[_wish(job)]
        for job in seen.waiting
        if job.id not in started and _wish(job) in nowhere
    }
    return {**failed, **alike}


def _cut(found: Sequence[Decision], failed: Mapping[str, str], *, strict: bool) -> list[Decision]:
    """Without the failed starts and the stops that would have made room for them."""
    kept: list[Decision] = []
    for group in placing.together(found):
        if group[-1].job in failed and isinstance(group[-1], Start | Continue):
            if strict:
                break
        else:
            kept += group
    return kept


def _with_notes(after: Memory, before: Memory, jobs: Sequence[WaitingJob]) -> Memory:
    """A memory that also includes the jobs that took no part."""
    if not jobs:
        return after
    notes = {job.id: before.jobs.get(job.id) or Note(since=job.submit) for job in jobs}
    return replace(after, jobs=after.notes.and_of(notes))
