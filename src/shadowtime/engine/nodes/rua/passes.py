"""The pass on nodes: the head by its policy's start, one reservation, backfilling.

spec: algorithms 4.7.

(a) While the head's allocation starts now, start it. (b) Otherwise it is the reservation: its start
never moves later than it was promised at the pass before. (c) The others start where their own
allocation, made around the reservation, begins now: one scan, or RUA's repeated choice of the
least penalised.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import PASS_DUE
from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.events import advance, carry_out_starts
from shadowtime.engine.nodes.rates import Rates
from shadowtime.engine.nodes.rua.backfill import backfill
from shadowtime.engine.nodes.rua.begin import begin, hold, let_go
from shadowtime.engine.nodes.rua.head import plan_head
from shadowtime.engine.nodes.rua.placing import evaluate, within
from shadowtime.engine.nodes.rua.search import Units, must_wait, plan_at, prefers_later
from shadowtime.engine.nodes.running_table import Table, end_at, job_at, postpone
from shadowtime.kernel import fields
from shadowtime.kernel import registers as r
from shadowtime.kernel.estimates import FIXED
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.queue import first_waiting
from shadowtime.kernel.running import HEAD as AS_HEAD
from shadowtime.kernel.running import RESERVED
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
        table.par["now"][0] = state.reg[r.NOW]
        admit(state, table)
        if state.reg[r.WAITING] > 0:
            decide(state, table, k)
            carry_out_starts(state, world, table, rates)


@kernel
def admit(state: State, table: Table) -> None:
    """Take in jobs submitted at this instant: what they ask for, how long they may run."""
    for job in range(state.reg[r.FRESH], state.reg[r.ARRIVED]):
        table.par["wanted"][0] += table.job["procs"][job]
        if state.reg[r.LEARNER] != FIXED:
            table.job["span"][job] = state.job[job, ESTIMATE]


@kernel
def choose_threshold(table: Table) -> None:
    """One threshold for this pass: the strictest while no more waits than the machine holds."""
    machine = table.par["nodes"][0] * table.par["cores"][0]
    chosen = min(len(table.theta) - 1, table.par["wanted"][0] // machine)
    if chosen != table.par["theta_from"][0] or table.par["theta_to"][0] != chosen + 1:
        table.par["theta_from"][0] = chosen
        table.par["theta_to"][0] = chosen + 1
        table.par["stale"][0] = 1


@kernel
def decide(state: State, table: Table, k: Any) -> None:
    """One pass."""
    if state.reg[r.VOLATILE] != 0:
        move_overdue(table)
    if table.par["by_load"][0] != 0:
        choose_threshold(table)
    if not start_heads(state, table, k):
        return
    if (
        table.par["backfill"][0] == nf.NEVER_BACKFILL
        or state.reg[r.WAITING] == 1
        or none_narrow_enough(state, table)
    ):
        return
    if table.par["reserves"][0] != 0 and table.par["hold"][0] == 0:
        hold(table, k)
    backfill(state, table, k)


@kernel
def start_heads(state: State, table: Table, k: Any) -> bool:
    """Start jobs in arrival order; True if one stays blocked, its plan in the registers."""
    par = table.par
    now = par["now"][0]
    par["ready"][0] = 0
    while True:
        head = first_waiting(state)
        if head < 0:
            par["head"][0] = -1
            return False
        if head != par["head"][0]:
            par["head"][0] = head
            par["promise"][0] = r.NEVER
            par["stale"][0] = 1
        # Time alone does not help a job without processors: the plan holds until the table changes.
        if par["stale"][0] != 0 or table.job["procs"][head] <= par["free"][0]:
            let_go(table)
            par["stale"][0] = 0
            par["tried"][0] = head + 1
            k.plan_head(table, k.evaluate, head)
        if par["plan_start"][0] > now:
            break
        par["without"][0] = 0
        state.job[head, REASON] = AS_HEAD if state.job[head, BLOCKED_AT] < 0 else RESERVED
        begin(state, table, k, head)
    par["promise"][0] = par["plan_start"][0]
    if state.job[head, BLOCKED_AT] < 0:
        state.job[head, BLOCKED_AT] = now
        state.job[head, PROMISED] = par["plan_start"][0]
    return True


@kernel
def none_narrow_enough(state: State, table: Table) -> bool:
    """True if every waiting job is wider than what is free."""
    free = table.par["free"][0]
    for block in range(
        state.reg[r.QUEUE_FROM] >> r.SHIFT, (state.reg[r.ARRIVED] + r.BLOCK - 1) >> r.SHIFT
    ):
        if state.least[WIDTH, block] <= free:
            return False
    return True


@kernel
def move_overdue(table: Table) -> None:
    """Jobs past their end in the table are taken to end in the next second.

    spec: algorithms 1.2.
    """
    now = table.par["now"][0]
    first = nf.ZERO
    while table.par["running"][0] > 0 and end_at(table, first) <= now:
        postpone(table, job_at(table, first), now + 1)
        table.par["stale"][0] = 1
