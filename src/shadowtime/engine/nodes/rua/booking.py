"""Which job holds which processors in the table: booking in and out (timeline.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.nodes.fields import CORES, DEMAND, HINGES, NODES, PROCS, TAKE, TOP
from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.plan_pointers import CHANGE, pointer
from shadowtime.kernel.jit import kernel

if TYPE_CHECKING:
    from shadowtime.engine.nodes.rua.timeline import Plan
    from shadowtime.engine.nodes.running_table import Table


@kernel
def get_slot(b: Plan, job: int) -> None:
    """A place for the bits of a job's processors."""
    b.par[tl.SLOTS] -= 1
    b.job[job, tl.SLOT] = b.unused[tl.UNUSED_SLOTS, b.par[tl.SLOTS]]


@kernel
def free_slot(b: Plan, job: int) -> None:
    """It is not needed any more."""
    b.unused[tl.UNUSED_SLOTS, b.par[tl.SLOTS]] = b.job[job, tl.SLOT]
    b.par[tl.SLOTS] += 1


@kernel
def count_by_node(b: Plan, table: Table, slot: int) -> None:
    """How many of a slot's processors lie on each node (TAKE), up to TOP."""
    cores = table.par[CORES]
    table.par[TOP] = table.par[NODES]
    for node in range(table.par[NODES]):
        table.node[node, TAKE] = 0
    for word in range(b.par[tl.WORDS]):
        bits = b.mask[slot, word]
        p = word * tl.BITS
        while bits != 0:
            if bits & 1 != 0:
                table.node[p // cores, TAKE] += 1
            bits >>= 1
            p += 1


@pointer(CHANGE)
def change(b: Plan, table: Table, job: int, since: int, until: int, sign: int, what: int) -> None:
    """Book a job in (sign -1) or out (1) during [since, until)."""
    first = tl.cut(b, since)
    last = tl.cut(b, until)
    line = b.line
    slot = b.job[job, tl.SLOT]
    words = b.par[tl.WORDS]
    count = table.job[job, PROCS] if what & tl.COUNT != 0 else 0
    for i in range(first, last):
        row = line[tl.ROW, i]
        line[tl.LEFT, i] += sign * count
        if what & tl.PLACE != 0:
            for word in range(words):
                b.room[row, word] ^= b.mask[slot, word]
    hinges = table.par[HINGES]
    if what & tl.PLACE != 0 and b.par[tl.COSTED] != 0:
        count_by_node(b, table, slot)
        for node in range(table.par[NODES]):
            if table.node[node, TAKE] == 0:
                continue
            for h in range(hinges):
                drawn = table.node[node, TAKE] * table.job[job, DEMAND + h] * sign
                for i in range(first, last):
                    b.load[line[tl.ROW, i], node * hinges + h] -= drawn
    if what & tl.COUNT != 0:
        line[tl.STARTS, first] -= sign
        line[tl.ENDS, last] -= sign
    tl.close(b, last)
    tl.close(b, first)
