"""The Reservation Table: who holds which processor until when (spec 4.2).

A running job holds its processors until start + limit, and the reservation pins certain ones for
its time; nothing else is in the table, so a processor is described by one end. Beside it every
node keeps its line: the ends of its processes in ascending order, and the demand that is left
before each of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel
from shadowtime.kernel.nodes.fields import (
    BUSY,
    CORES,
    COUNTED,
    DEMAND,
    FIRST,
    FREE,
    HINGES,
    LAST,
    LOGGED,
    NEXT,
    OWNER,
    PARAMETERS,
    PINNED,
    PLACE_BITS,
    PLACES,
    SPARE,
    UNTIL,
)


class Table(NamedTuple):
    """What the scheduler knows of the nodes; columns are named in fields.py."""

    par: Any  # int64[PARAMETERS]
    proc: Any  # int64[P, 4]
    node: Any  # int64[N, 6]
    ends: Any  # int64[N, C]: the line of each node, ascending
    who: Any  # int64[N, C]: whose end it is
    load: Any  # int64[H, N, C]: demand of the processes from that place of the line on
    job: Any  # int64[n, DEMAND + H]
    law: Any  # int64[H, 2]
    theta: Any  # int64[T, 2]
    cost: Any  # int64[N, C]: what one more process costs, in the evaluation at hand
    scratch: Any  # int64[max(P, running) + 1]
    found: Any  # int64[n + 1]: candidates
    pins: Any  # int64[P]
    places: Any  # int64[sum of the most nodes each job can lie on]: log of places


def make_table(*, nodes: int, cores: int, procs: Any, demand: Any, law: Any, theta: Any) -> Table:
    """An empty table; ``procs`` and ``demand`` (a column per hinge) are those of the jobs."""
    n, hinges = demand.shape
    processors = nodes * cores
    par = np.zeros(PARAMETERS, np.int64)
    proc = np.zeros((processors, 4), np.int64)
    proc[:, OWNER] = proc[:, NEXT] = -1
    job = np.full((n, DEMAND + hinges), -1, np.int64)
    job[:, DEMAND:] = demand
    return Table(
        par=par,
        proc=proc,
        node=np.zeros((nodes, 6), np.int64),
        ends=np.zeros((nodes, cores), np.int64),
        who=np.zeros((nodes, cores), np.int64),
        load=np.zeros((hinges, nodes, cores), np.int64),
        job=job,
        law=law,
        theta=theta,
        cost=np.zeros((nodes, cores), np.int64),
        scratch=np.zeros(2 * processors + 2, np.int64),
        found=np.zeros(n + 1, np.int64),
        pins=np.zeros(processors, np.int64),
        places=np.empty(int(np.minimum(procs, nodes).sum()) + 1, np.int64),
    )


@kernel
def join_line(t: Any, node: int, job: int, count: int, until: int) -> None:
    """Add processes of a job to the line of a node, behind all that end no later."""
    busy = t.node[node, BUSY]
    at = busy
    while at > 0 and t.ends[node, at - 1] > until:
        at -= 1
        t.ends[node, at + count] = t.ends[node, at]
        t.who[node, at + count] = t.who[node, at]
    for i in range(at, at + count):
        t.ends[node, i] = until
        t.who[node, i] = job
    for h in range(t.par[HINGES]):
        each = t.job[job, DEMAND + h]
        for i in range(busy - 1, at - 1, -1):
            t.load[h, node, i + count] = t.load[h, node, i]
        behind = t.load[h, node, at + count] if at < busy else 0
        for i in range(count):
            t.load[h, node, at + i] = behind + (count - i) * each
        for i in range(at):
            t.load[h, node, i] += count * each
    t.node[node, BUSY] = busy + count


@kernel
def leave_line(t: Any, node: int, job: int) -> None:
    """Take the processes of a job out of the line of a node: they stand side by side."""
    busy = t.node[node, BUSY]
    at = 0
    while t.who[node, at] != job:
        at += 1
    beyond = at
    while beyond < busy and t.who[node, beyond] == job:
        beyond += 1
    count = beyond - at
    for i in range(beyond, busy):
        t.ends[node, i - count] = t.ends[node, i]
        t.who[node, i - count] = t.who[node, i]
    for h in range(t.par[HINGES]):
        gone = count * t.job[job, DEMAND + h]
        for i in range(at):
            t.load[h, node, i] -= gone
        for i in range(beyond, busy):
            t.load[h, node, i - count] = t.load[h, node, i]
    t.node[node, BUSY] = busy - count


@kernel
def claim(t: Any, job: int, node: int, count: int, until: int, without: bool) -> None:
    """Give a job the lowest free processors of a node (not the pinned ones if ``without``)."""
    if t.job[job, LOGGED] < 0:
        t.job[job, LOGGED] = t.par[PLACES]
    t.places[t.par[PLACES]] = node << PLACE_BITS | count
    t.par[PLACES] += 1
    join_line(t, node, job, count, until)
    counts_spare = t.par[COUNTED] == 0
    left = count
    p = node * t.par[CORES]
    while left > 0:
        if t.proc[p, OWNER] < 0 and not (without and t.proc[p, PINNED] != 0):
            t.proc[p, OWNER] = job
            t.proc[p, UNTIL] = until
            t.proc[p, NEXT] = -1
            if t.job[job, FIRST] < 0:
                t.job[job, FIRST] = p
            else:
                t.proc[t.job[job, LAST], NEXT] = p
            t.job[job, LAST] = p
            if counts_spare and t.proc[p, PINNED] == 0:
                t.par[SPARE] -= 1
            left -= 1
        p += 1
    t.par[FREE] -= count


@kernel
def vacate(t: Any, job: int) -> None:
    """A job is gone: free its processors. The chain of its processors can still be walked."""
    cores = t.par[CORES]
    p = t.job[job, FIRST]
    beyond = 0
    while p >= 0:
        if p >= beyond:
            node = p // cores
            beyond = (node + 1) * cores
            leave_line(t, node, job)
        t.proc[p, OWNER] = -1
        t.proc[p, UNTIL] = 0
        t.par[FREE] += 1
        p = t.proc[p, NEXT]


@kernel
def postpone(t: Any, job: int, until: int) -> None:
    """A running job has outlived its end in the table: write a later one."""
    cores = t.par[CORES]
    p = t.job[job, FIRST]
    while p >= 0:
        node = p // cores
        beyond = (node + 1) * cores
        count = 0
        while 0 <= p < beyond:
            t.proc[p, UNTIL] = until
            count += 1
            p = t.proc[p, NEXT]
        leave_line(t, node, job)
        join_line(t, node, job, count, until)
