"""The verbs of conservative backfilling on nodes: promise, book, begin in the promised place."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.booking import count_by_node
from shadowtime.kernel.nodes.fields import (
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
from shadowtime.kernel.nodes.fields import UNTIL as FREED_AT
from shadowtime.kernel.nodes.ledger import (
    BITS,
    COUNT,
    DUE,
    MORE,
    OTHER,
    PICK,
    PLACE,
    PLAN_MORE,
    SLOT,
    SOONEST,
    UNTIL,
    WORDS,
    place_of,
)
from shadowtime.kernel.nodes.placing import allot
from shadowtime.kernel.nodes.table import enlist, join_line
from shadowtime.kernel.nodes.window import gather, pick, within
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import (
    NEVER,
    STARTED,
)
from shadowtime.kernel.running import log


@kernel
def held(t: Any) -> int:
    """What a reservation books."""
    return COUNT if t.par[COUNTED] != 0 else COUNT | PLACE


@kernel
def length_of(t: Any, b: Any, job: int) -> int:
    """For how long the table holds a job's processors."""
    return t.job[job, LENGTH] + b.job[job, MORE]


@kernel
def book(t: Any, b: Any, k: Any, job: int, sign: int) -> None:
    """Book a waiting job's reservation in (sign -1) or out (1)."""
    due = b.job[job, DUE]
    k.change(b, t, job, due, due + length_of(t, b, job), sign, held(t))
    if sign < 0:
        b.par[SOONEST] = min(b.par[SOONEST], due)


@kernel
def write_plan(t: Any, b: Any, job: int) -> None:
    """The plan at hand becomes the job's."""
    b.job[job, DUE] = t.par[PLAN_START]
    b.job[job, MORE] = b.par[PLAN_MORE]
    for word in range(b.par[WORDS]):
        b.mask[b.job[job, SLOT], word] = b.mask[PICK, word]


@kernel
def promise_anew(t: Any, b: Any, k: Any, job: int) -> None:
    """Promise a job the start that its place part finds around everybody else."""
    k.seek(b, t, k.first_room, k.assess, job, ZERO, NEVER, NEVER)
    write_plan(t, b, job)
    book(t, b, k, job, -1)


@kernel
def still_holds(t: Any, b: Any, job: int) -> bool:
    """True if nobody has a reservation's processors in its time."""
    due = b.job[job, DUE]
    at = place_of(b, due)
    end = due + length_of(t, b, job)
    procs = t.job[job, PROCS]
    if gather(b, OTHER, at, end, procs) < procs:
        return False
    return t.par[COUNTED] != 0 or within(b, b.job[job, SLOT], OTHER)


@kernel
def claim(t: Any, b: Any, job: int, until: int) -> None:
    """Give a job the processors of its reservation, node by node."""
    slot = b.job[job, SLOT]
    cores = t.par[CORES]
    proc = t.proc
    count_by_node(b, t, slot)
    last = -1
    for node in range(t.par[NODES]):
        count = t.node[node, TAKE]
        if count == 0:
            continue
        join_line(t, node, job, count, until)
        first = -1
        for p in range(node * cores, node * cores + cores):
            if (b.mask[slot, p // BITS] >> (p % BITS)) & 1 != 0:
                proc[p, OWNER] = job
                proc[p, FREED_AT] = until
                if first < 0:
                    first = p
        proc[first, PROCESSES] = count
        proc[first, NEXT] = -1
        if last < 0:
            t.job[job, FIRST] = first
        else:
            proc[last, NEXT] = first
        last = first
    t.job[job, LAST] = last
    t.par[FREE] -= t.job[job, PROCS]


@routine
def begin(s: Any, t: Any, b: Any, k: Any, job: int, now: int) -> None:
    """Start a job now; where reservations are counted, its place is chosen now."""
    until = now + length_of(t, b, job)
    slot = b.job[job, SLOT]
    if t.par[COUNTED] != 0:
        book(t, b, k, job, 1)
        allot(t, job, k.assess(b, t, job, ZERO, now))
        pick(b, t, job)
        for word in range(b.par[WORDS]):
            b.mask[slot, word] = b.mask[PICK, word]
        k.change(b, t, job, now, until, -1, COUNT | PLACE)
    b.job[job, UNTIL] = until
    claim(t, b, job, until)
    enlist(t, job, until)
    t.par[WANTED] -= t.job[job, PROCS]
    t.job[job, LIMIT] += b.job[job, MORE]
    t.job[job, START] = now
    dequeue(s, job)
    log(s, STARTED, job)
