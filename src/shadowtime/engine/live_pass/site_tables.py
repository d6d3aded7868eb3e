"""A snapshot of a site on its way through a pass: the tables it is made of, what is remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shadowtime.cluster.site import Site
from shadowtime.engine.live_pass import memory as n
from shadowtime.engine.live_pass import site_rows
from shadowtime.engine.live_pass.compression import Compression, Hold, came_free
from shadowtime.engine.live_pass.python_policy import refuse_stops
from shadowtime.engine.python_policy import Observer, carry_out
from shadowtime.engine.site.live_pass import Decider, decide_site
from shadowtime.engine.site.plans import Freed, Run, RunsByRow, SiteJobs, Verdict
from shadowtime.errors import UsageError
from shadowtime.kernel.site.fields import Ground
from shadowtime.kernel.state import State, World
from shadowtime.policy.policy import Policy
from shadowtime.policy.snapshot import Snapshot, ask_policy, name_of
from shadowtime.types import MAX_SPAN, Ints
from shadowtime.workload import Workload
from shadowtime.workload.request import Requests

EFFORT = 100_000
"""How much of the sweep over kept promises one pass makes: a few tens of milliseconds."""
WITHDRAWN, RAN = "withdrawn", "ran"
"""What the memory keeps of promises that a limit withdrew: those jobs, and what ran then."""
FOREIGN = 0
"""Submission, on the clock of a pass, of jobs that no policy may stop: they outrank all others."""


@dataclass(frozen=True)
class Tables:
    """A state on its way through a pass; times in the tables count from ``base``."""

    policy: Policy
    state: Snapshot
    memory: n.Memory
    site: Site
    rows: site_rows.Rows
    users: Mapping[str, n.History]

    @staticmethod
    def of(policy: Policy, state: Snapshot, memory: n.Memory) -> Tables:
        """From a state and what is remembered."""
        site, users = site_rows.site_now(state), site_rows.with_ends(state, memory)
        rows = site_rows.rows_of(state, memory, site)
        return Tables(policy, state, memory, site, rows, users)

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
        heads = np.flatnonzero(rows.waits & (rows.notes[:, n.BLOCKED_AT] >= 0))
        known = rows.notes[heads]
        blocked = np.maximum(known[:, n.BLOCKED_AT] - base, 0)
        promised = np.maximum(known[:, n.PROMISED] - base, 0)
        first = known[:, n.PROMISED] >= 0
        freed, asked = self.freed()
        before = self.memory.compression
        return SiteJobs(
            now=self.state.now - base,
            jobs=self.workload(base),
            running=running,
            promises=self.promises,
            freed=freed,
            asked=asked,
            unfinished=before is not None and before.unfinished,
            estimates=self.estimates,
            blocked=dict(zip(heads.tolist(), blocked.tolist(), strict=True)),
            promised=dict(zip(heads[first].tolist(), promised[first].tolist(), strict=True)),
            withdrawn=self.withdrawn(),
        )

    def freed(self) -> tuple[list[Freed] | None, dict[int, int]]:
        """What came free since the last pass, and how much of it each job was asked about.

        On the clock of this pass; None where the policy keeps no promises.
        """
        if not self.policy.keeps_promises:
            return None, {}
        state, base, ids = self.state, self.base, self.rows.ids
        assert state.site is not None, "a state on a site has one"
        found, asked = came_free(
            self.memory.compression,
            self.holds,
            self.void(),
            site=state.site,
            shut=state.shut,
            now=state.now,
        )
        freed = [
            Freed(nodes=one.nodes, begin=one.begin - base, end=one.end - base) for one in found
        ]
        return freed, {at: asked[ids[at]] for at in self.promises if ids[at] in asked}

    @cached_property
    def holds(self) -> dict[str, Hold]:
        """What running jobs hold, and until when the pass expects them to."""
        found: dict[str, Hold] = {}
        length, soon = self.length.tolist(), self.state.now + 1
        for at, tasks in self.rows.tasks.items():
            job: Any = self.rows.jobs[at]
            if job.id in found:
                tasks = {**found[job.id].tasks, **tasks}
            found[job.id] = Hold(max(job.start + length[at], soon), tasks)
        return found

    def void(self) -> list[Freed]:
        """What promises of the last pass took that are not kept, or not for so long."""
        kept, notes, now = self.memory.kept, self.memory.notes, self.state.now
        if not kept:
            return []
        expected = notes.take(notes.rows_of(kept))[:, n.ESTIMATE]
        stays = np.zeros(len(kept), np.int64)
        rows, at = self.promised_rows
        stays[at] = np.maximum(kept.plans.start[at], now) + self.length[rows]
        begin = np.maximum(np.maximum(kept.plans.start, now), stays)
        end = kept.plans.start + expected
        some = np.flatnonzero(begin < end)
        plans = kept.plans.take(some).runs()
        spans = zip(plans, begin[some].tolist(), end[some].tolist(), strict=True)
        return [Freed(nodes=tuple(run.tasks), begin=a, end=b) for run, a, b in spans]

    @cached_property
    def promised_rows(self) -> tuple[Ints, Ints]:
        """The rows of jobs whose promise can be kept, and the places of these promises."""
        kept, rows = self.memory.kept, self.rows
        at = kept.rows_of(rows.ids)
        row = np.flatnonzero(rows.waits & (at >= 0))
        row = row[kept.ask[at[row]] == self.checksums[row]]
        there = kept.plans.take(at[row]).on(self.names).inside()
        return row[there], at[row[there]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple([node.name for node in self.site.nodes])

    @cached_property
    def promises(self) -> RunsByRow:
        """What was promised for good and still can be kept, by row."""
        if not self.policy.keeps_promises or not self.memory.kept:
            return RunsByRow.of({})
        rows, at = self.promised_rows
        plans = self.memory.kept.plans.take(at).on(self.names)
        due = np.maximum(plans.start, self.state.now) - self.base
        return RunsByRow(rows, plans._replace(start=due))

    @cached_property
    def requests(self) -> Requests:
        """What the jobs ask for, each distinct request once."""
        return Requests.of_jobs(self.rows.asks)

    @cached_property
    def checksums(self) -> Ints:
        """The checksum of each job's request."""
        each = np.array([site_rows.ask_checksum(ask) for ask in self.requests.distinct], np.int64)
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
        limits = site_rows.limits_checksum(self.site)
        return frozenset(
            at
            for at, job in enumerate(self.rows.ids)
            if at not in self.rows.tasks and known.get(job) == limits
        )

    @cached_property
    def request(self) -> Ints:
        """How long each job asks to run."""
        return np.array([job.request for job in self.rows.jobs], np.int64)

    @cached_property
    def length(self) -> Ints:
        """How long the pass expects each job to run."""
        guesses = self.estimates
        if guesses:
            return np.array(list(guesses.values()), np.int64)
        return self.request.clip(1, MAX_SPAN)

    def workload(self, base: int) -> Workload:
        """The jobs as columns; the request stands in for the unknown run time."""
        since, request = self.rows.since, self.request.clip(1, MAX_SPAN)
        return site_rows.live_workload(
            submit=np.where(since >= 0, since - base, FOREIGN),
            run=request,
            request=request,
            users=[job.user for job in self.rows.jobs],
            requests=self.requests,
            epoch=base,
        )

    @cached_property
    def estimates(self) -> dict[int, int]:
        """What the Last Model expects: waiting jobs by the user's last, running ones as then."""
        if not self.policy.estimate.changes:
            return {}
        found = {}
        frozen = self.rows.notes[:, n.ESTIMATE].tolist()
        for at, job in enumerate(self.rows.jobs):
            if at in self.rows.tasks and frozen[at] > 0:
                found[at] = frozen[at]
            else:
                found[at] = site_rows.last_model(self.users.get(job.user), job.request)
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

    def remember(self, verdict: Verdict) -> n.Memory:
        """What the next pass must know."""
        ids = self.rows.ids
        extra = {k: v for k, v in self.memory.extra.items() if k not in (WITHDRAWN, RAN)}
        if verdict.withdrawn:
            limits = site_rows.limits_checksum(self.site)
            stops, starts = ({ids[at] for at in found} for found in (verdict.stops, verdict.starts))
            extra[WITHDRAWN] = {ids[at]: limits for at in sorted(verdict.withdrawn)}
            stayed = {run.id: run.start for run in self.state.running if run.id not in stops}
            extra[RAN] = {**stayed, **dict.fromkeys(starts, self.state.now)}
        return n.Memory(
            now=self.state.now,
            jobs=self.notes(verdict),
            users=self.users,
            extra=extra,
            own=self.memory.own,
            promises=self.kept_promises(verdict),
            compression=self.compression(verdict),
        )

    def compression(self, verdict: Verdict) -> Compression | None:
        """What the next pass must know to go on moving promises to earlier starts."""
        if not self.policy.keeps_promises:
            return None
        ids, base, now = self.rows.ids, self.base, self.state.now
        stopped = {ids[at] for at in verdict.stops}
        holds = {job: one for job, one in self.holds.items() if job not in stopped}
        for at, run in verdict.starts.items():
            holds[ids[at]] = Hold(now + int(self.length[at]), run.tasks)
        assert self.state.site is not None, "a state on a site has one"
        return Compression(
            site=self.state.site.checksum,
            shut=tuple(self.state.shut),
            holds=holds,
            freed=tuple(
                (name, one.begin + base, one.end + base)
                for one in verdict.freed
                for name in one.nodes
            ),
            asked={ids[at]: count for at, count in verdict.asked.items() if count},
            unfinished=verdict.unfinished,
        ).trimmed()

    def notes(self, verdict: Verdict) -> n.Notes:
        """What the next pass must know of the jobs; one that is not ours keeps the note it had."""
        rows, base = self.rows, self.base
        ours = rows.since >= 0
        values = rows.notes.copy()
        new = ours & ~rows.known
        values[new, n.SINCE] = rows.since[new]
        values[:, n.ESTIMATE] = self.length
        values[:, n.INITIAL] = np.where(values[:, n.INITIAL] < 0, self.length, values[:, n.INITIAL])
        waits = rows.waits
        for at, start in verdict.earliest.items():
            if values[at, n.PROMISED] < 0 and waits[at]:
                values[at, n.PROMISED] = start + base
        for at, since in verdict.blocked.items():
            values[at, n.BLOCKED_AT] = since + base
        values[:, n.DUE] = -1
        kept, due = self.kept(verdict)
        values[kept, n.DUE] = due
        values[kept, n.PROMISED] = np.where(
            values[kept, n.PROMISED] < 0, due, values[kept, n.PROMISED]
        )
        values[list(verdict.stops), n.KILLS] += 1
        values[~ours] = rows.notes[~ours]
        keep = ours | rows.known
        if keep.all():
            return n.Notes(rows.ids, values)
        return n.Notes([rows.ids[at] for at in np.flatnonzero(keep).tolist()], values[keep])

    def kept_promises(self, verdict: Verdict) -> n.Promises:
        """What the next pass must know of promises for good."""
        promises = RunsByRow.of(verdict.promises)
        here = np.flatnonzero(self.stay(verdict)[promises.rows])
        rows, plans = promises.rows[here], promises.plans.take(here)
        plans = plans._replace(start=plans.start + self.base)
        ids = [self.rows.ids[at] for at in rows.tolist()]
        return n.Promises(ids, plans, self.checksums[rows] if len(rows) else rows)
