"""The Reservation Table: which job holds which processor until when (spec: algorithms 4.2).

A running job holds its processors until start + limit, and the reservation pins certain ones for
its time; nothing else is in the table, so a processor is described by one end. Beside it every
node keeps its line: the ends of its processes in ascending order, and the demand that is left
before each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.nodes import fields as f
from shadowtime.kernel.jit import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.types import AnyArray, Ints


class Table(NamedTuple):
    """What the scheduler knows of the nodes; columns and rows are named in fields.py."""

    par: Any  # int64[LAW + 2 H + 2 T]
    proc: Any  # int64[P, 4]
    node: Any  # int64[N, ENDS + (3 + H) C]
    job: Any  # int64[n, DEMAND + H]
    list: Any  # int64[LISTS, max(n, 2 P) + 2]


def make_table(
    *, nodes: int, cores: int, demand: Ints, base: int, hinges: AnyArray, thresholds: AnyArray
) -> Table:
    """An empty table; ``demand`` has a row per job and a column per hinge."""
    n = demand.shape[0]
    par = np.zeros(f.LAW + 2 * len(hinges) + 2 * len(thresholds), np.int64)
    par[f.LAW :] = np.concatenate([np.ravel(hinges), np.ravel(thresholds)])
    for register, value in (
        (f.NODES, nodes),
        (f.CORES, cores),
        (f.HINGES, len(hinges)),
        (f.BASE, base),
        (f.THETAS, len(thresholds)),
        (f.THETA_TO, len(thresholds)),
        (f.VERSION, 1),
        (f.BITS, max(1, n.bit_length())),
        (f.FREE, nodes * cores),
        (f.HEAD, -1),
    ):
        par[register] = value
    proc = np.zeros((nodes * cores, 4), np.int64)
    proc[:, f.OWNER] = proc[:, f.NEXT] = -1
    job = np.full((n, f.DEMAND + len(hinges)), -1, np.int64)
    job[:, f.DEMAND :] = demand
    job[:, f.KIND] = numbered(n, demand.T)
    return Table(
        par=par,
        proc=proc,
        node=np.zeros((nodes, f.ENDS + (3 + len(hinges)) * cores), np.int64),
        job=job,
        list=np.zeros((f.LISTS, max(n, 2 * nodes * cores) + 2), np.int64),
    )


def numbered(n: int, columns: Iterable[AnyArray]) -> Any:
    """Numbers of ``n`` rows, from 0 on: rows that are equal in all columns have the same.

    Examples
    --------
    >>> numbered(3, [np.array([8, 4, 8]), np.array([1, 1, 1])]).tolist()
    [1, 0, 1]
    """
    number = np.zeros(n, np.int64)
    for column in columns:  # one at a time: sorting whole rows costs ten times as much
        values, code = np.unique(column, return_inverse=True)
        both = number * len(values) + code
        number = np.unique(both, return_inverse=True)[1] if number.any() else code
    return number


# ------------------------------------------------------------------------ the running jobs
@kernel
def end_at(table: Table, at: int) -> int:
    """End in the table of the running job at a place in the list."""
    return table.list[f.KEYS, at] >> table.par[f.BITS]


@kernel
def job_at(table: Table, at: int) -> int:
    """The running job at a place in the list."""
    return table.list[f.KEYS, at] & ((1 << table.par[f.BITS]) - 1)


@kernel
def free_at(table: Table, when: int) -> int:
    """Processors that the running jobs leave free at an instant."""
    free = table.par[f.FREE]
    at = 0
    while at < table.par[f.RUNNING] and end_at(table, at) <= when:
        free += table.job[job_at(table, at), f.PROCS]
        at += 1
    return free


@kernel
def enlist(table: Table, job: int, until: int) -> None:
    """Add a job to the running list, by its end in the table."""
    keys = table.list
    key = until << table.par[f.BITS] | job
    at = table.par[f.RUNNING]
    while at > 0 and keys[f.KEYS, at - 1] > key:
        keys[f.KEYS, at] = keys[f.KEYS, at - 1]
        at -= 1
    keys[f.KEYS, at] = key
    table.par[f.RUNNING] += 1
    table.par[f.VERSION] += 1


@kernel
def delist(table: Table, job: int) -> None:
    """Take a job off the running list."""
    keys = table.list
    key = table.proc[table.job[job, f.FIRST], f.UNTIL] << table.par[f.BITS] | job
    low = 0
    high = table.par[f.RUNNING]
    while low < high:
        middle = (low + high) >> 1
        if keys[f.KEYS, middle] < key:
            low = middle + 1
        else:
            high = middle
    last = table.par[f.RUNNING] - 1
    for i in range(low, last):
        keys[f.KEYS, i] = keys[f.KEYS, i + 1]
    table.par[f.RUNNING] = last
    table.par[f.VERSION] += 1


# ------------------------------------------------------------------------ the lines of nodes
@kernel
def join_line(table: Table, node: int, job: int, count: int, until: int) -> None:
    """Add processes of a job to the line of a node, behind all that end no later."""
    line = table.node
    cores = table.par[f.CORES]
    hinges = table.par[f.HINGES]
    busy = line[node, f.BUSY]
    who = f.ENDS + (1 + hinges) * cores
    at = busy
    while at > 0 and line[node, f.ENDS + at - 1] > until:
        at -= 1
        line[node, f.ENDS + at + count] = line[node, f.ENDS + at]
        line[node, who + at + count] = line[node, who + at]
    for i in range(at, at + count):
        line[node, f.ENDS + i] = until
        line[node, who + i] = job
    for h in range(hinges):
        each = table.job[job, f.DEMAND + h]
        load = f.ENDS + (1 + h) * cores
        for i in range(load + busy - 1, load + at - 1, -1):
            line[node, i + count] = line[node, i]
        behind = line[node, load + at + count] if at < busy else 0
        for i in range(count):
            line[node, load + at + i] = behind + (count - i) * each
        for i in range(load, load + at):
            line[node, i] += count * each
    line[node, f.BUSY] = busy + count
    table.list[f.SOONEST, node] = line[node, f.ENDS] if busy + count == cores else 0


@kernel
def leave_line(table: Table, node: int, job: int, count: int) -> None:
    """Take the processes of a job out of the line of a node: they stand side by side."""
    line = table.node
    cores = table.par[f.CORES]
    hinges = table.par[f.HINGES]
    busy = line[node, f.BUSY]
    line[node, f.BUSY] = busy - count
    table.list[f.SOONEST, node] = 0
    table.par[f.LOWEST] = min(table.par[f.LOWEST], node)
    if busy == count:
        return
    who = f.ENDS + (1 + hinges) * cores
    at = 0
    while line[node, who + at] != job:
        at += 1
    beyond = at + count
    for i in range(beyond, busy):
        line[node, f.ENDS + i - count] = line[node, f.ENDS + i]
        line[node, who + i - count] = line[node, who + i]
    for h in range(hinges):
        gone = count * table.job[job, f.DEMAND + h]
        load = f.ENDS + (1 + h) * cores
        for i in range(load, load + at):
            line[node, i] -= gone
        for i in range(load + beyond, load + busy):
            line[node, i - count] = line[node, i]


# ------------------------------------------------------------------------ processors
@kernel
def claim(table: Table, job: int, node: int, count: int, until: int, without: int) -> None:
    """Give a job the lowest free processors of a node (not the pinned ones if ``without``)."""
    proc = table.proc
    join_line(table, node, job, count, until)
    pins = table.node[node, f.RESERVED]
    pinned = 0
    first = -1
    left = count
    p = node * table.par[f.CORES]
    while left > 0:
        pin = pins > 0 and proc[p, f.UNTIL] <= table.par[f.HOLD_FROM]
        if pin:
            pins -= 1
        if proc[p, f.OWNER] < 0 and not (pin and without != 0):
            proc[p, f.OWNER] = job
            proc[p, f.UNTIL] = until
            if pin:
                pinned += 1
            if first < 0:
                first = p
            left -= 1
        p += 1
    proc[first, f.PROCESSES] = count
    proc[first, f.NEXT] = -1
    if table.job[job, f.FIRST] < 0:
        table.job[job, f.FIRST] = first
    else:
        proc[table.job[job, f.LAST], f.NEXT] = first
    table.job[job, f.LAST] = first
    table.par[f.FREE] -= count
    if table.par[f.HOLD] == 1 and table.par[f.COUNTED] == 0:
        table.par[f.SPARE] -= count - pinned


@kernel
def vacate(table: Table, job: int) -> None:
    """A job is gone: free its processors. The chain of its parts can still be walked."""
    delist(table, job)
    proc = table.proc
    cores = table.par[f.CORES]
    p = table.job[job, f.FIRST]
    while p >= 0:
        left = proc[p, f.PROCESSES]
        leave_line(table, p // cores, job, left)
        proc[p, f.PROCESSES] = 0
        at = p
        while left > 0:
            if proc[at, f.OWNER] == job:
                proc[at, f.OWNER] = -1
                proc[at, f.UNTIL] = 0
                left -= 1
            at += 1
        p = proc[p, f.NEXT]
    table.par[f.FREE] += table.job[job, f.PROCS]


@kernel
def postpone(table: Table, job: int, until: int) -> None:
    """A running job has outlived its end in the table: write a later one."""
    delist(table, job)
    proc = table.proc
    cores = table.par[f.CORES]
    p = table.job[job, f.FIRST]
    while p >= 0:
        count = proc[p, f.PROCESSES]
        node = p // cores
        leave_line(table, node, job, count)
        join_line(table, node, job, count, until)
        at = p
        left = count
        while left > 0:
            if proc[at, f.OWNER] == job:
                proc[at, f.UNTIL] = until
                left -= 1
            at += 1
        p = proc[p, f.NEXT]
    enlist(table, job, until)
