"""One pass on a snapshot of a site: from a state to the site's tables, and back to decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.cluster.shape import Shapes
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.notes import (
    BLOCKED_AT,
    DUE,
    ESTIMATE,
    INITIAL,
    KILLS,
    PROMISED,
    SINCE,
    Notes,
)
from shadowtime.engine.live_pass.promises import Promises
from shadowtime.engine.live_pass.site_rows import (
    Rows,
    ask_checksum,
    checksum,
    last_model,
    rows_of,
    site_now,
    with_ends,
)
from shadowtime.engine.python_policy import Observer, carry_out, estimate_of, policy_parts
from shadowtime.engine.site.live_pass import SiteJobs, Verdict, decide_site
from shadowtime.engine.site.plans import Run, RunsByRow
from shadowtime.errors import PolicyError, UsageError
from shadowtime.policy.estimate import Last, Requested
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Start, Stop, ask_policy, name_of
from shadowtime.types import MAX_SPAN
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.cluster.site import Site
    from shadowtime.engine.live_pass.decide import Decided
    from shadowtime.engine.live_pass.memory import History
    from shadowtime.engine.site.live_pass import Decider
    from shadowtime.engine.site.tables import Ground
    from shadowtime.kernel.state import State, World
    from shadowtime.policy.snapshot import (
        Decision,
        Held,
        Snapshot,
    )
    from shadowtime.types import Ints
    from shadowtime.workload.request import Request

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
    unfit = tuple(rows.ids[row] for row in verdict.nowhere)
    return Decided(
        decisions=tuple(decisions_of(rows, verdict, site)),
        memory=made.remember(verdict, users),
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
    rows: Rows
    users: Mapping[str, History]

    @cached_property
    def base(self) -> int:
        times = [run.start for run in self.state.running if run.start >= 0]
        since = self.rows.since
        first: list[int] = since[since >= 0][:1].tolist()  # they are in order
        return min([self.state.now, *first, *times]) - 1

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

        jobs, tasks = self.rows.jobs, self.rows.tasks
        waiting = {at: job for at, job in enumerate(jobs) if at not in tasks}
        running = {at: job for at, job in enumerate(jobs) if at in tasks}
        index = {job: at for at, job in enumerate(self.rows.ids)}
        parted = {self.rows.ids[at] for at in self.rows.parts}
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
        base, rows = self.base, self.rows
        running: dict[int, Run] = {}
        for at, tasks in rows.tasks.items():
            within = rows.asks[at].partitions
            start = max(0, getattr(rows.jobs[at], "start", 0) - base)
            running[at] = Run(start=start, tasks=tasks, partition=within[0] if within else "")
        heads = np.flatnonzero(rows.waits & (rows.notes[:, BLOCKED_AT] >= 0))
        known = rows.notes[heads]
        blocked = np.maximum(known[:, BLOCKED_AT] - base, 0)
        promised = np.maximum(known[:, PROMISED] - base, 0)
        first = known[:, PROMISED] >= 0
        return SiteJobs(
            now=self.state.now - base,
            jobs=self.workload(base),
            running=running,
            promises=self.promises,
            freed=None,
            estimates=self.estimates(),
            blocked=dict(zip(heads.tolist(), blocked.tolist(), strict=True)),
            promised=dict(zip(heads[first].tolist(), promised[first].tolist(), strict=True)),
            withdrawn=self.withdrawn(),
        )

    @cached_property
    def promises(self) -> RunsByRow:
        """What was promised for good and still can be kept, by row."""
        kept, rows = self.memory.kept, self.rows
        if not self.policy.keeps_promises or not kept:
            return RunsByRow.of({})
        at = kept.rows_of(rows.ids)
        row = np.flatnonzero(rows.waits & (at >= 0))
        row = row[kept.ask[at[row]] == self.checksums[row]]
        plans = kept.plans.take(at[row]).on(tuple([node.name for node in self.site.nodes]))
        there = np.flatnonzero(plans.inside())
        plans = plans.take(there)
        due = np.maximum(plans.start, self.state.now) - self.base
        return RunsByRow(row[there], plans._replace(start=due))

    @cached_property
    def requests(self) -> Requests:
        """What the jobs ask for, each distinct request once."""
        return Requests.of_jobs(self.rows.asks)

    @cached_property
    def checksums(self) -> Ints:
        """The checksum of each job's request."""
        each = np.array([ask_checksum(ask) for ask in self.requests.distinct], np.int64)
        return each[self.requests.index]

    def withdrawn(self) -> frozenset[int]:
        """Jobs whose promise a limit withdrew, unless a run has left or the limits changed since.

        Without this memory such a job would be promised the present again and again, and the loop
        would look every second.
        """
        known = self.memory.extra.get(WITHDRAWN, {})
        if not known:
            return frozenset()
        then = self.memory.extra.get(RAN, {})
        runs = {run.id: run.start for run in self.state.running}
        if any(runs.get(job) != start for job, start in then.items()):
            return frozenset()
        limits = checksum((self.site.qos, self.site.associations))
        return frozenset(
            at
            for at, job in enumerate(self.rows.ids)
            if at not in self.rows.tasks and known.get(job) == limits
        )

    @cached_property
    def request(self) -> Ints:
        """How long each job asks to run."""
        return np.array([job.request for job in self.rows.jobs], np.int64)

    def workload(self, base: int) -> Workload:
        """The jobs as columns; the request stands in for the unknown run time."""
        n, since, requests = len(self.rows.ids), self.rows.since, self.requests
        request = self.request.clip(1, MAX_SPAN)
        users = [job.user for job in self.rows.jobs]
        names = sorted(set(users) - {""})
        number = {name: k for k, name in enumerate(names, 1)} | {"": -1}
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
        frozen = self.rows.notes[:, ESTIMATE].tolist()
        for at, job in enumerate(self.rows.jobs):
            if at in self.rows.tasks and frozen[at] > 0:
                found[at] = frozen[at]
            else:
                found[at] = last_model(self.users.get(job.user), job.request)
        return found

    def promised(self, verdict: Verdict) -> dict[str, int]:
        """Promised starts of the jobs that stay blocked, by job."""
        ids, base, stay = self.rows.ids, self.base, self.stay(verdict)
        found = {ids[at]: start + base for at, start in verdict.earliest.items() if stay[at]}
        rows, starts = self.kept(verdict)
        found.update(zip([ids[at] for at in rows.tolist()], starts.tolist(), strict=True))
        return found

    def stay(self, verdict: Verdict) -> Any:
        """By row, whether the job waits and goes on waiting."""
        found = self.rows.waits
        found[list(verdict.starts)] = False
        return found

    def kept(self, verdict: Verdict) -> tuple[Ints, Ints]:
        """The rows of the jobs that keep waiting for a promised start, and these starts."""
        promises = RunsByRow.of(verdict.promises)
        here = self.stay(verdict)[promises.rows]
        return promises.rows[here], promises.plans.start[here] + self.base

    def remember(self, verdict: Verdict, users: Mapping[str, History]) -> Memory:
        """What the next pass must know."""
        ids = self.rows.ids
        extra = {k: v for k, v in self.memory.extra.items() if k not in (WITHDRAWN, RAN)}
        if verdict.withdrawn:
            limits = checksum((self.site.qos, self.site.associations))
            stops, starts = ({ids[at] for at in found} for found in (verdict.stops, verdict.starts))
            extra[WITHDRAWN] = {ids[at]: limits for at in sorted(verdict.withdrawn)}
            stayed = {run.id: run.start for run in self.state.running if run.id not in stops}
            extra[RAN] = {**stayed, **dict.fromkeys(starts, self.state.now)}
        return Memory(
            now=self.state.now,
            jobs=self.notes(verdict),
            users=users,
            extra=extra,
            own=self.memory.own,
            promises=self.kept_promises(verdict),
        )

    def notes(self, verdict: Verdict) -> Notes:
        """What the next pass must know of the jobs; one that is not ours keeps the note it had."""
        rows, base = self.rows, self.base
        guesses, ours = self.estimates(), rows.since >= 0
        values = rows.notes.copy()
        new = ours & ~rows.known
        values[new, SINCE] = rows.since[new]
        guess = np.array(list(guesses.values())) if guesses else np.maximum(self.request, 1)
        values[:, ESTIMATE] = guess
        values[:, INITIAL] = np.where(values[:, INITIAL] < 0, guess, values[:, INITIAL])
        waits = rows.waits
        for at, start in verdict.earliest.items():
            if values[at, PROMISED] < 0 and waits[at]:
                values[at, PROMISED] = start + base
        for at, since in verdict.blocked.items():
            values[at, BLOCKED_AT] = since + base
        values[:, DUE] = -1
        kept, due = self.kept(verdict)
        values[kept, DUE] = due
        values[kept, PROMISED] = np.where(values[kept, PROMISED] < 0, due, values[kept, PROMISED])
        values[list(verdict.stops), KILLS] += 1
        values[~ours] = rows.notes[~ours]
        keep = ours | rows.known
        if keep.all():
            return Notes(rows.ids, values)
        return Notes([rows.ids[at] for at in np.flatnonzero(keep).tolist()], values[keep])

    def kept_promises(self, verdict: Verdict) -> Promises:
        """What the next pass must know of promises for good."""
        promises = RunsByRow.of(verdict.promises)
        here = np.flatnonzero(self.stay(verdict)[promises.rows])
        rows, plans = promises.rows[here], promises.plans.take(here)
        plans = plans._replace(start=plans.start + self.base)
        ids = [self.rows.ids[at] for at in rows.tolist()]
        return Promises(ids, plans, self.checksums[rows] if len(rows) else rows)


def decisions_of(rows: Rows, verdict: Verdict, site: Site) -> list[Decision]:
    """Stops in front of the start that they make room for, and starts in order, with hosts."""
    shapes = Shapes(site)
    found: list[Decision] = []
    for at, run in verdict.starts.items():
        found += [Stop(rows.ids[row]) for row, head in verdict.stops.items() if head == at]
        held = held_by(shapes, rows.asks[at], run)
        found.append(
            Start(
                job=rows.ids[at],
                place=tuple((host, amounts[0]) for host, amounts in held),
                reason=verdict.reasons[at],
                partition=run.partition,
                held=held,
            )
        )
    found += [Stop(rows.ids[row]) for row, head in verdict.stops.items() if head < 0]
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
