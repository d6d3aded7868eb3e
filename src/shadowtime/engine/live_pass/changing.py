"""One pass of a policy that changes sizes, on a real cluster of equal nodes.

The tables, the function and its checks are those of a simulation (engine/changing.py); a processor
of the pool is a whole node here. A scheduler knows no speed-ups: a job's time limit holds at any
size, and so does what is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.changing import asking, build, failure
from shadowtime.engine.events import BROKEN
from shadowtime.engine.live_pass.memory import (
    BLOCKED_AT,
    DUE,
    KILLS,
    PROMISED,
    SINCE,
    Memory,
    Note,
    Notes,
)
from shadowtime.engine.live_pass.outcome import Decided
from shadowtime.engine.live_pass.table import Rows, rows_of, workload_of
from shadowtime.errors import PolicyError
from shadowtime.kernel import changing as g
from shadowtime.kernel import registers as reg
from shadowtime.kernel.choice import HOW, ONCE, Choice
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import (
    Continue,
    Decision,
    Resize,
    RunningJob,
    Sizes,
    Snapshot,
    Start,
    Stop,
    Suspend,
    WaitingJob,
)
from shadowtime.types import MILLION, Ints, Reason
from shadowtime.workload import Workload
from shadowtime.workload.speedup import changing_of

HALTED = 1
"""The level of speed 0, where a policy declares none (policy/changing.py)."""
SAME_AT_ANY_SIZE = "1:1"
"""The table of speed-ups under which a time limit holds at any size."""


def decide(policy: Policy, state: Snapshot, memory: Memory) -> Decided:
    """One pass; see ``live_pass.decide``.

    Rules
    -----
    The function sees the jobs at the gate and those of the port that run, in order of arrival, in
    nodes. A waiting job has the bounds that its user gave, and the larger one as its own size. A
    running one has what it holds as its own and largest size, so that it cannot grow, and the
    user's smaller bound. Jobs that the loop may not change are not shown: their nodes are missing
    in ``free`` until they are expected to end. Size 0 stops a running job, which waits again. Speed
    0 suspends one; it continues where it was, whatever size the function gives it.

    Examples
    --------
    >>> import shadowtime as st
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob
    >>> @st.resize
    ... def least_for_all(now, jobs, free):
    ...     jobs.size[:] = jobs.least
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    >>> state = Snapshot(now=9, cluster=two,
    ...     running=(RunningJob(id="1", submit=0, need=(8,), request=60, start=3, sizes=(1, 2),
    ...                         place=(("n1", 4), ("n2", 4))),),
    ...     waiting=(WaitingJob(id="2", submit=5, need=(4,), request=60, nodes=1),))
    >>> made = decide(st.easy(backfill=least_for_all), state, Memory())
    >>> [(type(one).__name__, one.job, one.procs) for one in made.decisions]
    [('Resize', '1', 4), ('Start', '2', 4)]
    """
    from shadowtime.engine.passes.changing import run

    policy.refuse_nonsense("pool")
    per_node = node_size(policy, state)
    rows = rows_of(in_nodes(state, per_node), memory, kept=False)
    workload = jobs_of(rows, len(state.cluster.hosts))
    changing = changing_of(workload, len(state.cluster.hosts))
    levels = free_levels(state)
    tables = build(workload, changing, Cluster.pool(max(1, levels[0][1])), policy)
    tables.there[0] = levels[0][1]
    tables = tables._replace(later=np.array(levels[1:], np.int64).reshape(-1, 2).T.copy())
    chooser, profile, choice, fact, pointer = asking(policy, workload, changing, 1, len(levels))
    write_state(tables, choice, rows, state.now)
    choice.mark[HOW] = ONCE
    if run(tables, profile, choice, fact, pointer) == BROKEN:
        raise failure(policy, tables, chooser, rows.ids)
    wake = int(tables.reg[reg.WAKE])
    return Decided(
        decisions=tuple(decisions_of(tables, rows, per_node)),
        memory=remembered(tables, choice, rows, state, memory),
        wake=wake if wake < reg.NEVER else None,
        promises={
            job: int(tables.job[at, g.PROMISED])
            for at, job in enumerate(rows.ids)
            if tables.job[at, g.SIZE] == 0 and tables.job[at, g.PROMISED] >= 0
        },
    )


def node_size(policy: Policy, state: Snapshot) -> int:
    """The processors of each node."""
    found = {host.capacity[0] for host in state.cluster.hosts}
    if len(found) > 1:
        raise PolicyError(
            f"{policy.name} counts whole nodes, and these have {min(found)} to {max(found)} "
            "processors: use a partition of equal nodes"
        )
    return int(found.pop())


def may_change(run: RunningJob) -> bool:
    """Whether the loop may shrink or stop a running job now."""
    return run.ours and run.settled and bool(run.place)


def in_nodes(state: Snapshot, per_node: int) -> Snapshot:
    """The jobs that the function sees, their needs in nodes."""
    waiting = [
        replace(job, need=(max(job.nodes, -(-job.procs // per_node), 1),)) for job in state.waiting
    ]
    running = [replace(run, need=(len(run.place),)) for run in state.running if may_change(run)]
    return state.replace(waiting=tuple(waiting), running=tuple(running), ended=())


def jobs_of(rows: Rows, nodes: int) -> Workload:
    """The jobs as columns, their own sizes and bounds in nodes."""
    bounds = np.array([bounds_of(job, nodes) for job in rows.jobs], np.int64).reshape(-1, 2)
    workload = workload_of(rows, ("procs",))
    return workload.replace(
        demand=bounds[:, 1:].copy(),
        extra={
            "min_procs": bounds[:, 0].copy(),
            "max_procs": bounds[:, 1].copy(),
            "speedup": np.zeros(len(bounds), np.int64),
        },
        names={**workload.names, "speedup": (SAME_AT_ANY_SIZE,)},
    )


def bounds_of(job: WaitingJob | RunningJob, nodes: int) -> Sizes:
    """The fewest and most of so many nodes that a job may have now; the most are its own size.

    Examples
    --------
    >>> job = WaitingJob(id="7", submit=0, need=(2,), request=9, sizes=(2, 8))
    >>> bounds_of(job, 4), bounds_of(replace(job, sizes=(0, 0)), 4)
    ((2, 4), (2, 2))
    """
    needed = job.procs
    least, most = job.sizes if job.sizes[0] else (needed, needed)
    if isinstance(job, RunningJob):
        return min(least, needed), needed
    return least, max(least, min(most, nodes))


def free_levels(state: Snapshot) -> list[tuple[int, int]]:
    """From now on, when how many nodes are not held by jobs that the loop may not change.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.policy.snapshot import Snapshot
    >>> two = Cluster(shape="nodes", hosts=(Host("n1", (4,)), Host("n2", (4,))))
    >>> other = RunningJob(id="1", submit=0, need=(2,), request=60, start=3, ours=False,
    ...                    place=(("n2", 2),))
    >>> free_levels(Snapshot(now=9, cluster=two, running=(other,)))
    [(9, 1), (63, 2)]
    """
    here = {host.name for host in state.cluster.hosts}
    until: dict[str, int] = {}
    for run in state.running:
        if not may_change(run) and not run.suspended:
            end = max(state.now + 1, run.start + run.request)
            for host in here & {name for name, _ in run.place}:
                until[host] = max(end, until.get(host, 0))
    times = [state.now, *sorted({*until.values()})]
    return [(at, len(here) - sum(end > at for end in until.values())) for at in times]


def write_state(tables: g.Tables, choice: Choice, rows: Rows, now: int) -> None:
    """Write down what runs since when, and what is remembered of each job."""
    n, job = len(rows.ids), tables.job
    job[:, [g.PROMISED, g.BLOCKED_AT, g.STOPS]] = rows.notes[:, [PROMISED, BLOCKED_AT, KILLS]]
    job[:, g.STOPS] = np.maximum(job[:, g.STOPS], 0)
    choice.due[:n] = rows.notes[:, DUE]
    runs = [at for at, one in enumerate(rows.jobs) if isinstance(one, RunningJob)]
    for at in runs:
        job[at, [g.START, g.SINCE]] = rows.jobs[at].start
        job[at, g.SIZE], job[at, g.RATE] = rows.jobs[at].procs, MILLION
        if rows.jobs[at].suspended:
            job[at, g.LEVEL] = HALTED
            job[at, g.LEFT] -= MILLION * (now - rows.jobs[at].start)
    tables.here[:n] = np.arange(n)
    tables.reg[[reg.ARRIVED, reg.RUNNING, reg.WAITING]] = n, len(runs), n - len(runs)
    tables.reg[reg.WAKE] = now


def decisions_of(tables: g.Tables, rows: Rows, per_node: int) -> list[Decision]:
    """What the function wrote, as decisions: what makes room comes first."""
    frees: list[Decision] = []
    starts: list[Decision] = []
    for job, row in zip(rows.jobs, tables.job, strict=True):
        size, held = int(row[g.SIZE]), job.procs if isinstance(job, RunningJob) else 0
        was, halts = isinstance(job, RunningJob) and job.suspended, row[g.LEVEL] == HALTED
        if held and not size:
            frees.append(Stop(job.id))
        elif was or halts:
            if halts and not was:
                frees.append(Suspend(job.id))
            elif was and not halts:
                starts.append(Continue(job.id))
        elif size < held:
            frees.append(Resize(job.id, size * per_node))
        elif size and not held:
            reason = Reason(int(row[g.REASON]))
            starts.append(Start(job.id, procs=size * per_node, reason=reason))
    return [*frees, *starts]


def remembered(
    tables: g.Tables, choice: Choice, rows: Rows, state: Snapshot, memory: Memory
) -> Memory:
    """What the next pass must know; jobs that were not shown keep their notes."""
    values: Ints = np.full((len(rows.ids), len(Note._fields)), -1, np.int64)
    values[:, SINCE] = rows.since
    values[:, [PROMISED, BLOCKED_AT, KILLS]] = tables.job[:, [g.PROMISED, g.BLOCKED_AT, g.STOPS]]
    due: Any = choice.due[: len(rows.ids)]
    values[:, DUE] = np.where(due < reg.NEVER, due, -1)
    notes = Notes(rows.ids, values)
    hidden: Sequence[RunningJob] = [run for run in state.running if not may_change(run)]
    kept = {run.id: memory.jobs[run.id] for run in hidden if run.id in memory.jobs}
    return replace(memory, now=state.now, jobs=notes.and_of(kept))
