"""A policy written in Python on a real cluster: one pass, or run on into the future.

The tables are those of every live pass, and decisions are checked and carried out on them by the
same code as in a simulation (engine/python_policy.py).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from shadowtime.cluster import Cluster
from shadowtime.engine import steps
from shadowtime.engine.events import PASS_DUE, ROOM_NEEDED
from shadowtime.engine.live_pass import outcome
from shadowtime.engine.live_pass.memory import Memory
from shadowtime.engine.live_pass.outcome import Decided, Shape
from shadowtime.engine.live_pass.table import Table, assume, set_aside, table_of
from shadowtime.engine.python_policy import Observer, OnHosts, carry_out, policy_parts
from shadowtime.engine.run_tables import with_more_room
from shadowtime.errors import PolicyError
from shadowtime.kernel.registers import CHANGED, DECISIONS, NEVER, VOLATILE, WAKE
from shadowtime.kernel.state import State
from shadowtime.policy.snapshot import RunningJob, Snapshot, Stop, WaitingJob, ask_policy, name_of


def decide(policy: Any, state: Snapshot, memory: Memory, *, shape: Shape) -> Decided:
    """One pass of an object with ``decide(snapshot)``; see ``live_pass.decide``.

    Rules
    -----
    The snapshot has the jobs of the port in the order of the queue, with estimates, expected ends
    and what is free. A job that no host could hold even if it were empty is not shown. A stop of
    a job that is not ours, or is not settled, is an error of the policy. Attributes of the object
    last as long as the process: what must survive a restart belongs into the log or a file.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import Memory, Snapshot, WaitingJob
    >>> from shadowtime.policy.snapshot import Start
    >>> class Eager:
    ...     def decide(self, snapshot):
    ...         return [Start(job.id, optional=True) for job in snapshot.waiting]
    >>> four = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> seen = Snapshot(now=2, cluster=four, waiting=(
    ...     WaitingJob(id="8", submit=0, need=(3,), request=9),
    ...     WaitingJob(id="9", submit=1, need=(2,), request=9)))
    >>> [one.job for one in decide(Eager(), seen, Memory(), shape="pool").decisions]
    ['8']
    """
    machine, table = prepare(policy, state, memory, shape)
    kernel = table.state
    kernel.did[:] = outcome.NOTHING
    kernel.reg[DECISIONS] = 0
    observer = observer_of(state, table, machine)
    decisions = ask_policy(policy, shown(observer, state, kernel))
    refuse_stops(policy, state, decisions)
    carry_out(kernel, decisions, table.row_of, name_of(policy), OnHosts(kernel))
    wake = int(kernel.reg[WAKE])
    return Decided(
        decisions=tuple(outcome.decisions_of(table, machine)),
        memory=replace(outcome.remember(table, state, memory, None), own=memory.own),
        wake=wake if wake < NEVER else None,
        promises=outcome.promises_of(table, None),
        unfit=outcome.unfit_of(table, state),
    )


def forward(
    policy: Any, state: Snapshot, memory: Memory, *, runs: Mapping[str, int] | None, shape: Shape
) -> dict[str, int]:
    """When every waiting job starts if no other is submitted; see ``live_pass.forward``.

    A copy of the object decides: a prediction leaves the policy itself as it is.
    """
    machine, table = prepare(policy, state, memory, shape)
    world = assume(table, state, runs or {})
    kernel, thinking = table.state, copy.deepcopy(policy)
    kernel.reg[WAKE] = state.now
    observer = observer_of(state, table, machine)
    while (code := steps.go_to_pass(kernel, world)) in (PASS_DUE, ROOM_NEEDED):
        if code == ROOM_NEEDED:
            kernel = with_more_room(kernel)
            continue
        steps.update_expected(kernel)
        decisions = ask_policy(thinking, shown(observer, state, kernel))
        carry_out(kernel, decisions, table.row_of, name_of(policy), OnHosts(kernel))
        steps.finish_pass(kernel, world)
    return outcome.starts_of(kernel, table, state)


def prepare(policy: Any, state: Snapshot, memory: Memory, shape: Shape) -> tuple[Cluster, Table]:
    """The machine as the policy sees it, and the tables at the instant of the pass."""
    if shape == "nodes":
        raise PolicyError(
            f"{name_of(policy)}: a policy written in Python runs on a pool, on hosts and on a "
            "site, not on nodes that share bandwidth; use --shape pool or site"
        )
    machine = outcome.seen_as(state.cluster, shape)
    table = table_of(policy_parts(policy), state, memory, machine)
    set_aside(table.state)
    reg = table.state.reg
    reg[VOLATILE] = reg[CHANGED] = 1  # a real job may outlive any estimate
    reg[WAKE] = NEVER
    steps.update_expected(table.state)
    return machine, table


def observer_of(state: Snapshot, table: Table, machine: Cluster) -> Observer:
    """What shows the jobs of a live snapshot, by their rows."""
    waiting: dict[int, WaitingJob] = {table.row_of[job.id]: job for job in state.waiting}
    running: dict[int, RunningJob] = {table.row_of[run.id]: run for run in state.running}
    return Observer(machine, waiting.__getitem__, running)


def shown(observer: Observer, state: Snapshot, kernel: State) -> Snapshot:
    """The snapshot that the policy sees: the port's hosts and ended jobs, the pass's estimates."""
    seen = observer.snapshot(kernel)
    return seen.replace(cluster=state.cluster, ended=state.ended, site=state.site, shut=state.shut)


def refuse_stops(
    policy: Any, state: Snapshot, decisions: Iterable[object], *, fixed: Iterable[str] = ()
) -> None:
    """PolicyError for a stop of a running job that may not be stopped now, or is in ``fixed``."""
    fixed = {*fixed} | {run.id for run in state.running if not run.ours or not run.settled}
    for decision in decisions:
        if isinstance(decision, Stop) and decision.job in fixed:
            raise PolicyError(
                f"{name_of(policy)} at {state.now} stops job {decision.job}, which may not be "
                "stopped: look at ours and settled of a running job"
            )
