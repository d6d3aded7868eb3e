"""Which processors are free for a while, among all reservations (timeline.py), and
what an allocation there costs.

spec: algorithms 4.3, 4.4, 4.6.
"""

from __future__ import annotations

from shadowtime.engine.nodes import fields
from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.placing import kth
from shadowtime.engine.nodes.rua.pointers import FIRST_ROOM, pointer
from shadowtime.engine.nodes.rua.timeline import Plan
from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel.jit import kernel, routine


@kernel
def bits_in(word: int) -> int:
    """How many of 32 bits are set."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) >> 24) & 0xFF


@kernel
def take_row(b: tl.Plan, slot: int, row: int) -> None:
    """The processors that are free in a row."""
    for word in range(b.par["words"][0]):
        b.mask[slot, word] = b.room[row, word]


@kernel
def narrow(b: tl.Plan, slot: int, row: int) -> None:
    """Keep those processors of a slot that are free in a row."""
    for word in range(b.par["words"][0]):
        b.mask[slot, word] &= b.room[row, word]


@kernel
def count(b: tl.Plan, slot: int) -> int:
    """Processors of a slot."""
    total = 0
    for word in range(b.par["words"][0]):
        total += bits_in(b.mask[slot, word])
    return total


@pointer(FIRST_ROOM)
def first_room(b: tl.Plan, table: Table, job: int, start: int, before: int, until: int) -> int:
    """Place of the first start with room for a job's request, -1 if none.

    Starts from a place on, before an instant; what happens from ``until`` on is left aside. Only
    cuts need be looked at, and the first with room is now or an end: going back over a start, no
    processor is lost. Where a window fails, so do all starts up to the last one from which on to
    the window's end too few are free.
    """
    line = b.line
    procs = table.job["procs"][job]
    length = table.job["length"][job]
    placed = table.par["counted"][0] == 0
    pieces = b.par["pieces"][0]
    while start < pieces and line["begin"][start] < before:
        end = min(until, line["begin"][start] + length)
        at = start
        enough = True
        while at < pieces and line["begin"][at] < end:
            row = line["row"][at]
            if line["left"][at] < procs:
                enough = False
                break
            if placed:
                if at == start:
                    take_row(b, tl.WINDOW, row)
                else:
                    narrow(b, tl.WINDOW, row)
            at += 1
        if not enough:
            start = at + 1
            continue
        if not placed or count(b, tl.WINDOW) >= procs:
            return start
        at -= 1
        take_row(b, tl.WINDOW, line["row"][at])
        while count(b, tl.WINDOW) >= procs:
            at -= 1
            narrow(b, tl.WINDOW, line["row"][at])
        start = at + 1
    return -1


@kernel
def gather(b: tl.Plan, slot: int, at: int, end: int, procs: int) -> int:
    """Processors that are free from a place on until an instant; how many, or 0 if too few.

    Where reservations are counted, those that are free of running jobs, if as many are left.
    """
    line = b.line
    if line["left"][at] < procs:
        return 0
    take_row(b, slot, line["row"][at])
    at += 1
    while at < b.par["pieces"][0] and line["begin"][at] < end:
        if line["left"][at] < procs:
            return 0
        narrow(b, slot, line["row"][at])
        at += 1
    return count(b, slot)


@kernel
def within(b: tl.Plan, slot: int, other: int) -> bool:
    """True if all processors of a slot are in the other."""
    for word in range(b.par["words"][0]):
        if b.mask[slot, word] & ~b.mask[other, word] != 0:
            return False
    return True


@kernel
def rooms(b: tl.Plan, table: Table) -> int:
    """Free processors of the window by node (``room``), and the nodes that have some."""
    p = 0
    top = 0
    total = 0
    for node in range(table.par["nodes"][0]):
        room = 0
        left = table.par["cores"][0]
        while left > 0:
            # Of the word at hand, what belongs to this node.
            some = min(left, tl.WORD_BITS - p % tl.WORD_BITS)
            room += bits_in(
                (b.mask[tl.WINDOW, p // tl.WORD_BITS] >> (p % tl.WORD_BITS)) & ((1 << some) - 1)
            )
            p += some
            left -= some
        if room > 0:
            table.node["room"][node] = room
            table.node["site"][top] = node
            top += 1
            total += room
    table.par["top"][0] = top
    return total


@kernel
def pick_first(b: tl.Plan, left: int) -> None:
    """The ``left`` lowest processors of the window."""
    word = 0
    while left > 0:
        bits = b.mask[tl.WINDOW, word]
        some = bits_in(bits)
        while some > left:
            high = tl.WORD_BITS - 1
            while (bits >> high) & 1 == 0:
                high -= 1
            bits ^= 1 << high
            some -= 1
        b.mask[tl.PICK, word] = bits
        left -= some
        word += 1


@kernel
def pick(b: tl.Plan, table: Table, job: int) -> None:
    """The plan's processors: the lowest of the window on each node, as many as ``take`` holds.

    By first fit where cost does not matter, the lowest of all: nodes were not asked about.
    """
    for word in range(b.par["words"][0]):
        b.mask[tl.PICK, word] = 0
    if b.par["costed"][0] == 0:
        pick_first(b, table.job["procs"][job])
        return
    cores = table.par["cores"][0]
    for node in table.node["site"][: table.par["top"][0]]:
        left = table.node["take"][node]
        p = node * cores
        while left > 0:
            if (b.mask[tl.WINDOW, p // tl.WORD_BITS] >> (p % tl.WORD_BITS)) & 1 != 0:
                b.mask[tl.PICK, p // tl.WORD_BITS] |= 1 << (p % tl.WORD_BITS)
                left -= 1
            p += 1


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
