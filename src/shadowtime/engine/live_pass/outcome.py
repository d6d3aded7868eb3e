"""The outcome of a live pass: decisions by job from the log of the pass, what to remember."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.live_pass.memory import DUE, SINCE, History, Memory, Notes
from shadowtime.engine.live_pass.table import FOREIGN, Table
from shadowtime.kernel import fields as f
from shadowtime.kernel.choice import Choice
from shadowtime.kernel.registers import BIG, HEAD, KILLED, NEVER, SHADOW
from shadowtime.policy.snapshot import Decision, Snapshot, Start, Stop
from shadowtime.types import AnyArray, Reason

if TYPE_CHECKING:
    from shadowtime.kernel.availability import Availability
    from shadowtime.kernel.state import State

Shape = Literal["pool", "hosts", "nodes", "site"]
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


def pooled(cluster: Cluster) -> Cluster:
    """All hosts as one."""
    total = cluster.total
    others = {name: total[name] for name in cluster.resources[1:]}
    return Cluster.pool(total["procs"], name=cluster.name, **others)


def seen_as(cluster: Cluster, shape: Shape) -> Cluster:
    """The machine as a policy sees it that knows a pool, or hosts."""
    return pooled(cluster) if shape == "pool" else cluster.replace(shape="hosts")


def starts_of(kernel: State, table: Table, state: Snapshot) -> dict[str, int]:
    """When the waiting jobs started in a run into the future, those that did."""
    start = kernel.job[:, f.START]
    found = {job.id: int(start[table.row_of[job.id]]) for job in state.waiting}
    return {job: when for job, when in found.items() if when >= 0}


def recall_promises(availability: Availability | Choice, table: Table, now: int) -> None:
    """Write remembered promises into the availability profile; one that fell due is due now."""
    due = table.notes[:, DUE]
    at = np.flatnonzero(due >= 0)
    availability.due[at] = np.maximum(due[at], now)


def decisions_of(table: Table, machine: Cluster) -> list[Decision]:
    """The decisions in the log of the pass, in order."""
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


def promises_of(table: Table, due: AnyArray | None) -> dict[str, int]:
    """The promised starts of waiting jobs, by job."""
    state = table.state
    n = len(table.ids)
    waits = state.wait[f.PROCS, :n] != BIG
    promised = state.job[:, f.PROMISED] if due is None else due[:n]
    found = np.flatnonzero(waits & (promised >= 0) & (promised < NEVER))
    ids = table.ids
    return dict(zip([ids[at] for at in found.tolist()], promised[found].tolist(), strict=True))


def unfit_of(table: Table, state: Snapshot) -> tuple[str, ...]:
    """The waiting jobs that never entered the queue of the pass."""
    kernel = table.state
    out = table.waits & (kernel.wait[f.PROCS, : len(table.ids)] == BIG)
    out[kernel.did[f.WHICH, kernel.did[f.KIND] != NOTHING]] = False
    if not out.any():
        return ()
    return tuple(job.id for job in state.waiting if out[table.row_of[job.id]])


def remember(table: Table, state: Snapshot, memory: Memory, due: AnyArray | None) -> Memory:
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


def notes_of(table: Table, memory: Memory, due: AnyArray | None) -> Notes:
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
