"""decide(policy, state, memory): one pass of the simulator's own code on a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.failures import raise_failure
from shadowtime.engine.live_pass.memory import History, Memory
from shadowtime.engine.live_pass.notes import DUE, SINCE, Notes
from shadowtime.engine.live_pass.own import numbers_of, own_functions
from shadowtime.engine.live_pass.table import FOREIGN, Table, table_of
from shadowtime.engine.plan import Prepared, prepare, refuse_functions_on_nodes
from shadowtime.engine.python_policy import estimate_of
from shadowtime.errors import PolicyError
from shadowtime.kernel import fields as f
from shadowtime.kernel.choice import HOW, ONCE
from shadowtime.kernel.registers import (
    BIG,
    CHANGED,
    CORRECTIONS,
    DECISIONS,
    FRESH,
    HEAD,
    KILLED,
    NEVER,
    SHADOW,
    VOLATILE,
    WAKE,
)
from shadowtime.policy import estimate
from shadowtime.policy.policy import Policy
from shadowtime.policy.predictors import FromLog
from shadowtime.policy.snapshot import Decision, Snapshot, Start, Stop, name_of
from shadowtime.types import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.engine.custom import Own
    from shadowtime.kernel.availability import Availability
    from shadowtime.kernel.choice import Choice

Shape = Literal["pool", "hosts", "nodes", "site"]
DONE = 0
NOTHING = 0
"""Mark of an unused place in the log of decisions."""


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The outcome of a pass: decisions in order, what to remember, when to look again."""

    decisions: tuple[Decision, ...]
    memory: Memory
    wake: int | None = None
    """The next instant at which a promise falls due, whatever else happens."""
    promises: Mapping[str, int] = field(default_factory=dict)
    """Promised starts of jobs that stay blocked."""
    unfit: tuple[str, ...] = ()
    """Jobs that the hosts at hand could not hold even when empty: they wait without a plan."""


def decide(
    policy: Policy | Any, state: Snapshot, memory: Memory | None = None, *, shape: Shape = "pool"
) -> Decided:
    """One pass of a policy on a state: the same compiled code as in a simulation.

    Rules
    -----
    ``shape`` is how the policy sees the machine: the hosts as one pool, as hosts that each hold
    whole jobs, as nodes that share bandwidth, or as the state's site with its partitions, limits
    and reservations. On a pool a start names no hosts.
    The estimates actual and noisy are refused: they are unknown of a real job.
    A job that the hosts at hand could not hold even when empty (``unfit``) is left out of the
    pass: nothing is reserved for it and no job waits for it.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import RunningJob, Snapshot, WaitingJob
    >>> from shadowtime.policy import parse_policy
    >>> four = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> state = Snapshot(now=2, cluster=four,
    ...     running=(RunningJob(id="1", submit=0, need=(3,), request=9, start=0),),
    ...     waiting=(WaitingJob(id="2", submit=1, need=(4,), request=5),
    ...              WaitingJob(id="3", submit=2, need=(1,), request=4)))
    >>> made = decide(parse_policy("easy"), state)
    >>> made.decisions[0].job, made.decisions[0].reason.label, made.promises
    ('3', 'backfilled', {'2': 9})
    """
    refuse(policy)
    memory = memory or Memory()
    if not isinstance(policy, Policy) and shape != "site":
        from shadowtime.engine.live_pass import python_policy

        return python_policy.decide(policy, state, memory, shape=shape)
    if shape == "site":
        from shadowtime.engine.live_pass import on_site

        return on_site.decide(policy, state, memory)
    if shape == "nodes":
        from shadowtime.engine.nodes.slurm import live_pass

        refuse_functions_on_nodes(policy)
        return live_pass.decide(policy, state, memory)
    machine = pooled(state.cluster) if shape == "pool" else state.cluster.replace(shape="hosts")
    kept = policy.reserve.kept
    table = table_of(policy, state, memory, machine, kept=kept)
    import_module("shadowtime.engine.live_pass.compiled.fill").set_aside(table.state)
    reg, n = table.state.reg, len(table.ids)
    reg[VOLATILE] = reg[CHANGED] = 1  # a real job may outlive anything: nothing is cached
    reg[FRESH] = table.fresh
    reg[HEAD] = table.row_of.get(memory.head, -1)
    reg[SHADOW] = memory.shadow
    own = own_functions(policy, table, state, memory)
    made = prepare(policy, machine, n, own)
    due, wake = None, NEVER
    if policy.backfill.selects:
        choice = made.arguments[1]
        recall_promises(choice, table, state.now)
        choice.mark[HOW] = ONCE  # what it planned is for the next snapshot
    if kept:
        recall_promises(made.arguments[0], table, state.now)
        import_module("shadowtime.engine.live_pass.compiled.conservative").once(
            table.state, *made.arguments
        )
        due, wake = made.arguments[0].due, int(reg[WAKE])
        table.state.did[:, int(reg[DECISIONS]) :] = NOTHING
    else:
        run_one_instant(policy, made, table, state.now, own)
    if policy.backfill.selects:
        due, wake = made.arguments[1].due, int(reg[WAKE])
    kept_numbers = memory.own if own is None else numbers_of(policy, table, state, memory, own)
    return Decided(
        decisions=tuple(decisions_of(table, machine)),
        memory=replace(remember(table, state, memory, due), own=kept_numbers),
        wake=wake if wake < NEVER else None,
        promises=promises_of(table, None if policy.backfill.selects else due),
        unfit=unfit_of(table, state),
    )


