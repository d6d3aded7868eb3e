"""The general pass: order, reserve, preempt, backfill, on any hosts and resources.

1. Start jobs in order while the first one fits (or preempts its way in).
2. The first one that does not is blocked; it and the next blocked ones get reservations, up to
   the policy's depth. Jobs in between start if they fit around the reservations made so far.
3. The rest is tried in phases, each with its own test and order.

EASY is depth 1, greedy is depth 0, K dynamic reservations (spec: algorithms 3.3) is depth K,
PV-EASY preempts and has two phases (spec: algorithms 2.3). All plans are dropped at the end of the
pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine import events
from shadowtime.engine.passes import phases
from shadowtime.engine.passes.learning import learn, learn_starts, learns
from shadowtime.engine.passes.phases import make_general, run_phases
from shadowtime.engine.passes.preempt import make_chosen_room, make_room, sunny_shadow
from shadowtime.kernel import fields, running, slots
from shadowtime.kernel import registers as r
from shadowtime.kernel.general import General
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.order import CUSTOM, FCFS, fill_keys, heapify, pop_first
from shadowtime.kernel.place import (
    earliest_host,
    host_around,
    host_now,
    keep_able,
    mark_able,
    note_refusal,
    note_reservation,
    was_refused,
)
from shadowtime.kernel.profile import Profile, build_profile, occupy
from shadowtime.kernel.queue import first_waiting, gather
from shadowtime.kernel.state import State, World

if TYPE_CHECKING:
    from shadowtime.kernel.slots import OwnPointer


@entry
def run(state: State, world: World, f: General, custom: OwnPointer) -> int:
    """The event loop with this pass; ``custom`` is the pointer to the user's own functions."""
    while not events.lacks_room(state):
        if events.advance(state, world) != events.PASS_DUE:
            return events.DONE
        decide(state, f, custom)
        if slots.asks(f, slots.LEARN_START):
            learn_starts(state, f, custom)
        if state.reg[r.FAILED] >= 0:
            return events.BROKEN
        events.carry_out_decisions(state, world)
    return events.ROOM_NEEDED


@kernel
def decide(state: State, f: General, custom: OwnPointer) -> None:
    """One pass."""
    if learns(f):
        learn(state, f, custom)
    if state.reg[r.WAITING] == 0:
        return
    if state.reg[r.VOLATILE] != 0:
        running.forget_overdue(state)
    if f.par[phases.ORDER_KIND] == FCFS:
        size = start_in_arrival_order(state, f, custom)
    else:
        size = start_in_key_order(state, f, custom)
    if size > 0:
        size = reserve_more(state, f, size, custom)
    if size > 0:
        run_phases(state, f, size, custom)


@kernel
def free_up(state: State, f: General, head: int, custom: OwnPointer) -> bool:
    """Stop jobs that the head outranks so that it fits; False, and none stopped, if it cannot."""
    if slots.asks(f, slots.VICTIM):
        return make_chosen_room(state, f, head, f.par[phases.PRUNE] != 0, custom)
    return make_room(state, head, f.par[phases.PRUNE] != 0)


@kernel
def start_in_arrival_order(state: State, f: General, custom: OwnPointer) -> int:
    """Step 1 and the first reservation of step 2; returns the number of candidates left."""
    head = first_waiting(state)
    while head >= 0:
        host = host_now(state, f, head)
        if host >= 0:
            running.begin_first(state, head, host)
        elif f.par[phases.PREEMPT] != 0 and free_up(state, f, head, custom):
            running.begin(state, head, 0, running.PREEMPTING)
        else:
            break
        head = first_waiting(state)
    if head < 0:
        return 0
    size = 0
    if f.par[phases.PHASES] != 0 and state.reg[r.WAITING] > 1 and not all_too_wide(state):
        size = gather(state, f.jobs) - 1
        for i in range(size):
            f.heap[i] = i + 1  # ascending: already a heap by job
        if slots.asks(f, slots.BACKFILL_KEY):
            f.key[: size + 1] = 0.0  # those of the last pass's backfilling
    return block_head(state, f, head, size, custom)


@kernel
def start_in_key_order(state: State, f: General, custom: OwnPointer) -> int:
    """The same for an order by keys, all evaluated at the beginning of the pass."""
    now = state.reg[r.NOW]
    count = gather(state, f.jobs)
    if f.par[phases.ORDER_KIND] == CUSTOM:
        fill_own_keys(state, f, custom, count)
        if state.reg[r.FAILED] >= 0:
            return 0
    else:
        fill_keys(state, f.par[phases.ORDER_KIND], f.weight, now, f.jobs, count, f.key)
    if all_too_wide(state):
        return block_head(state, f, f.jobs[first_by_key(f, count)], 0, custom)
    for i in range(count):
        f.heap[i] = i
    heapify(state, f.heap, count, f.jobs, f.key, False)
    size = count
    while size > 0:
        job = f.jobs[f.heap[0]]
        host = host_now(state, f, job)
        if host < 0:
            break
        size = pop_first(state, f.heap, size, f.jobs, f.key, False)
        running.begin_first(state, job, host)
    if size == 0:
        return 0
    head = f.jobs[f.heap[0]]
    size = pop_first(state, f.heap, size, f.jobs, f.key, False)
    return block_head(state, f, head, size if f.par[phases.PHASES] != 0 else 0, custom)


