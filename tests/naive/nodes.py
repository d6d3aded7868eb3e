"""Slow, obvious reference of the node policies (spec: algorithms 4 and 6.3).

A machine is a row of equal nodes; the processes of a job spread over them and share the
bandwidth of each node, so jobs slow each other down and ends move.

Readings chosen where the specification leaves room
---------------------------------------------------
- ``job.limit`` is used by conservative backfilling alone: elsewhere the limit is the request, or
  the request stretched by the planned penalty (``limit="pf"``); under Slurm it is the request, with
  the grace after it.
- Rates are exact fractions, which is what counting work in 1/L s amounts to. L is taken over
  the demands that up to ``cores`` processes with bandwidths of the workload can make together.
- Thresholds are whole hundredths (115 is 1.15), so that every comparison is exact.
- A start s is a candidate if it is now or a bucket start; "FF's s" is the first candidate with
  enough processors free during [s, s + request). Of the rest those without room are skipped.
- With a stretched limit that reaches into the reservation the job is placed again without all
  the processors of the reservation; where that fails, s is no candidate.
- A head that waits for a better start counts as blocked like one that does not fit.
- ``stretch=window`` is not here, and ``resv`` by counts for conservative backfilling alone.
- Conservative backfilling on nodes is in ``naive/conservative.py``.
- HPerf counts in thousandths of a MB/s, as Slurm counts a resource in whole numbers: a record is
  rounded down to them, the mean of a tag's records up.
- HPerf with ``record="rate"``: the work done is the mean over the processes, over elapsed time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from shadowtime.verify.world import BACKFILLED, HEAD, RESERVED, Job, Result, Row

Rate = Callable[[Fraction], Fraction]  # demand on a node -> work done per second


@dataclass(frozen=True)
class NodeJob(Job):
    """A job whose processes each draw ``bandwidth`` MB/s; ``tag`` names its application."""

    bandwidth: int = 0
    tag: str = ""
    believed: int | None = None  # what the scheduler takes the bandwidth to be, if it errs
    expected: int | None = None  # how long it is expected to run, for the penalty factor alone

    @property
    def planned(self) -> int:
        return self.bandwidth if self.believed is None else self.believed

    @property
    def span(self) -> int:
        return self.request if self.expected is None else self.expected

    @property
    def procs(self) -> int:
        return self.need[0]


@dataclass(frozen=True)
class Machine:
    """Processor i sits on node i // cores."""

    nodes: int
    cores: int = 4
    cap: int = 6000

    def node_of(self, processor: int) -> int:
        return processor // self.cores


@dataclass(frozen=True)
class NodeResult:
    """Rows of the jobs; processes per node, limit and exact delay (finished jobs) of each."""

    result: Result
    place: dict[int, dict[int, int]]
    limit: dict[int, int]
    penalised: dict[int, Fraction]


# ----------------------------------------------------------------- execution (spec: algorithms 4.5)
def shared_rate(jobs: list[NodeJob], machine: Machine) -> Rate:
    """1 / (1 + penalty) = cap / max(demand, cap), exact unless L would pass 10^9."""
    return counted_rate(jobs, machine, lambda demand: machine.cap / max(demand, machine.cap))


def sloped_rate(jobs: list[NodeJob], machine: Machine, phys: int, slope: Fraction) -> Rate:
    """1 / (1 + slope * max(0, demand / phys - 1)), as exact as that (spec: algorithms 6.2)."""
    return counted_rate(
        jobs, machine, lambda demand: 1 / (1 + slope * max(Fraction(0), demand / phys - 1))
    )


def counted_rate(jobs: list[NodeJob], machine: Machine, exact: Rate) -> Rate:
    """A law as work is counted: in 1/L s, or rounded down to 10^-6 where L would pass 10^9."""
    kinds = sorted({job.bandwidth for job in jobs})
    demands = {
        sum(some)
        for k in range(1, machine.cores + 1)
        for some in itertools.combinations_with_replacement(kinds, k)
    }
    scale = math.lcm(*(Fraction(exact(Fraction(d))).denominator for d in demands))

    def rate(demand: Fraction) -> Fraction:
        if scale <= 10**9 or exact(demand) == 1:
            return Fraction(exact(demand))
        return Fraction(math.floor(exact(demand) * 10**6), 10**6)

    return rate


