"""Slurm's policies on the nodes of a snapshot: one pass, or on from there into the future.

The pass is the simulator's own (passes.py): it touches the queue and the book alone, and both can
be filled from a real cluster as well as from a simulated one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shadowtime.engine.events import DONE
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import Decided, pooled, promises_of, remember
from shadowtime.engine.live_pass.table import Table, rows_of, table_of
from shadowtime.engine.nodes.rates import make_rates
from shadowtime.engine.nodes.running_table import make_table
from shadowtime.engine.nodes.slurm import availability as bk
from shadowtime.engine.nodes.slurm import counted
from shadowtime.engine.nodes.slurm.counted import COUNTED, Counting, counting_for, known_in, told_of
from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import ARRIVED, DECISIONS, NEVER
from shadowtime.kernel.state import build
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import Place, Snapshot, Start, WaitingJob
from shadowtime.types import Ints, Reason, Rows
from shadowtime.workload import Workload


def decide(policy: Policy, state: Snapshot, memory: Memory) -> Decided:
    """One pass of consres, lessc or hperf on a state.

    Rules
    -----
    A start names its nodes with the processors on each, whether it shares them, and what a process
    of it is counted with. Where the nodes that the pass found are not what the job asks for (a
    number of nodes, certain ones, tasks of several processors) it names none: the caller, which
    carries the start out, looks for them. Jobs that the machine as it is could not hold even when
    empty wait without a plan.

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> state = Snapshot(now=5, cluster=node_cluster(2, procs=4, bandwidth=1300),
    ...     running=(RunningJob(id="1", submit=0, need=(2, 0), request=60, start=0, bandwidth=600,
    ...                      place=(("n1", 2),)),),
    ...     waiting=(WaitingJob(id="2", submit=1, need=(3, 0), request=60, bandwidth=600),
    ...              WaitingJob(id="3", submit=2, need=(2, 0), request=50, bandwidth=600)))
    >>> made = decide(parse_policy("lessc"), state, Memory())
    >>> [(start.job, start.place) for start in made.decisions], made.promises
    ([('3', (('n2', 2),))], {'2': 60})
    """
    table = table_of(policy, state, memory, pooled(state.cluster))
    if state.closed:
        return Decided(decisions=(), memory=remember(table, state, memory, None))
    from shadowtime.engine.nodes.slurm.passes import once

    how = counting_for(policy, state)
    known = known_in(memory)
    pieces = counted.pieces_of(state.running, how, state.cluster, known)
    wish = counted.wishes(state.waiting, how, known)
    at = np.array([table.row_of[job.id] for job in state.waiting], np.int64)
    n = len(table.ids)
    rows = np.zeros(n + len(pieces), bk.JOBS)
    write_waiting(rows, at, state.waiting, wish, how)
    availability = counted.book_of(rows, n, pieces, how, len(at))
    aside = counted.unfit(rows["procs"][at], wish, how)
    once(table.state, availability, at[aside], state.now)
    rows_started = table.state.did[f.WHICH, : int(table.state.reg[DECISIONS])].tolist()
    started_ids = {table.ids[row] for row in rows_started}
    waiting = {job.id: job for job in state.waiting if job.id in started_ids}
    decisions = tuple(
        started(table, availability, row, waiting, state, how) for row in rows_started
    )
    kept = remember(table, state, memory, None)
    if how.by_tag:
        kept = replace(kept, extra={**memory.extra, COUNTED: found_by_tag(state, how, known, wish)})
    return Decided(
        decisions=decisions,
        memory=kept,
        promises=promises_of(table, None),
        unfit=tuple(state.waiting[k].id for k in aside.tolist()),
    )


def write_waiting(
    rows: Rows, at: Ints, waiting: tuple[WaitingJob, ...], wish: Ints, how: Counting
) -> None:
    """The columns of the waiting jobs."""
    rows["procs"][at] = counted.procs_of(waiting, how)
    rows["length"][at] = np.maximum([job.request for job in waiting], 1) if waiting else 1
    rows["wish"][at] = wish
    rows["tag"] = -1


def started(
    table: Table,
    availability: bk.Availability,
    at: int,
    waiting: Mapping[str, WaitingJob],
    state: Snapshot,
    how: Counting,
) -> Start:
    """A start of the pass in words."""
    job = waiting[table.ids[at]]
    first, count, wish = (int(availability.job[k][at]) for k in ("from", "count", "wish"))
    spots = availability.places[first : first + count].tolist()
    mask = (1 << bk.PLACE_BITS) - 1
    hosts = state.cluster.hosts
    place = tuple((hosts[spot >> bk.PLACE_BITS].name, spot & mask) for spot in spots)
    return Start(
        job=job.id,
        place=place if suits(job, place) else (),
        reason=Reason(int(table.state.job[at, f.REASON])),
        alone=wish == bk.ALONE,
        bandwidth=told_of(job, wish, how),
    )


def suits(job: WaitingJob, place: Place) -> bool:
    """Whether nodes are such as the job asks for."""
    if job.only and not {host for host, _ in place} <= set(job.only):
        return False
    if job.nodes > 0 and len(place) != job.nodes:
        return False
    return all(count % job.chunk == 0 for _, count in place)


def found_by_tag(
    state: Snapshot, how: Counting, known: Mapping[str, int], wish: Ints
) -> dict[str, int]:
    """What to remember of the jobs that are counted by their tags, until they end."""
    found = {job.id: known[job.id] for job in state.running if job.id in known}
    for job, each in zip(state.waiting, wish.tolist(), strict=True):
        if not job.alone and (not how.counts or job.need[how.column] == 0):
            found[job.id] = each
    return found


def forward(
    policy: Policy, state: Snapshot, memory: Memory, *, runs: Mapping[str, int] | None = None
) -> dict[str, int]:
    """When every waiting job starts if no other job is submitted; see engine/live_pass/decide.py.

    Rules
    -----
    No job slows another down here, and no tag is measured: one that is unknown now stays unknown.
    Jobs that the machine as it is could not hold even when empty are left out.

    Examples
    --------
    >>> from shadowtime.cluster.contention import node_cluster
    >>> from shadowtime.engine.live_pass import Memory, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> jobs = tuple(WaitingJob(id=str(k), submit=k, need=(2, 0), request=60, bandwidth=600)
    ...              for k in range(1, 4))
    >>> state = Snapshot(now=5, cluster=node_cluster(2, procs=4, bandwidth=1300), waiting=jobs)
    >>> forward(parse_policy("lessc"), state, Memory(), runs={"1": 7})
    {'1': 5, '2': 5, '3': 12}
    """
    if state.closed:
        return {}
    how = counting_for(policy, state)
    known = known_in(memory)
    waiting = in_order(state, memory)
    wish = counted.wishes(waiting, how, known)
    bad = counted.unfit(counted.procs_of(waiting, how), wish, how)
    fit = np.delete(np.arange(len(waiting)), bad)
    waiting = tuple(waiting[at] for at in fit.tolist())
    pieces = counted.pieces_of(state.running, how, state.cluster, known)
    assumed = runs or {}
    lasting = [
        max(1, piece.start + assumed.get(piece.job, piece.request) - state.now) for piece in pieces
    ] + [max(1, assumed.get(job.id, job.request)) for job in waiting]
    rows = np.zeros(len(pieces) + len(waiting), bk.JOBS)
    at = np.arange(len(pieces), len(rows))
    write_waiting(rows, at, waiting, wish[fit], how)
    availability = counted.book_of(rows, 0, pieces, how, len(waiting))
    start = run_on(availability, np.array(lasting, np.int64), len(pieces), how, state)
    return dict(zip((job.id for job in waiting), start[len(pieces) :].tolist(), strict=True))


def in_order(state: Snapshot, memory: Memory) -> tuple[WaitingJob, ...]:
    """The waiting jobs as they stand in the queue."""
    waits = {job.id: job for job in state.waiting}
    rows = rows_of(state, memory, kept=False)
    return tuple(waits.pop(job) for job in rows.ids if job in waits)


def run_on(
    availability: bk.Availability, run: Ints, runs: int, how: Counting, state: Snapshot
) -> Any:
    """Start of every row of the book; the first ``runs`` rows run already."""
    from shadowtime.engine.nodes.slurm import passes as slurm
    from shadowtime.engine.nodes.slurm.passes import take_on

    procs = availability.job["procs"]
    nothing = np.zeros((len(run), 0), np.int64)
    jobs = Workload.build(submit=[state.now] * len(run), run=run, procs=procs)
    kernel, world = build(jobs, pooled(state.cluster), estimate=run)
    table = make_table(
        nodes=how.nodes,
        cores=how.cores,
        demand=nothing,
        base=1,
        hinges=np.zeros((0, 2), np.int64),
        thresholds=np.zeros((0, 2), np.int64),
    )
    table.job["procs"] = procs
    table.job["length"] = availability.job["length"]
    table.job["limit"] = NEVER
    rates = make_rates(
        run=run, procs=procs, draws=nothing, nodes=how.nodes, cores=how.cores, unit=1, windows=False
    )
    kernel.reg[ARRIVED] = runs
    take_on(kernel, world, table, rates, availability, state.now)
    code = slurm.run(kernel, world, table, rates, availability)
    assert code == DONE, f"the event loop stopped with {code}"
    return table.job["start"]
