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
    BUSY,
    CLEAR,
    CORES,
    DEMAND,
    EDGE,
    HINGES,
    HOLD,
    HOLD_FROM,
    HOLD_UNTIL,
    MOST,
    NODES,
    PINNED,
    RESERVED,
    ROOM,
    TAKE,
    UNTIL,
    WEIGHT,
)

NO_ROOM = -1


@kernel
def within_hold(t: Any, begin: int, end: int) -> bool:
    """True if [begin, end) overlaps the time of the reservation."""
    return t.par[HOLD] != 0 and begin < t.par[HOLD_UNTIL] and t.par[HOLD_FROM] < end


@kernel
def empty_cost(t: Any, job: int, procs: int, length: int) -> int:
    """The least cost on an empty machine: no allocation anywhere costs less."""
    nodes = t.par[NODES]
    most = (procs + nodes - 1) // nodes
    cost = 0
    for h in range(t.par[HINGES]):
        cost += t.law[h, WEIGHT] * max(0, most * t.job[job, DEMAND + h] - t.law[h, EDGE])
    return cost * length


@routine
def minimax(t: Any, job: int, procs: int, begin: int, end: int, without: bool) -> int:
    """The smallest possible cost of the worst node for a job at a start, NO_ROOM if none.

    ``without`` leaves out the pinned processors. Fills ROOM, CLEAR and ``cost`` for share_out.
    """
    nodes = t.par[NODES]
    hold = within_hold(t, begin, end)
    places = 0
    clear = 0
    for node in range(nodes):
        first = running_at(t, node, begin)
        room = room_on(t, node, first, begin, without)
        some = clear_of_cost(t, node, first, room, job, begin, hold) if room > 0 else 0
        t.node[node, ROOM] = room
        t.node[node, CLEAR] = some
        places += room
        clear += some
    if places < procs:
        return NO_ROOM
    if clear >= procs:
        return 0
    cores = t.par[CORES]
    blank = -1
    count = 0
    for node in range(nodes):
        room = t.node[node, ROOM]
        some = t.node[node, CLEAR]
        if room == some:
            continue
        first = running_at(t, node, begin)
        if first == t.node[node, BUSY] and room == cores and t.node[node, RESERVED] == 0:
            # Nobody runs there by then: one such node is like another.
            if blank >= 0:
                for k in range(some, room):
                    t.cost[node, k] = t.cost[blank, k]
                    t.scratch[count] = t.cost[blank, k]
                    count += 1
                continue
            blank = node
        for k in range(some, room):
            cost = cost_on(t, node, first, k + 1, job, begin, end, hold)
            t.cost[node, k] = cost
            t.scratch[count] = cost
            count += 1
    return kth(t.scratch, count, procs - clear - 1)


@kernel
def kth(values: Any, count: int, rank: int) -> int:
    """The value that would stand at place ``rank`` if the values were sorted; reorders them."""
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
                values[i], values[j] = values[j], values[i]
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
def share_out(t: Any, procs: int, worst: int) -> None:
    """How many processes go to each node (TAKE), given the worst cost that minimax found."""
    nodes = t.par[NODES]
    left = procs
    for node in range(nodes):
        room = t.node[node, ROOM]
        k = t.node[node, CLEAR]
        below = 0
        if worst > 0:
            while k < room and t.cost[node, k] < worst:
                k += 1
            below = k
            while k < room and t.cost[node, k] == worst:
                k += 1
        t.node[node, TAKE] = below
        t.node[node, MOST] = k
        left -= below
    for used in range(2):
        node = 0
        while left > 0 and node < nodes:
            have = t.node[node, TAKE]
            if (have > 0) == (used == 0) and t.node[node, MOST] > have:
                more = min(left, t.node[node, MOST] - have)
                t.node[node, TAKE] = have + more
                left -= more
            node += 1


@routine
def first_fit(t: Any, procs: int, begin: int, without: bool) -> bool:
    """Fill the lowest processors (TAKE); False if there is no room."""
    left = procs
    for node in range(t.par[NODES]):
        take = 0
        if left > 0:
            room = room_on(t, node, running_at(t, node, begin), begin, without)
            take = min(left, room)
        t.node[node, TAKE] = take
        left -= take
    return left == 0


@routine
def worst_cost(t: Any, job: int, begin: int, end: int) -> int:
    """The cost of the worst node of an allocation that stands in TAKE."""
    hold = within_hold(t, begin, end)
    worst = 0
    for node in range(t.par[NODES]):
        take = t.node[node, TAKE]
        if take > 0:
            first = running_at(t, node, begin)
            worst = max(worst, cost_on(t, node, first, take, job, begin, end, hold))
    return worst


@kernel
def touches_pins(t: Any, begin: int) -> bool:
    """True if the allocation in TAKE, pinned processors allowed, uses one of them."""
    cores = t.par[CORES]
    for node in range(t.par[NODES]):
        left = t.node[node, TAKE]
        if left == 0 or t.node[node, RESERVED] == 0:
            continue
        p = node * cores
        while left > 0:
            if t.proc[p, UNTIL] <= begin:
                if t.proc[p, PINNED] != 0:
                    return True
                left -= 1
            p += 1
    return False
