"""The Reservation Table: which job holds which processor until when (spec: algorithms 4.2).

A running job holds its processors until start + limit, and the reservation pins certain ones for
its time; nothing else is in the table, so a processor is described by one end. Beside it every
node keeps its line: the ends of its processes in ascending order, and the demand that is left
before each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from shadowtime.engine.nodes import fields as f
from shadowtime.kernel.columns import as_rows, filled
from shadowtime.kernel.jit import kernel
from shadowtime.types import AnyArray, Ints, Rows


class Table(NamedTuple):
    """What the scheduler knows of the nodes; columns are named in fields.py."""

    par: Rows  # REGISTERS[1]
    hinge: Rows  # HINGES[H]: terms of the law of slowdown
    theta: Rows  # THRESHOLDS[T]
    proc: Rows  # PROCESSORS[P]
    node: Rows  # NODES[N]
    line: Rows  # LINES[N, C]: the processes on a node by their end in the table
    load: Ints  # int64[N, H, C]: their demand from that place of the line on
    job: Rows  # JOBS[n]
    demand: Ints  # int64[n, H]: per process, as the scheduler believes
    running: Ints  # int64[P + 2]: running jobs as (end in the table, job), ascending
    roomy: Rows  # COUNTS[2, n + 1]: by kind, without and with the reservation
    slot: Rows  # SLOTS[MOST_SLOTS]: whose numbers ``clears`` holds
    clears: Ints  # int64[MOST_SLOTS, P + 2]: by number of ends: processes that cost nothing then


def make_table(
    *, nodes: int, cores: int, demand: Ints, base: int, hinges: AnyArray, thresholds: AnyArray
) -> Table:
    """An empty table; ``demand`` has a row per job and a column per hinge."""
    n = demand.shape[0]
    procs = nodes * cores
    par = np.zeros(1, f.REGISTERS)
    par["nodes"], par["cores"], par["base"] = nodes, cores, base
    par["theta_to"] = len(thresholds)
    par["version"] = 1
    par["bits"] = max(1, n.bit_length())
    par["free"] = procs
    par["head"] = -1
    proc = np.zeros(procs, f.PROCESSORS)
    proc["owner"] = proc["next"] = -1
    job = filled(n, f.JOBS, -1)
    job["kind"] = numbered(n, demand.T)
    return Table(
        par=par,
        hinge=as_rows(hinges, f.HINGES),
        theta=as_rows(thresholds, f.THRESHOLDS),
        proc=proc,
        node=np.zeros(nodes, f.NODES),
        line=np.zeros((nodes, cores), f.LINES),
        load=np.zeros((nodes, len(hinges), cores), np.int64),
        job=job,
        demand=np.ascontiguousarray(demand, np.int64),
        running=np.zeros(procs + 2, np.int64),
        roomy=np.zeros((2, n + 1), f.COUNTS),
        slot=np.zeros(f.MOST_SLOTS, f.SLOTS),
        clears=np.zeros((f.MOST_SLOTS, procs + 2), np.int64),
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
    return table.running[at] >> table.par["bits"][0]


@kernel
def job_at(table: Table, at: int) -> int:
    """The running job at a place in the list."""
    return table.running[at] & ((1 << table.par["bits"][0]) - 1)


@kernel
def free_at(table: Table, when: int) -> int:
    """Processors that the running jobs leave free at an instant."""
    free = table.par["free"][0]
    at = 0
    while at < table.par["running"][0] and end_at(table, at) <= when:
        free += table.job["procs"][job_at(table, at)]
        at += 1
    return free


@kernel
def enlist(table: Table, job: int, until: int) -> None:
    """Add a job to the running list, by its end in the table."""
    keys = table.running
    key = until << table.par["bits"][0] | job
    at = table.par["running"][0]
    while at > 0 and keys[at - 1] > key:
        keys[at] = keys[at - 1]
        at -= 1
    keys[at] = key
    table.par["running"][0] += 1
    table.par["version"][0] += 1


@kernel
def delist(table: Table, job: int) -> None:
    """Take a job off the running list."""
    keys = table.running
    key = table.proc["until"][table.job["first"][job]] << table.par["bits"][0] | job
    low = 0
    high = table.par["running"][0]
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    last = table.par["running"][0] - 1
    for i in range(low, last):
        keys[i] = keys[i + 1]
    table.par["running"][0] = last
    table.par["version"][0] += 1


# ------------------------------------------------------------------------ the lines of nodes
@kernel
def join_line(table: Table, node: int, job: int, count: int, until: int) -> None:
    """Add processes of a job to the line of a node, behind all that end no later."""
    line = table.line
    load = table.load
    busy = table.node["busy"][node]
    at = busy
    while at > 0 and line["end"][node, at - 1] > until:
        at -= 1
        line["end"][node, at + count] = line["end"][node, at]
        line["job"][node, at + count] = line["job"][node, at]
    for i in range(at, at + count):
        line["end"][node, i] = until
        line["job"][node, i] = job
    for h in range(len(table.hinge)):
        each = table.demand[job, h]
        for i in range(busy - 1, at - 1, -1):
            load[node, h, i + count] = load[node, h, i]
        behind = load[node, h, at + count] if at < busy else 0
        for i in range(count):
            load[node, h, at + i] = behind + (count - i) * each
        for i in range(at):
            load[node, h, i] += count * each
    table.node["busy"][node] = busy + count
    full = busy + count == table.par["cores"][0]
    table.node["soonest"][node] = line["end"][node, 0] if full else 0


@kernel
def leave_line(table: Table, node: int, job: int, count: int) -> None:
    """Take the processes of a job out of the line of a node: they stand side by side."""
    line = table.line
    load = table.load
    busy = table.node["busy"][node]
    table.node["busy"][node] = busy - count
    table.node["soonest"][node] = 0
    table.par["lowest"][0] = min(table.par["lowest"][0], node)
    if busy == count:
        return
    at = 0
    while line["job"][node, at] != job:
        at += 1
    beyond = at + count
    for i in range(beyond, busy):
        line["end"][node, i - count] = line["end"][node, i]
        line["job"][node, i - count] = line["job"][node, i]
    for h in range(len(table.hinge)):
        gone = count * table.demand[job, h]
        for i in range(at):
            load[node, h, i] -= gone
        for i in range(beyond, busy):
            load[node, h, i - count] = load[node, h, i]


# ------------------------------------------------------------------------ processors
@kernel
def claim(table: Table, job: int, node: int, count: int, until: int, without: int) -> None:
    """Give a job the lowest free processors of a node (not the pinned ones if ``without``)."""
    proc = table.proc
    join_line(table, node, job, count, until)
    pins = table.node["reserved"][node]
    pinned = 0
    first = -1
    left = count
    p = node * table.par["cores"][0]
    while left > 0:
        pin = pins > 0 and proc["until"][p] <= table.par["hold_from"][0]
        if pin:
            pins -= 1
        if proc["owner"][p] < 0 and not (pin and without != 0):
            proc["owner"][p] = job
            proc["until"][p] = until
            if pin:
                pinned += 1
            if first < 0:
                first = p
            left -= 1
        p += 1
    proc["processes"][first] = count
    proc["next"][first] = -1
    if table.job["first"][job] < 0:
        table.job["first"][job] = first
    else:
        proc["next"][table.job["last"][job]] = first
    table.job["last"][job] = first
    table.par["free"][0] -= count
    if table.par["hold"][0] == 1 and table.par["counted"][0] == 0:
        table.par["spare"][0] -= count - pinned


@kernel
def vacate(table: Table, job: int) -> None:
    """A job is gone: free its processors. The chain of its parts can still be walked."""
    delist(table, job)
    proc = table.proc
    cores = table.par["cores"][0]
    p = table.job["first"][job]
    while p >= 0:
        left = proc["processes"][p]
        leave_line(table, p // cores, job, left)
        proc["processes"][p] = 0
        at = p
        while left > 0:
            if proc["owner"][at] == job:
                proc["owner"][at] = -1
                proc["until"][at] = 0
                left -= 1
            at += 1
        p = proc["next"][p]
    table.par["free"][0] += table.job["procs"][job]


@kernel
def postpone(table: Table, job: int, until: int) -> None:
    """A running job has outlived its end in the table: write a later one."""
    delist(table, job)
    proc = table.proc
    cores = table.par["cores"][0]
    p = table.job["first"][job]
    while p >= 0:
        count = proc["processes"][p]
        node = p // cores
        leave_line(table, node, job, count)
        join_line(table, node, job, count, until)
        at = p
        left = count
        while left > 0:
            if proc["owner"][at] == job:
                proc["until"][at] = until
                left -= 1
            at += 1
        p = proc["next"][p]
    enlist(table, job, until)