@dataclass
class Execution:
    """One running job: what is left to do on each of its nodes."""

    job: NodeJob
    start: int
    limit: int
    kill_at: int | None
    processes: dict[int, int]
    left: dict[int, Fraction]
    done_at: dict[int, Fraction] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return all(left == 0 for left in self.left.values())


def work_of(job: NodeJob) -> int:
    """A job that overran its request in the log has no more work than the request.

    spec: algorithms 4.5.
    """
    return min(job.run, job.limit)


@dataclass
class NodeWorld:
    """Everything that is known at one instant."""

    jobs: list[NodeJob]
    machine: Machine
    rate: Rate
    grace: int | None = 0  # None: no job is killed
    now: int = 0
    waiting: list[NodeJob] = field(default_factory=list)
    running: list[Execution] = field(default_factory=list)
    runs: dict[int, Execution] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    killed: dict[int, bool] = field(default_factory=dict)
    reason: dict[int, int] = field(default_factory=dict)
    blocked: dict[int, tuple[int, int]] = field(default_factory=dict)  # (when, promised)
    passes: int = 0

    def rate_on(self, node: int) -> Fraction:
        demand = sum(run.processes.get(node, 0) * run.job.bandwidth for run in self.running)
        return self.rate(Fraction(demand))

    def will_end(self, run: Execution) -> int:
        """First whole second at which all nodes are done, or that of the kill."""
        end = max(self.now + math.ceil(left / self.rate_on(n)) for n, left in run.left.items())
        return end if run.kill_at is None else min(end, run.kill_at)

    def advance(self, to: int) -> None:
        """Let every job work until ``to``; demand stays until a job has ended."""
        for run in self.running:
            for node, left in run.left.items():
                rate = self.rate_on(node)
                if left > 0 and left <= rate * (to - self.now):
                    run.done_at[node] = self.now + left / rate
                run.left[node] = max(Fraction(0), left - rate * (to - self.now))
        self.now = to

    def start(self, job: NodeJob, reason: int, processes: dict[int, int], limit: int) -> None:
        kill_at = None if self.grace is None else self.now + limit + self.grace
        left = {node: Fraction(work_of(job)) for node in processes}
        run = Execution(job, self.now, limit, kill_at, processes, left)
        self.waiting.remove(job)
        self.running.append(run)
        self.runs[job.id] = run
        self.reason[job.id] = reason
        for node in range(self.machine.nodes):
            on_node = sum(other.processes.get(node, 0) for other in self.running)
            assert on_node <= self.machine.cores, "more processes than cores"

    def first_reason(self, job: NodeJob) -> int:
        return RESERVED if job.id in self.blocked else HEAD

    def block(self, job: NodeJob, promised: int) -> None:
        self.blocked.setdefault(job.id, (self.now, promised))

    def outcome(self) -> NodeResult:
        rows, penalised = [], {}
        for job in self.jobs:
            run = self.runs[job.id]
            at, promised = self.blocked.get(job.id, (-1, -1))
            killed = int(self.killed[job.id])
            reason, end = self.reason[job.id], self.end[job.id]
            rows.append(Row(job.id, run.start, end, reason, 0, killed, promised, at))
            if not killed:
                penalised[job.id] = max(run.done_at.values()) - run.start - work_of(job)
        place = {id_: dict(run.processes) for id_, run in self.runs.items()}
        limit = {id_: run.limit for id_, run in self.runs.items()}
        return NodeResult(Result(rows, [], self.passes), place, limit, penalised)


def nothing(*_: object) -> None:
    return None


def no_timers(_: NodeWorld) -> list[int]:
    return []


