"""Slow, obvious reference of conservative backfilling on nodes (spec: algorithms 1.3 and 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from naive.nodes import (
    Allocation,
    Entry,
    Execution,
    FirstFit,
    Machine,
    NodeJob,
    NodeResult,
    NodeWorld,
    Place,
    Search,
    Table,
    allocation_at,
    by_node,
    first_fit,
    in_arrival_order,
    minimax,
    placed,
    replay_nodes,
    shared_rate,
)
from shadowtime.verify.world import BACKFILLED


@dataclass
class FullTable(Table):
    """The running jobs and every reservation; ``promised`` is the start of a job tried again."""

    promised: int | None = None

    def bucket_starts(self) -> list[int]:
        own = set() if self.promised is None else {self.promised}
        return sorted({*super().bucket_starts(), *own} - {self.now})

    def allocation(self, job: NodeJob, start: int, place: Place, limit: str) -> Allocation | None:
        """Among the processors that are free for as long as the limit turns out to be."""
        free = self.free(start, start + job.request)
        planned = placed(self, job, start, place, limit, free)
        while planned is not None:
            free = self.free(start, start + planned.limit)
            if set(planned.processors) <= set(free):
                break
            planned = placed(self, job, start, place, limit, free)
        return planned


@dataclass
class CountedTable(FullTable):
    """Reservations hold a number of processors, not certain ones; costs see running jobs alone."""

    counts: list[tuple[int, int, int]] = field(default_factory=list)  # (start, end, processors)

    def bucket_starts(self) -> list[int]:
        ends = {end for _, end, _ in self.counts if end > self.now}
        return sorted({*super().bucket_starts(), *ends})

    def room(self, start: int, end: int) -> int:
        least = self.machine.nodes * self.machine.cores
        for t in [start, *(s for s, _, _ in self.counts if start < s < end)]:
            held = sum(k for s, e, k in self.counts if s <= t < e)
            least = min(least, len(self.free(t, t + 1)) - held)
        return least

    def allocation(self, job: NodeJob, start: int, place: Place, limit: str) -> Allocation | None:
        assert limit == "req"
        if self.room(start, start + job.request) < job.procs:
            return None
        free = self.free(start, start + job.request)
        return placed(self, job, start, place, limit, free)


class Conservative:
    """Every job holds a reservation from its submission on: 1.3 on the Reservation Table of 4.2.

    - At its submission a job is given the allocation that the search finds around the running
      jobs and all reservations: its start is the promise.
    - After early ends, before arrivals: one sweep in submit order. The job's own reservation is
      removed and the search repeated among the starts up to the promised one, which is one
      of them. Where it answers an earlier start the reservation moves there; else it stays.
    - A job starts at its promise, in its reserved allocation. Without compression it starts before
      that if the search, asked again in the same way, answers now.
    - A running job past its end in the table (limits longer than requests) is taken to end in the
      next second; reservations that no longer hold are given anew in submit order, and counted.
    - ``counted``: a reservation is a number of processors during a time; its nodes are chosen
      when the job starts.
    """

    def __init__(
        self,
        jobs: list[NodeJob],
        machine: Machine,
        search: Search,
        *,
        compress: bool = True,
        counted: bool = False,
    ) -> None:
        jobs = in_arrival_order(jobs)
        self.world = NodeWorld(jobs, machine, shared_rate(jobs, machine))
        self.search, self.compress, self.counted = search, compress, counted
        self.entry: dict[int, Entry] = {}  # of the running jobs
        self.plan: dict[int, Allocation] = {}  # of the waiting jobs
        self.promised: dict[int, int] = {}
        self.slipped = 0

    def table(self, plans: dict[int, Allocation], promised: int | None = None) -> FullTable:
        world = self.world
        running = [self.entry[run.job.id] for run in world.running]
        reserved = [(job, plans[job.id]) for job in world.waiting if job.id in plans]
        if self.counted:
            held = [(plan.start, plan.start + plan.limit, job.procs) for job, plan in reserved]
            return CountedTable(world.machine, world.now, running, None, promised, held)
        entries = [
            Entry(plan.start, plan.start + plan.limit, job.planned, plan.processors)
            for job, plan in reserved
        ]
        return FullTable(world.machine, world.now, running + entries, None, promised)

    def others(self, job: NodeJob) -> dict[int, Allocation]:
        return {id_: plan for id_, plan in self.plan.items() if id_ != job.id}

    def asked_again(self, job: NodeJob) -> Allocation | None:
        """An earlier start than the promised one if the search prefers one, else None."""
        old = self.plan[job.id]
        table = self.table(self.others(job), old.start)
        try:
            plan = self.search.find(table, job, old.start)
        except (IndexError, ValueError):  # a stretched limit has closed every start
            return None
        return plan if plan.start < old.start else None

    def after_ends(self, world: NodeWorld, ended: list[Execution]) -> None:
        early = any(self.entry[run.job.id].end > world.now for run in ended)
        self.repair(world)
        if early and self.compress:
            for job in world.waiting:
                self.plan[job.id] = self.asked_again(job) or self.plan[job.id]

    def repair(self, world: NodeWorld) -> None:
        for run in world.running:
            entry = self.entry[run.job.id]
            if entry.end <= world.now:
                late = world.now + 1
                self.entry[run.job.id] = Entry(entry.start, late, entry.bandwidth, entry.processors)
        good: dict[int, Allocation] = {}
        for job in world.waiting:
            plan, table = self.plan[job.id], self.table(good)
            end = plan.start + plan.limit
            if self.counted:
                holds = table.room(plan.start, end) >= job.procs
            else:
                holds = set(plan.processors) <= set(table.free(plan.start, end))
            if holds:
                good[job.id] = plan
        broken = [job for job in world.waiting if job.id not in good]
        self.plan = good
        for job in broken:
            self.plan[job.id] = self.search.find(self.table(self.plan), job)
            self.slipped += 1

    def arrived(self, world: NodeWorld, job: NodeJob) -> None:
        self.plan[job.id] = self.search.find(self.table(self.plan), job)
        self.promised[job.id] = self.plan[job.id].start

    def timers(self, world: NodeWorld) -> list[int]:
        return [self.plan[job.id].start for job in world.waiting]

    def one_pass(self, world: NodeWorld) -> None:
        started = []
        for job in list(world.waiting):
            plan = self.plan[job.id]
            if plan.start > world.now and not self.compress:
                plan = self.asked_again(job) or plan
            if plan.start == world.now:
                self.start(job, plan)
                started.append(job)
        for job in started:
            if any(other.priority < job.priority for other in world.waiting):
                world.reason[job.id] = BACKFILLED
        if world.waiting:
            world.block(world.waiting[0], -1)

    def start(self, job: NodeJob, plan: Allocation) -> None:
        world = self.world
        if self.counted:
            table = Table(world.machine, world.now, [self.entry[r.job.id] for r in world.running])
            place = first_fit if isinstance(self.search, FirstFit) else minimax
            found = allocation_at(table, job, world.now, place, "req")
            assert found is not None
            plan = found
        del self.plan[job.id]
        end = world.now + plan.limit
        self.entry[job.id] = Entry(world.now, end, job.planned, plan.processors)
        nodes = by_node(world.machine, plan.processors)
        limit = plan.limit + job.limit - job.request
        reason = world.first_reason(job)
        world.start(job, reason, {n: len(ps) for n, ps in nodes.items()}, limit)

    def run(self) -> NodeResult:
        outcome = replay_nodes(
            self.world,
            self.one_pass,
            after_ends=self.after_ends,
            arrived=self.arrived,
            timers=self.timers,
        )
        rows = [replace(row, promised=self.promised[row.id]) for row in outcome.result.rows]
        return replace(outcome, result=replace(outcome.result, rows=rows))
