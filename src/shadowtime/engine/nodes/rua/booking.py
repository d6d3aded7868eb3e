"""Which job holds which processors in the table: booking in and out (timeline.py)."""

from __future__ import annotations

from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.plan_pointers import CHANGE, pointer
from shadowtime.engine.nodes.rua.timeline import Plan
from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel.jit import kernel


@kernel
def get_slot(b: Plan, job: int) -> None:
    """A place for the bits of a job's processors."""
    b.par["slots"][0] -= 1
    b.job["slot"][job] = b.unused["slots"][b.par["slots"][0]]


@kernel
def free_slot(b: Plan, job: int) -> None:
    """It is not needed any more."""
    b.unused["slots"][b.par["slots"][0]] = b.job["slot"][job]
    b.par["slots"][0] += 1


@kernel
def count_by_node(b: Plan, table: Table, slot: int) -> None:
    """How many of a slot's processors lie on each node (``take``), up to ``top``."""
    cores = table.par["cores"][0]
    table.par["top"][0] = table.par["nodes"][0]
    for node in range(table.par["nodes"][0]):
        table.node["take"][node] = 0
    for word in range(b.par["words"][0]):
        bits = b.mask[slot, word]
        p = word * tl.WORD_BITS
        while bits != 0:
            if bits & 1 != 0:
                table.node["take"][p // cores] += 1
            bits >>= 1
            p += 1


@pointer(CHANGE)
def change(b: Plan, table: Table, job: int, since: int, until: int, sign: int, what: int) -> None:
    """Book a job in (sign -1) or out (1) during [since, until)."""
    first = tl.cut(b, since)
    last = tl.cut(b, until)
    line = b.line
    slot = b.job["slot"][job]
    words = b.par["words"][0]
    count = table.job["procs"][job] if what & tl.COUNT != 0 else 0
    for i in range(first, last):
        row = line["row"][i]
        line["left"][i] += sign * count
        if what & tl.PLACE != 0:
            for word in range(words):
                b.room[row, word] ^= b.mask[slot, word]
    hinges = len(table.hinge)
    if what & tl.PLACE != 0 and b.par["costed"][0] != 0:
        count_by_node(b, table, slot)
        for node in range(table.par["nodes"][0]):
            if table.node["take"][node] == 0:
                continue
            for h in range(hinges):
                drawn = table.node["take"][node] * table.demand[job, h] * sign
                for i in range(first, last):
                    b.load[line["row"][i], node * hinges + h] -= drawn
    if what & tl.COUNT != 0:
        line["starts"][first] -= sign
        line["ends"][last] -= sign
    tl.close(b, last)
    tl.close(b, first)