def replay_nodes(
    world: NodeWorld,
    one_pass: Callable[[NodeWorld], None],
    *,
    ended: Callable[[NodeWorld, Execution], None] = nothing,
    after_ends: Callable[[NodeWorld, list[Execution]], None] = nothing,
    arrived: Callable[[NodeWorld, NodeJob], None] = nothing,
    timers: Callable[[NodeWorld], list[int]] = no_timers,
) -> NodeResult:
    """Go from instant to instant (spec: algorithms 1.1); passes at ends, submissions and timers."""
    coming = list(world.jobs)
    while coming or world.waiting or world.running:
        times = [world.will_end(run) for run in world.running] + [job.submit for job in coming]
        times += timers(world)
        assert times, "jobs wait and nothing will ever happen"
        world.advance(min(times))
        over = [run for run in world.running if run.done or run.kill_at == world.now]
        for run in sorted(over, key=lambda run: run.job.id):
            world.running.remove(run)
            world.end[run.job.id] = world.now
            world.killed[run.job.id] = not run.done
            ended(world, run)
        after_ends(world, over)
        while coming and coming[0].submit == world.now:
            world.waiting.append(coming.pop(0))
            arrived(world, world.waiting[-1])
        world.passes += 1
        one_pass(world)
    return world.outcome()


def in_arrival_order(jobs: list[NodeJob]) -> list[NodeJob]:
    jobs = sorted(jobs, key=lambda job: job.priority)
    assert len({job.id for job in jobs}) == len(jobs), "job ids must differ"
    assert all(job.run >= 1 and job.request >= 1 and job.procs >= 1 for job in jobs)
    return jobs


# --------------------------------------------------------- reservation table (spec: algorithms 4.2)
@dataclass(frozen=True)
class Entry:
    """A job's processors during [start, end)."""

    start: int
    end: int
    bandwidth: int
    processors: tuple[int, ...]


@dataclass(frozen=True)
class Allocation:
    """Where and when a job is planned: cost is that of its worst node (spec: algorithms 4.5)."""

    start: int
    processors: tuple[int, ...]
    cost: int
    limit: int


@dataclass
class Table:
    """The running jobs until their limits and, while backfilling, the reserved job."""

    machine: Machine
    now: int
    running: list[Entry]
    reservation: Entry | None = None

    @property
    def entries(self) -> list[Entry]:
        return self.running + ([] if self.reservation is None else [self.reservation])

    def bucket_starts(self) -> list[int]:
        """Moments after now at which processors become free."""
        return sorted({e.end for e in self.entries if e.end > self.now})

    def room(self, start: int, end: int) -> int:
        """How many processors a job can have during all of [start, end)."""
        return len(self.free(start, end))

    def allocation(self, job: NodeJob, start: int, place: Place, limit: str) -> Allocation | None:
        return allocation_at(self, job, start, place, limit)

    def free(self, start: int, end: int) -> list[int]:
        """Processors free during all of [start, end), by index."""
        taken = {p for e in self.entries if e.start < end and start < e.end for p in e.processors}
        every = range(self.machine.nodes * self.machine.cores)
        return [p for p in every if p not in taken]

    def cost(self, node: int, k: int, job: NodeJob, start: int) -> int:
        """Sum of |w| * max(0, demand - cap) for k processes during [start, + span).

        spec: algorithms 4.3, 4.4.
        """
        end = start + job.span
        cuts = {start, end}
        for e in self.entries:
            cuts |= {t for t in (e.start, e.end) if start < t < end}
        moments = sorted(cuts)
        cost = 0
        for w0, w1 in itertools.pairwise(moments):
            demand = k * job.planned
            for e in self.entries:
                if e.start <= w0 < e.end:
                    there = [p for p in e.processors if self.machine.node_of(p) == node]
                    demand += len(there) * e.bandwidth
            cost += (w1 - w0) * max(0, demand - self.machine.cap)
        return cost


