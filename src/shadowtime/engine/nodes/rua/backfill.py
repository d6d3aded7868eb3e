"""Backfilling on nodes: which of the rest start now, around the reservation.

spec: algorithms 4.7.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua.begin import begin, pin
from shadowtime.engine.nodes.rua.cost import roomy
from shadowtime.engine.nodes.rua.placing import NO_ROOM
from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel import fields
from shadowtime.kernel.exact import compare_products
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import ARRIVED, BIG, BLOCK, NEVER, SHIFT
from shadowtime.kernel.running import BACKFILLED
from shadowtime.kernel.state import State
from shadowtime.kernel.vector import any_fits

REASON = fields.REASON
WIDTH, HEIGHT = fields.LENGTH, fields.PROCS
"""Rows of the queue's mirrors."""


@kernel
def backfill(state: State, table: Table, k: Any) -> None:
    """Start the jobs that may overtake the blocked head.

    One scan in the policy's order; or RUA's: again and again, of all whose start is now, the one
    with the least penalty, then the shortest, then the oldest. Of candidates that are alike the
    oldest is asked: the others would give the same answer and stand behind it.
    """
    count = gather_fitting(state, table)
    repeated = table.par["backfill"][0] == nf.LEAST_PENALTY
    while count > 0:
        best = -1
        table.par["round"][0] += 1
        for i in range(count):
            job = table.job["candidate"][i]
            if job < 0 or not may_fit(table, job):
                continue
            if repeated:
                if table.job["asked"][table.job["like"][job]] == table.par["round"][0]:
                    continue
                table.job["asked"][table.job["like"][job]] = table.par["round"][0]
            late = table.par["now"][0] + table.job["length"][job] > table.par["hold_from"][0]
            if table.par["hold"][0] == nf.PENDING and (late or table.par["stretched"][0] != 0):
                pin(table, k)
                if not may_fit(table, job):
                    continue
            choosy = table.par["search"][0] == nf.THRESHOLD or table.job["reach"][job] > 0
            if choosy and not roomy(table, job):
                # It costs something now. Where that is too much already, how much does not matter.
                if table.par["hold"][0] == nf.PENDING and table.par["search"][0] == nf.CHEAPEST:
                    pin(table, k)
                if k.must_wait(table, k.within, job):
                    continue
            cost = k.plan_at(table, k.evaluate, job, table.par["now"][0])
            if cost == NO_ROOM:
                continue
            table.job["cost"][job] = cost
            table.par["ready"][0] = 1
            if cost > 0 and choosy:
                if table.par["hold"][0] == nf.PENDING:
                    pin(table, k)
                if k.prefers_later(table, k.evaluate, k.plan_at, job, cost):
                    continue
            if not repeated:
                state.job[job, REASON] = BACKFILLED
                begin(state, table, k, job)
            elif best < 0 or is_less_penalised(table, job, table.job["candidate"][best]):
                best = i
        if best < 0:
            return
        job = table.job["candidate"][best]
        table.job["candidate"][best] = -1
        table.par["ready"][0] = 0
        state.job[job, REASON] = BACKFILLED
        begin(state, table, k, job)


@kernel
def may_fit(table: Table, job: int) -> bool:
    """True if there is room for the job from now on for its request, around the reservation."""
    procs = table.job["procs"][job]
    if procs > table.par["free"][0]:
        return False
    if table.par["hold"][0] == 0 or procs <= table.par["spare"][0]:
        return True
    return table.par["now"][0] + table.job["length"][job] <= table.par["hold_from"][0]


@kernel
def gather_fitting(state: State, table: Table) -> int:
    """Waiting jobs behind the head that may fit, in the order in which they are tried.

    To a choice of the least penalised that order means nothing.
    """
    first = table.par["tried"][0]
    arrived = state.reg[ARRIVED]
    free = table.par["free"][0]
    left = table.par["hold_from"][0] - table.par["now"][0] if table.par["hold"][0] != 0 else NEVER
    spare = table.par["spare"][0] if table.par["hold"][0] != 0 else free
    by_length = table.par["backfill"][0] == nf.SHORTEST_FIRST
    found = table.job["candidate"]
    count = 0
    if table.par["search"][0] == nf.FIRST_FIT and table.par["stretched"][0] == 0:
        # Time alone makes no job fit that did not: until the table changes, only newcomers may.
        table.par["tried"][0] = arrived
    for block in range(first >> SHIFT, ((arrived - 1) >> SHIFT) + 1):
        least = state.least[HEIGHT, block]
        if least > free or (state.least[WIDTH, block] > left and least > spare):
            continue
        if not any_fits(state.wait, block, free, spare, left):
            continue
        for job in range(max(first, block * BLOCK), min(arrived, block * BLOCK + BLOCK)):
            if state.wait[HEIGHT, job] == BIG or not may_fit(table, job):
                continue
            at = count
            length = table.job["length"][job]
            while by_length and at > 0 and table.job["length"][found[at - 1]] > length:
                found[at] = found[at - 1]
                at -= 1
            found[at] = job
            count += 1
    return count


@kernel
def is_less_penalised(table: Table, a: int, b: int) -> bool:
    """True if ``a`` has the smaller penalty factor, then the shorter stretched length."""
    cost_a, cost_b = table.job["cost"][a], table.job["cost"][b]
    length_a, length_b = table.job["span"][a], table.job["span"][b]
    one = cost_a - cost_a + 1
    sign = compare_products(cost_a, length_b, one, cost_b, length_a, one)
    if sign != 0:
        return sign < 0
    stretched_a = table.par["base"][0] * length_a + cost_a
    stretched_b = table.par["base"][0] * length_b + cost_b
    if stretched_a != stretched_b:
        return stretched_a < stretched_b
    return a < b
