"""How many processes of a kind cost nothing, now and from every end ahead on (spec 4.4, 4.6).

Without the reservation the demand of a node only falls, so whether a process is penalised hangs on
the moment it begins, not on how long it stays. One walk along the lines of all nodes then answers
for every start ahead; the answers hold until somebody starts or ends.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.nodes.cost import clear_of_cost, room_on, running_at, within_hold
from shadowtime.kernel.nodes.fields import (
    BUSY,
    CLEARS,
    CORES,
    COUNTED,
    DEMAND,
    EDGE,
    ENDS,
    GAIN,
    HELD,
    HINGES,
    HOLD,
    HOLD_TOP,
    HOLDS,
    KIND,
    LAW,
    LENGTH,
    NODES,
    NOW,
    PROCS,
    ROOMY,
    RUNNING,
    SLOT_AT,
    SLOT_OF,
    SLOTS,
    SOONEST,
    SPAN,
    VERSION,
    ZERO,
)
from shadowtime.kernel.nodes.table import job_at


@kernel
def all_clear(t: Any, node: int, at: int, count: int, job: int) -> bool:
    """True if ``count`` processes cost nothing on a node from this place of its line on."""
    behind = at < t.node[node, BUSY]
    for h in range(t.par[HINGES]):
        demand = count * t.job[job, DEMAND + h]
        if behind:
            demand += t.node[node, ENDS + (1 + h) * t.par[CORES] + at]
        if demand > t.par[LAW + 2 * h + EDGE]:
            return False
    return True


@routine
def count_clear(t: Any, job: int, slot: int) -> None:
    """Fill a slot: processes of the job's kind that cost nothing, after so many ends."""
    running = t.par[RUNNING]
    cores = t.par[CORES]
    who = ENDS + (1 + t.par[HINGES]) * cores
    for place in range(running):
        t.job[job_at(t, place), GAIN] = 0
    now = 0
    for node in range(t.par[NODES]):
        busy = t.node[node, BUSY]
        clear = 0
        for at in range(busy + 1):
            more = clear
            room = cores - busy + at
            while more < room and all_clear(t, node, at, more + 1, job):
                more += 1
            if at == 0:
                now += more
            else:
                t.job[t.node[node, who + at - 1], GAIN] += more - clear
            clear = more
    row = CLEARS + slot
    t.list[row, 0] = now
    for place in range(running):
        now += t.job[job_at(t, place), GAIN]
        t.list[row, place + 1] = now


@kernel
def free_of_cost(t: Any, job: int, ended: int) -> bool:
    """True if a job costs nothing once the first so many of the running list have ended.

    The reservation is left aside.
    """
    kind = t.job[job, KIND]
    slot = kind % SLOTS
    if t.list[SLOT_AT, slot] != t.par[VERSION] or t.list[SLOT_OF, slot] != kind:
        count_clear(t, job, slot)
        t.list[SLOT_AT, slot] = t.par[VERSION]
        t.list[SLOT_OF, slot] = kind
    return t.job[job, PROCS] <= t.list[CLEARS + slot, ended]


@routine
def free_around(t: Any, job: int, begin: int, ended: int) -> bool:
    """The same, at the start that follows these ends, around the reservation."""
    par = t.par
    if not free_of_cost(t, job, ended):
        return False
    if within_hold(t, begin, begin + t.job[job, LENGTH]) == 0:
        return True
    if par[COUNTED] != 0:
        return False  # whether there is room is another question
    # Only the nodes of the reservation can lose by it, and no more than all they have.
    spare = t.list[CLEARS + t.job[job, KIND] % SLOTS, ended] - t.job[job, PROCS]
    hold = within_hold(t, begin, begin + t.job[job, SPAN])
    rest = par[HOLD_TOP]
    while spare >= 0 and spare < rest * par[CORES]:
        rest -= 1
        node = t.list[HELD, rest]
        if t.list[SOONEST, node] > begin:
            continue
        first = running_at(t, node, begin)
        room = room_on(t, node, first, begin, ZERO)
        left = room_on(t, node, first, begin, par[HOLD])
        spare -= clear_of_cost(t, node, first, room, job, begin, ZERO)
        spare += clear_of_cost(t, node, first, left, job, begin, hold)
    return spare >= 0


@routine
def roomy(t: Any, job: int) -> bool:
    """False if a start now is known to cost something, whatever the allocation."""
    par = t.par
    kind = t.job[job, KIND]
    hold = ZERO
    if par[HOLD] == 1:
        hold = within_hold(t, par[NOW], par[NOW] + t.job[job, SPAN])
    row = ROOMY + 3 * hold
    if t.list[row + 1, kind] != par[VERSION] or t.list[row + 2, kind] != hold * par[HOLDS]:
        count = 0
        for node in range(par[NODES]):
            if t.list[SOONEST, node] == 0:
                room = room_on(t, node, ZERO, par[NOW], hold)
                count += clear_of_cost(t, node, ZERO, room, job, par[NOW], hold)
        t.list[row, kind] = count
        t.list[row + 1, kind] = par[VERSION]
        t.list[row + 2, kind] = hold * par[HOLDS]
    return t.job[job, PROCS] <= t.list[row, kind]