def by_node(machine: Machine, processors: list[int] | tuple[int, ...]) -> dict[int, list[int]]:
    nodes: dict[int, list[int]] = {}
    for p in processors:
        nodes.setdefault(machine.node_of(p), []).append(p)
    return nodes


# ----------------------------------------------------------------- selection (spec: algorithms 4.6)
Place = Callable[[Table, NodeJob, int, list[int]], "list[int] | None"]


def first_fit(table: Table, job: NodeJob, start: int, free: list[int]) -> list[int] | None:
    """The lowest processor indices."""
    return free[: job.procs] if len(free) >= job.procs else None


def minimax(table: Table, job: NodeJob, start: int, free: list[int]) -> list[int] | None:
    """One process at a time to the node where it costs least; ties: used node, lower index."""
    if len(free) < job.procs:
        return None
    there = by_node(table.machine, free)
    used = dict.fromkeys(there, 0)
    for _ in range(job.procs):
        open_nodes = [n for n in there if used[n] < len(there[n])]
        best = min(
            open_nodes,
            key=lambda n: (table.cost(n, used[n] + 1, job, start), used[n] == 0, n),
        )
        used[best] += 1
    return sorted(p for n in there for p in there[n][: used[n]])


def allocation_at(
    table: Table, job: NodeJob, start: int, place: Place, limit: str
) -> Allocation | None:
    """The allocation of a job at one start, None if there is no room."""
    assert limit in ("req", "pf")
    free = table.free(start, start + job.request)
    planned = placed(table, job, start, place, limit, free)
    resv = table.reservation
    if planned is None or resv is None:
        return planned
    reaches = start < resv.start < start + planned.limit
    if reaches and set(planned.processors) & set(resv.processors):
        free = [p for p in free if p not in resv.processors]
        planned = placed(table, job, start, place, limit, free)
    return planned


def placed(
    table: Table, job: NodeJob, start: int, place: Place, limit: str, free: list[int]
) -> Allocation | None:
    processors = place(table, job, start, free)
    if processors is None:
        return None
    nodes = by_node(table.machine, processors)
    cost = max(table.cost(n, len(ps), job, start) for n, ps in nodes.items())
    factor = Fraction(cost, table.machine.cap * job.span)  # PF - 1
    stretch = 0 if limit == "req" else math.ceil(factor * job.request)
    return Allocation(start, tuple(processors), cost, job.request + stretch)


@dataclass(frozen=True)
class Search:
    """A resource selection policy: how a job gets its start and its processors."""

    limit: str = "req"

    def starts(self, table: Table, job: NodeJob, latest: int | None) -> list[int]:
        """FF's start and all later bucket starts, not after ``latest``."""
        candidates = [table.now, *table.bucket_starts()]
        room = [s for s in candidates if table.room(s, s + job.request) >= job.procs]
        return [s for s in room if latest is None or s <= latest]

    def find(self, table: Table, job: NodeJob, latest: int | None = None) -> Allocation:
        raise NotImplementedError

    def planned(
        self, table: Table, job: NodeJob, starts: list[int], place: Place
    ) -> list[Allocation]:
        plans = [table.allocation(job, s, place, self.limit) for s in starts]
        return [plan for plan in plans if plan is not None]


def cheapest(plans: list[Allocation]) -> Allocation:
    """Smallest penalty factor, tie earliest start."""
    return min(plans, key=lambda plan: (plan.cost, plan.start))


@dataclass(frozen=True)
class FirstFit(Search):
    def find(self, table: Table, job: NodeJob, latest: int | None = None) -> Allocation:
        return self.planned(table, job, self.starts(table, job, latest), first_fit)[0]


