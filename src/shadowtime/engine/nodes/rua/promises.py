"""The verbs of conservative backfilling on nodes: promise, book, begin in the promised place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.engine.nodes.fields import (
    CORES,
    COUNTED,
    FIRST,
    FREE,
    LAST,
    LENGTH,
    LIMIT,
    NEXT,
    NODES,
    OWNER,
    PLAN_START,
    PROCESSES,
    PROCS,
    START,
    TAKE,
    WANTED,
    ZERO,
)
from shadowtime.engine.nodes.fields import UNTIL as FREED_AT
from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.booking import count_by_node
from shadowtime.engine.nodes.rua.placing import allot
from shadowtime.engine.nodes.rua.window import gather, pick, within
from shadowtime.engine.nodes.running_table import enlist, join_line
from shadowtime.kernel import registers as r
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.running import log

if TYPE_CHECKING:
    from shadowtime.engine.nodes.rua.timeline import Plan
    from shadowtime.engine.nodes.running_table import Table
    from shadowtime.kernel.state import State


@kernel
def held(table: Table) -> int:
    """What a reservation books."""
    return tl.COUNT if table.par[COUNTED] != 0 else tl.COUNT | tl.PLACE


@kernel
def length_of(table: Table, b: Plan, job: int) -> int:
    """For how long the table holds a job's processors."""
    return table.job[job, LENGTH] + b.job[job, tl.MORE]


@kernel
def book(table: Table, b: Plan, k: Any, job: int, sign: int) -> None:
    """Book a waiting job's reservation in (sign -1) or out (1)."""
    due = b.job[job, tl.DUE]
    k.change(b, table, job, due, due + length_of(table, b, job), sign, held(table))
    if sign < 0:
        b.par[tl.SOONEST] = min(b.par[tl.SOONEST], due)


@kernel
def write_plan(table: Table, b: Plan, job: int) -> None:
    """The plan at hand becomes the job's."""
    b.job[job, tl.DUE] = table.par[PLAN_START]
    b.job[job, tl.MORE] = b.par[tl.PLAN_MORE]
    for word in range(b.par[tl.WORDS]):
        b.mask[b.job[job, tl.SLOT], word] = b.mask[tl.PICK, word]


@kernel
def promise_anew(table: Table, b: Plan, k: Any, job: int) -> None:
    """Promise a job the start that its place part finds around all other jobs."""
    k.seek(b, table, k.first_room, k.assess, job, ZERO, r.NEVER, r.NEVER)
    write_plan(table, b, job)
    book(table, b, k, job, -1)


@kernel
def still_holds(table: Table, b: Plan, job: int) -> bool:
    """True if no job has a reservation's processors in its time."""
    due = b.job[job, tl.DUE]
    at = tl.place_of(b, due)
    end = due + length_of(table, b, job)
    procs = table.job[job, PROCS]
    if gather(b, tl.OTHER, at, end, procs) < procs:
        return False
    return table.par[COUNTED] != 0 or within(b, b.job[job, tl.SLOT], tl.OTHER)


@kernel
def claim(table: Table, b: Plan, job: int, until: int) -> None:
    """Give a job the processors of its reservation, node by node."""
    slot = b.job[job, tl.SLOT]
    cores = table.par[CORES]
    proc = table.proc
    count_by_node(b, table, slot)
    last = -1
    for node in range(table.par[NODES]):
        count = table.node[node, TAKE]
        if count == 0:
            continue
        join_line(table, node, job, count, until)
        first = -1
        for p in range(node * cores, node * cores + cores):
            if (b.mask[slot, p // tl.BITS] >> (p % tl.BITS)) & 1 != 0:
                proc[p, OWNER] = job
                proc[p, FREED_AT] = until
                if first < 0:
                    first = p
        proc[first, PROCESSES] = count
        proc[first, NEXT] = -1
        if last < 0:
            table.job[job, FIRST] = first
        else:
            proc[last, NEXT] = first
        last = first
    table.job[job, LAST] = last
    table.par[FREE] -= table.job[job, PROCS]


@routine
def begin(state: State, table: Table, b: Plan, k: Any, job: int, now: int) -> None:
    """Start a job now; where reservations are counted, its place is chosen now."""
    until = now + length_of(table, b, job)
    slot = b.job[job, tl.SLOT]
    if table.par[COUNTED] != 0:
        book(table, b, k, job, 1)
        allot(table, job, k.assess(b, table, job, ZERO, now))
        pick(b, table, job)
        for word in range(b.par[tl.WORDS]):
            b.mask[slot, word] = b.mask[tl.PICK, word]
        k.change(b, table, job, now, until, -1, tl.COUNT | tl.PLACE)
    b.job[job, tl.UNTIL] = until
    claim(table, b, job, until)
    enlist(table, job, until)
    table.par[WANTED] -= table.job[job, PROCS]
    table.job[job, LIMIT] += b.job[job, tl.MORE]
    table.job[job, START] = now
    dequeue(state, job)
    log(state, r.STARTED, job)