def unfit_of(table: Table, state: Snapshot) -> tuple[str, ...]:
    """The waiting jobs that never entered the queue of the pass."""
    kernel = table.state
    out = table.waits & (kernel.wait[f.PROCS, : len(table.ids)] == BIG)
    out[kernel.did[f.WHICH, kernel.did[f.KIND] != NOTHING]] = False
    if not out.any():
        return ()
    return tuple(job.id for job in state.waiting if out[table.row_of[job.id]])


def run_one_instant(
    policy: Policy, made: Prepared, table: Table, now: int, own: Own | None
) -> None:
    """The simulator's event loop itself, for an instant at which a timer goes off.

    No end is queued and no job ends before the horizon, so the loop is done after one pass; it
    may correct predictions of the future then, which is why the log is counted, not the register.
    """
    kernel, world = table.state, table.world
    kernel.reg[WAKE] = now
    kernel.reg[CORRECTIONS] = 0
    kernel.did[:] = NOTHING
    kernel.job[:, f.LIMIT] = world.truth[:, f.RUN] = NEVER
    run = import_module(f"shadowtime.engine.passes.{made.name}").run
    code = int(run(kernel, world, *made.arguments))
    raise_failure(policy, code, kernel, own, lambda job: table.ids[job])
    assert code == DONE, f"the event loop stopped with {code}"


def refuse(policy: Policy | Any) -> None:
    """Reject policies that cannot decide about real jobs."""
    if hasattr(policy, "simulate"):
        raise PolicyError(
            f"{name_of(policy)} is a whole scheduler and cannot decide live: use a catalogue policy"
        )
    name, guess = name_of(policy), estimate_of(policy)
    if isinstance(guess, estimate.Actual | estimate.Noisy):
        raise PolicyError(
            f"{name}: estimate={guess} needs the true run time, which is unknown for a real job; "
            "use requested, last or last-two"
        )
    if isinstance(guess, FromLog):
        raise PolicyError(
            f"{name}: estimate={guess} predicts from a whole log, which a live "
            "loop does not have; use last, last-two or a function with a memory (st.estimate)"
        )
    if not isinstance(policy, Policy):
        if isinstance(guess, estimate.Predicted):
            raise PolicyError(
                f"{name}: a policy written in Python cannot use estimate={guess} live; use "
                "requested, last or last-two"
            )
        return
    if policy.preempt.changes_runs:
        why = "the loop cannot see what a job has saved, and plans with its whole request"
        if policy.preempt.save_every == 1:
            why = "a suspended job keeps its nodes and its memory"
        raise PolicyError(
            f"{policy.name}: preempt={policy.preempt} is for simulations: live, {why}; use "
            "mode=kill with overhead=0"
        )
    if policy.order.by_event:
        raise PolicyError(f"{policy.name}: ties=pyss is an order of simulated events: leave it out")
    if policy.order.by_usage:
        raise PolicyError(
            f"{policy.name}: order={policy.order.name} follows usage through a whole run, which a "
            "live loop does not have; use another order live"
        )