@dataclass(frozen=True)
class LessConsume(Search):
    """LC: no penalty if possible within ``horizon`` requests after FF's start, else the least."""

    horizon: float = 1

    def find(self, table: Table, job: NodeJob, latest: int | None = None) -> Allocation:
        starts = self.starts(table, job, latest)
        near = [s for s in starts if s <= starts[0] + self.horizon * job.request]
        plans = self.planned(table, job, near, minimax)
        if not plans:  # a stretched limit can close the whole horizon
            plans = self.planned(table, job, starts, minimax)[:1]
        for plan in plans:
            if plan.cost == 0:
                return plan
        return cheapest(plans)


@dataclass(frozen=True)
class LessConsumeThreshold(Search):
    """LCT: the first start with penalty factor <= theta, else the least penalty."""

    theta: int = 100  # hundredths

    def find(self, table: Table, job: NodeJob, latest: int | None = None) -> Allocation:
        plans = self.planned(table, job, self.starts(table, job, latest), minimax)
        for plan in plans:
            if 100 * plan.cost <= (self.theta - 100) * table.machine.cap * job.span:
                return plan
        return cheapest(plans)


@dataclass(frozen=True)
class RuaSearch(Search):
    """Of the LCT allocations the one with the smallest slowdown, tie smaller theta.

    spec: algorithms 4.7.
    """

    limit: str = "pf"
    thresholds: tuple[int, ...] = (115, 120, 125, 150)

    def find(self, table: Table, job: NodeJob, latest: int | None = None) -> Allocation:
        best: Allocation | None = None
        for theta in sorted(self.thresholds):
            plan = LessConsumeThreshold(self.limit, theta).find(table, job, latest)
            if best is None or self.slowness(table, plan) < self.slowness(table, best):
                best = plan
        assert best is not None
        return best

    def slowness(self, table: Table, plan: Allocation) -> int:
        return table.machine.cap * (plan.start - table.now) + plan.cost


# ---------------------------------------------------------------- scheduling (spec: algorithms 4.7)
class NodeScheduler:
    """Head first come first served with one reservation; ``backfill`` fills the rest."""

    def __init__(self, jobs: list[NodeJob], machine: Machine, search: Search) -> None:
        jobs = in_arrival_order(jobs)
        for job in jobs:
            assert job.procs <= machine.nodes * machine.cores, f"job {job.id} too big"
        self.world = NodeWorld(jobs, machine, shared_rate(jobs, machine))
        self.search = search
        self.entry: dict[int, Entry] = {}  # of the running jobs
        self.promise: dict[int, int] = {}  # start promised to the head at the last pass

    def table(self) -> Table:
        running = [self.entry[run.job.id] for run in self.world.running]
        return Table(self.world.machine, self.world.now, running)

    def start(self, job: NodeJob, reason: int, plan: Allocation) -> None:
        assert plan.start == self.world.now
        nodes = by_node(self.world.machine, plan.processors)
        self.world.start(job, reason, {n: len(ps) for n, ps in nodes.items()}, plan.limit)
        end = plan.start + plan.limit
        self.entry[job.id] = Entry(plan.start, end, job.planned, plan.processors)

    def one_pass(self, world: NodeWorld) -> None:
        # (a) while the head's allocation starts now: start it
        while world.waiting:
            head = world.waiting[0]
            plan = self.search.find(self.table(), head, self.promise.get(head.id))
            if plan.start > world.now:
                break
            self.start(head, world.first_reason(head), plan)
        if not world.waiting:
            return
        # (b) the head's allocation is its reservation; its start never moves later
        self.promise[head.id] = plan.start
        world.block(head, plan.start)
        end = plan.start + plan.limit
        reservation = Entry(plan.start, end, head.planned, plan.processors)
        # (c) the others around it
        self.backfill(world.waiting[1:], reservation)

    def plan_around(self, job: NodeJob, reservation: Entry) -> Allocation:
        table = self.table()
        table.reservation = reservation
        return self.search.find(table, job)

    def backfill(self, rest: list[NodeJob], reservation: Entry) -> None:
        """One scan, shortest request first, ties by arrival."""
        for job in sorted(rest, key=lambda job: job.request):
            plan = self.plan_around(job, reservation)
            if plan.start == self.world.now:
                self.start(job, BACKFILLED, plan)

    def run(self) -> NodeResult:
        return replay_nodes(self.world, self.one_pass)


