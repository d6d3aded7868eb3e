"""What processes on a node would cost: the penalty of the shared windows ahead.

spec: algorithms 4.3 to 4.5.

Cost is counted in units of 1 / BASE seconds: the sum over the windows of their length times the
law's terms. Without the reservation the demand of a node never rises, so neither does the cost of
a later start; the reservation adds its own demand on its nodes for its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.nodes import fields as nf
from shadowtime.kernel.jit import kernel

if TYPE_CHECKING:
    from shadowtime.engine.nodes.running_table import Table


@kernel
def within_hold(table: Table, begin: int, end: int) -> int:
    """1 if [begin, end) overlaps the time of the reservation."""
    if (
        table.par[nf.HOLD] != 0
        and begin < table.par[nf.HOLD_UNTIL]
        and table.par[nf.HOLD_FROM] < end
    ):
        return 1
    return 0


@kernel
def running_at(table: Table, node: int, when: int) -> int:
    """Place in the node's line of the first process that still runs at an instant."""
    busy = table.node[node, nf.BUSY]
    at = 0
    while at < busy and table.node[node, nf.ENDS + at] <= when:
        at += 1
    return at


@kernel
def room_on(table: Table, node: int, first: int, begin: int, without: int) -> int:
    """Processors of a node that are free from ``begin`` on; ``first`` as found by running_at."""
    cores = table.par[nf.CORES]
    room = cores - table.node[node, nf.BUSY] + first
    pins = table.node[node, nf.RESERVED]
    if without != 0 and pins != 0:
        if begin >= table.par[nf.HOLD_FROM]:
            return room - pins
        p = node * cores
        while pins > 0:
            if table.proc[p, nf.UNTIL] <= table.par[nf.HOLD_FROM]:
                pins -= 1
                if table.proc[p, nf.UNTIL] <= begin:
                    room -= 1
            p += 1
    return room


@kernel
def clear_of_cost(
    table: Table, node: int, first: int, room: int, job: int, begin: int, hold: int
) -> int:
    """How many processes of a job cost nothing on a node, of the ``room`` there is."""
    line = table.node
    clear = room
    busy = line[node, nf.BUSY]
    for h in range(table.par[nf.HINGES]):
        load = nf.ENDS + (1 + h) * table.par[nf.CORES]
        demand = line[node, load + first] if first < busy else 0
        if hold != 0 and line[node, nf.RESERVED] != 0:
            # Demand peaks where the job begins, or where the reservation does.
            at = first
            when = max(begin, table.par[nf.HOLD_FROM])
            while at < busy and line[node, nf.ENDS + at] <= when:
                at += 1
            held = line[node, nf.RESERVED] * table.job[table.par[nf.HOLD_JOB], nf.DEMAND + h]
            if at < busy:
                held += line[node, load + at]
            demand = max(demand, held)
        below = table.par[nf.LAW + 2 * h + nf.EDGE] - demand
        each = table.job[job, nf.DEMAND + h]
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
    line = table.node
    total = 0
    busy = line[node, nf.BUSY]
    for h in range(table.par[nf.HINGES]):
        load = nf.ENDS + (1 + h) * table.par[nf.CORES]
        edge = table.par[nf.LAW + 2 * h + nf.EDGE] - count * table.job[job, nf.DEMAND + h]
        some = 0
        at = begin
        i = first
        while i < busy and at < end:
            over = line[node, load + i] - edge
            if over <= 0:
                break
            until = min(line[node, nf.ENDS + i], end)
            some += (until - at) * over
            at = until
            i += 1
        if i == busy and at < end and edge < 0:
            some += (at - end) * edge
        if hold != 0 and line[node, nf.RESERVED] != 0:
            # What the reservation adds while it lasts.
            held = line[node, nf.RESERVED] * table.job[table.par[nf.HOLD_JOB], nf.DEMAND + h]
            at = max(begin, table.par[nf.HOLD_FROM])
            close = min(end, table.par[nf.HOLD_UNTIL])
            i = first
            while at < close:
                while i < busy and line[node, nf.ENDS + i] <= at:
                    i += 1
                demand = line[node, load + i] - edge if i < busy else -edge
                until = min(line[node, nf.ENDS + i], close) if i < busy else close
                some += (until - at) * (max(0, demand + held) - max(0, demand))
                at = until
        total += table.par[nf.LAW + 2 * h + nf.WEIGHT] * some
    return total
