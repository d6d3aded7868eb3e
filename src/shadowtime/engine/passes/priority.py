"""A priority order with K reservations: the fast pass for long queues.

spec: algorithms 3.2 to 3.4.

The same decisions as the general pass, proved equal in the tests, on pools and on hosts, wherever
only the wait distinguishes jobs of the same estimate and needs. Three things make it fast:

1. Of jobs that are alike only the first is looked at (kernel/alike.py): the order of all of them is
   that of a few lines, and a job that cannot start now stands for its whole kind.
2. What is free only shrinks during a pass. Once the first job in order has its reservation, kinds
   that do not fit around it are out of the pass, and the pass ends where none is left.
3. A kind that the caps of the partition refuse a reservation is refused as a whole.

On a pool of processors, where most of the archive's logs ran, what is free lies in two rows of
steps (kernel/steps.py) instead of the profile of hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine import events
from shadowtime.kernel import registers as r
from shadowtime.kernel import running
from shadowtime.kernel.alike import (
    GROUPING,
    KIND_ROW,
    ONE_KIND,
    SINCE,
    STEPS,
    WAITING_LINES,
    Alike,
    begin_turn,
    first_of,
    first_place,
    heapify,
    let_in,
    let_out,
    narrow_and_short,
    next_in_line,
    next_turn,
    priority,
)
from shadowtime.kernel.fields import BLOCKED_AT, CAPACITY, ESTIMATE, FREE, PROCS, PROMISED
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.place import (
    earliest_host,
    has_host_to_reserve,
    host_around,
    host_now,
    level_at,
    note_refusal,
    note_reservation,
    was_refused,
)
from shadowtime.kernel.profile import build_profile, occupy
from shadowtime.kernel.state import State, World
from shadowtime.kernel.steps import NOWHERE, build_steps, reserve_earliest, take_now

if TYPE_CHECKING:
    from shadowtime.kernel.general import General

DEPTH = 1
"""Place in the parameters of the general pass, which this one takes over."""
SOME_REFUSED = 8
"""After this many refused lines, all are checked against the caps at once; then after twice as
many."""


@entry
def run(state: State, world: World, f: General, alike: Alike) -> int:
    """The event loop with this pass."""
    while not events.lacks_room(state):
        if events.advance(state, world) != events.PASS_DUE:
            return events.DONE
        decide(state, f, alike)
        events.carry_out_decisions(state, world)
    return events.ROOM_NEEDED


@kernel
def decide(state: State, f: General, alike: Alike) -> None:
    """One pass."""
    reg = state.reg
    if reg[r.WAITING] == 0:
        return
    if reg[r.VOLATILE] != 0:
        running.forget_overdue(state)
    alone = reg[r.WAITING] == 1 and reg[r.ARRIVED] - reg[r.FRESH] == 1
    if alone and state.wait[PROCS, reg[r.FRESH]] != r.BIG:
        host = host_now(state, f, reg[r.FRESH])
        if host >= 0:  # no queue is needed
            running.begin_first(state, reg[r.FRESH], host)
            alike.mark[SINCE] = reg[r.ARRIVED]
            return
    if alike.mark[SINCE] < reg[r.ARRIVED]:  # the call alone costs as much as a short queue
        let_in(state, alike)
    begin_turn(state, alike, f.weight)
    place = start_in_order(state, f, alike)
    if place >= 0:
        overtake(state, f, alike, place, block_head(state, f, alike, alike.job[place]))
    if reg[r.DECISIONS] > 0:
        let_out(state, alike)


@kernel
def on_processors(state: State, alike: Alike) -> bool:
    """True on a pool of processors without a partition: one host, one resource, no caps."""
    return (
        state.host.shape[1] == 1 and state.host.shape[2] == 1 and alike.mark[GROUPING] != ONE_KIND
    )


@kernel
def start_in_order(state: State, f: General, alike: Alike) -> int:
    """Start jobs in order while the first one fits; the line of the one that does not, or -1."""
    place = first_place(alike)
    while place >= 0:
        job = alike.job[place]
        host = host_now(state, f, job)
        if host < 0:
            break
        running.begin_first(state, job, host)
        following = next_in_line(state, alike, job)
        alike.job[place] = following
        if following >= 0:
            alike.key[place] = priority(state, alike, f.weight, following)
        place = first_place(alike)
    return place


@kernel
def block_head(state: State, f: General, alike: Alike, head: int) -> int:
    """The first job in order stays blocked: promise it a start.

    Returns how many kinds may start in this pass all the same; they are in ``hope``.
    """
    reg = state.reg
    reg[r.HEAD] = head
    first_time = state.job[head, BLOCKED_AT] < 0
    free = state.host[FREE, 0, 0]
    for h in range(1, state.host.shape[1]):
        free = max(free, state.host[FREE, h, 0])
    if first_time:
        state.job[head, BLOCKED_AT] = reg[r.NOW]
    elif narrow_and_short(alike, free, free, 0) == 0:
        return 0
    if on_processors(state, alike):
        return block_on_processors(state, alike, head, free, first_time)
    build_profile(state, f.profile)
    f.booked[:] = 0
    f.refused[:] = r.NEVER
    start = reserve(state, f, head)
    reg[r.SHADOW] = start
    if first_time:
        state.job[head, PROMISED] = start
    if state.host.shape[1] > 1 or start < 0:
        return keep_startable(state, f, alike, narrow_and_short(alike, free, free, 0), False)
    # On a pool what is free only grows until the reservation and behind it: EASY's two tests.
    extra = level_at(f.profile, 0, start, 0)
    count = narrow_and_short(alike, free, extra, start - reg[r.NOW])
    return keep_startable(state, f, alike, count, state.host.shape[2] == 1)


@kernel
def block_on_processors(state: State, alike: Alike, head: int, free: int, first_time: bool) -> int:
    """The same on a pool of processors, where the tests of the first reservation are exact."""
    reg = state.reg
    alike.mark[STEPS] = build_steps(state, alike.steps)
    step = reserve_on_processors(state, alike, head)
    start = alike.steps.time[step] if step >= 0 else -1
    reg[r.SHADOW] = start
    if first_time:
        state.job[head, PROMISED] = start
    extra = alike.steps.level[step] if step >= 0 else free
    return keep_waiting(state, alike, narrow_and_short(alike, free, extra, start - reg[r.NOW]))


@kernel
def keep_waiting(state: State, alike: Alike, count: int) -> int:
    """Drop the kinds of which none waits any more."""
    kept = 0
    for i in range(count):
        if first_of(state, alike, alike.kind, KIND_ROW, alike.hope[i]) >= 0:
            alike.hope[kept] = alike.hope[i]
            kept += 1
    return kept


@kernel
def reserve_on_processors(state: State, alike: Alike, job: int) -> int:
    """Put the job among the steps at its earliest start; returns that step, or NOWHERE."""
    need = running.need_on(state, job, 0, 0)
    if need > state.host[CAPACITY, 0, 0]:
        return NOWHERE
    step, alike.mark[STEPS] = reserve_earliest(
        alike.steps, alike.mark[STEPS], need, state.job[job, ESTIMATE]
    )
    return step


@routine
def keep_startable(state: State, f: General, alike: Alike, count: int, tested: bool) -> int:
    """Drop the kinds that fit on no host around the first reservation, or of which none waits."""
    kept = 0
    for i in range(count):
        job = first_of(state, alike, alike.kind, KIND_ROW, alike.hope[i])
        if job >= 0 and (tested or host_around(state, f, job, state.job[job, ESTIMATE]) >= 0):
            alike.hope[kept] = alike.hope[i]
            kept += 1
    return kept


@kernel
def overtake(state: State, f: General, alike: Alike, place: int, hopes: int) -> None:
    """Go on behind the head, whose line is at ``place``: reservations first, then the rest."""
    if hopes == 0:
        return
    for i in range(hopes):
        alike.open[alike.hope[i]] = 1
    left = hopes
    if f.par[DEPTH] > 1:
        left = reserve_more(state, f, alike, place, hopes)
    if left > 0:
        backfill(state, f, alike, hopes)
    for i in range(hopes):
        alike.open[alike.hope[i]] = 0


@routine
def reserve(state: State, f: General, job: int) -> int:
    """Put the job into the profile at its earliest start; -1 if it may reserve nowhere."""
    length = state.job[job, ESTIMATE]
    if was_refused(state, f, job):
        return -1
    start, host = earliest_host(state, f, job, length)
    if host < 0:
        note_refusal(state, f, job)
        return -1
    note_reservation(state, f, job, host)
    occupy(state, f.profile, job, host, start, start + length)
    return start


@kernel
def may_reserve(state: State, f: General, alike: Alike, job: int) -> bool:
    """Put the job behind what is reserved already; False if it may reserve nowhere."""
    if on_processors(state, alike):
        return reserve_on_processors(state, alike, job) >= 0
    return reserve(state, f, job) >= 0


@kernel
def start_around(state: State, f: General, alike: Alike, job: int) -> bool:
    """Start the job if it fits on some host around all reservations."""
    length = state.job[job, ESTIMATE]
    if on_processors(state, alike):
        if not running.fits(state, job, 0):
            return False
        count = take_now(alike.steps, alike.mark[STEPS], running.need_on(state, job, 0, 0), length)
        if count < 0:
            return False
        alike.mark[STEPS] = count
        running.begin(state, job, 0, running.BACKFILLED)
        return True
    host = host_around(state, f, job, length)
    if host < 0:
        return False
    occupy(state, f.profile, job, host, state.reg[r.NOW], state.reg[r.NOW] + length)
    running.begin(state, job, host, running.BACKFILLED)
    return True


@routine
def reserve_more(state: State, f: General, alike: Alike, place: int, hopes: int) -> int:
    """Go on in order until the depth is reached; returns how many kinds are left in hope."""
    alike.job[place] = next_in_line(state, alike, alike.job[place])
    if alike.job[place] >= 0:
        alike.key[place] = priority(state, alike, f.weight, alike.job[place])
    size = 0
    for at in range(alike.mark[WAITING_LINES]):
        if alike.job[at] >= 0:
            alike.heap[size] = at
            size += 1
    heapify(alike, size)
    made, left = 1, hopes
    refused, patience = 0, SOME_REFUSED
    while left > 0 and size > 0 and made < f.par[DEPTH]:
        job = alike.job[alike.heap[0]]
        number = alike.of_job[job]
        following = next_in_line(state, alike, job)
        if alike.open[number] != 0 and start_around(state, f, alike, job):
            if first_of(state, alike, alike.kind, KIND_ROW, number) < 0:
                alike.open[number] = 0
                left -= 1
        else:
            if alike.open[number] != 0:
                alike.open[number] = 0
                left -= 1
            if may_reserve(state, f, alike, job):
                made += 1
            elif alike.mark[GROUPING] == ONE_KIND:
                following = -1  # all of the line are refused, and none of it can start
                refused += 1
        size = next_turn(state, alike, f.weight, size, following)
        if refused == patience:
            size = drop_refused(state, f, alike, size)
            refused, patience = 0, 2 * patience
    return left


@routine
def drop_refused(state: State, f: General, alike: Alike, size: int) -> int:
    """Drop the lines that can neither start nor reserve any more, each of them of one kind.

    Their turn would change nothing, and to bring them into order is most of a long walk.
    """
    kept = 0
    for i in range(size):
        place = alike.heap[i]
        job = alike.job[place]
        if alike.open[alike.of_job[job]] != 0 or has_host_to_reserve(state, f, job):
            alike.heap[kept] = place
            kept += 1
    heapify(alike, kept)
    return kept


@routine
def backfill(state: State, f: General, alike: Alike, hopes: int) -> None:
    """Start in order what fits around all reservations: the first of each kind, then the next."""
    size = 0
    for i in range(hopes):
        number = alike.hope[i]
        if alike.open[number] != 0:
            job = first_of(state, alike, alike.kind, KIND_ROW, number)
            alike.heap[size] = size
            alike.job[size] = job
            alike.key[size] = priority(state, alike, f.weight, job)
            size += 1
    heapify(alike, size)
    while size > 0:
        job = alike.job[alike.heap[0]]
        following = -1
        if start_around(state, f, alike, job):
            following = first_of(state, alike, alike.kind, KIND_ROW, alike.of_job[job])
        size = next_turn(state, alike, f.weight, size, following)