class RuaScheduler(NodeScheduler):
    def backfill(self, rest: list[NodeJob], reservation: Entry) -> None:
        """Again and again the job with the least penalty, then the shortest, then the oldest."""
        while True:
            now = []
            for job in rest:
                plan = self.plan_around(job, reservation)
                if plan.start == self.world.now:
                    factor = Fraction(plan.cost, self.world.machine.cap * job.span)
                    length = job.span + Fraction(plan.cost, self.world.machine.cap)
                    now.append((factor, length, job.priority, job, plan))
            if not now:
                return
            *_, job, plan = min(now, key=lambda entry: entry[:3])
            self.start(job, BACKFILLED, plan)
            rest = [other for other in rest if other is not job]


def ff(jobs: list[NodeJob], machine: Machine, *, limit: str = "req") -> NodeResult:
    """Shortest-first backfilling with first fit."""
    return NodeScheduler(jobs, machine, FirstFit(limit)).run()


def lc(
    jobs: list[NodeJob], machine: Machine, *, limit: str = "req", horizon: float = 1
) -> NodeResult:
    """Shortest-first backfilling with LessConsume; ``horizon`` in requests of the job."""
    return NodeScheduler(jobs, machine, LessConsume(limit, horizon)).run()


def lct(jobs: list[NodeJob], machine: Machine, *, theta: int, limit: str = "req") -> NodeResult:
    """Shortest-first backfilling with LessConsume-Threshold; ``theta`` in hundredths."""
    return NodeScheduler(jobs, machine, LessConsumeThreshold(limit, theta)).run()


class LoadedRua(RuaScheduler):
    """RUA with one threshold: the next looser one for each machine full of waiting jobs."""

    def __init__(self, jobs: list[NodeJob], machine: Machine, thresholds: tuple[int, ...]) -> None:
        super().__init__(jobs, machine, LessConsumeThreshold("pf", thresholds[0]))
        self.thresholds = thresholds

    def one_pass(self, world: NodeWorld) -> None:
        wanted = sum(job.procs for job in world.waiting)
        step = wanted // (world.machine.nodes * world.machine.cores)
        theta = self.thresholds[min(step, len(self.thresholds) - 1)]
        self.search = LessConsumeThreshold("pf", theta)
        super().one_pass(world)


def rua(
    jobs: list[NodeJob],
    machine: Machine,
    *,
    thresholds: tuple[int, ...] = (115, 120, 125, 150),
    limit: str = "pf",
) -> NodeResult:
    """RUA-Backfilling."""
    return RuaScheduler(jobs, machine, RuaSearch(limit, thresholds)).run()


# --------------------------------------------------------------------- Slurm (spec: algorithms 6.3)
@dataclass(frozen=True)
class Wish:
    """What the scheduler believes a job wants: bandwidth a process, or nodes of its own."""

    bandwidth: Fraction
    exclusive: bool = False


@dataclass(frozen=True)
class Share:
    """Cores and counted bandwidth of each node during [start, end)."""

    start: int
    end: int
    cores: dict[int, int]
    bandwidth: dict[int, Fraction]


