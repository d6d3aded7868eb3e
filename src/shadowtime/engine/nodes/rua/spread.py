"""What a job's allocation at a start costs, among all reservations.

spec: algorithms 4.3, 4.4, 4.6.
"""

from __future__ import annotations

from shadowtime.engine.nodes import fields
from shadowtime.engine.nodes.rua.placing import kth
from shadowtime.engine.nodes.rua.timeline import Plan
from shadowtime.engine.nodes.rua.window import rooms
from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel.jit import kernel, routine


@kernel
def clear_of_cost(b: Plan, table: Table, node: int, job: int, at: int, end: int) -> int:
    """How many processes of a job cost nothing on a node from a place on until an instant."""
    clear = table.node["room"][node]
    hinges = len(table.hinge)
    while clear > 0:
        row = b.line["row"][at]
        for h in range(hinges):
            below = table.hinge["edge"][h] - b.load[row, node * hinges + h]
            if below < 0:
                return 0
            each = table.demand[job, h]
            if clear * each > below:
                clear = below // each
        at += 1
        if at == b.par["pieces"][0] or b.line["begin"][at] >= end:
            break
    return clear


@routine
def cost_on(b: Plan, table: Table, node: int, count: int, job: int, at: int, begin: int) -> int:
    """Cost of ``count`` processes on a node from ``begin``, in piece ``at``, for the job's span."""
    hinges = len(table.hinge)
    end = begin + table.job["span"][job]
    cap = b.par["cap"][0]
    total = 0
    while begin < end and total < cap:
        until = end
        if at + 1 < b.par["pieces"][0]:
            until = min(end, b.line["begin"][at + 1])
        row = b.line["row"][at]
        over = 0
        for h in range(hinges):
            drawn = b.load[row, node * hinges + h] + count * table.demand[job, h]
            over += table.hinge["weight"][h] * max(0, drawn - table.hinge["edge"][h])
        total += (until - begin) * over
        begin = until
        at += 1
    return total


@kernel
def is_idle(b: Plan, table: Table, node: int, at: int, end: int) -> bool:
    """True if no job draws anything on a node in the window: such nodes cost the same."""
    hinges = len(table.hinge)
    while at < b.par["pieces"][0] and b.line["begin"][at] < end:
        for h in range(hinges):
            if b.load[b.line["row"][at], node * hinges + h] != 0:
                return False
        at += 1
    return True


@routine
def minimax(b: Plan, table: Table, job: int, at: int, begin: int) -> int:
    """Cost of the best spread over the rooms, for allot to make ``take`` of; CAP if it is no less.

    As placing.evaluate: with costs that never fall with the number of processes, the answer is the
    cost of the p-th cheapest place.
    """
    procs = table.job["procs"][job]
    end = begin + table.job["span"][job]
    cap = b.par["cap"][0]
    places = rooms(b, table)
    losable = places - procs
    sites = table.node["site"]
    clear = 0
    for i in range(table.par["top"][0]):
        node = sites[i]
        some = clear_of_cost(b, table, node, job, at, end)
        table.node["clear"][node] = some
        clear += some
        if clear >= procs:
            table.par["top"][0] = i + 1
            return 0
        losable -= table.node["room"][node] - some
        if cap <= 1 and losable < 0:
            return cap
    losable = places - procs
    idle = -1
    values = fields.ZERO
    for node in sites[: table.par["top"][0]]:
        room = table.node["room"][node]
        some = table.node["clear"][node]
        if room == some:
            continue
        alike = is_idle(b, table, node, at, end)
        for k in range(some, room):
            if alike and idle >= 0 and k < table.node["room"][idle]:
                cost = table.line["cost"][idle, k]
            elif k > some and table.line["cost"][node, k - 1] >= cap:
                cost = cap
            else:
                cost = cost_on(b, table, node, k + 1, job, at, begin)
            table.line["cost"][node, k] = cost
            if cost < cap:
                table.proc["value"][values] = cost
                values += 1
            else:
                losable -= 1
        if losable < 0:
            return cap
        if alike and (idle < 0 or room > table.node["room"][idle]):
            idle = node
    return kth(table, values, procs - clear - 1)


@routine
def lowest(b: Plan, table: Table, job: int, at: int, begin: int) -> int:
    """Cost of the lowest processors (first fit, limit=pf): ``take`` is filled."""
    rooms(b, table)
    left = table.job["procs"][job]
    worst = 0
    i = 0
    while left > 0:
        node = table.node["site"][i]
        take = min(left, table.node["room"][node])
        table.node["take"][node] = take
        left -= take
        worst = max(worst, cost_on(b, table, node, take, job, at, begin))
        i += 1
    table.par["top"][0] = i
    return worst
