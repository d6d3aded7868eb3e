"""EASY on a pool of one resource: the fast pass; fcfs and greedy are its limits.

spec: algorithms 1.2, 1.4.

The same decisions as the general pass with one reservation, proved equal in the tests, made fast
by five things: a submission while the head is blocked tests only the newcomers against the cached
shadow time; groups and blocks of the queue are skipped by their minima; a block is tested whole
before it is walked; running jobs stay sorted by expected end; shortest first, a long queue is asked
for its shortest job of each width (kernel/shortest.py).
"""

from __future__ import annotations

from shadowtime.engine import events
from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.estimates import LAST
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.queue import first_waiting, group_may_hold
from shadowtime.kernel.running import BACKFILLED, begin, begin_first, end_at, forget_overdue, job_at
from shadowtime.kernel.shortest import Shortest, let_in, shortest_within
from shadowtime.kernel.state import State, World
from shadowtime.kernel.vector import any_fits
from shadowtime.types import Ints

SHORTEST_FIRST = 0
KEEP_EXTRA = 1
FIXED_RESERVATION = 2
RULE = 3
"""Places in the pass's parameters."""

FIXED = {"no": 0, "yes": 1, "until-missed": 2}
"""How long the head's shadow time stays: for this pass, until it starts, until it has passed."""
UNTIL_MISSED = FIXED["until-missed"]

CAREFUL = 0
"""Rule: every job that does not delay the head."""
NONE_OVERTAKES = 1
"""Rule: no job overtakes (fcfs); the same as a shadow time that has always passed."""
ANYBODY = 2
"""Rule: every job that fits (greedy); the same as a shadow time that never comes."""

FEW = 256
"""Waiting jobs that are looked through one by one."""


@entry
def run(state: State, world: World, parameters: Ints, index: Shortest) -> int:
    """The event loop with this pass; ``index`` as kernel/shortest.py makes it."""
    while not events.lacks_room(state):
        if events.advance(state, world) != events.PASS_DUE:
            return events.DONE
        decide(state, parameters, index)
        events.carry_out_decisions(state, world)
    return events.ROOM_NEEDED


@kernel
def decide(state: State, parameters: Ints, index: Shortest) -> None:
    """One pass."""
    reg = state.reg
    if (
        reg[r.CHANGED] == 0
        and reg[r.HEAD] >= 0
        and reg[r.VOLATILE] == 0
        and parameters[KEEP_EXTRA] == 0  # else extra is not what is left beside the last starts
    ):
        # Nothing ended: the head stays blocked, and a job that did not fit before does not fit now.
        backfill(state, parameters, index, reg[r.FRESH])
        return
    if reg[r.VOLATILE] != 0:
        forget_overdue(state)
    head = first_waiting(state)
    while head >= 0 and state.job[head, f.NEED] <= state.host[f.FREE, 0, 0]:
        begin_first(state, head, 0)
        head = first_waiting(state)
    known = reg[r.HEAD]
    reg[r.HEAD] = head
    if head < 0:
        return
    if parameters[RULE] != CAREFUL:
        reg[r.SHADOW] = r.NEVER if parameters[RULE] == ANYBODY else -1
        reg[r.EXTRA] = -1
    elif (
        parameters[FIXED_RESERVATION] == 0
        or known != head
        or (parameters[FIXED_RESERVATION] == UNTIL_MISSED and reg[r.NOW] >= reg[r.SHADOW])
    ):
        find_shadow(state, head)
    else:
        count_extra(state, head)
    if state.job[head, f.BLOCKED_AT] < 0:
        state.job[head, f.BLOCKED_AT] = reg[r.NOW]
        if parameters[RULE] == CAREFUL:
            state.job[head, f.PROMISED] = reg[r.SHADOW]
    if reg[r.WAITING] > 1:
        backfill(state, parameters, index, head)


@kernel
def find_shadow(state: State, head: int) -> None:
    """Shadow time and extra processors: all jobs expected to end together are released together."""
    reg = state.reg
    need = state.job[head, f.NEED]
    available = state.host[f.FREE, 0, 0]
    running = reg[r.RUNNING]
    soonest = reg[r.NOW] + 1
    at = 0
    shadow = soonest
    while at < running and (available < need or end_at(state, at) <= shadow):
        shadow = max(shadow, end_at(state, at))
        available += state.job[job_at(state, at), f.NEED]
        at += 1
    reg[r.SHADOW] = shadow
    reg[r.EXTRA] = available - need


@kernel
def count_extra(state: State, head: int) -> None:
    """Extra processors at a shadow time that stays as it was; below zero where it has passed."""
    reg = state.reg
    available = state.host[f.FREE, 0, 0]
    at = 0
    while reg[r.NOW] < reg[r.SHADOW] and at < reg[r.RUNNING] and end_at(state, at) <= reg[r.SHADOW]:
        available += state.job[job_at(state, at), f.NEED]
        at += 1
    reg[r.EXTRA] = available - state.job[head, f.NEED]


