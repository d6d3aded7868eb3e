"""The verbs of a pass on nodes: begin a job in its allocation, hold one for the head, let it go."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua.placing import allot
from shadowtime.engine.nodes.rua.search import stretch
from shadowtime.engine.nodes.running_table import Table, claim, enlist, free_at
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import STARTED
from shadowtime.kernel.running import log
from shadowtime.kernel.state import State


@routine
def begin(state: State, table: Table, k: Any, job: int) -> None:
    """Start a job now in the allocation its policy planned; its limit may grow with the penalty.

    The caller sets the reason (REASON). Where the evaluation at hand is no longer that plan
    (``ready`` is 0), it is made again.
    """
    par = table.par
    now = par["now"][0]
    if par["ready"][0] == 0:
        table.job["cost"][job] = k.plan_at(table, k.evaluate, job, now)
    allot(table, job, table.job["cost"][job])
    more = stretch(table, job, table.job["cost"][job])
    until = now + table.job["length"][job] + more
    for node in table.node["site"][: par["top"][0]]:
        if table.node["take"][node] > 0:
            claim(table, job, node, table.node["take"][node], until, par["without"][0])
    if par["counted"][0] != 0 and par["hold"][0] != 0 and until > par["hold_from"][0]:
        par["spare"][0] -= table.job["procs"][job]
    elif par["hold"][0] == nf.PENDING:
        par["spare"][0] = min(par["spare"][0], par["free"][0])
    enlist(table, job, until)
    par["wanted"][0] -= table.job["procs"][job]
    table.job["limit"][job] += more
    table.job["start"][job] = now
    dequeue(state, job)
    log(state, STARTED, job)
    par["stale"][0] = 1
    par["ready"][0] = 0


@kernel
def hold(table: Table, k: Any) -> None:
    """Put the head's plan into the table: for now its time and the number of its processors.

    Which ones they are (resv=placed) is asked only where it matters: jobs that end before the
    reservation begins do not change the answer.
    """
    par = table.par
    head = par["head"][0]
    par["hold_job"][0] = head
    par["hold_from"][0] = par["plan_start"][0]
    par["hold_top"][0] = 0
    par["spare"][0] = free_at(table, par["plan_start"][0]) - table.job["procs"][head]
    par["hold_until"][0] = par["plan_start"][0] + table.job["length"][head]
    if par["counted"][0] == 0:
        par["spare"][0] = min(par["spare"][0], par["free"][0])
        par["hold"][0] = nf.PENDING
        return
    if par["stretched"][0] != 0:
        cost = k.evaluate(table, head, par["plan_start"][0], par["hold"][0])
        par["hold_until"][0] += stretch(table, head, cost)
    par["ready"][0] = 0
    par["hold"][0] = 1


@kernel
def pin(table: Table, k: Any) -> None:
    """Let the reservation take its processors; those that are free now are not spare."""
    par = table.par
    head = par["hold_job"][0]
    start = par["hold_from"][0]
    par["hold"][0] = 0
    par["ready"][0] = 0
    cost = k.evaluate(table, head, start, par["hold"][0])
    allot(table, head, cost)
    par["hold"][0] = 1
    par["holds"][0] += 1
    par["hold_until"][0] += stretch(table, head, cost)
    cores = par["cores"][0]
    spare = par["free"][0]
    for node in table.node["site"][: par["top"][0]]:
        left = table.node["take"][node]
        if left == 0:
            continue
        table.node["held"][par["hold_top"][0]] = node
        par["hold_top"][0] += 1
        table.node["reserved"][node] = left
        busy = table.node["busy"][node]
        if busy == 0:
            spare -= left
        elif busy < cores:
            p = node * cores
            while left > 0:
                if table.proc["until"][p] <= start:
                    left -= 1
                    if table.proc["owner"][p] < 0:
                        spare -= 1
                p += 1
    par["spare"][0] = spare


@kernel
def let_go(table: Table) -> None:
    """Take the reservation out of the table."""
    if table.par["hold"][0] != 0:
        table.par["hold"][0] = 0
        for node in table.node["held"][: table.par["hold_top"][0]]:
            table.node["reserved"][node] = 0
