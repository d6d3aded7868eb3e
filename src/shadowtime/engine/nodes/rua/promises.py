"""The verbs of conservative backfilling on nodes: promise, book, begin in the promised place.

To book is to write which job holds which processors into the table of timeline.py.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes import fields
from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.placing import allot
from shadowtime.engine.nodes.rua.pointers import CHANGE, pointer
from shadowtime.engine.nodes.rua.timeline import Plan
from shadowtime.engine.nodes.rua.window import gather, pick, within
from shadowtime.engine.nodes.running_table import Table, enlist, join_line
from shadowtime.kernel import registers as r
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.running import log
from shadowtime.kernel.state import State


@kernel
def held(table: Table) -> int:
    """What a reservation books."""
    return tl.COUNT if table.par["counted"][0] != 0 else tl.COUNT | tl.PLACE


@kernel
def length_of(table: Table, b: Plan, job: int) -> int:
    """For how long the table holds a job's processors."""
    return table.job["length"][job] + b.job["more"][job]


@kernel
def book(table: Table, b: Plan, k: Any, job: int, sign: int) -> None:
    """Book a waiting job's reservation in (sign -1) or out (1)."""
    due = b.job["due"][job]
    k.change(b, table, job, due, due + length_of(table, b, job), sign, held(table))
    if sign < 0:
        b.par["soonest"][0] = min(b.par["soonest"][0], due)


@kernel
def write_plan(table: Table, b: Plan, job: int) -> None:
    """The plan at hand becomes the job's."""
    b.job["due"][job] = table.par["plan_start"][0]
    b.job["more"][job] = b.par["plan_more"][0]
    for word in range(b.par["words"][0]):
        b.mask[b.job["slot"][job], word] = b.mask[tl.PICK, word]


@kernel
def promise_anew(table: Table, b: Plan, k: Any, job: int) -> None:
    """Promise a job the start that its place part finds around all other jobs."""
    k.seek(b, table, k.first_room, k.assess, job, fields.ZERO, r.NEVER, r.NEVER)
    write_plan(table, b, job)
    book(table, b, k, job, -1)


@kernel
def still_holds(table: Table, b: Plan, job: int) -> bool:
    """True if no job has a reservation's processors in its time."""
    due = b.job["due"][job]
    at = tl.place_of(b, due)
    end = due + length_of(table, b, job)
    procs = table.job["procs"][job]
    if gather(b, tl.OTHER, at, end, procs) < procs:
        return False
    return table.par["counted"][0] != 0 or within(b, b.job["slot"][job], tl.OTHER)


@kernel
def claim(table: Table, b: Plan, job: int, until: int) -> None:
    """Give a job the processors of its reservation, node by node."""
    slot = b.job["slot"][job]
    cores = table.par["cores"][0]
    proc = table.proc
    count_by_node(b, table, slot)
    last = -1
    for node in range(table.par["nodes"][0]):
        count = table.node["take"][node]
        if count == 0:
            continue
        join_line(table, node, job, count, until)
        first = -1
        for p in range(node * cores, node * cores + cores):
            if (b.mask[slot, p // tl.WORD_BITS] >> (p % tl.WORD_BITS)) & 1 != 0:
                proc["owner"][p] = job
                proc["until"][p] = until
                if first < 0:
                    first = p
        proc["processes"][first] = count
        proc["next"][first] = -1
        if last < 0:
            table.job["first"][job] = first
        else:
            proc["next"][last] = first
        last = first
    table.job["last"][job] = last
    table.par["free"][0] -= table.job["procs"][job]


@routine
def begin(state: State, table: Table, b: Plan, k: Any, job: int, now: int) -> None:
    """Start a job now; where reservations are counted, its place is chosen now."""
    until = now + length_of(table, b, job)
    slot = b.job["slot"][job]
    if table.par["counted"][0] != 0:
        book(table, b, k, job, 1)
        allot(table, job, k.assess(b, table, job, fields.ZERO, now))
        pick(b, table, job)
        for word in range(b.par["words"][0]):
            b.mask[slot, word] = b.mask[tl.PICK, word]
        k.change(b, table, job, now, until, -1, tl.COUNT | tl.PLACE)
    b.job["until"][job] = until
    claim(table, b, job, until)
    enlist(table, job, until)
    table.par["wanted"][0] -= table.job["procs"][job]
    table.job["limit"][job] += b.job["more"][job]
    table.job["start"][job] = now
    dequeue(state, job)
    log(state, r.STARTED, job)


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
