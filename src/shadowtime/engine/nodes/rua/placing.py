"""Where the processes of a job go at one start (spec: algorithms 4.6).

First fit takes the lowest processors. Minimax adds processes one at a time where the next one
costs least, ties to a node already used, then to the lower index. Costs never fall with the number
of processes, so that loop ends where this file jumps to: with M the cost of the p-th cheapest
place, every place below M is taken, then those at M on nodes already used, then on the others.
"""

from __future__ import annotations

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua.cost import (
    clear_of_cost,
    cost_on,
    room_on,
    running_at,
    within_hold,
)
from shadowtime.engine.nodes.rua.pointers import EVALUATE, WITHIN, pointer
from shadowtime.engine.nodes.running_table import Table, free_at
from shadowtime.kernel.jit import kernel, routine

NO_ROOM = -1


@kernel
def empty_cost(table: Table, job: int) -> int:
    """The least cost on an empty machine: no allocation anywhere costs less."""
    nodes = table.par["nodes"][0]
    most = (table.job["procs"][job] + nodes - 1) // nodes
    cost = 0
    for h in range(len(table.hinge)):
        over = most * table.demand[job, h] - table.hinge["edge"][h]
        cost += table.hinge["weight"][h] * max(0, over)
    return cost * table.job["span"][job]


@kernel
def kth(table: Table, count: int, rank: int) -> int:
    """The value that would stand at place ``rank`` if these values were sorted; reorders them."""
    values = table.proc["value"]
    low = 0
    high = count - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i = low
        j = high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                swap = values[i]
                values[i] = values[j]
                values[j] = swap
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[rank]


@routine
def allot(table: Table, job: int, worst: int) -> None:
    """How many processes go to each node (``take``), given the cost that evaluate found."""
    if table.par["search"][0] == nf.FIRST_FIT:
        return
    sites = table.node["site"][: table.par["top"][0]]
    left = table.job["procs"][job]
    if worst == 0:
        for node in sites:
            take = min(left, table.node["clear"][node])
            table.node["take"][node] = take
            left -= take
        return
    for node in sites:
        room = table.node["room"][node]
        k = table.node["clear"][node]
        while k < room and table.line["cost"][node, k] < worst:
            k += 1
        below = k
        while k < room and table.line["cost"][node, k] == worst:
            k += 1
        table.node["take"][node] = below
        table.node["most"][node] = k
        left -= below
    for used in range(2):
        for node in sites:
            have = table.node["take"][node]
            if (have > 0) == (used == 0) and table.node["most"][node] > have:
                more = min(left, table.node["most"][node] - have)
                table.node["take"][node] = have + more
                left -= more


@kernel
def touches_pins(table: Table, begin: int) -> bool:
    """True if the allocation in ``take``, pinned processors allowed, uses one of them."""
    cores = table.par["cores"][0]
    for node in table.node["site"][: table.par["top"][0]]:
        left = table.node["take"][node]
        pins = table.node["reserved"][node]
        p = node * cores
        while left > 0 and pins > 0:
            pin = table.proc["until"][p] <= table.par["hold_from"][0]
            if table.proc["until"][p] <= begin:
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
    left = table.job["procs"][job]
    end = begin + table.job["span"][job]
    hold = within_hold(table, begin, end)
    cores = par["cores"][0]
    losable = free_at(table, begin) - left
    blank = -1
    for node in range(par["nodes"][0]):
        if table.node["soonest"][node] > begin:
            continue
        first = running_at(table, node, begin)
        room = room_on(table, node, first, begin, without)
        empty = first == row["busy"][node] and room == cores and row["reserved"][node] == 0
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

    By first fit, ``take`` is filled at once (and the cost only worked out where it is asked for).
    By minimax, ``room``, ``clear`` and the costs are filled, for allot to make ``take`` of them.
    """
    par = table.par
    row = table.node
    procs = table.job["procs"][job]
    end = begin + table.job["span"][job]
    hold = within_hold(table, begin, end)
    nodes = par["nodes"][0]
    cores = par["cores"][0]
    soonest = table.node["soonest"]
    sites = table.node["site"]
    top = nf.ZERO
    if par["search"][0] == nf.FIRST_FIT:
        costly = par["stretched"][0] != 0 or par["backfill"][0] == nf.LEAST_PENALTY
        worst = 0
        node = nf.ZERO - 1
        if begin == par["now"][0]:
            while par["lowest"][0] < nodes and soonest[par["lowest"][0]] != 0:
                par["lowest"][0] += 1
            node = par["lowest"][0] - 1
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
            row["take"][node] = take
            procs -= take
            sites[top] = node
            top += 1
        par["top"][0] = top
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
        row["room"][node] = room
        row["clear"][node] = some
        sites[top] = node
        top += 1
        places += room
        clear += some
        if clear >= procs:
            break  # nothing costs nothing: the rest is not needed
    par["top"][0] = top
    if clear >= procs:
        return 0
    if places < procs:
        return NO_ROOM
    blank = -1
    count = nf.ZERO
    for node in sites[:top]:
        room = row["room"][node]
        some = row["clear"][node]
        if room == some:
            continue
        first = running_at(table, node, begin)
        empty = first == row["busy"][node] and room == cores and row["reserved"][node] == 0
        for k in range(some, room):
            if empty and blank >= 0:  # one node that no job is on by then is like another
                cost = table.line["cost"][blank, k]
            else:
                cost = cost_on(table, node, first, k + 1, job, begin, end, hold)
            table.line["cost"][node, k] = cost
            table.proc["value"][count] = cost
            count += 1
        if empty and blank < 0:
            blank = node
    return kth(table, count, procs - clear - 1)
