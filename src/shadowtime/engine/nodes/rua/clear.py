"""How many processes of a kind cost nothing, now and from every end ahead on.

spec: algorithms 4.4, 4.6.

Without the reservation the demand of a node only falls, so whether a process is penalised depends
on the moment it begins, not on how long it stays. One walk along the lines of all nodes then
answers for every start ahead; the answers hold until a job starts or ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua.cost import clear_of_cost, room_on, running_at, within_hold
from shadowtime.engine.nodes.running_table import job_at
from shadowtime.kernel.jit import kernel, routine

if TYPE_CHECKING:
    from shadowtime.engine.nodes.running_table import Table


@kernel
def all_clear(table: Table, node: int, at: int, count: int, job: int) -> bool:
    """True if ``count`` processes cost nothing on a node from this place of its line on."""
    behind = at < table.node[node, nf.BUSY]
    for h in range(table.par[nf.HINGES]):
        demand = count * table.job[job, nf.DEMAND + h]
        if behind:
            demand += table.node[node, nf.ENDS + (1 + h) * table.par[nf.CORES] + at]
        if demand > table.par[nf.LAW + 2 * h + nf.EDGE]:
            return False
    return True


@routine
def count_clear(table: Table, job: int, slot: int) -> None:
    """Fill a slot: processes of the job's kind that cost nothing, by number of ends."""
    running = table.par[nf.RUNNING]
    cores = table.par[nf.CORES]
    who = nf.ENDS + (1 + table.par[nf.HINGES]) * cores
    for place in range(running):
        table.job[job_at(table, place), nf.GAIN] = 0
    now = 0
    for node in range(table.par[nf.NODES]):
        busy = table.node[node, nf.BUSY]
        clear = 0
        for at in range(busy + 1):
            more = clear
            room = cores - busy + at
            while more < room and all_clear(table, node, at, more + 1, job):
                more += 1
            if at == 0:
                now += more
            else:
                table.job[table.node[node, who + at - 1], nf.GAIN] += more - clear
            clear = more
    row = nf.CLEARS + slot
    table.list[row, 0] = now
    for place in range(running):
        now += table.job[job_at(table, place), nf.GAIN]
        table.list[row, place + 1] = now


@kernel
def free_of_cost(table: Table, job: int, ended: int) -> bool:
    """True if a job costs nothing once the first ``ended`` of the running list have ended.

    The reservation is left aside.
    """
    kind = table.job[job, nf.KIND]
    slot = kind % nf.SLOTS
    if (
        table.list[nf.SLOT_AT, slot] != table.par[nf.VERSION]
        or table.list[nf.SLOT_OF, slot] != kind
    ):
        count_clear(table, job, slot)
        table.list[nf.SLOT_AT, slot] = table.par[nf.VERSION]
        table.list[nf.SLOT_OF, slot] = kind
    return table.job[job, nf.PROCS] <= table.list[nf.CLEARS + slot, ended]


@routine
def free_around(table: Table, job: int, begin: int, ended: int) -> bool:
    """The same, at the start that follows these ends, around the reservation."""
    par = table.par
    if not free_of_cost(table, job, ended):
        return False
    if within_hold(table, begin, begin + table.job[job, nf.LENGTH]) == 0:
        return True
    if par[nf.COUNTED] != 0:
        return False  # whether there is room is another question
    # Only the nodes of the reservation can lose by it, and no more than all they have.
    spare = (
        table.list[nf.CLEARS + table.job[job, nf.KIND] % nf.SLOTS, ended] - table.job[job, nf.PROCS]
    )
    hold = within_hold(table, begin, begin + table.job[job, nf.SPAN])
    rest = par[nf.HOLD_TOP]
    while spare >= 0 and spare < rest * par[nf.CORES]:
        rest -= 1
        node = table.list[nf.HELD, rest]
        if table.list[nf.SOONEST, node] > begin:
            continue
        first = running_at(table, node, begin)
        room = room_on(table, node, first, begin, nf.ZERO)
        left = room_on(table, node, first, begin, par[nf.HOLD])
        spare -= clear_of_cost(table, node, first, room, job, begin, nf.ZERO)
        spare += clear_of_cost(table, node, first, left, job, begin, hold)
    return spare >= 0


@routine
def roomy(table: Table, job: int) -> bool:
    """False if a start now is known to cost something, whatever the allocation."""
    par = table.par
    kind = table.job[job, nf.KIND]
    hold = nf.ZERO
    if par[nf.HOLD] == 1:
        hold = within_hold(table, par[nf.NOW], par[nf.NOW] + table.job[job, nf.SPAN])
    row = nf.ROOMY + 3 * hold
    if (
        table.list[row + 1, kind] != par[nf.VERSION]
        or table.list[row + 2, kind] != hold * par[nf.HOLDS]
    ):
        count = 0
        for node in range(par[nf.NODES]):
            if table.list[nf.SOONEST, node] == 0:
                room = room_on(table, node, nf.ZERO, par[nf.NOW], hold)
                count += clear_of_cost(table, node, nf.ZERO, room, job, par[nf.NOW], hold)
        table.list[row, kind] = count
        table.list[row + 1, kind] = par[nf.VERSION]
        table.list[row + 2, kind] = hold * par[nf.HOLDS]
    return table.job[job, nf.PROCS] <= table.list[row, kind]
