"""The pass on nodes: the head by its policy's start, one reservation, backfilling (spec 4.7).

(a) While the head's allocation starts now, start it. (b) Otherwise it is the reservation: its start
never moves later than it was promised at the pass before. (c) The others start where their own
allocation, made around the reservation, begins now: one scan, or RUA's repeated choice of the
least penalised.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import DONE, PASS_DUE
from shadowtime.engine.nodes.backfill import backfill
from shadowtime.engine.nodes.begin import begin, hold, let_go
from shadowtime.engine.nodes.events import advance, carry_out_starts
from shadowtime.engine.nodes.head import plan_head
from shadowtime.engine.nodes.search import Units, must_wait, plan_at, prefers_later
from shadowtime.kernel import fields
from shadowtime.kernel.estimates import FIXED
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.nodes.fields import (
    BACKFILL,
    BY_LOAD,
    CORES,
    FREE,
    HEAD,
    HOLD,
    NEVER_BACKFILL,
    NODES,
    NOW,
    PLAN_START,
    PROCS,
    PROMISE,
    READY,
    RESERVES,
    RUNNING,
    SPAN,
    STALE,
    THETA_FROM,
    THETA_TO,
    THETAS,
    TRIED,
    WANTED,
    WITHOUT,
    ZERO,
)
from shadowtime.kernel.nodes.placing import evaluate, within
from shadowtime.kernel.nodes.table import end_at, job_at, postpone
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

BLOCKED_AT, PROMISED, REASON = fields.BLOCKED_AT, fields.PROMISED, fields.REASON
ESTIMATE = fields.ESTIMATE
WIDTH = fields.PROCS

UNITS = Units(evaluate, within, plan_at, plan_head, prefers_later, must_wait)


@entry
def run(s: Any, w: Any, t: Any, r: Any, k: Any) -> int:
    """The event loop with this pass."""
    while advance(s, w, t, r) == PASS_DUE:
        t.par[NOW] = s.reg[CLOCK]
        greet(s, t)
        if s.reg[WAITING] > 0:
            decide(s, t, k)
            carry_out_starts(s, w, t, r)
    return DONE


@kernel
def greet(s: Any, t: Any) -> None:
    """Take in who was submitted at this instant: what they want, how long they may run."""
    for job in range(s.reg[FRESH], s.reg[ARRIVED]):
        t.par[WANTED] += t.job[job, PROCS]
        if s.reg[LEARNER] != FIXED:
            t.job[job, SPAN] = s.job[job, ESTIMATE]


@kernel
def choose_threshold(t: Any) -> None:
    """One threshold for this pass: the strictest while no more waits than the machine holds."""
    machine = t.par[NODES] * t.par[CORES]
    chosen = min(t.par[THETAS] - 1, t.par[WANTED] // machine)
    if chosen != t.par[THETA_FROM] or t.par[THETA_TO] != chosen + 1:
        t.par[THETA_FROM] = chosen
        t.par[THETA_TO] = chosen + 1
        t.par[STALE] = 1


@kernel
def decide(s: Any, t: Any, k: Any) -> None:
    """One pass."""
    if s.reg[VOLATILE] != 0:
        move_overdue(t)
    if t.par[BY_LOAD] != 0:
        choose_threshold(t)
    if not start_heads(s, t, k):
        return
    if t.par[BACKFILL] == NEVER_BACKFILL or s.reg[WAITING] == 1 or nobody_narrow(s, t):
        return
    if t.par[RESERVES] != 0 and t.par[HOLD] == 0:
        hold(t, k)
    backfill(s, t, k)


@kernel
def start_heads(s: Any, t: Any, k: Any) -> bool:
    """Start jobs in arrival order; True if one stays blocked, its plan in the registers."""
    par = t.par
    now = par[NOW]
    par[READY] = 0
    while True:
        head = first_waiting(s)
        if head < 0:
            par[HEAD] = -1
            return False
        if head != par[HEAD]:
            par[HEAD] = head
            par[PROMISE] = NEVER
            par[STALE] = 1
        # Who lacks processors is not helped by time alone: the plan holds until the table changes.
        if par[STALE] != 0 or t.job[head, PROCS] <= par[FREE]:
            let_go(t)
            par[STALE] = 0
            par[TRIED] = head + 1
            k.plan_head(t, k.evaluate, head)
        if par[PLAN_START] > now:
            break
        par[WITHOUT] = 0
        s.job[head, REASON] = AS_HEAD if s.job[head, BLOCKED_AT] < 0 else RESERVED
        begin(s, t, k, head)
    par[PROMISE] = par[PLAN_START]
    if s.job[head, BLOCKED_AT] < 0:
        s.job[head, BLOCKED_AT] = now
        s.job[head, PROMISED] = par[PLAN_START]
    return True


@kernel
def nobody_narrow(s: Any, t: Any) -> bool:
    """True if every waiting job is wider than what is free."""
    free = t.par[FREE]
    for block in range(s.reg[QUEUE_FROM] >> SHIFT, (s.reg[ARRIVED] + BLOCK - 1) >> SHIFT):
        if s.least[WIDTH, block] <= free:
            return False
    return True


@kernel
def move_overdue(t: Any) -> None:
    """Jobs past their end in the table are taken to end in the next second (spec 1.2)."""
    now = t.par[NOW]
    first = ZERO
    while t.par[RUNNING] > 0 and end_at(t, first) <= now:
        postpone(t, job_at(t, first), now + 1)
        t.par[STALE] = 1
