"""What a job's allocation at a start costs, among all reservations.

spec: algorithms 4.3, 4.4, 4.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.nodes.fields import (
    CLEAR,
    CORES,
    DEMAND,
    EDGE,
    HINGES,
    LAW,
    PROCS,
    ROOM,
    SITES,
    SPAN,
    TAKE,
    TOP,
    VALUES,
    WEIGHT,
    ZERO,
)
from shadowtime.engine.nodes.fields import ENDS as COLUMNS
from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.placing import kth
from shadowtime.engine.nodes.rua.window import rooms
from shadowtime.kernel.jit import kernel, routine

if TYPE_CHECKING:
    from shadowtime.engine.nodes.rua.timeline import Plan
    from shadowtime.engine.nodes.running_table import Table


@kernel
def clear_of_cost(b: Plan, table: Table, node: int, job: int, at: int, end: int) -> int:
    """How many processes of a job cost nothing on a node from a place on until an instant."""
    clear = table.node[node, ROOM]
    hinges = table.par[HINGES]
    while clear > 0:
        row = b.line[tl.ROW, at]
        for h in range(hinges):
            below = table.par[LAW + 2 * h + EDGE] - b.load[row, node * hinges + h]
            if below < 0:
                return 0
            each = table.job[job, DEMAND + h]
            if clear * each > below:
                clear = below // each
        at += 1
        if at == b.par[tl.PIECES] or b.line[tl.BEGIN, at] >= end:
            break
    return clear


@routine
def cost_on(b: Plan, table: Table, node: int, count: int, job: int, at: int, begin: int) -> int:
    """Cost of ``count`` processes on a node from ``begin``, in piece ``at``, for the job's span."""
    hinges = table.par[HINGES]
    end = begin + table.job[job, SPAN]
    cap = b.par[tl.CAP]
    total = 0
    while begin < end and total < cap:
        until = end
        if at + 1 < b.par[tl.PIECES]:
            until = min(end, b.line[tl.BEGIN, at + 1])
        row = b.line[tl.ROW, at]
        over = 0
        for h in range(hinges):
            drawn = b.load[row, node * hinges + h] + count * table.job[job, DEMAND + h]
            over += table.par[LAW + 2 * h + WEIGHT] * max(0, drawn - table.par[LAW + 2 * h + EDGE])
        total += (until - begin) * over
        begin = until
        at += 1
    return total


@kernel
def is_idle(b: Plan, table: Table, node: int, at: int, end: int) -> bool:
    """True if no job draws anything on a node in the window: such nodes cost the same."""
    hinges = table.par[HINGES]
    while at < b.par[tl.PIECES] and b.line[tl.BEGIN, at] < end:
        for h in range(hinges):
            if b.load[b.line[tl.ROW, at], node * hinges + h] != 0:
                return False
        at += 1
    return True


@routine
def minimax(b: Plan, table: Table, job: int, at: int, begin: int) -> int:
    """Cost of the best spread over the rooms, for allot to make TAKE of; CAP if it is no less.

    As placing.evaluate: with costs that never fall with the number of processes, the answer is the
    cost of the p-th cheapest place.
    """
    procs = table.job[job, PROCS]
    end = begin + table.job[job, SPAN]
    cap = b.par[tl.CAP]
    places = rooms(b, table)
    losable = places - procs
    sites = table.list[SITES]
    clear = 0
    for i in range(table.par[TOP]):
        node = sites[i]
        some = clear_of_cost(b, table, node, job, at, end)
        table.node[node, CLEAR] = some
        clear += some
        if clear >= procs:
            table.par[TOP] = i + 1
            return 0
        losable -= table.node[node, ROOM] - some
        if cap <= 1 and losable < 0:
            return cap
    losable = places - procs
    column = COLUMNS + (2 + table.par[HINGES]) * table.par[CORES]
    idle = -1
    values = ZERO
    for node in sites[: table.par[TOP]]:
        room = table.node[node, ROOM]
        some = table.node[node, CLEAR]
        if room == some:
            continue
        alike = is_idle(b, table, node, at, end)
        for k in range(some, room):
            if alike and idle >= 0 and k < table.node[idle, ROOM]:
                cost = table.node[idle, column + k]
            elif k > some and table.node[node, column + k - 1] >= cap:
                cost = cap
            else:
                cost = cost_on(b, table, node, k + 1, job, at, begin)
            table.node[node, column + k] = cost
            if cost < cap:
                table.list[VALUES, values] = cost
                values += 1
            else:
                losable -= 1
        if losable < 0:
            return cap
        if alike and (idle < 0 or room > table.node[idle, ROOM]):
            idle = node
    return kth(table, values, procs - clear - 1)


@routine
def lowest(b: Plan, table: Table, job: int, at: int, begin: int) -> int:
    """Cost of the lowest processors (first fit, limit=pf): TAKE is filled."""
    rooms(b, table)
    left = table.job[job, PROCS]
    worst = 0
    i = 0
    while left > 0:
        node = table.list[SITES, i]
        take = min(left, table.node[node, ROOM])
        table.node[node, TAKE] = take
        left -= take
        worst = max(worst, cost_on(b, table, node, take, job, at, begin))
        i += 1
    table.par[TOP] = i
    return worst