def pooled(cluster: Cluster) -> Cluster:
    """All hosts as one."""
    total = cluster.total
    others = {name: total[name] for name in cluster.resources[1:]}
    return Cluster.pool(total["procs"], name=cluster.name, **others)


def recall_promises(availability: Availability | Choice, table: Table, now: int) -> None:
    """Write remembered promises into the availability profile; one that fell due is due now."""
    due = table.notes[:, DUE]
    at = np.flatnonzero(due >= 0)
    availability.due[at] = np.maximum(due[at], now)


def decisions_of(table: Table, machine: Cluster) -> list[Decision]:
    """The log of the pass in words."""
    state = table.state
    found: list[Decision] = []
    for i in range(int((state.did[f.KIND] != NOTHING).sum())):
        at = int(state.did[f.WHICH, i])
        if state.did[f.KIND, i] == KILLED:
            found.append(Stop(job=table.ids[at]))
            continue
        row = state.job[at]
        host = machine.hosts[int(row[f.HOST])].name
        place = ((host, int(row[f.NEED])),) if machine.shape == "hosts" else ()
        found.append(Start(job=table.ids[at], place=place, reason=Reason(int(row[f.REASON]))))
    return found


def promises_of(table: Table, due: Any) -> dict[str, int]:
    """The promised starts of waiting jobs, by job."""
    state = table.state
    n = len(table.ids)
    waits = state.wait[f.PROCS, :n] != BIG
    promised = state.job[:, f.PROMISED] if due is None else due[:n]
    found = np.flatnonzero(waits & (promised >= 0) & (promised < NEVER))
    ids = table.ids
    return dict(zip([ids[at] for at in found.tolist()], promised[found].tolist(), strict=True))


def remember(table: Table, state: Snapshot, memory: Memory, due: Any) -> Memory:
    """What the next pass must know."""
    kernel, n = table.state, len(table.ids)
    users = dict(memory.users)
    for user, at in table.users.items():
        known = kernel.user[at]
        if known[f.LAST_RUN] >= 0:
            users[user] = History(*map(int, known[[f.LAST_RUN, f.LAST_REQUEST, f.BEFORE_RUN]]))
    head = int(kernel.reg[HEAD])
    return Memory(
        now=state.now,
        jobs=notes_of(table, memory, due),
        users=users,
        head=table.ids[head] if 0 <= head < n else "",
        shadow=int(kernel.reg[SHADOW]),
        extra=memory.extra,
    )


def notes_of(table: Table, memory: Memory, due: Any) -> Notes:
    """What the next pass must know of the jobs: of all that are ours, or were and may be so again.

    A job that is not ours keeps the note that it had.
    """
    kernel, ids, n = table.state, table.ids, len(table.ids)
    values = kernel.job[
        :n, [f.SUBMIT, f.ESTIMATE, f.INITIAL, f.PROMISED, f.BLOCKED_AT, f.KILLS, f.KILLS]
    ]
    values[:, DUE] = -1 if due is None else np.where(due[:n] < NEVER, due[:n], -1)
    foreign = np.flatnonzero(values[:, SINCE] == FOREIGN)
    drop = [table.row_of[job] for job in table.ended]
    for at in foreign.tolist():
        before = memory.jobs.get(ids[at])
        if before is None:
            drop.append(at)
        else:
            values[at] = before
    if drop:
        values = np.delete(values, drop, axis=0)
        gone = set(drop)
        ids = [job for at, job in enumerate(ids) if at not in gone]
    return Notes(ids, values)
