"""One pass on a snapshot of a site: from a state to the site's tables, and back to decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster.shape import Shapes
from shadowtime.engine.live_pass.memory import History, Memory, Note
from shadowtime.engine.live_pass.site_rows import (
    Row,
    ask_checksum,
    checksum,
    last_model,
    rows_of,
    site_now,
    with_ends,
)
from shadowtime.engine.python_policy import Observer, carry_out, estimate_of, policy_parts
from shadowtime.engine.site.live_pass import Run, SiteJobs, Verdict, decide_site
from shadowtime.errors import PolicyError, UsageError
from shadowtime.policy.estimate import Last, Requested
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Promise, Start, Stop, ask_policy, name_of
from shadowtime.types import MAX_SPAN
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.cluster.site import Site
    from shadowtime.engine.live_pass.decide import Decided
    from shadowtime.engine.site.live_pass import Decider
    from shadowtime.engine.site.tables import Ground
    from shadowtime.kernel.state import State, World
    from shadowtime.policy.snapshot import (
        Decision,
        Held,
        Snapshot,
    )

EFFORT = 100_000
"""How much of the sweep over kept promises one pass makes: a few tens of milliseconds."""
WITHDRAWN, RAN = "withdrawn", "ran"
"""What the memory keeps of promises that a limit withdrew: those jobs, and what ran then."""
FOREIGN = 0
"""Submission, on the clock of a pass, of jobs that no policy may stop: they outrank all others."""


def refuse_on_site(policy: Policy | Any) -> None:
    """PolicyError for a policy that cannot decide about real jobs on a site.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> refuse_on_site(parse_policy("easy"))
    >>> refuse_on_site(parse_policy("easy++"))
    Traceback (most recent call last):
    ...
    shadowtime.errors.PolicyError: easy++: estimate=last-two cannot run live on a site; use \