class SlurmScheduler:
    """Plans for all queued jobs, rebuilt at every pass in (submit, id) order.

    spec: algorithms 6.3.
    """

    def __init__(
        self,
        jobs: list[NodeJob],
        machine: Machine,
        *,
        rate: Rate,
        grace: int | None,
        excl_ppn: int,
    ) -> None:
        self.world = NodeWorld(in_arrival_order(jobs), machine, rate, grace)
        self.excl_ppn = excl_ppn
        self.share: dict[int, Share] = {}  # of the running jobs, as counted when they started

    # what the three policies differ in
    counts_bandwidth = True

    def wish(self, job: NodeJob) -> Wish:
        return Wish(Fraction(job.bandwidth))

    def arrived(self, world: NodeWorld, job: NodeJob) -> None:
        pass

    def ended(self, world: NodeWorld, run: Execution) -> None:
        pass

    def room(self, held: list[Share], node: int, start: int, end: int) -> tuple[int, Fraction]:
        """Cores and bandwidth free on a node during all of [start, end)."""
        machine = self.world.machine
        cores, bandwidth = machine.cores, Fraction(machine.cap)
        for t in [start] + [h.start for h in held if start < h.start < end]:
            there = [h for h in held if h.start <= t < h.end and node in h.cores]
            cores = min(cores, machine.cores - sum(h.cores[node] for h in there))
            used = sum((h.bandwidth[node] for h in there), Fraction(0))
            bandwidth = min(bandwidth, machine.cap - used)
        return cores, bandwidth

    def place(self, held: list[Share], job: NodeJob, start: int) -> dict[int, int] | None:
        """Processes per node, filled in index order; None if there is no room at ``start``."""
        wish, end = self.wish(job), start + job.request
        missing, processes = job.procs, {}
        for node in range(self.world.machine.nodes):
            cores, bandwidth = self.room(held, node, start, end)
            if wish.exclusive:
                k = self.excl_ppn if cores == self.world.machine.cores else 0
            else:
                k = cores
                if self.counts_bandwidth and wish.bandwidth > 0:
                    k = min(k, math.floor(bandwidth / wish.bandwidth))
            k = min(k, missing)
            if k > 0:
                processes[node] = k
                missing -= k
        return processes if missing == 0 else None

    def counted(self, job: NodeJob, processes: dict[int, int], start: int, end: int) -> Share:
        """What the scheduler books; on a node of its own a job books every core."""
        wish = self.wish(job)
        if wish.exclusive:
            cores = dict.fromkeys(processes, self.world.machine.cores)
            return Share(start, end, cores, dict.fromkeys(processes, Fraction(0)))
        return Share(start, end, processes, {n: k * wish.bandwidth for n, k in processes.items()})

    def one_pass(self, world: NodeWorld) -> None:
        held = []
        for run in world.running:
            share = self.share[run.job.id]
            end = share.end if share.end > world.now else world.now + 1
            held.append(Share(share.start, end, share.cores, share.bandwidth))
        blocked = False
        for job in list(world.waiting):
            for start in sorted({world.now} | {h.end for h in held if h.end > world.now}):
                processes = self.place(held, job, start)
                if processes is not None:
                    break
            else:
                raise AssertionError(f"job {job.id} does not even fit into the empty machine")
            share = self.counted(job, processes, start, start + job.request)
            held.append(share)
            if start == world.now:
                reason = BACKFILLED if blocked else world.first_reason(job)
                world.start(job, reason, processes, job.request)
                self.share[job.id] = share
            else:
                if not blocked:
                    world.block(job, start)
                blocked = True

    def run(self) -> NodeResult:
        return replay_nodes(self.world, self.one_pass, ended=self.ended, arrived=self.arrived)


class ConsRes(SlurmScheduler):
    """Cores only."""

    counts_bandwidth = False


class LessC(SlurmScheduler):
    """The sum of the true demands on a node stays within the cap."""


