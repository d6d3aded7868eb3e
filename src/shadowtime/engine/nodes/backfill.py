"""Backfilling on nodes: who of the rest starts now, around the reservation (spec 4.7)."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.begin import begin, pin
from shadowtime.kernel import fields
from shadowtime.kernel.exact import compare_products
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.nodes.clear import roomy
from shadowtime.kernel.nodes.fields import (
    BACKFILL,
    BASE,
    CHEAPEST,
    COST,
    FIRST_FIT,
    FOUND,
    FREE,
    HOLD,
    HOLD_FROM,
    IN_ORDER,
    LEAST_PENALTY,
    LENGTH,
    NOW,
    PENDING,
    PROCS,
    REACH,
    READY,
    SEARCH,
    SPAN,
    SPARE,
    STRETCHED,
    THRESHOLD,
    TRIED,
)
from shadowtime.kernel.nodes.placing import NO_ROOM
from shadowtime.kernel.registers import ARRIVED, BIG, BLOCK, NEVER, SHIFT
from shadowtime.kernel.running import BACKFILLED
from shadowtime.kernel.vector import any_fits

REASON = fields.REASON
WIDTH, HEIGHT = fields.LENGTH, fields.PROCS
"""Rows of the queue's mirrors."""


@kernel
def backfill(s: Any, t: Any, k: Any) -> None:
    """Start who may overtake the blocked head.

    One scan in the policy's order; or RUA's: again and again, of all whose start is now, the one
    with the least penalty, then the shortest, then the oldest.
    """
    count = gather_fitting(s, t)
    repeated = t.par[BACKFILL] == LEAST_PENALTY
    while count > 0:
        best = -1
        for i in range(count):
            job = t.list[FOUND, i]
            if job < 0 or not may_fit(t, job):
                continue
            late = t.par[NOW] + t.job[job, LENGTH] > t.par[HOLD_FROM]
            if t.par[HOLD] == PENDING and (late or t.par[STRETCHED] != 0):
                pin(t, k)
                if not may_fit(t, job):
                    continue
            choosy = t.par[SEARCH] == THRESHOLD or t.job[job, REACH] > 0
            if choosy and not roomy(t, job):
                # It costs something now. Whom that is too much already need not know how much.
                if t.par[HOLD] == PENDING and t.par[SEARCH] == CHEAPEST:
                    pin(t, k)
                if k.must_wait(t, k.within, job):
                    continue
            cost = k.plan_at(t, k.evaluate, job, t.par[NOW])
            if cost == NO_ROOM:
                continue
            t.job[job, COST] = cost
            t.par[READY] = 1
            if cost > 0 and choosy:
                if t.par[HOLD] == PENDING:
                    pin(t, k)
                if k.prefers_later(t, k.evaluate, k.plan_at, job, cost):
                    continue
            if not repeated:
                s.job[job, REASON] = BACKFILLED
                begin(s, t, k, job)
            elif best < 0 or is_less_penalised(t, job, t.list[FOUND, best]):
                best = i
        if best < 0:
            return
        job = t.list[FOUND, best]
        t.list[FOUND, best] = -1
        t.par[READY] = 0
        s.job[job, REASON] = BACKFILLED
        begin(s, t, k, job)


@kernel
def may_fit(t: Any, job: int) -> bool:
    """True if there is room for the job from now on for its request, around the reservation."""
    procs = t.job[job, PROCS]
    if procs > t.par[FREE]:
        return False
    if t.par[HOLD] == 0 or procs <= t.par[SPARE]:
        return True
    return t.par[NOW] + t.job[job, LENGTH] <= t.par[HOLD_FROM]


@kernel
def gather_fitting(s: Any, t: Any) -> int:
    """Waiting jobs behind the head that may fit, in the order in which they are tried."""
    first = t.par[TRIED]
    arrived = s.reg[ARRIVED]
    free = t.par[FREE]
    left = t.par[HOLD_FROM] - t.par[NOW] if t.par[HOLD] != 0 else NEVER
    spare = t.par[SPARE] if t.par[HOLD] != 0 else free
    by_length = t.par[BACKFILL] != IN_ORDER
    count = 0
    if t.par[SEARCH] == FIRST_FIT and t.par[STRETCHED] == 0:
        # Time alone makes nobody fit who did not: until the table changes, only newcomers may.
        t.par[TRIED] = arrived
    for block in range(first >> SHIFT, ((arrived - 1) >> SHIFT) + 1):
        least = s.least[HEIGHT, block]
        if least > free or (s.least[WIDTH, block] > left and least > spare):
            continue
        if not any_fits(s.wait, block, free, spare, left):
            continue
        for job in range(max(first, block * BLOCK), min(arrived, block * BLOCK + BLOCK)):
            if s.wait[HEIGHT, job] == BIG or not may_fit(t, job):
                continue
            at = count
            length = t.job[job, LENGTH]
            while by_length and at > 0 and t.job[t.list[FOUND, at - 1], LENGTH] > length:
                t.list[FOUND, at] = t.list[FOUND, at - 1]
                at -= 1
            t.list[FOUND, at] = job
            count += 1
    return count


@kernel
def is_less_penalised(t: Any, a: int, b: int) -> bool:
    """True if ``a`` has the smaller penalty factor, then the shorter stretched length."""
    cost_a, cost_b = t.job[a, COST], t.job[b, COST]
    length_a, length_b = t.job[a, SPAN], t.job[b, SPAN]
    one = cost_a - cost_a + 1
    sign = compare_products(cost_a, length_b, one, cost_b, length_a, one)
    if sign != 0:
        return sign < 0
    stretched_a = t.par[BASE] * length_a + cost_a
    stretched_b = t.par[BASE] * length_b + cost_b
    if stretched_a != stretched_b:
        return stretched_a < stretched_b
    return a < b
