"""A priority order with K reservations: the fast pass for long queues (spec 3.2 to 3.4).

The same decisions as the general pass, proved equal in the tests, on pools and on hosts, wherever
nothing but the wait tells jobs of the same estimate and needs apart. Three things make it fast:

1. Of jobs that are alike only the first is looked at (kernel/alike.py): the order of all of them is
   that of a few lines, and who cannot start now speaks for its whole kind.
2. What is free only shrinks during a pass. Once the first job in order has its reservation, kinds
   that do not fit around it are out of the pass, and the pass ends where none is left.
3. A kind that the caps of the partition refuse a reservation is refused as a whole.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.events import (
    DONE,
    PASS_DUE,
    ROOM_NEEDED,
    advance,
    carry_out_decisions,
    lacks_room,
)
from shadowtime.kernel.alike import (
    GROUPING,
    KIND_ROW,
    ONE_KIND,
    SINCE,
    WAITING_LINES,
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
from shadowtime.kernel.caps import note_refusal, note_reservation, was_refused
from shadowtime.kernel.fields import BLOCKED_AT, ESTIMATE, FREE, PROCS, PROMISED
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.place import earliest_host, host_around, host_now, level_at
from shadowtime.kernel.profile import build_profile, occupy
from shadowtime.kernel.registers import (
    ARRIVED,
    BIG,
    FRESH,
    HEAD,
    NEVER,
    NOW,
    SHADOW,
    VOLATILE,
    WAITING,
)
from shadowtime.kernel.running import BACKFILLED, begin, begin_first, forget_overdue

DEPTH = 1
"""Place in the parameters of the general pass, which this one takes over."""


@entry
def run(s: Any, w: Any, f: Any, x: Any) -> int:
    """The event loop with this pass."""
    while not lacks_room(s):
        if advance(s, w) != PASS_DUE:
            return DONE
        decide(s, f, x)
        carry_out_decisions(s, w)
    return ROOM_NEEDED


@kernel
def decide(s: Any, f: Any, x: Any) -> None:
    """One pass."""
    reg = s.reg
    if reg[WAITING] == 0:
        return
    if reg[VOLATILE] != 0:
        forget_overdue(s)
    alone = reg[WAITING] == 1 and reg[ARRIVED] - reg[FRESH] == 1
    if alone and s.wait[PROCS, reg[FRESH]] != BIG:
        host = host_now(s, f, reg[FRESH])
        if host >= 0:  # no queue is needed
            begin_first(s, reg[FRESH], host)
            x.mark[SINCE] = reg[ARRIVED]
            return
    let_in(s, x)
    begin_turn(s, x, f.weight)
    place = start_in_order(s, f, x)
    if place >= 0:
        overtake(s, f, x, place, block_head(s, f, x, x.job[place]))
    let_out(s, x)


@kernel
def start_in_order(s: Any, f: Any, x: Any) -> int:
    """Start jobs in order while the first one fits; the line of the one that does not, or -1."""
    place = first_place(x)
    while place >= 0:
        job = x.job[place]
        host = host_now(s, f, job)
        if host < 0:
            break
        begin_first(s, job, host)
        following = next_in_line(s, x, job)
        x.job[place] = following
        if following >= 0:
            x.key[place] = priority(s, x, f.weight, following)
        place = first_place(x)
    return place


@kernel
def block_head(s: Any, f: Any, x: Any, head: int) -> int:
    """The first job in order stays blocked: promise it a start.

    Returns how many kinds may start in this pass all the same; they are in ``hope``.
    """
    reg = s.reg
    reg[HEAD] = head
    first_time = s.job[head, BLOCKED_AT] < 0
    free = s.host[FREE, 0, 0]
    for h in range(1, s.host.shape[1]):
        free = max(free, s.host[FREE, h, 0])
    if first_time:
        s.job[head, BLOCKED_AT] = reg[NOW]
    elif narrow_and_short(x, free, free, 0) == 0:
        return 0
    build_profile(s, f.profile)
    f.booked[:] = 0
    f.refused[:] = NEVER
    start = reserve(s, f, head)
    reg[SHADOW] = start
    if first_time:
        s.job[head, PROMISED] = start
    if s.host.shape[1] > 1 or start < 0:
        return keep_startable(s, f, x, narrow_and_short(x, free, free, 0), False)
    # On a pool what is free only grows until the reservation and behind it: EASY's two tests.
    extra = level_at(f.profile, 0, start, 0)
    count = narrow_and_short(x, free, extra, start - reg[NOW])
    return keep_startable(s, f, x, count, s.host.shape[2] == 1)


@routine
def keep_startable(s: Any, f: Any, x: Any, count: int, tested: bool) -> int:
    """Drop the kinds that fit on no host around the first reservation, or of which none waits."""
    kept = 0
    for i in range(count):
        job = first_of(s, x, x.kind, KIND_ROW, x.hope[i])
        if job >= 0 and (tested or host_around(s, f, job, s.job[job, ESTIMATE]) >= 0):
            x.hope[kept] = x.hope[i]
            kept += 1
    return kept


@kernel
def overtake(s: Any, f: Any, x: Any, place: int, hopes: int) -> None:
    """Go on behind the head, whose line is at ``place``: reservations first, then the rest."""
    if hopes == 0:
        return
    for i in range(hopes):
        x.open[x.hope[i]] = 1
    left = hopes
    if f.par[DEPTH] > 1:
        left = reserve_more(s, f, x, place, hopes)
    if left > 0:
        backfill(s, f, x, hopes)
    for i in range(hopes):
        x.open[x.hope[i]] = 0


@routine
def reserve(s: Any, f: Any, job: int) -> int:
    """Put the job into the profile at its earliest start; -1 if it may reserve nowhere."""
    length = s.job[job, ESTIMATE]
    if was_refused(s, f, job):
        return -1
    start, host = earliest_host(s, f, job, length)
    if host < 0:
        note_refusal(s, f, job)
        return -1
    note_reservation(s, f, job, host)
    occupy(s, f.profile, job, host, start, start + length)
    return start


@kernel
def start_around(s: Any, f: Any, job: int) -> bool:
    """Start the job if it fits on some host around all reservations."""
    length = s.job[job, ESTIMATE]
    host = host_around(s, f, job, length)
    if host < 0:
        return False
    occupy(s, f.profile, job, host, s.reg[NOW], s.reg[NOW] + length)
    begin(s, job, host, BACKFILLED)
    return True


@routine
def reserve_more(s: Any, f: Any, x: Any, place: int, hopes: int) -> int:
    """Go on in order until the depth is reached; returns how many kinds are left in hope."""
    x.job[place] = next_in_line(s, x, x.job[place])
    if x.job[place] >= 0:
        x.key[place] = priority(s, x, f.weight, x.job[place])
    size = 0
    for at in range(x.mark[WAITING_LINES]):
        if x.job[at] >= 0:
            x.heap[size] = at
            size += 1
    heapify(x, size)
    made, left = 1, hopes
    while left > 0 and size > 0 and made < f.par[DEPTH]:
        job = x.job[x.heap[0]]
        number = x.of_job[job]
        following = next_in_line(s, x, job)
        if x.open[number] != 0 and start_around(s, f, job):
            if first_of(s, x, x.kind, KIND_ROW, number) < 0:
                x.open[number] = 0
                left -= 1
        else:
            if x.open[number] != 0:
                x.open[number] = 0
                left -= 1
            if reserve(s, f, job) >= 0:
                made += 1
            elif x.mark[GROUPING] == ONE_KIND:
                following = -1  # all of the line are refused, and none of it can start
        size = next_turn(s, x, f.weight, size, following)
    return left


@routine
def backfill(s: Any, f: Any, x: Any, hopes: int) -> None:
    """Start in order who fits around all reservations: the first of each kind, then the next."""
    size = 0
    for i in range(hopes):
        number = x.hope[i]
        if x.open[number] != 0:
            job = first_of(s, x, x.kind, KIND_ROW, number)
            x.heap[size] = size
            x.job[size] = job
            x.key[size] = priority(s, x, f.weight, job)
            size += 1
    heapify(x, size)
    while size > 0:
        job = x.job[x.heap[0]]
        following = -1
        if start_around(s, f, job):
            following = first_of(s, x, x.kind, KIND_ROW, x.of_job[job])
        size = next_turn(s, x, f.weight, size, following)