@kernel
def backfill(state: State, parameters: Ints, index: Shortest, first: int) -> None:
    """Start jobs from index ``first`` on that do not delay the head."""
    reg = state.reg
    if parameters[SHORTEST_FIRST] != 0:
        if min(reg[r.WAITING], reg[r.ARRIVED] - first) > FEW and is_indexed(state, index):
            backfill_by_index(state, parameters, index)
        else:
            backfill_shortest_first(state, parameters, index.found, first)
    else:
        backfill_in_order(state, parameters, first)


@kernel
def backfill_in_order(state: State, parameters: Ints, first: int) -> None:
    """Candidates in order of arrival."""
    arrived = state.reg[r.ARRIVED]
    block = next_block(state, first >> r.SHIFT)
    while block << r.SHIFT < arrived:
        for job in range(max(first, block * r.BLOCK), min(arrived, block * r.BLOCK + r.BLOCK)):
            procs = state.wait[f.PROCS, job]
            if procs <= state.host[f.FREE, 0, 0] and may_start(
                state, procs, state.wait[f.LENGTH, job]
            ):
                start_backfilled(state, parameters, job)
        block = next_block(state, block + 1)


@kernel
def may_start(state: State, procs: int, estimate: int) -> bool:
    """The two tests of EASY: done by the shadow time, or within the extra processors."""
    reg = state.reg
    return reg[r.NOW] + estimate <= reg[r.SHADOW] or procs <= reg[r.EXTRA]


@kernel
def start_backfilled(state: State, parameters: Ints, job: int) -> None:
    """Start a job that passed the tests; extra shrinks if only the second one let it in."""
    reg = state.reg
    if reg[r.NOW] + state.job[job, f.ESTIMATE] > reg[r.SHADOW] and parameters[KEEP_EXTRA] == 0:
        reg[r.EXTRA] -= state.job[job, f.NEED]
    begin(state, job, 0, BACKFILLED)


@kernel
def next_block(state: State, block: int) -> int:
    """The first block from ``block`` on that may hold a job to start; past the queue if none."""
    reg = state.reg
    free = state.host[f.FREE, 0, 0]
    last = (reg[r.ARRIVED] - 1) >> r.SHIFT
    if free == 0:
        return last + 1
    begun = block
    while block <= last:
        # A group is asked for as a whole at its first block, or where a long scan begins.
        whole = (block % r.GROUP == 0 or block == begun) and last - block > r.GROUP
        if whole and not group_may_hold(
            state, block // r.GROUP, free, reg[r.EXTRA], reg[r.SHADOW] - reg[r.NOW]
        ):
            block += r.GROUP - block % r.GROUP
        elif block_may_hold(state, block, free):
            return block
        else:
            block += 1
    return block


@kernel
def block_may_hold(state: State, block: int, free: int) -> bool:
    """False if no job of the block can pass: by the minima first, then all 64 at once."""
    reg = state.reg
    extra = reg[r.EXTRA]
    least = state.least[f.PROCS, block]
    if least > free:
        return False
    left = reg[r.SHADOW] - reg[r.NOW]
    if state.least[f.LENGTH, block] > left and least > extra:
        return False
    return any_fits(state.wait, block, free, extra, left)


@kernel
def backfill_shortest_first(state: State, parameters: Ints, found: Ints, first: int) -> None:
    """The same tests, candidates in order of (estimate, arrival)."""
    reg = state.reg
    arrived = reg[r.ARRIVED]
    count = 0
    free = state.host[f.FREE, 0, 0]
    block = next_block(state, first >> r.SHIFT)
    while block << r.SHIFT < arrived:
        for job in range(max(first, block * r.BLOCK), min(arrived, block * r.BLOCK + r.BLOCK)):
            procs = state.wait[f.PROCS, job]
            if procs <= free and may_start(state, procs, state.wait[f.LENGTH, job]):
                count = push(found, count, state.job[job, f.ESTIMATE] << reg[r.BITS] | job)
        block = next_block(state, block + 1)
    while count > 0 and state.host[f.FREE, 0, 0] > 0:
        job = found[0] & ((1 << reg[r.BITS]) - 1)
        count = pop(found, count)
        if state.job[job, f.NEED] <= state.host[f.FREE, 0, 0] and may_start(
            state, state.job[job, f.NEED], state.job[job, f.ESTIMATE]
        ):
            start_backfilled(state, parameters, job)


@kernel
def is_indexed(state: State, index: Shortest) -> bool:
    """True if the index gives the shortest jobs: not where estimates change while jobs wait."""
    return state.reg[r.LEARNER] != LAST and index.tree.shape[0] > 2


@routine
def backfill_by_index(state: State, parameters: Ints, index: Shortest) -> None:
    """The same starts: again and again the first by (estimate, arrival) that passes the tests.

    A job refused in an earlier pass since the last end is refused again, newcomers or not.
    """
    reg = state.reg
    let_in(index, state.wait, reg[r.BITS], reg[r.QUEUE_FROM], reg[r.ARRIVED])
    while True:
        free = state.host[f.FREE, 0, 0]
        job = shortest_within(index, state.wait, reg[r.BITS], free)
        if job >= 0 and reg[r.NOW] + state.job[job, f.ESTIMATE] > reg[r.SHADOW]:
            job = shortest_within(index, state.wait, reg[r.BITS], min(free, reg[r.EXTRA]))
        if job < 0:
            return
        start_backfilled(state, parameters, job)
