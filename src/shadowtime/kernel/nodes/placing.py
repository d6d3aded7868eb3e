"""Where the processes of a job go at one start (spec 4.6).

First fit takes the lowest processors. Minimax adds processes one at a time where the next one
costs least, ties to a node already used, then to the lower index. Costs never fall with the number
of processes, so that loop ends where this file jumps to: with M the cost of the p-th cheapest
place, every place below M is taken, then those at M on nodes already used, then on the others.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.cost import clear_of_cost, cost_on, room_on, running_at
from shadowtime.kernel.nodes.fields import (
    BACKFILL,
    BUSY,
    CLEAR,
    CORES,
    DEMAND,
    EDGE,
    ENDS,
    FIRST_FIT,
    HINGES,
    HOLD,
    HOLD_FROM,
    HOLD_UNTIL,
    KIND,
    LAW,
    LEAST_PENALTY,
    MOST,
    NODES,
    PROCS,
    RESERVED,
    ROOM,
    ROOMY,
    ROOMY_AT,
    SEARCH,
    SPAN,
    STRETCHED,
    TAKE,
    TOP,
    UNTIL,
    VALUES,
    VERSION,
    WEIGHT,
    ZERO,
)
from shadowtime.kernel.nodes.pointers import EVALUATE, pointer

NO_ROOM = -1


@kernel
def within_hold(t: Any, begin: int, end: int) -> int:
    """1 if [begin, end) overlaps the time of the reservation."""
    if t.par[HOLD] != 0 and begin < t.par[HOLD_UNTIL] and t.par[HOLD_FROM] < end:
        return 1
    return 0


@kernel
def empty_cost(t: Any, job: int) -> int:
    """The least cost on an empty machine: no allocation anywhere costs less."""
    nodes = t.par[NODES]
    most = (t.job[job, PROCS] + nodes - 1) // nodes
    cost = 0
    for h in range(t.par[HINGES]):
        over = most * t.job[job, DEMAND + h] - t.par[LAW + 2 * h + EDGE]
        cost += t.par[LAW + 2 * h + WEIGHT] * max(0, over)
    return cost * t.job[job, SPAN]


@routine
def roomy(t: Any, job: int) -> bool:
    """True if all processes of a job could start now without cost, the reservation aside.

    What is free now has no end behind it, so the answer hangs on the kind of job alone and holds
    until somebody starts or ends.
    """
    kind = t.job[job, KIND]
    if t.list[ROOMY_AT, kind] != t.par[VERSION]:
        count = 0
        for node in range(t.par[NODES]):
            room = t.par[CORES] - t.node[node, BUSY]
            if room > 0:
                count += clear_of_cost(t, node, ZERO, room, job, ZERO, ZERO)
        t.list[ROOMY, kind] = count
        t.list[ROOMY_AT, kind] = t.par[VERSION]
    return t.job[job, PROCS] <= t.list[ROOMY, kind]


@kernel
def kth(t: Any, count: int, rank: int) -> int:
    """The value that would stand at place ``rank`` if VALUES were sorted; reorders them."""
    values = t.list
    low = 0
    high = count - 1
    while low < high:
        pivot = values[VALUES, (low + high) >> 1]
        i = low
        j = high
        while i <= j:
            while values[VALUES, i] < pivot:
                i += 1
            while values[VALUES, j] > pivot:
                j -= 1
            if i <= j:
                swap = values[VALUES, i]
                values[VALUES, i] = values[VALUES, j]
                values[VALUES, j] = swap
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[VALUES, rank]


@routine
def allot(t: Any, job: int, worst: int) -> None:
    """How many processes go to each node (TAKE), given the cost that evaluate found."""
    if t.par[SEARCH] == FIRST_FIT:
        return
    nodes = t.par[TOP]
    left = t.job[job, PROCS]
    column = ENDS + (2 + t.par[HINGES]) * t.par[CORES]
    if worst == 0:
        for node in range(nodes):
            take = min(left, t.node[node, CLEAR])
            t.node[node, TAKE] = take
            left -= take
        return
    for node in range(nodes):
        room = t.node[node, ROOM]
        k = t.node[node, CLEAR]
        while k < room and t.node[node, column + k] < worst:
            k += 1
        below = k
        while k < room and t.node[node, column + k] == worst:
            k += 1
        t.node[node, TAKE] = below
        t.node[node, MOST] = k
        left -= below
    for used in range(2):
        for node in range(nodes):
            have = t.node[node, TAKE]
            if (have > 0) == (used == 0) and t.node[node, MOST] > have:
                more = min(left, t.node[node, MOST] - have)
                t.node[node, TAKE] = have + more
                left -= more


@kernel
def touches_pins(t: Any, begin: int) -> bool:
    """True if the allocation in TAKE, pinned processors allowed, uses one of them."""
    cores = t.par[CORES]
    for node in range(t.par[TOP]):
        left = t.node[node, TAKE]
        pins = t.node[node, RESERVED]
        p = node * cores
        while left > 0 and pins > 0:
            pin = t.proc[p, UNTIL] <= t.par[HOLD_FROM]
            if t.proc[p, UNTIL] <= begin:
                if pin:
                    return True
                left -= 1
            if pin:
                pins -= 1
            p += 1
    return False


@pointer(EVALUATE)
def evaluate(t: Any, job: int, begin: int, without: int) -> int:
    """Cost of a job's allocation at a start, NO_ROOM if none; pinned processors left out if asked.

    By first fit, TAKE is filled at once (and the cost only worked out where somebody asks).
    By minimax, ROOM, CLEAR and the costs are filled, for allot to make TAKE of them.
    """
    par = t.par
    row = t.node
    procs = t.job[job, PROCS]
    end = begin + t.job[job, SPAN]
    hold = within_hold(t, begin, end)
    nodes = par[NODES]
    cores = par[CORES]
    if par[SEARCH] == FIRST_FIT:
        costly = par[STRETCHED] != 0 or par[BACKFILL] == LEAST_PENALTY
        worst = 0
        node = ZERO
        while procs > 0 and node < nodes:
            first = running_at(t, node, begin)
            take = min(procs, room_on(t, node, first, begin, without))
            if costly and take > 0:
                worst = max(worst, cost_on(t, node, first, take, job, begin, end, hold))
            row[node, TAKE] = take
            procs -= take
            node += 1
        par[TOP] = node
        return worst if procs == 0 else NO_ROOM
    places = 0
    clear = 0
    for node in range(nodes):
        first = running_at(t, node, begin)
        room = room_on(t, node, first, begin, without)
        some = 0
        if room > 0:
            some = clear_of_cost(t, node, first, room, job, begin, hold)
        row[node, ROOM] = room
        row[node, CLEAR] = some
        places += room
        clear += some
        if clear >= procs:
            par[TOP] = node + 1  # nothing costs nothing: the rest is not needed
            return 0
    par[TOP] = nodes
    if places < procs:
        return NO_ROOM
    column = ENDS + (2 + par[HINGES]) * cores
    blank = -1
    count = ZERO
    for node in range(nodes):
        room = row[node, ROOM]
        some = row[node, CLEAR]
        if room == some:
            continue
        first = running_at(t, node, begin)
        empty = first == row[node, BUSY] and room == cores and row[node, RESERVED] == 0
        for k in range(some, room):
            if empty and blank >= 0:  # one node that nobody is on by then is like another
                cost = row[blank, column + k]
            else:
                cost = cost_on(t, node, first, k + 1, job, begin, end, hold)
            row[node, column + k] = cost
            t.list[VALUES, count] = cost
            count += 1
        if empty and blank < 0:
            blank = node
    return kth(t, count, procs - clear - 1)
