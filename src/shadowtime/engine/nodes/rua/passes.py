"""The pass on nodes: the head by its policy's start, one reservation, backfilling.

spec: algorithms 4.7.

(a) While the head's allocation starts now, start it. (b) Otherwise it is the reservation: its start
never moves later than it was promised at the pass before. (c) The others start where their own
allocation, made around the reservation, begins now: one scan, or RUA's repeated choice of the
least penalised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.engine.events import PASS_DUE
from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.events import advance, carry_out_starts
from shadowtime.engine.nodes.rua.backfill import backfill
from shadowtime.engine.nodes.rua.begin import begin, hold, let_go
from shadowtime.engine.nodes.rua.head import plan_head
from shadowtime.engine.nodes.rua.placing import evaluate, within
from shadowtime.engine.nodes.rua.search import Units, must_wait, plan_at, prefers_later
from shadowtime.engine.nodes.running_table import end_at, job_at, postpone
from shadowtime.kernel import fields
from shadowtime.kernel.estimates import FIXED
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.queue import first_waiting
from shadowtime.kernel.registers import (
    ARRIVED,
    BLOCK,
    FRESH,
    LEARNER,
    NEVER,
    QUEUE_FROM,
    SHIFT,
    VOLATILE,
    WAITING,
)
from shadowtime.kernel.registers import NOW as CLOCK
from shadowtime.kernel.running import HEAD as AS_HEAD
from shadowtime.kernel.running import RESERVED

if TYPE_CHECKING:
    from shadowtime.engine.nodes.rates import Rates
    from shadowtime.engine.nodes.running_table import Table
    from shadowtime.kernel.state import State, World

BLOCKED_AT, PROMISED, REASON = fields.BLOCKED_AT, fields.PROMISED, fields.REASON
ESTIMATE = fields.ESTIMATE
WIDTH = fields.PROCS

UNITS = Units(evaluate, within, plan_at, plan_head, prefers_later, must_wait)


@entry
def run(state: State, world: World, table: Table, rates: Rates, k: Any) -> int:
    """The event loop with this pass."""
    while True:
        code = advance(state, world, table, rates)
        if code != PASS_DUE:
            return int(code)
        table.par[nf.NOW] = state.reg[CLOCK]
        admit(state, table)
        if state.reg[WAITING] > 0:
            decide(state, table, k)
            carry_out_starts(state, world, table, rates)


@kernel
def admit(state: State, table: Table) -> None:
    """Take in jobs submitted at this instant: what they ask for, how long they may run."""
    for job in range(state.reg[FRESH], state.reg[ARRIVED]):
        table.par[nf.WANTED] += table.job[job, nf.PROCS]
        if state.reg[LEARNER] != FIXED:
            table.job[job, nf.SPAN] = state.job[job, ESTIMATE]


@kernel
def choose_threshold(table: Table) -> None:
    """One threshold for this pass: the strictest while no more waits than the machine holds."""
    machine = table.par[nf.NODES] * table.par[nf.CORES]
    chosen = min(table.par[nf.THETAS] - 1, table.par[nf.WANTED] // machine)
    if chosen != table.par[nf.THETA_FROM] or table.par[nf.THETA_TO] != chosen + 1:
        table.par[nf.THETA_FROM] = chosen
        table.par[nf.THETA_TO] = chosen + 1
        table.par[nf.STALE] = 1


@kernel
def decide(state: State, table: Table, k: Any) -> None:
    """One pass."""
    if state.reg[VOLATILE] != 0:
        move_overdue(table)
    if table.par[nf.BY_LOAD] != 0:
        choose_threshold(table)
    if not start_heads(state, table, k):
        return
    if (
        table.par[nf.BACKFILL] == nf.NEVER_BACKFILL
        or state.reg[WAITING] == 1
        or none_narrow_enough(state, table)
    ):
        return
    if table.par[nf.RESERVES] != 0 and table.par[nf.HOLD] == 0:
        hold(table, k)
    backfill(state, table, k)


@kernel
def start_heads(state: State, table: Table, k: Any) -> bool:
    """Start jobs in arrival order; True if one stays blocked, its plan in the registers."""
    par = table.par
    now = par[nf.NOW]
    par[nf.READY] = 0
    while True:
        head = first_waiting(state)
        if head < 0:
            par[nf.HEAD] = -1
            return False
        if head != par[nf.HEAD]:
            par[nf.HEAD] = head
            par[nf.PROMISE] = NEVER
            par[nf.STALE] = 1
        # Time alone does not help a job without processors: the plan holds until the table changes.
        if par[nf.STALE] != 0 or table.job[head, nf.PROCS] <= par[nf.FREE]:
            let_go(table)
            par[nf.STALE] = 0
            par[nf.TRIED] = head + 1
            k.plan_head(table, k.evaluate, head)
        if par[nf.PLAN_START] > now:
            break
        par[nf.WITHOUT] = 0
        state.job[head, REASON] = AS_HEAD if state.job[head, BLOCKED_AT] < 0 else RESERVED
        begin(state, table, k, head)
    par[nf.PROMISE] = par[nf.PLAN_START]
    if state.job[head, BLOCKED_AT] < 0:
        state.job[head, BLOCKED_AT] = now
        state.job[head, PROMISED] = par[nf.PLAN_START]
    return True


@kernel
def none_narrow_enough(state: State, table: Table) -> bool:
    """True if every waiting job is wider than what is free."""
    free = table.par[nf.FREE]
    for block in range(state.reg[QUEUE_FROM] >> SHIFT, (state.reg[ARRIVED] + BLOCK - 1) >> SHIFT):
        if state.least[WIDTH, block] <= free:
            return False
    return True


@kernel
def move_overdue(table: Table) -> None:
    """Jobs past their end in the table are taken to end in the next second.

    spec: algorithms 1.2.
    """
    now = table.par[nf.NOW]
    first = nf.ZERO
    while table.par[nf.RUNNING] > 0 and end_at(table, first) <= now:
        postpone(table, job_at(table, first), now + 1)
        table.par[nf.STALE] = 1
