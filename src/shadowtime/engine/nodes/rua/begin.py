"""The verbs of a pass on nodes: begin a job in its allocation, hold one for the head, let it go."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.fields import (
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
from shadowtime.engine.nodes.rua.placing import allot
from shadowtime.engine.nodes.rua.search import stretch
from shadowtime.engine.nodes.running_table import claim, enlist, free_at
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import STARTED
from shadowtime.kernel.running import log


@routine
def begin(state: Any, table: Any, k: Any, job: int) -> None:
    """Start a job now in the allocation its policy planned; its limit may grow with the penalty.

    The caller sets the reason (REASON). Where the evaluation at hand is no longer that plan (READY
    is 0), it is made again.
    """
    par = table.par
    now = par[NOW]
    if par[READY] == 0:
        table.job[job, COST] = k.plan_at(table, k.evaluate, job, now)
    allot(table, job, table.job[job, COST])
    more = stretch(table, job, table.job[job, COST])
    until = now + table.job[job, LENGTH] + more
    for node in table.list[SITES, : par[TOP]]:
        if table.node[node, TAKE] > 0:
            claim(table, job, node, table.node[node, TAKE], until, par[WITHOUT])
    if par[COUNTED] != 0 and par[HOLD] != 0 and until > par[HOLD_FROM]:
        par[SPARE] -= table.job[job, PROCS]
    elif par[HOLD] == PENDING:
        par[SPARE] = min(par[SPARE], par[FREE])
    enlist(table, job, until)
    par[WANTED] -= table.job[job, PROCS]
    table.job[job, LIMIT] += more
    table.job[job, START] = now
    dequeue(state, job)
    log(state, STARTED, job)
    par[STALE] = 1
    par[READY] = 0


@kernel
def hold(table: Any, k: Any) -> None:
    """Put the head's plan into the table: for now its time and the number of its processors.

    Which ones they are (resv=placed) is asked only where it matters: jobs that end before the
    reservation begins do not change the answer.
    """
    par = table.par
    head = par[HEAD]
    par[HOLD_JOB] = head
    par[HOLD_FROM] = par[PLAN_START]
    par[HOLD_TOP] = 0
    par[SPARE] = free_at(table, par[PLAN_START]) - table.job[head, PROCS]
    par[HOLD_UNTIL] = par[PLAN_START] + table.job[head, LENGTH]
    if par[COUNTED] == 0:
        par[SPARE] = min(par[SPARE], par[FREE])
        par[HOLD] = PENDING
        return
    if par[STRETCHED] != 0:
        cost = k.evaluate(table, head, par[PLAN_START], par[HOLD])
        par[HOLD_UNTIL] += stretch(table, head, cost)
    par[READY] = 0
    par[HOLD] = 1


@kernel
def pin(table: Any, k: Any) -> None:
    """Let the reservation take its processors; those that are free now are not spare."""
    par = table.par
    head = par[HOLD_JOB]
    start = par[HOLD_FROM]
    par[HOLD] = 0
    par[READY] = 0
    cost = k.evaluate(table, head, start, par[HOLD])
    allot(table, head, cost)
    par[HOLD] = 1
    par[HOLDS] += 1
    par[HOLD_UNTIL] += stretch(table, head, cost)
    cores = par[CORES]
    spare = par[FREE]
    for node in table.list[SITES, : par[TOP]]:
        left = table.node[node, TAKE]
        if left == 0:
            continue
        table.list[HELD, par[HOLD_TOP]] = node
        par[HOLD_TOP] += 1
        table.node[node, RESERVED] = left
        busy = table.node[node, BUSY]
        if busy == 0:
            spare -= left
        elif busy < cores:
            p = node * cores
            while left > 0:
                if table.proc[p, UNTIL] <= start:
                    left -= 1
                    if table.proc[p, OWNER] < 0:
                        spare -= 1
                p += 1
    par[SPARE] = spare


@kernel
def let_go(table: Any) -> None:
    """Take the reservation out of the table."""
    if table.par[HOLD] != 0:
        table.par[HOLD] = 0
        for node in table.list[HELD, : table.par[HOLD_TOP]]:
            table.node[node, RESERVED] = 0
