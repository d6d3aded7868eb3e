"""The verbs of a pass on nodes: begin a job in its allocation, hold one for the head, let it go."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.search import stretch
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.fields import (
    BUSY,
    CORES,
    COST,
    COUNTED,
    FREE,
    HEAD,
    HELD,
    HOLD,
    HOLD_FROM,
    HOLD_JOB,
    HOLD_TOP,
    HOLD_UNTIL,
    HOLDS,
    LENGTH,
    LIMIT,
    NOW,
    OWNER,
    PENDING,
    PLAN_START,
    PROCS,
    READY,
    RESERVED,
    SITES,
    SPARE,
    STALE,
    START,
    STRETCHED,
    TAKE,
    TOP,
    UNTIL,
    WANTED,
    WITHOUT,
)
from shadowtime.kernel.nodes.placing import allot
from shadowtime.kernel.nodes.table import claim, enlist, free_at
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import STARTED
from shadowtime.kernel.running import log


@routine
def begin(s: Any, t: Any, k: Any, job: int) -> None:
    """Start a job now in the allocation its policy planned; its limit may grow with the penalty.

    The caller says why (REASON). Where the evaluation at hand is no longer that plan (READY is
    0), it is made again.
    """
    par = t.par
    now = par[NOW]
    if par[READY] == 0:
        t.job[job, COST] = k.plan_at(t, k.evaluate, job, now)
    allot(t, job, t.job[job, COST])
    more = stretch(t, job, t.job[job, COST])
    until = now + t.job[job, LENGTH] + more
    for node in t.list[SITES, : par[TOP]]:
        if t.node[node, TAKE] > 0:
            claim(t, job, node, t.node[node, TAKE], until, par[WITHOUT])
    if par[COUNTED] != 0 and par[HOLD] != 0 and until > par[HOLD_FROM]:
        par[SPARE] -= t.job[job, PROCS]
    elif par[HOLD] == PENDING:
        par[SPARE] = min(par[SPARE], par[FREE])
    enlist(t, job, until)
    par[WANTED] -= t.job[job, PROCS]
    t.job[job, LIMIT] += more
    t.job[job, START] = now
    dequeue(s, job)
    log(s, STARTED, job)
    par[STALE] = 1
    par[READY] = 0


@kernel
def hold(t: Any, k: Any) -> None:
    """Put the head's plan into the table: for now its time and the number of its processors.

    Which ones they are (resv=placed) is asked only where it matters: jobs that end before the
    reservation begins do not change the answer.
    """
    par = t.par
    head = par[HEAD]
    par[HOLD_JOB] = head
    par[HOLD_FROM] = par[PLAN_START]
    par[HOLD_TOP] = 0
    par[SPARE] = free_at(t, par[PLAN_START]) - t.job[head, PROCS]
    par[HOLD_UNTIL] = par[PLAN_START] + t.job[head, LENGTH]
    if par[COUNTED] == 0:
        par[SPARE] = min(par[SPARE], par[FREE])
        par[HOLD] = PENDING
        return
    if par[STRETCHED] != 0:
        cost = k.evaluate(t, head, par[PLAN_START], par[HOLD])
        par[HOLD_UNTIL] += stretch(t, head, cost)
    par[READY] = 0
    par[HOLD] = 1


@kernel
def pin(t: Any, k: Any) -> None:
    """Let the reservation take its processors; those that are free now are not spare."""
    par = t.par
    head = par[HOLD_JOB]
    start = par[HOLD_FROM]
    par[HOLD] = 0
    par[READY] = 0
    cost = k.evaluate(t, head, start, par[HOLD])
    allot(t, head, cost)
    par[HOLD] = 1
    par[HOLDS] += 1
    par[HOLD_UNTIL] += stretch(t, head, cost)
    cores = par[CORES]
    spare = par[FREE]
    for node in t.list[SITES, : par[TOP]]:
        left = t.node[node, TAKE]
        if left == 0:
            continue
        t.list[HELD, par[HOLD_TOP]] = node
        par[HOLD_TOP] += 1
        t.node[node, RESERVED] = left
        busy = t.node[node, BUSY]
        if busy == 0:
            spare -= left
        elif busy < cores:
            p = node * cores
            while left > 0:
                if t.proc[p, UNTIL] <= start:
                    left -= 1
                    if t.proc[p, OWNER] < 0:
                        spare -= 1
                p += 1
    par[SPARE] = spare


@kernel
def let_go(t: Any) -> None:
    """Take the reservation out of the table."""
    if t.par[HOLD] != 0:
        t.par[HOLD] = 0
        for node in t.list[HELD, : t.par[HOLD_TOP]]:
            t.node[node, RESERVED] = 0