@kernel
def first_by_key(f: General, count: int) -> int:
    """The place of the first candidate in order; they lie in job order, so ties stay."""
    first = 0
    for i in range(1, count):
        if f.key[i] > f.key[first]:
            first = i
    return first


@kernel
def fill_own_keys(state: State, f: General, custom: OwnPointer, count: int) -> None:
    """Keys by a function of the user's own: for all candidates, or once for each job."""
    if f.par[phases.LASTING] == 0:
        slots.ask(state, f, custom, slots.ORDER, f.jobs[:count], f.key[:count])
        return
    fresh = 0
    for job in range(f.par[phases.KEYED], state.reg[r.ARRIVED]):
        if state.wait[fields.PROCS, job] != r.BIG:
            f.asked[fresh] = job
            fresh += 1
    f.par[phases.KEYED] = state.reg[r.ARRIVED]
    if fresh > 0:
        slots.ask(state, f, custom, slots.ORDER, f.asked[:fresh], f.answer[0, :fresh])
        for i in range(fresh):
            f.answer[1, f.asked[i]] = f.answer[0, i]
    for i in range(count):
        f.key[i] = f.answer[1, f.jobs[i]]


@kernel
def block_head(state: State, f: General, head: int, size: int, custom: OwnPointer) -> int:
    """The first job in order stays blocked: promise it a start.

    Returns how many candidates are left, 0 if none of them can start in this pass.
    """
    reg = state.reg
    reg[r.HEAD] = head
    first_time = state.job[head, fields.BLOCKED_AT] < 0
    if first_time:
        state.job[head, fields.BLOCKED_AT] = reg[r.NOW]
    if f.par[phases.DEPTH] <= 1:
        size = keep_able(state, f, size)  # no other job gets a reservation
    elif mark_able(state, f, size) == 0:
        size = 0
    owed = slots.asks(f, slots.RESERVE) and state.job[head, fields.PROMISED] < 0
    if f.par[phases.DEPTH] == 0 or (size == 0 and not first_time and not owed):
        return size
    if f.par[phases.SUNNY_ONLY] != 0:
        reg[r.SHADOW] = sunny_shadow(state, head)
    else:
        build_profile(state, f.profile)
        f.booked[:] = 0
        f.refused[:] = r.NEVER
        reg[r.SHADOW] = reserve(state, f, head, custom)
    if first_time or owed:
        state.job[head, fields.PROMISED] = reg[r.SHADOW]
    return size


@kernel
def all_too_wide(state: State) -> bool:
    """True if every waiting job is wider than what is free on any host."""
    widest = state.host[fields.FREE, 0, 0]
    for h in range(1, state.host.shape[1]):
        widest = max(widest, state.host[fields.FREE, h, 0])
    for block in range(
        state.reg[r.QUEUE_FROM] >> r.SHIFT, (state.reg[r.ARRIVED] + r.BLOCK - 1) >> r.SHIFT
    ):
        if state.least[fields.PROCS, block] <= widest:
            return False
    return True


@kernel
def reserve(state: State, f: General, job: int, custom: OwnPointer) -> int:
    """Put the job into the profile at its earliest start; -1 if it may reserve nowhere.

    A function of the user's own may deny it the reservation or put that off; the earliest start
    is returned all the same.
    """
    length = state.job[job, fields.ESTIMATE]
    if (
        slots.asks(f, slots.RESERVE)
        and slots.ask_one(state, f, custom, slots.RESERVE, job, 0.0) == 0.0
    ):
        return -1
    if was_refused(state, f, job):
        return -1
    start, host = earliest_host(state, f, job, length)
    if host < 0:
        note_refusal(state, f, job)
        return -1
    note_reservation(state, f, job, host)
    at = start
    if slots.asks(f, slots.PLAN):
        wanted = slots.ask_one(state, f, custom, slots.PLAN, job, float(start))
        at = int(max(float(start), min(float(r.NEVER - length), wanted)))
    occupy(state, f.profile, job, host, at, at + length)
    return start


@kernel
def reserve_more(state: State, f: General, size: int, custom: OwnPointer) -> int:
    """Go on in order until the depth is reached; returns how many candidates are left.

    What is free only shrinks during a pass, and plans are dropped at its end: behind the last
    candidate that could start nothing matters any more.
    """
    if f.par[phases.DEPTH] <= 1:
        return size
    made = 1
    able = 0
    for i in range(size):
        if f.able[f.heap[i]] != 0:  # no sum of the column: in plain Python it counts to 127
            able += 1
    while able > 0 and made < f.par[phases.DEPTH]:
        place = f.heap[0]
        job = f.jobs[place]
        size = pop_first(state, f.heap, size, f.jobs, f.key, False)
        length = state.job[job, fields.ESTIMATE]
        host = -1
        if f.able[place] != 0:
            able -= 1
            host = host_around(state, f, job, length)
            if host >= 0 and slots.asks(f, slots.BACKFILL_TEST):
                if slots.ask_one(state, f, custom, slots.BACKFILL_TEST, job, 0.0) == 0.0:
                    continue  # it may not overtake, and nothing keeps it but that
        if host >= 0:
            now = state.reg[r.NOW]
            occupy(state, f.profile, job, host, now, now + length)
            running.begin(state, job, host, running.BACKFILLED)
        else:
            made += reserve(state, f, job, custom) >= 0
    return size if able > 0 else 0


__all__ = ["General", "Profile", "decide", "make_general", "run"]
