"""The verbs of a pass on nodes: begin a job in its allocation, hold one for the head, let it go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua.placing import allot
from shadowtime.engine.nodes.rua.search import stretch
from shadowtime.engine.nodes.running_table import claim, enlist, free_at
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import STARTED
from shadowtime.kernel.running import log

if TYPE_CHECKING:
    from shadowtime.engine.nodes.running_table import Table
    from shadowtime.kernel.state import State


@routine
def begin(state: State, table: Table, k: Any, job: int) -> None:
    """Start a job now in the allocation its policy planned; its limit may grow with the penalty.

    The caller sets the reason (REASON). Where the evaluation at hand is no longer that plan (READY
    is 0), it is made again.
    """
    par = table.par
    now = par[nf.NOW]
    if par[nf.READY] == 0:
        table.job[job, nf.COST] = k.plan_at(table, k.evaluate, job, now)
    allot(table, job, table.job[job, nf.COST])
    more = stretch(table, job, table.job[job, nf.COST])
    until = now + table.job[job, nf.LENGTH] + more
    for node in table.list[nf.SITES, : par[nf.TOP]]:
        if table.node[node, nf.TAKE] > 0:
            claim(table, job, node, table.node[node, nf.TAKE], until, par[nf.WITHOUT])
    if par[nf.COUNTED] != 0 and par[nf.HOLD] != 0 and until > par[nf.HOLD_FROM]:
        par[nf.SPARE] -= table.job[job, nf.PROCS]
    elif par[nf.HOLD] == nf.PENDING:
        par[nf.SPARE] = min(par[nf.SPARE], par[nf.FREE])
    enlist(table, job, until)
    par[nf.WANTED] -= table.job[job, nf.PROCS]
    table.job[job, nf.LIMIT] += more
    table.job[job, nf.START] = now
    dequeue(state, job)
    log(state, STARTED, job)
    par[nf.STALE] = 1
    par[nf.READY] = 0


@kernel
def hold(table: Table, k: Any) -> None:
    """Put the head's plan into the table: for now its time and the number of its processors.

    Which ones they are (resv=placed) is asked only where it matters: jobs that end before the
    reservation begins do not change the answer.
    """
    par = table.par
    head = par[nf.HEAD]
    par[nf.HOLD_JOB] = head
    par[nf.HOLD_FROM] = par[nf.PLAN_START]
    par[nf.HOLD_TOP] = 0
    par[nf.SPARE] = free_at(table, par[nf.PLAN_START]) - table.job[head, nf.PROCS]
    par[nf.HOLD_UNTIL] = par[nf.PLAN_START] + table.job[head, nf.LENGTH]
    if par[nf.COUNTED] == 0:
        par[nf.SPARE] = min(par[nf.SPARE], par[nf.FREE])
        par[nf.HOLD] = nf.PENDING
        return
    if par[nf.STRETCHED] != 0:
        cost = k.evaluate(table, head, par[nf.PLAN_START], par[nf.HOLD])
        par[nf.HOLD_UNTIL] += stretch(table, head, cost)
    par[nf.READY] = 0
    par[nf.HOLD] = 1


@kernel
def pin(table: Table, k: Any) -> None:
    """Let the reservation take its processors; those that are free now are not spare."""
    par = table.par
    head = par[nf.HOLD_JOB]
    start = par[nf.HOLD_FROM]
    par[nf.HOLD] = 0
    par[nf.READY] = 0
    cost = k.evaluate(table, head, start, par[nf.HOLD])
    allot(table, head, cost)
    par[nf.HOLD] = 1
    par[nf.HOLDS] += 1
    par[nf.HOLD_UNTIL] += stretch(table, head, cost)
    cores = par[nf.CORES]
    spare = par[nf.FREE]
    for node in table.list[nf.SITES, : par[nf.TOP]]:
        left = table.node[node, nf.TAKE]
        if left == 0:
            continue
        table.list[nf.HELD, par[nf.HOLD_TOP]] = node
        par[nf.HOLD_TOP] += 1
        table.node[node, nf.RESERVED] = left
        busy = table.node[node, nf.BUSY]
        if busy == 0:
            spare -= left
        elif busy < cores:
            p = node * cores
            while left > 0:
                if table.proc[p, nf.UNTIL] <= start:
                    left -= 1
                    if table.proc[p, nf.OWNER] < 0:
                        spare -= 1
                p += 1
    par[nf.SPARE] = spare


@kernel
def let_go(table: Table) -> None:
    """Take the reservation out of the table."""
    if table.par[nf.HOLD] != 0:
        table.par[nf.HOLD] = 0
        for node in table.list[nf.HELD, : table.par[nf.HOLD_TOP]]:
            table.node[node, nf.RESERVED] = 0
