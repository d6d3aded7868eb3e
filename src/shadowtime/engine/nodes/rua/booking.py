"""Which job holds which processors in the table: booking in and out (timeline.py)."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.fields import CORES, DEMAND, HINGES, NODES, PROCS, TAKE, TOP
from shadowtime.engine.nodes.rua.plan_pointers import CHANGE, pointer
from shadowtime.engine.nodes.rua.timeline import (
    BITS,
    COSTED,
    COUNT,
    ENDS,
    LEFT,
    PLACE,
    ROW,
    SLOT,
    SLOTS,
    STARTS,
    UNUSED_SLOTS,
    WORDS,
    close,
    cut,
)
from shadowtime.kernel.jit import kernel


@kernel
def get_slot(b: Any, job: int) -> None:
    """A place for the bits of a job's processors."""
    b.par[SLOTS] -= 1
    b.job[job, SLOT] = b.unused[UNUSED_SLOTS, b.par[SLOTS]]


@kernel
def free_slot(b: Any, job: int) -> None:
    """It is not needed any more."""
    b.unused[UNUSED_SLOTS, b.par[SLOTS]] = b.job[job, SLOT]
    b.par[SLOTS] += 1


@kernel
def count_by_node(b: Any, table: Any, slot: int) -> None:
    """How many of a slot's processors lie on each node (TAKE), up to TOP."""
    cores = table.par[CORES]
    table.par[TOP] = table.par[NODES]
    for node in range(table.par[NODES]):
        table.node[node, TAKE] = 0
    for word in range(b.par[WORDS]):
        bits = b.mask[slot, word]
        p = word * BITS
        while bits != 0:
            if bits & 1 != 0:
                table.node[p // cores, TAKE] += 1
            bits >>= 1
            p += 1


@pointer(CHANGE)
def change(b: Any, table: Any, job: int, since: int, until: int, sign: int, what: int) -> None:
    """Book a job in (sign -1) or out (1) during [since, until)."""
    first = cut(b, since)
    last = cut(b, until)
    line = b.line
    slot = b.job[job, SLOT]
    words = b.par[WORDS]
    count = table.job[job, PROCS] if what & COUNT != 0 else 0
    for i in range(first, last):
        row = line[ROW, i]
        line[LEFT, i] += sign * count
        if what & PLACE != 0:
            for word in range(words):
                b.room[row, word] ^= b.mask[slot, word]
    hinges = table.par[HINGES]
    if what & PLACE != 0 and b.par[COSTED] != 0:
        count_by_node(b, table, slot)
        for node in range(table.par[NODES]):
            if table.node[node, TAKE] == 0:
                continue
            for h in range(hinges):
                drawn = table.node[node, TAKE] * table.job[job, DEMAND + h] * sign
                for i in range(first, last):
                    b.load[line[ROW, i], node * hinges + h] -= drawn
    if what & COUNT != 0:
        line[STARTS, first] -= sign
        line[ENDS, last] -= sign
    close(b, last)
    close(b, first)
