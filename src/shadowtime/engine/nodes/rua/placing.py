"""Where the processes of a job go at one start (spec: algorithms 4.6).

First fit takes the lowest processors. Minimax adds processes one at a time where the next one
costs least, ties to a node already used, then to the lower index. Costs never fall with the number
of processes, so that loop ends where this file jumps to: with M the cost of the p-th cheapest
place, every place below M is taken, then those at M on nodes already used, then on the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua.cost import (
    clear_of_cost,
    cost_on,
    room_on,
    running_at,
    within_hold,
)
from shadowtime.engine.nodes.rua.pointers import EVALUATE, WITHIN, pointer
from shadowtime.engine.nodes.running_table import free_at
from shadowtime.kernel.jit import kernel, routine

if TYPE_CHECKING:
    from shadowtime.engine.nodes.running_table import Table

NO_ROOM = -1


@kernel
def empty_cost(table: Table, job: int) -> int:
    """The least cost on an empty machine: no allocation anywhere costs less."""
    nodes = table.par[nf.NODES]
    most = (table.job[job, nf.PROCS] + nodes - 1) // nodes
    cost = 0
    for h in range(table.par[nf.HINGES]):
        over = most * table.job[job, nf.DEMAND + h] - table.par[nf.LAW + 2 * h + nf.EDGE]
        cost += table.par[nf.LAW + 2 * h + nf.WEIGHT] * max(0, over)
    return cost * table.job[job, nf.SPAN]


@kernel
def kth(table: Table, count: int, rank: int) -> int:
    """The value that would stand at place ``rank`` if VALUES were sorted; reorders them."""
    values = table.list
    low = 0
    high = count - 1
    while low < high:
        pivot = values[nf.VALUES, (low + high) >> 1]
        i = low
        j = high
        while i <= j:
            while values[nf.VALUES, i] < pivot:
                i += 1
            while values[nf.VALUES, j] > pivot:
                j -= 1
            if i <= j:
                swap = values[nf.VALUES, i]
                values[nf.VALUES, i] = values[nf.VALUES, j]
                values[nf.VALUES, j] = swap
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[nf.VALUES, rank]


@routine
def allot(table: Table, job: int, worst: int) -> None:
    """How many processes go to each node (TAKE), given the cost that evaluate found."""
    if table.par[nf.SEARCH] == nf.FIRST_FIT:
        return
    sites = table.list[nf.SITES, : table.par[nf.TOP]]
    left = table.job[job, nf.PROCS]
    column = nf.ENDS + (2 + table.par[nf.HINGES]) * table.par[nf.CORES]
    if worst == 0:
        for node in sites:
            take = min(left, table.node[node, nf.CLEAR])
            table.node[node, nf.TAKE] = take
            left -= take
        return
    for node in sites:
        room = table.node[node, nf.ROOM]
        k = table.node[node, nf.CLEAR]
        while k < room and table.node[node, column + k] < worst:
            k += 1
        below = k
        while k < room and table.node[node, column + k] == worst:
            k += 1
        table.node[node, nf.TAKE] = below
        table.node[node, nf.MOST] = k
        left -= below
    for used in range(2):
        for node in sites:
            have = table.node[node, nf.TAKE]
            if (have > 0) == (used == 0) and table.node[node, nf.MOST] > have:
                more = min(left, table.node[node, nf.MOST] - have)
                table.node[node, nf.TAKE] = have + more
                left -= more


@kernel
def touches_pins(table: Table, begin: int) -> bool:
    """True if the allocation in TAKE, pinned processors allowed, uses one of them."""
    cores = table.par[nf.CORES]
    for node in table.list[nf.SITES, : table.par[nf.TOP]]:
        left = table.node[node, nf.TAKE]
        pins = table.node[node, nf.RESERVED]
        p = node * cores
        while left > 0 and pins > 0:
            pin = table.proc[p, nf.UNTIL] <= table.par[nf.HOLD_FROM]
            if table.proc[p, nf.UNTIL] <= begin:
                if pin:
                    return True
                left -= 1
            if pin:
                pins -= 1
            p += 1
    return False


@pointer(WITHIN)
def within(table: Table, job: int, begin: int, without: int, most: int) -> bool:
    """True if a job's allocation by minimax at a start costs at most ``most``.

    As evaluate() would find, but without working out how much: a node is left at the first
    process that costs more, and the search ends when enough have been found or too many lost.
    """
    par = table.par
    row = table.node
    left = table.job[job, nf.PROCS]
    end = begin + table.job[job, nf.SPAN]
    hold = within_hold(table, begin, end)
    cores = par[nf.CORES]
    losable = free_at(table, begin) - left
    blank = -1
    for node in range(par[nf.NODES]):
        if table.list[nf.SOONEST, node] > begin:
            continue
        first = running_at(table, node, begin)
        room = room_on(table, node, first, begin, without)
        empty = first == row[node, nf.BUSY] and room == cores and row[node, nf.RESERVED] == 0
        if empty and blank >= 0:
            k = blank
        else:
            k = clear_of_cost(table, node, first, room, job, begin, hold)
            while k < room and cost_on(table, node, first, k + 1, job, begin, end, hold) <= most:
                k += 1
            if empty:
                blank = k
        left -= k
        losable -= room - k
        if left <= 0:
            return True
        if losable < 0:
            return False
    return False


@pointer(EVALUATE)
def evaluate(table: Table, job: int, begin: int, without: int) -> int:
    """Cost of a job's allocation at a start, NO_ROOM if none; pinned processors left out if asked.

    By first fit, TAKE is filled at once (and the cost only worked out where it is asked for).
    By minimax, ROOM, CLEAR and the costs are filled, for allot to make TAKE of them.
    """
    par = table.par
    row = table.node
    procs = table.job[job, nf.PROCS]
    end = begin + table.job[job, nf.SPAN]
    hold = within_hold(table, begin, end)
    nodes = par[nf.NODES]
    cores = par[nf.CORES]
    soonest = table.list[nf.SOONEST]
    sites = table.list[nf.SITES]
    top = nf.ZERO
    if par[nf.SEARCH] == nf.FIRST_FIT:
        costly = par[nf.STRETCHED] != 0 or par[nf.BACKFILL] == nf.LEAST_PENALTY
        worst = 0
        node = nf.ZERO - 1
        if begin == par[nf.NOW]:
            while par[nf.LOWEST] < nodes and soonest[par[nf.LOWEST]] != 0:
                par[nf.LOWEST] += 1
            node = par[nf.LOWEST] - 1
        while procs > 0 and node + 1 < nodes:
            node += 1
            if soonest[node] > begin:
                continue
            first = running_at(table, node, begin)
            take = min(procs, room_on(table, node, first, begin, without))
            if take == 0:
                continue
            if costly:
                worst = max(worst, cost_on(table, node, first, take, job, begin, end, hold))
            row[node, nf.TAKE] = take
            procs -= take
            sites[top] = node
            top += 1
        par[nf.TOP] = top
        return worst if procs == 0 else NO_ROOM
    places = 0
    clear = 0
    for node in range(nodes):
        if soonest[node] > begin:
            continue
        first = running_at(table, node, begin)
        room = room_on(table, node, first, begin, without)
        if room == 0:
            continue
        some = clear_of_cost(table, node, first, room, job, begin, hold)
        row[node, nf.ROOM] = room
        row[node, nf.CLEAR] = some
        sites[top] = node
        top += 1
        places += room
        clear += some
        if clear >= procs:
            break  # nothing costs nothing: the rest is not needed
    par[nf.TOP] = top
    if clear >= procs:
        return 0
    if places < procs:
        return NO_ROOM
    column = nf.ENDS + (2 + par[nf.HINGES]) * cores
    blank = -1
    count = nf.ZERO
    for node in sites[:top]:
        room = row[node, nf.ROOM]
        some = row[node, nf.CLEAR]
        if room == some:
            continue
        first = running_at(table, node, begin)
        empty = first == row[node, nf.BUSY] and room == cores and row[node, nf.RESERVED] == 0
        for k in range(some, room):
            if empty and blank >= 0:  # one node that no job is on by then is like another
                cost = row[blank, column + k]
            else:
                cost = cost_on(table, node, first, k + 1, job, begin, end, hold)
            row[node, column + k] = cost
            table.list[nf.VALUES, count] = cost
            count += 1
        if empty and blank < 0:
            blank = node
    return kth(table, count, procs - clear - 1)
