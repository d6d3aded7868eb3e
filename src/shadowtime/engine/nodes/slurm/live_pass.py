"""Slurm's policies on the nodes of a snapshot: one pass.

The pass is the simulator's own (passes.py): it touches the queue and the book alone, and both can
be filled from a real cluster as well as from a simulated one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import Decided, pooled, promises_of, remember
from shadowtime.engine.live_pass.table import Table, table_of
from shadowtime.engine.nodes.slurm import availability as bk
from shadowtime.engine.nodes.slurm import live_availability
from shadowtime.engine.nodes.slurm.counted import COUNTED, Counting, counting_for, known_in, told_of
from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import DECISIONS
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import Place, Snapshot, Start, WaitingJob
from shadowtime.types import Ints, Reason, Rows


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
    from shadowtime.engine.nodes.slurm.compiled import once

    how = counting_for(policy, state)
    known = known_in(memory)
    pieces = live_availability.pieces_of(state.running, how, state.cluster, known)
    wish = live_availability.wishes(state.waiting, how, known)
    at = np.array([table.row_of[job.id] for job in state.waiting], np.int64)
    n = len(table.ids)
    rows = np.zeros(n + len(pieces), bk.JOBS)
    write_waiting(rows, at, state.waiting, wish, how)
    availability = live_availability.book_of(rows, n, pieces, how, len(at))
    aside = live_availability.unfit(rows["procs"][at], wish, how)
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
    rows["procs"][at] = live_availability.procs_of(waiting, how)
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