requested or last, or --shape pool
    """
    if isinstance(policy, Policy):
        policy.refuse_nonsense("site")
    if not isinstance(estimate_of(policy), Requested | Last):
        raise PolicyError(
            f"{name_of(policy)}: estimate={estimate_of(policy)} cannot run live on a site; use "
            "requested or last, or --shape pool"
        )
    if isinstance(policy, Policy):
        for part in policy.parts.values():
            if getattr(part, "memory", 0):
                raise PolicyError(
                    f"{policy.name}: {part.slot}={part} keeps a memory, which a live loop does not "
                    "do on a site; use --shape pool"
                )


def decide(policy: Policy | Any, state: Snapshot, memory: Memory) -> Decided:
    """One pass of a policy on a site; see :func:`shadowtime.engine.live_pass.decide`."""
    from shadowtime.engine.live_pass.decide import Decided

    refuse_on_site(policy)
    written = None if isinstance(policy, Policy) else policy
    policy = policy_parts(policy)
    site = site_now(state)
    users = with_ends(memory, state.ended, present_in(state) if state.ended else set())
    rows = rows_of(state, memory, site)
    made = Tables(policy, state, memory, site, rows, users)
    verdict = made.decide(None if written is None else made.decider(written))
    starts = {rows[row].job.id: run for row, run in verdict.starts.items()}
    stops = {rows[row].job.id for row in verdict.stops}
    unfit = tuple(rows[row].job.id for row in verdict.nowhere)
    return Decided(
        decisions=tuple(decisions_of(rows, verdict, site)),
        memory=made.remember(verdict, users, starts, stops),
        wake=None if verdict.wake is None else verdict.wake + made.base,
        promises=made.promised(verdict),
        unfit=unfit,
    )


def present_in(state: Snapshot) -> set[str]:
    """The jobs that wait or run."""
    return {job.id for job in state.waiting} | {run.id for run in state.running}


@dataclass(frozen=True)
class Tables:
    """A state on its way through a pass; times in the tables count from ``base``."""

    policy: Policy
    state: Snapshot
    memory: Memory
    site: Site
    rows: Sequence[Row]
    users: Mapping[str, History]

    @cached_property
    def base(self) -> int:
        first = next((row.since for row in self.rows if row.since >= 0), self.state.now)  # in order
        times = [run.start for run in self.state.running if run.start >= 0]
        return min([self.state.now, first, *times]) - 1

    def decide(self, by: Decider | None = None) -> Verdict:
        """The pass; promises that the site can no longer hold are dropped and made again."""
        jobs = self.jobs()
        try:
            return decide_site(self.policy, self.site, jobs, effort=EFFORT, by=by)
        except UsageError:
            if not jobs.promises:
                raise
            without = replace(jobs, promises={})
            return decide_site(self.policy, self.site, without, effort=EFFORT, by=by)

    def decider(self, policy: Any) -> Decider:
        """The pass of a policy written in Python, on the site's tables."""
        from shadowtime.engine.live_pass.python_policy import refuse_stops
        from shadowtime.engine.site.python_policy import OnSite, fits_of

        waiting = {at: row.job for at, row in enumerate(self.rows) if row.tasks is None}
        running = {at: row.job for at, row in enumerate(self.rows) if row.tasks is not None}
        index = {row.job.id: at for at, row in enumerate(self.rows)}
        parted = {row.job.id for row in self.rows if not row.whole}
        observer = Observer(self.state.cluster, waiting.__getitem__, running)  # type: ignore[arg-type]

        def decide(state: State, world: World, ground: Ground) -> dict[int, int]:
            seen = observer.snapshot(state, fits=fits_of(state, ground), base=self.base)
            seen = seen.replace(ended=self.state.ended, site=self.state.site, shut=self.state.shut)
            decisions = ask_policy(policy, seen)
            refuse_stops(policy, self.state, decisions, fixed=parted)
            machine = OnSite(state, world, ground)
            carry_out(state, decisions, index, name_of(policy), machine, base=self.base)
            return machine.stopped

        return decide

    def jobs(self) -> SiteJobs:
        """The state as the site's pass takes it."""
        base, notes = self.base, self.memory.jobs
        running: dict[int, Run] = {}
        blocked: dict[int, int] = {}
        promised: dict[int, int] = {}
        heads = {job: note for job, note in notes.items() if note.blocked_at >= 0}
        for at, row in enumerate(self.rows):
            if row.tasks is not None:
                partition = row.ask.partitions[0] if row.ask.partitions else ""
                start = max(0, getattr(row.job, "start", 0) - base)
                running[at] = Run(start=start, tasks=dict(row.tasks), partition=partition)
            elif heads and row.job.id in heads:
                note = heads[row.job.id]
                blocked[at] = max(0, note.blocked_at - base)
                if note.promised >= 0:
                    promised[at] = max(0, note.promised - base)
        return SiteJobs(
            now=self.state.now - base,
            jobs=self.workload(base),
            running=running,
            promises=self.promises,
            freed=None,
            estimates=self.estimates(),
            blocked=blocked,
            promised=promised,
            withdrawn=self.withdrawn(),
        )

    @cached_property
    def promises(self) -> dict[int, Run]:
        """What was promised for good and still can be kept, by row."""
        known, now, base = self.memory.promises, self.state.now, self.base
        if not self.policy.keeps_promises or not known:
            return {}
        holds = {node.name for node in self.site.nodes}.issuperset
        found: dict[int, Run] = {}
        for at, row in enumerate(self.rows):
            one = known.get(row.job.id) if row.tasks is None else None
            if one is not None and one.ask == self.checksum(row.ask):
                tasks = dict(one.place)
                if holds(tasks):
                    due = one.start if one.start > now else now
                    found[at] = Run(due - base, tasks, one.partition)
        return found

    @cached_property
    def sums(self) -> dict[int, int]:
        """Checksums by identity of the request: it is slow to hash, and most are shared."""
        return {}

    def checksum(self, ask: Request) -> int:
        """The checksum of a request of this pass."""
        found = self.sums.get(id(ask))
        if found is None:
            found = self.sums[id(ask)] = ask_checksum(ask)
        return found

    def withdrawn(self) -> frozenset[int]:
        """Jobs whose promise a limit withdrew, unless a run has left or the limits changed since.

        Without this memory such a job would be promised the present again and again, and the loop
        would look every second.
        """
        known = self.memory.extra.get(WITHDRAWN, {})
        then = self.memory.extra.get(RAN, {})
        runs = {run.id: run.start for run in self.state.running}
        if not known or any(runs.get(job) != start for job, start in then.items()):
            return frozenset()
        limits = checksum((self.site.qos, self.site.associations))
        return frozenset(
            at
            for at, row in enumerate(self.rows)
            if row.tasks is None and known.get(row.job.id) == limits
        )

    def workload(self, base: int) -> Workload:
        """The jobs as columns; the request stands in for the unknown run time."""
        n = len(self.rows)
        request = np.array([row.job.request for row in self.rows], np.int64).clip(1, MAX_SPAN)
        users = [row.job.user for row in self.rows]
        names = sorted(set(users) - {""})
        number = {name: k for k, name in enumerate(names, 1)} | {"": -1}
        since = np.array([row.since for row in self.rows], np.int64)
        requests = Requests.of_jobs([row.ask for row in self.rows])
        cpus = np.array([ask.cpus for ask in requests.distinct], np.int64)
        unknown = np.full(n, -1, np.int64)
        return Workload(
            name="live",
            job_id=np.arange(n),
            submit=np.where(since >= 0, since - base, FOREIGN),
            run=request,
            request=request,
            limit=request,
            demand=cpus[requests.index].reshape(n, 1),
            user=np.array([number[name] for name in users], np.int64),
            group=unknown,
            executable=unknown,
            queue=unknown,
            partition=unknown,
            status=unknown,
            recorded_start=unknown,
            requests=requests,
            names={"user": ("", *names)},
            epoch=base,
        )

    def estimates(self) -> dict[int, int]:
        """What the Last Model expects: waiting jobs by the user's last, running ones as then."""
        if not isinstance(self.policy.estimate, Last):
            return {}
        found = {}
        for at, row in enumerate(self.rows):
            note = self.memory.jobs.get(row.job.id)
            if row.tasks is not None and note is not None and note.estimate > 0:
                found[at] = note.estimate
            else:
                found[at] = last_model(self.users.get(row.job.user), row.job.request)
        return found

    def promised(self, verdict: Verdict) -> dict[str, int]:
        """Promised starts of the jobs that stay blocked, by job."""
        rows, base, started = self.rows, self.base, verdict.starts
        found = {
            rows[at].job.id: start + base
            for at, start in verdict.earliest.items()
            if rows[at].tasks is None and at not in started
        }
        for at, run in verdict.promises.items():
            row = rows[at]
            if row.tasks is None and at not in started:
                found[row.job.id] = run.start + base
        return found

    def remember(
        self,
        verdict: Verdict,
        users: Mapping[str, History],
        starts: Mapping[str, Run],
        stops: set[str],
    ) -> Memory:
        """What the next pass must know."""
        base, old = self.base, self.memory.jobs
        guesses = self.estimates()
        notes: dict[str, Note] = {}
        promises: dict[str, Promise] = {}
        was, earliest, blocked_at = self.memory.promises, verdict.earliest, verdict.blocked
        promised, kept = verdict.promises, self.promises
        news = {*blocked_at, *verdict.stops, *verdict.starts}
        for at, row in enumerate(self.rows):
            one = row.job
            job = one.id
            before = old.get(job)
            if row.since < 0:
                if before is not None:
                    notes[job] = before
                continue
            guess = guesses[at] if guesses else one.request if one.request > 1 else 1
            if (
                before is not None
                and at not in news
                and before.estimate == guess
                and before.initial >= 0
                and (before.promised >= 0 or at not in earliest)
                and job not in stops
            ):  # as nearly all of them: nothing is new, or the promise stays as it was
                run = promised.get(at)
                if run is None and before.due < 0:
                    notes[job] = before
                    continue
                if run is not None and before.promised >= 0 and before.due == run.start + base:
                    known = was.get(job)
                    if known is not None and known.start == before.due and run is kept.get(at):
                        notes[job] = before
                        promises[job] = known
                        continue
            note = before or Note(since=row.since)
            first = note.promised
            if first < 0 and at in earliest and row.tasks is None:
                first = earliest[at] + base
            blocked = blocked_at.get(at, -1)
            due = -1
            if at in promised and job not in starts:
                run = promised[at]
                due = run.start + base
                known = was.get(job)
                if known is None or known.start != due or run is not kept.get(at):
                    place, ask = tuple(run.tasks.items()), self.checksum(row.ask)
                    known = Promise(job, due, partition=run.partition, place=place, ask=ask)
                promises[job] = known
                first = due if first < 0 else first
            values = (
                note.since,
                guess,
                guess if note.initial < 0 else note.initial,
                first,
                note.blocked_at if blocked < 0 else blocked + base,
                due,
                note.kills + (job in stops),
            )
            notes[job] = before if before == values else Note._make(values)
        extra = {k: v for k, v in self.memory.extra.items() if k not in (WITHDRAWN, RAN)}
        if verdict.withdrawn:
            limits = checksum((self.site.qos, self.site.associations))
            extra[WITHDRAWN] = {self.rows[at].job.id: limits for at in sorted(verdict.withdrawn)}
            stayed = {run.id: run.start for run in self.state.running if run.id not in stops}
            extra[RAN] = {**stayed, **dict.fromkeys(starts, self.state.now)}
        return Memory(
            now=self.state.now,
            jobs=notes,
            users=users,
            extra=extra,
            own=self.memory.own,
            promises=promises,
        )