class HPerf(SlurmScheduler):
    """LessC with the demand measured in earlier runs of the same tag (spec: algorithms 6.1)."""

    def __init__(
        self,
        jobs: list[NodeJob],
        machine: Machine,
        *,
        rate: Rate,
        grace: int | None,
        excl_ppn: int,
        tcm_factor: dict[str, Fraction],
        predict: str,
        record: str,
        records: dict[str, list[Fraction]],
    ) -> None:
        super().__init__(jobs, machine, rate=rate, grace=grace, excl_ppn=excl_ppn)
        assert predict in ("submit", "start") and record in ("demand", "rate")
        self.tcm_factor, self.predict, self.record = tcm_factor, predict, record
        self.records = {tag: list(found) for tag, found in records.items()}
        self.frozen: dict[int, Wish] = {}

    def looked_up(self, job: NodeJob) -> Wish:
        records = self.records.get(job.tag, [])
        if not records:
            return Wish(Fraction(0), exclusive=True)
        mean = Fraction(math.ceil(sum(records, Fraction(0)) / len(records) * 1000), 1000)
        assert mean <= self.world.machine.cap, f"job {job.id} is refused: demand above the cap"
        return Wish(mean)

    def wish(self, job: NodeJob) -> Wish:
        return self.frozen[job.id] if self.predict == "submit" else self.looked_up(job)

    def arrived(self, world: NodeWorld, job: NodeJob) -> None:
        self.frozen[job.id] = self.looked_up(job)

    def ended(self, world: NodeWorld, run: Execution) -> None:
        job = run.job
        measured = self.tcm_factor.get(job.tag, TCM_FACTOR) * job.bandwidth
        if self.record == "rate":
            done = {n: work_of(job) - left for n, left in run.left.items()}
            work = sum(k * done[n] for n, k in run.processes.items()) / job.procs
            measured *= Fraction(work) / (world.now - run.start)
        whole = Fraction(math.floor(measured * 1000), 1000)
        self.records.setdefault(job.tag, []).append(whole)


TCM_FACTOR = Fraction(8, 10)
SLOPE = Fraction(36, 100)


def consres(
    jobs: list[NodeJob],
    machine: Machine,
    *,
    grace: int | None = 0,
    phys: int | None = None,
    slope: Fraction = SLOPE,
) -> NodeResult:
    """``grace`` None is unlimited; ``phys`` is the cap unless given."""
    rate = sloped_rate(jobs, machine, machine.cap if phys is None else phys, slope)
    return ConsRes(jobs, machine, rate=rate, grace=grace, excl_ppn=machine.cores).run()


def lessc(
    jobs: list[NodeJob],
    machine: Machine,
    *,
    grace: int | None = 0,
    phys: int | None = None,
    slope: Fraction = SLOPE,
) -> NodeResult:
    rate = sloped_rate(jobs, machine, machine.cap if phys is None else phys, slope)
    return LessC(jobs, machine, rate=rate, grace=grace, excl_ppn=machine.cores).run()


def hperf(
    jobs: list[NodeJob],
    machine: Machine,
    *,
    grace: int | None = 0,
    phys: int | None = None,
    slope: Fraction = SLOPE,
    excl_ppn: int | None = None,
    tcm_factor: dict[str, Fraction] | None = None,
    predict: str = "submit",
    record: str = "demand",
    preloaded: dict[str, list[Fraction]] | None = None,
) -> NodeResult:
    """``tcm_factor`` by tag, 0.8 for the others; ``preloaded`` are records by tag."""
    return HPerf(
        jobs,
        machine,
        rate=sloped_rate(jobs, machine, machine.cap if phys is None else phys, slope),
        grace=grace,
        excl_ppn=machine.cores if excl_ppn is None else excl_ppn,
        tcm_factor=tcm_factor or {},
        predict=predict,
        record=record,
        records=preloaded or {},
    ).run()


def slurm_metrics(jobs: list[NodeJob], outcome: NodeResult) -> dict[str, int]:
    """The measures of the thesis (spec: algorithms 6.4)."""
    rows = outcome.result.rows
    limit = outcome.limit
    elapsed = {row.id: row.end - row.start for row in rows}
    submit = {job.id: job.submit for job in jobs}
    return {
        "duration": max(row.end for row in rows) - min(submit.values()),
        "running": sum(min(elapsed[row.id], limit[row.id]) for row in rows),
        "extra_requested": sum(max(0, limit[row.id] - elapsed[row.id]) for row in rows),
        "extra_used": sum(max(0, elapsed[row.id] - limit[row.id]) for row in rows),
        "waiting": sum(row.start - submit[row.id] for row in rows),
        "killed": sum(row.killed for row in rows),
    }
