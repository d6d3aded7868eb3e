"""Room and cost of a job's allocation at a start, around all reservations (spec 4.3, 4.4, 4.6)."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.fields import (
    CLEAR,
    CORES,
    COUNTED,
    DEMAND,
    EDGE,
    HINGES,
    LAW,
    LENGTH,
    NODES,
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
from shadowtime.kernel.nodes.fields import ENDS as COLUMNS
from shadowtime.kernel.nodes.ledger import (
    BEGIN,
    BITS,
    CAP,
    COSTED,
    LEFT,
    PICK,
    PIECES,
    ROW,
    WINDOW,
    WORDS,
)
from shadowtime.kernel.nodes.ledger_pointers import FIRST_ROOM, pointer
from shadowtime.kernel.nodes.placing import kth


@kernel
def bits_in(word: int) -> int:
    """How many of 32 bits are set."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) >> 24) & 0xFF


@kernel
def take_row(b: Any, slot: int, row: int) -> None:
    """The processors that are free in a row."""
    for word in range(b.par[WORDS]):
        b.mask[slot, word] = b.room[row, word]


@kernel
def narrow(b: Any, slot: int, row: int) -> None:
    """Keep those processors of a slot that are free in a row."""
    for word in range(b.par[WORDS]):
        b.mask[slot, word] &= b.room[row, word]


@kernel
def count(b: Any, slot: int) -> int:
    """Processors of a slot."""
    total = 0
    for word in range(b.par[WORDS]):
        total += bits_in(b.mask[slot, word])
    return total


@pointer(FIRST_ROOM)
def first_room(b: Any, t: Any, job: int, start: int, before: int, until: int) -> int:
    """Place of the first start with room for a job's request, -1 if none.

    Starts from a place on, before an instant; what happens from ``until`` on is left aside. Only
    cuts need be looked at, and the first with room is now or an end: going back over a start, no
    processor is lost. Where a window fails, so do all starts up to the last one from which on to
    the window's end too few are free.
    """
    line = b.line
    procs = t.job[job, PROCS]
    length = t.job[job, LENGTH]
    placed = t.par[COUNTED] == 0
    pieces = b.par[PIECES]
    while start < pieces and line[BEGIN, start] < before:
        end = min(until, line[BEGIN, start] + length)
        at = start
        enough = True
        while at < pieces and line[BEGIN, at] < end:
            row = line[ROW, at]
            if line[LEFT, at] < procs:
                enough = False
                break
            if placed:
                if at == start:
                    take_row(b, WINDOW, row)
                else:
                    narrow(b, WINDOW, row)
            at += 1
        if not enough:
            start = at + 1
            continue
        if not placed or count(b, WINDOW) >= procs:
            return start
        at -= 1
        take_row(b, WINDOW, line[ROW, at])
        while count(b, WINDOW) >= procs:
            at -= 1
            narrow(b, WINDOW, line[ROW, at])
        start = at + 1
    return -1


@kernel
def gather(b: Any, slot: int, at: int, end: int, procs: int) -> int:
    """Processors that are free from a place on until an instant; how many, or 0 if too few.

    Where reservations are counted, those that are free of running jobs, if as many are left.
    """
    line = b.line
    if line[LEFT, at] < procs:
        return 0
    take_row(b, slot, line[ROW, at])
    at += 1
    while at < b.par[PIECES] and line[BEGIN, at] < end:
        if line[LEFT, at] < procs:
            return 0
        narrow(b, slot, line[ROW, at])
        at += 1
    return count(b, slot)


