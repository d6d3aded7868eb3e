"""What processes on a node would cost: the penalty of the shared windows ahead.

spec: algorithms 4.3 to 4.5.

Cost is counted in units of 1 / BASE seconds: the sum over the windows of their length times the
law's terms. Without the reservation the demand of a node never rises, so neither does the cost of
a later start; the reservation adds its own demand on its nodes for its time.
"""

from __future__ import annotations

from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel.jit import kernel


@kernel
def within_hold(table: Table, begin: int, end: int) -> int:
    """1 if [begin, end) overlaps the time of the reservation."""
    if (
        table.par["hold"][0] != 0
        and begin < table.par["hold_until"][0]
        and table.par["hold_from"][0] < end
    ):
        return 1
    return 0


@kernel
def running_at(table: Table, node: int, when: int) -> int:
    """Place in the node's line of the first process that still runs at an instant."""
    busy = table.node["busy"][node]
    at = 0
    while at < busy and table.line["end"][node, at] <= when:
        at += 1
    return at


@kernel
def room_on(table: Table, node: int, first: int, begin: int, without: int) -> int:
    """Processors of a node that are free from ``begin`` on; ``first`` as found by running_at."""
    cores = table.par["cores"][0]
    room = cores - table.node["busy"][node] + first
    pins = table.node["reserved"][node]
    if without != 0 and pins != 0:
        if begin >= table.par["hold_from"][0]:
            return room - pins
        p = node * cores
        while pins > 0:
            if table.proc["until"][p] <= table.par["hold_from"][0]:
                pins -= 1
                if table.proc["until"][p] <= begin:
                    room -= 1
            p += 1
    return room


@kernel
def clear_of_cost(
    table: Table, node: int, first: int, room: int, job: int, begin: int, hold: int
) -> int:
    """How many processes of a job cost nothing on a node, of the ``room`` there is."""
    line = table.line
    load = table.load
    clear = room
    busy = table.node["busy"][node]
    for h in range(len(table.hinge)):
        demand = load[node, h, first] if first < busy else 0
        if hold != 0 and table.node["reserved"][node] != 0:
            # Demand peaks where the job begins, or where the reservation does.
            at = first
            when = max(begin, table.par["hold_from"][0])
            while at < busy and line["end"][node, at] <= when:
                at += 1
            held = table.node["reserved"][node] * table.demand[table.par["hold_job"][0], h]
            if at < busy:
                held += load[node, h, at]
            demand = max(demand, held)
        below = table.hinge["edge"][h] - demand
        each = table.demand[job, h]
        if below < 0:
            return 0
        if clear * each > below:
            clear = below // each
    return clear


@kernel
def cost_on(
    table: Table, node: int, first: int, count: int, job: int, begin: int, end: int, hold: int
) -> int:
    """Cost of ``count`` processes of a job on a node during [begin, end)."""
    line = table.line
    load = table.load
    total = 0
    busy = table.node["busy"][node]
    for h in range(len(table.hinge)):
        edge = table.hinge["edge"][h] - count * table.demand[job, h]
        some = 0
        at = begin
        i = first
        while i < busy and at < end:
            over = load[node, h, i] - edge
            if over <= 0:
                break
            until = min(line["end"][node, i], end)
            some += (until - at) * over
            at = until
            i += 1
        if i == busy and at < end and edge < 0:
            some += (at - end) * edge
        if hold != 0 and table.node["reserved"][node] != 0:
            # What the reservation adds while it lasts.
            held = table.node["reserved"][node] * table.demand[table.par["hold_job"][0], h]
            at = max(begin, table.par["hold_from"][0])
            close = min(end, table.par["hold_until"][0])
            i = first
            while at < close:
                while i < busy and line["end"][node, i] <= at:
                    i += 1
                demand = load[node, h, i] - edge if i < busy else -edge
                until = min(line["end"][node, i], close) if i < busy else close
                some += (until - at) * (max(0, demand + held) - max(0, demand))
                at = until
        total += table.hinge["weight"][h] * some
    return total
