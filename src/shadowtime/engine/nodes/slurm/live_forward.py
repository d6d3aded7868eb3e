"""From a snapshot of nodes on into the future: the simulator's event loop begun in the middle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shadowtime.engine.events import DONE
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import pooled
from shadowtime.engine.live_pass.table import rows_of
from shadowtime.engine.nodes.rates import make_rates
from shadowtime.engine.nodes.running_table import make_table
from shadowtime.engine.nodes.slurm import availability as bk
from shadowtime.engine.nodes.slurm import live_availability
from shadowtime.engine.nodes.slurm.counted import Counting, counting_for, known_in
from shadowtime.engine.nodes.slurm.live_pass import write_waiting
from shadowtime.kernel.registers import ARRIVED, NEVER
from shadowtime.kernel.state import build
from shadowtime.policy import Policy
from shadowtime.policy.snapshot import Snapshot, WaitingJob
from shadowtime.types import Ints
from shadowtime.workload import Workload


def forward(
    policy: Policy, state: Snapshot, memory: Memory, *, runs: Mapping[str, int] | None = None
) -> dict[str, int]:
    """When every waiting job starts if no other job is submitted; see engine/live_pass/forward.py.

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
    wish = live_availability.wishes(waiting, how, known)
    bad = live_availability.unfit(live_availability.procs_of(waiting, how), wish, how)
    fit = np.delete(np.arange(len(waiting)), bad)
    waiting = tuple(waiting[at] for at in fit.tolist())
    pieces = live_availability.pieces_of(state.running, how, state.cluster, known)
    assumed = runs or {}
    lasting = [
        max(1, piece.start + assumed.get(piece.job, piece.request) - state.now) for piece in pieces
    ] + [max(1, assumed.get(job.id, job.request)) for job in waiting]
    rows = np.zeros(len(pieces) + len(waiting), bk.JOBS)
    at = np.arange(len(pieces), len(rows))
    write_waiting(rows, at, waiting, wish[fit], how)
    availability = live_availability.book_of(rows, 0, pieces, how, len(waiting))
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
    from shadowtime.engine.nodes.slurm.compiled import take_on

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