@kernel
def rooms(b: Any, t: Any) -> int:
    """Free processors of the window by node (ROOM), and the nodes that have some (SITES)."""
    p = 0
    top = 0
    total = 0
    for node in range(t.par[NODES]):
        room = 0
        left = t.par[CORES]
        while left > 0:
            # Of the word at hand, what belongs to this node.
            some = min(left, BITS - p % BITS)
            room += bits_in((b.mask[WINDOW, p // BITS] >> (p % BITS)) & ((1 << some) - 1))
            p += some
            left -= some
        if room > 0:
            t.node[node, ROOM] = room
            t.list[SITES, top] = node
            top += 1
            total += room
    t.par[TOP] = top
    return total


@kernel
def pick(b: Any, t: Any, job: int) -> None:
    """The plan's processors: the lowest of the window on each node, as many as TAKE says.

    By first fit where cost is nobody's concern, the lowest of all: nodes were not asked about.
    """
    for word in range(b.par[WORDS]):
        b.mask[PICK, word] = 0
    if b.par[COSTED] == 0:
        pick_first(b, t.job[job, PROCS])
        return
    cores = t.par[CORES]
    for node in t.list[SITES, : t.par[TOP]]:
        left = t.node[node, TAKE]
        p = node * cores
        while left > 0:
            if (b.mask[WINDOW, p // BITS] >> (p % BITS)) & 1 != 0:
                b.mask[PICK, p // BITS] |= 1 << (p % BITS)
                left -= 1
            p += 1


@kernel
def pick_first(b: Any, left: int) -> None:
    """So many of the lowest processors of the window."""
    word = 0
    while left > 0:
        bits = b.mask[WINDOW, word]
        some = bits_in(bits)
        while some > left:
            high = BITS - 1
            while (bits >> high) & 1 == 0:
                high -= 1
            bits ^= 1 << high
            some -= 1
        b.mask[PICK, word] = bits
        left -= some
        word += 1


# ------------------------------------------------------------------------- cost
@kernel
def clear_of_cost(b: Any, t: Any, node: int, job: int, at: int, end: int) -> int:
    """How many processes of a job cost nothing on a node from a place on until an instant."""
    clear = t.node[node, ROOM]
    hinges = t.par[HINGES]
    while clear > 0:
        row = b.line[ROW, at]
        for h in range(hinges):
            below = t.par[LAW + 2 * h + EDGE] - b.load[row, node * hinges + h]
            if below < 0:
                return 0
            each = t.job[job, DEMAND + h]
            if clear * each > below:
                clear = below // each
        at += 1
        if at == b.par[PIECES] or b.line[BEGIN, at] >= end:
            break
    return clear


@routine
def cost_on(b: Any, t: Any, node: int, count: int, job: int, at: int, begin: int) -> int:
    """Cost of so many processes on a node from ``begin``, in piece ``at``, for the job's span."""
    hinges = t.par[HINGES]
    end = begin + t.job[job, SPAN]
    cap = b.par[CAP]
    total = 0
    while begin < end and total < cap:
        until = end
        if at + 1 < b.par[PIECES]:
            until = min(end, b.line[BEGIN, at + 1])
        row = b.line[ROW, at]
        over = 0
        for h in range(hinges):
            drawn = b.load[row, node * hinges + h] + count * t.job[job, DEMAND + h]
            over += t.par[LAW + 2 * h + WEIGHT] * max(0, drawn - t.par[LAW + 2 * h + EDGE])
        total += (until - begin) * over
        begin = until
        at += 1
    return total


@kernel
def is_idle(b: Any, t: Any, node: int, at: int, end: int) -> bool:
    """True if nobody draws anything on a node in the window: such nodes cost the same."""
    hinges = t.par[HINGES]
    while at < b.par[PIECES] and b.line[BEGIN, at] < end:
        for h in range(hinges):
            if b.load[b.line[ROW, at], node * hinges + h] != 0:
                return False
        at += 1
    return True


@routine
def minimax(b: Any, t: Any, job: int, at: int, begin: int) -> int:
    """Cost of the best spread over the rooms, for allot to make TAKE of; CAP if it is no less.

    As placing.evaluate: with costs that never fall with the number of processes, the answer is the
    cost of the p-th cheapest place.
    """
    procs = t.job[job, PROCS]
    end = begin + t.job[job, SPAN]
    cap = b.par[CAP]
    places = rooms(b, t)
    losable = places - procs
    sites = t.list[SITES]
    clear = 0
    for i in range(t.par[TOP]):
        node = sites[i]
        some = clear_of_cost(b, t, node, job, at, end)
        t.node[node, CLEAR] = some
        clear += some
        if clear >= procs:
            t.par[TOP] = i + 1
            return 0
        losable -= t.node[node, ROOM] - some
        if cap <= 1 and losable < 0:
            return cap
    losable = places - procs
    column = COLUMNS + (2 + t.par[HINGES]) * t.par[CORES]
    idle = -1
    values = ZERO
    for node in sites[: t.par[TOP]]:
        room = t.node[node, ROOM]
        some = t.node[node, CLEAR]
        if room == some:
            continue
        alike = is_idle(b, t, node, at, end)
        for k in range(some, room):
            if alike and idle >= 0 and k < t.node[idle, ROOM]:
                cost = t.node[idle, column + k]
            elif k > some and t.node[node, column + k - 1] >= cap:
                cost = cap
            else:
                cost = cost_on(b, t, node, k + 1, job, at, begin)
            t.node[node, column + k] = cost
            if cost < cap:
                t.list[VALUES, values] = cost
                values += 1
            else:
                losable -= 1
        if losable < 0:
            return cap
        if alike and (idle < 0 or room > t.node[idle, ROOM]):
            idle = node
    return kth(t, values, procs - clear - 1)


@routine
def lowest(b: Any, t: Any, job: int, at: int, begin: int) -> int:
    """Cost of the lowest processors (first fit, limit=pf): TAKE is filled."""
    rooms(b, t)
    left = t.job[job, PROCS]
    worst = 0
    i = 0
    while left > 0:
        node = t.list[SITES, i]
        take = min(left, t.node[node, ROOM])
        t.node[node, TAKE] = take
        left -= take
        worst = max(worst, cost_on(b, t, node, take, job, at, begin))
        i += 1
    t.par[TOP] = i
    return worst


@kernel
def within(b: Any, slot: int, other: int) -> bool:
    """True if all processors of a slot are in the other."""
    for word in range(b.par[WORDS]):
        if b.mask[slot, word] & ~b.mask[other, word] != 0:
            return False
    return True
