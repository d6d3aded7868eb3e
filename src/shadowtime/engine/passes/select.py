"""A pass in which a function chooses the set of jobs that start: knapsacks, plans, Python policies.

The function is handed the queue in order and what will be free (kernel/choice.py). It answers in
the columns ``start``, ``promised`` and ``due``. How it plans is up to the function; here it is only
verified that what starts fits. A planned start in the future calls the pass again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine import events
from shadowtime.engine.passes.general import fill_own_keys
from shadowtime.engine.passes.learning import learn, learn_starts, learns
from shadowtime.engine.passes.phases import ORDER_KIND
from shadowtime.kernel import choice as q
from shadowtime.kernel import fields as g
from shadowtime.kernel import record as r
from shadowtime.kernel.general import General
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.order import CUSTOM, FCFS, fill_keys, heapify, pop_first
from shadowtime.kernel.profile import build_profile
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import FAILED, HEAD, NEVER, NOW, VOLATILE, WAITING, WAKE
from shadowtime.kernel.running import BACKFILLED, begin, begin_first, fits, forget_overdue
from shadowtime.kernel.slots import LEARN_START, SLOT_SHIFT, asks
from shadowtime.kernel.state import State, World

if TYPE_CHECKING:
    from shadowtime.kernel.choice import Chooser
    from shadowtime.kernel.slots import OwnPointer


@entry
def run(
    state: State, world: World, f: General, c: q.Choice, custom: OwnPointer, choose: Chooser
) -> int:
    """The event loop with this pass; ``choose`` is the pointer to the function that selects."""
    if c.mark[q.PENDING] > 0:
        carry_out_choice(state, c, c.mark[q.PENDING])
        c.mark[q.PENDING] = 0
        events.carry_out_decisions(state, world)
    while not events.lacks_room(state):
        if events.advance(state, world) != events.PASS_DUE:
            return events.DONE
        decide(state, f, c, custom, choose)
        if c.mark[q.PENDING] > 0:
            return events.PASS_DUE
        if asks(f, LEARN_START):
            learn_starts(state, f, custom)
        if state.reg[FAILED] >= 0:
            return events.BROKEN
        events.carry_out_decisions(state, world)
        if c.mark[q.HOW] == q.ONCE:
            return events.DONE
    return events.ROOM_NEEDED


@kernel
def decide(state: State, f: General, c: q.Choice, custom: OwnPointer, choose: Chooser) -> None:
    """One pass."""
    if learns(f):
        learn(state, f, custom)
    state.reg[WAKE] = NEVER
    if state.reg[WAITING] == 0:
        return
    if state.reg[VOLATILE] != 0:
        forget_overdue(state)
    count = line_up(state, f, c, custom)
    if state.reg[FAILED] >= 0:
        return
    describe(state, f, c, count)
    if c.mark[q.HOW] == q.STEPPING:
        c.mark[q.PENDING] = count
        return
    if choose(state.reg[NOW], count, c.mark[q.WHERE]) != 0:
        describe(state, f, c, count)  # as it was, to find out why (engine/selecting.py)
        state.reg[FAILED] = q.SELECT_BROKE << SLOT_SHIFT | count
        return
    carry_out_choice(state, c, count)


@routine
def line_up(state: State, f: General, c: q.Choice, custom: OwnPointer) -> int:
    """List the waiting jobs in the policy's order; returns how many there are."""
    count = gather(state, f.jobs)
    if f.par[ORDER_KIND] == FCFS:
        for i in range(count):  # no slices: a copy of one would allocate
            c.jobs[i] = f.jobs[i]
        return count
    if f.par[ORDER_KIND] == CUSTOM:
        fill_own_keys(state, f, custom, count)
    else:
        fill_keys(state, f.par[ORDER_KIND], f.weight, state.reg[NOW], f.jobs, count, f.key)
    for i in range(count):
        f.heap[i] = i
    heapify(state, f.heap, count, f.jobs, f.key, False)
    size = count
    for i in range(count):
        c.jobs[i] = f.jobs[f.heap[0]]
        size = pop_first(state, f.heap, size, f.jobs, f.key, False)
    return count


@routine
def describe(state: State, f: General, c: q.Choice, count: int) -> None:
    """Fill the columns, and what is free from the running jobs."""
    build_profile(state, f.profile)
    column = c.column
    known = f.fact.shape[0] >= state.job.shape[0]
    for i in range(count):
        at = c.jobs[i]
        row = at if known else 0
        column[q.SUBMIT, i] = state.job[at, g.SUBMIT]
        column[q.REQUEST, i] = state.job[at, g.REQUEST]
        column[q.ESTIMATE, i] = state.job[at, g.ESTIMATE]
        column[q.PROCS, i] = state.job[at, g.NEED]
        column[q.NODES, i] = f.fact[row, r.NODES]
        column[q.MEMORY, i] = f.fact[row, r.MEMORY]
        column[q.GPUS, i] = f.fact[row, r.GPUS]
        column[q.USER, i] = f.fact[row, r.USER]
        column[q.ACCOUNT, i] = f.fact[row, r.ACCOUNT]
        column[q.PARTITION, i] = f.fact[row, r.PARTITION]
        column[q.QOS, i] = f.fact[row, r.QOS]
        column[q.EXECUTABLE, i] = f.fact[row, r.EXECUTABLE]
        column[q.BLOCKED_AT, i] = state.job[at, g.BLOCKED_AT]
        column[q.PROMISED, i] = state.job[at, g.PROMISED]
        column[q.DUE, i] = c.due[at]
        column[q.START, i] = 0
        for k in range(column.shape[0] - q.COLUMNS):
            column[q.COLUMNS + k, i] = f.fact[row, r.FACTS + k]
        for k in range(c.need.shape[1]):
            c.need[i, k] = state.job[at, g.NEED + k]


@routine
def carry_out_choice(state: State, c: q.Choice, count: int) -> None:
    """Start what was chosen and note what was planned."""
    now = state.reg[NOW]
    head = -1
    soonest = NEVER
    for i in range(count):
        job = c.jobs[i]
        if state.job[job, g.PROMISED] < 0 and c.column[q.PROMISED, i] >= 0:
            state.job[job, g.PROMISED] = c.column[q.PROMISED, i]
        due = c.column[q.DUE, i]
        c.due[job] = due
        if c.column[q.START, i] != 0:
            if not fits(state, job, 0):
                state.reg[FAILED] = q.SELECT << SLOT_SHIFT | job
                return
            if head >= 0:
                begin(state, job, 0, BACKFILLED)
            else:
                begin_first(state, job, 0)
            continue
        if head < 0:
            head = job
        if now < due < soonest:
            soonest = due
    state.reg[HEAD] = head
    state.reg[WAKE] = soonest
    if head >= 0 and state.job[head, g.BLOCKED_AT] < 0:
        state.job[head, g.BLOCKED_AT] = now