def decisions_of(rows: Sequence[Row], verdict: Verdict, site: Site) -> list[Decision]:
    """Stops in front of the start that they make room for, and starts in order, with hosts."""
    shapes = Shapes(site)
    found: list[Decision] = []
    for at, run in verdict.starts.items():
        found += [Stop(rows[row].job.id) for row, head in verdict.stops.items() if head == at]
        held = held_by(shapes, rows[at].ask, run)
        found.append(
            Start(
                job=rows[at].job.id,
                place=tuple((host, amounts[0]) for host, amounts in held),
                reason=verdict.reasons[at],
                partition=run.partition,
                held=held,
            )
        )
    found += [Stop(rows[row].job.id) for row, head in verdict.stops.items() if head < 0]
    return found


def held_by(shapes: Shapes, ask: Request, run: Run) -> Held:
    """What a job takes on each node by a run, in the site's order of nodes."""
    # The amounts are those of every way to satisfy its features.
    shape = shapes.all_of(ask, shapes.partitions[shapes.number[run.partition]])[0]
    nodes = shapes.site.nodes
    order = sorted(run.tasks, key=shapes.index.__getitem__)
    return tuple(
        (name, shape.amounts(nodes[shapes.index[name]].amounts, run.tasks[name], shapes.memory))
        for name in order
    )
