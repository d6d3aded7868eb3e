"""What processes on a node would cost: the penalty of the shared windows ahead (spec 4.3 to 4.5).

Cost is counted in units of 1 / BASE seconds: the sum over the windows of their length times the
law's terms. Without the reservation the demand of a node never rises, so neither does the cost of
a later start; the reservation adds its own demand on its nodes for its time.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel
from shadowtime.kernel.nodes.fields import (
    BUSY,
    CORES,
    DEMAND,
    EDGE,
    HINGES,
    HOLD_FROM,
    HOLD_JOB,
    HOLD_UNTIL,
    PINNED,
    RESERVED,
    UNTIL,
    WEIGHT,
)


@kernel
def running_at(t: Any, node: int, when: int) -> int:
    """Place in the node's line of the first process that still runs at an instant."""
    busy = t.node[node, BUSY]
    at = 0
    while at < busy and t.ends[node, at] <= when:
        at += 1
    return at


@kernel
def room_on(t: Any, node: int, first: int, begin: int, without: bool) -> int:
    """Processors of a node that are free from ``begin`` on; ``first`` as found by running_at."""
    cores = t.par[CORES]
    room = cores - t.node[node, BUSY] + first
    if without and t.node[node, RESERVED] != 0:
        for p in range(node * cores, node * cores + cores):
            if t.proc[p, PINNED] != 0 and t.proc[p, UNTIL] <= begin:
                room -= 1
    return room


@kernel
def demand_at(t: Any, hinge: int, node: int, when: int) -> int:
    """Demand of the running jobs on a node at an instant."""
    first = running_at(t, node, when)
    return t.load[hinge, node, first] if first < t.node[node, BUSY] else 0


@kernel
def clear_of_cost(
    t: Any, node: int, first: int, room: int, job: int, begin: int, hold: bool
) -> int:
    """How many processes of a job cost nothing on a node, of the ``room`` there is."""
    clear = room
    for h in range(t.par[HINGES]):
        demand = t.load[h, node, first] if first < t.node[node, BUSY] else 0
        if hold and t.node[node, RESERVED] != 0:
            held = t.node[node, RESERVED] * t.job[t.par[HOLD_JOB], DEMAND + h]
            demand = max(demand, held + demand_at(t, h, node, max(begin, t.par[HOLD_FROM])))
        below = t.law[h, EDGE] - demand
        each = t.job[job, DEMAND + h]
        if below < 0:
            return 0
        if clear * each > below:
            clear = below // each
    return clear


@kernel
def cost_on(
    t: Any, node: int, first: int, count: int, job: int, begin: int, end: int, hold: bool
) -> int:
    """Cost of ``count`` processes of a job on a node during [begin, end)."""
    total = 0
    busy = t.node[node, BUSY]
    for h in range(t.par[HINGES]):
        edge = t.law[h, EDGE] - count * t.job[job, DEMAND + h]
        some = 0
        at = begin
        i = first
        while i < busy and at < end:
            over = t.load[h, node, i] - edge
            if over <= 0:
                break
            until = min(t.ends[node, i], end)
            some += (until - at) * over
            at = until
            i += 1
        if i == busy and at < end and edge < 0:
            some += (at - end) * edge
        if hold and t.node[node, RESERVED] != 0:
            some += held_cost(t, h, node, first, edge, begin, end)
        total += t.law[h, WEIGHT] * some
    return total


@kernel
def held_cost(t: Any, h: int, node: int, first: int, edge: int, begin: int, end: int) -> int:
    """What the reservation adds to the cost on one of its nodes."""
    begin = max(begin, t.par[HOLD_FROM])
    end = min(end, t.par[HOLD_UNTIL])
    held = t.node[node, RESERVED] * t.job[t.par[HOLD_JOB], DEMAND + h]
    busy = t.node[node, BUSY]
    some = 0
    at = begin
    i = first
    while at < end:
        while i < busy and t.ends[node, i] <= at:
            i += 1
        demand = t.load[h, node, i] if i < busy else 0
        until = min(t.ends[node, i], end) if i < busy else end
        some += (until - at) * (max(0, demand + held - edge) - max(0, demand - edge))
        at = until
    return some
