"""The verbs of a pass on nodes: begin a job in its allocation, hold one for the head, let it go."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.search import free_at, plan_at, stretch
from shadowtime.kernel import fields
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.fields import (
    CORES,
    COST,
    COUNTED,
    FREE,
    HEAD,
    HOLD,
    HOLD_FROM,
    HOLD_JOB,
    HOLD_UNTIL,
    LENGTH,
    LIMIT,
    NOW,
    OWNER,
    PINNED,
    PINNED_ONES,
    PINS,
    PLAN_COST,
    PLAN_START,
    PROCS,
    READY,
    RESERVED,
    SPARE,
    STALE,
    START,
    STRETCHED,
    TAKE,
    TOP,
    UNTIL,
    WITHOUT,
)
from shadowtime.kernel.nodes.placing import allot, evaluate
from shadowtime.kernel.nodes.table import claim, enlist
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import STARTED
from shadowtime.kernel.running import log

REASON = fields.REASON


@routine
def begin(s: Any, t: Any, job: int, reason: int) -> None:
    """Start a job now in the allocation its policy planned; its limit may grow with the penalty.

    Where the evaluation at hand is no longer that plan (READY is 0), it is made again.
    """
    par = t.par
    now = par[NOW]
    if par[READY] == 0:
        t.job[job, COST] = plan_at(t, job, now)
    allot(t, job, t.job[job, COST])
    more = stretch(t, t.job[job, COST])
    until = now + t.job[job, LENGTH] + more
    for node in range(par[TOP]):
        if t.node[node, TAKE] > 0:
            claim(t, job, node, t.node[node, TAKE], until, par[WITHOUT])
    if par[COUNTED] != 0 and par[HOLD] != 0 and until > par[HOLD_FROM]:
        par[SPARE] -= t.job[job, PROCS]
    enlist(t, job, until)
    t.job[job, LIMIT] += more
    t.job[job, START] = now
    s.job[job, REASON] = reason
    dequeue(s, job)
    log(s, STARTED, job)
    par[STALE] = 1
    par[READY] = 0


@kernel
def hold(t: Any) -> None:
    """Put the head's plan into the table: with resv=placed it pins certain processors."""
    par = t.par
    head = par[HEAD]
    start = par[PLAN_START]
    if par[READY] == 0 and (par[COUNTED] == 0 or par[STRETCHED] != 0):
        par[PLAN_COST] = evaluate(t, head, start, par[HOLD])
    par[READY] = 0
    par[SPARE] = par[FREE]
    if par[COUNTED] != 0:
        par[SPARE] = free_at(t, start) - t.job[head, PROCS]
    else:
        allot(t, head, par[PLAN_COST])
        pin(t, start)
    par[HOLD] = 1
    par[HOLD_JOB] = head
    par[HOLD_FROM] = start
    par[HOLD_UNTIL] = start + t.job[head, LENGTH] + stretch(t, par[PLAN_COST])


@kernel
def pin(t: Any, start: int) -> None:
    """Mark the processors of the allocation in TAKE: the lowest that are free at its start."""
    cores = t.par[CORES]
    pins = 0
    for node in range(t.par[TOP]):
        left = t.node[node, TAKE]
        t.node[node, RESERVED] = left
        p = node * cores
        while left > 0:
            if t.proc[p, UNTIL] <= start:
                t.proc[p, PINNED] = 1
                t.list[PINNED_ONES, pins] = p
                pins += 1
                left -= 1
                if t.proc[p, OWNER] < 0:
                    t.par[SPARE] -= 1
            p += 1
    t.par[PINS] = pins


@kernel
def let_go(t: Any) -> None:
    """Take the reservation out of the table."""
    if t.par[HOLD] == 0:
        return
    cores = t.par[CORES]
    for i in range(t.par[PINS]):
        p = t.list[PINNED_ONES, i]
        t.proc[p, PINNED] = 0
        t.node[p // cores, RESERVED] = 0
    t.par[PINS] = 0
    t.par[HOLD] = 0
