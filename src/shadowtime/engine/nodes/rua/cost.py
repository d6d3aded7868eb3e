"""What processes on a node would cost: the penalty of the shared windows ahead.

spec: algorithms 4.3 to 4.6.

Cost is counted in units of 1 / BASE seconds: the sum over the windows of their length times the
law's terms. Without the reservation the demand of a node never rises, so neither does the cost of
a later start; the reservation adds its own demand on its nodes for its time. So whether a process
is penalised without it depends on the moment it begins, not on how long it stays. One walk along
the lines of all nodes then says how many processes of a kind cost nothing from every end ahead on;
the answers hold until a job starts or ends.
"""

from __future__ import annotations

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.running_table import Table, job_at
from shadowtime.kernel.jit import kernel, routine


@kernel
def within_hold(table: Table, begin: int, end: int) -> int:
    """1 if [begin, end) overlaps the time of the reservation."""
    if (
        table.par["hold"][0] != 0
        and begin < table.par["hold_until"][0]
        and table.par["hold_from"][0] < end
    ):
        return 1
    return 0


@kernel
def running_at(table: Table, node: int, when: int) -> int:
    """Place in the node's line of the first process that still runs at an instant."""
    busy = table.node["busy"][node]
    at = 0
    while at < busy and table.line["end"][node, at] <= when:
        at += 1
    return at


@kernel
def room_on(table: Table, node: int, first: int, begin: int, without: int) -> int:
    """Processors of a node that are free from ``begin`` on; ``first`` as found by running_at."""
    cores = table.par["cores"][0]
    room = cores - table.node["busy"][node] + first
    pins = table.node["reserved"][node]
    if without != 0 and pins != 0:
        if begin >= table.par["hold_from"][0]:
            return room - pins
        p = node * cores
        while pins > 0:
            if table.proc["until"][p] <= table.par["hold_from"][0]:
                pins -= 1
                if table.proc["until"][p] <= begin:
                    room -= 1
            p += 1
    return room


@kernel
def clear_of_cost(
    table: Table, node: int, first: int, room: int, job: int, begin: int, hold: int
) -> int:
    """How many processes of a job cost nothing on a node, of the ``room`` there is."""
    line = table.line
    load = table.load
    clear = room
    busy = table.node["busy"][node]
    for h in range(len(table.hinge)):
        demand = load[node, h, first] if first < busy else 0
        if hold != 0 and table.node["reserved"][node] != 0:
            # Demand peaks where the job begins, or where the reservation does.
            at = first
            when = max(begin, table.par["hold_from"][0])
            while at < busy and line["end"][node, at] <= when:
                at += 1
            held = table.node["reserved"][node] * table.demand[table.par["hold_job"][0], h]
            if at < busy:
                held += load[node, h, at]
            demand = max(demand, held)
        below = table.hinge["edge"][h] - demand
        each = table.demand[job, h]
        if below < 0:
            return 0
        if clear * each > below:
            clear = below // each
    return clear


@kernel
def cost_on(
    table: Table, node: int, first: int, count: int, job: int, begin: int, end: int, hold: int
) -> int:
    """Cost of ``count`` processes of a job on a node during [begin, end)."""
    line = table.line
    load = table.load
    total = 0
    busy = table.node["busy"][node]
    for h in range(len(table.hinge)):
        edge = table.hinge["edge"][h] - count * table.demand[job, h]
        some = 0
        at = begin
        i = first
        while i < busy and at < end:
            over = load[node, h, i] - edge
            if over <= 0:
                break
            until = min(line["end"][node, i], end)
            some += (until - at) * over
            at = until
            i += 1
        if i == busy and at < end and edge < 0:
            some += (at - end) * edge
        if hold != 0 and table.node["reserved"][node] != 0:
            # What the reservation adds while it lasts.
            held = table.node["reserved"][node] * table.demand[table.par["hold_job"][0], h]
            at = max(begin, table.par["hold_from"][0])
            close = min(end, table.par["hold_until"][0])
            i = first
            while at < close:
                while i < busy and line["end"][node, i] <= at:
                    i += 1
                demand = load[node, h, i] - edge if i < busy else -edge
                until = min(line["end"][node, i], close) if i < busy else close
                some += (until - at) * (max(0, demand + held) - max(0, demand))
                at = until
        total += table.hinge["weight"][h] * some
    return total


@kernel
def all_clear(table: Table, node: int, at: int, count: int, job: int) -> bool:
    """True if ``count`` processes cost nothing on a node from this place of its line on."""
    behind = at < table.node["busy"][node]
    for h in range(len(table.hinge)):
        demand = count * table.demand[job, h]
        if behind:
            demand += table.load[node, h, at]
        if demand > table.hinge["edge"][h]:
            return False
    return True


@routine
def count_clear(table: Table, job: int, slot: int) -> None:
    """Fill a slot: processes of the job's kind that cost nothing, by number of ends."""
    running = table.par["running"][0]
    cores = table.par["cores"][0]
    for place in range(running):
        table.job["gain"][job_at(table, place)] = 0
    now = 0
    for node in range(table.par["nodes"][0]):
        busy = table.node["busy"][node]
        clear = 0
        for at in range(busy + 1):
            more = clear
            room = cores - busy + at
            while more < room and all_clear(table, node, at, more + 1, job):
                more += 1
            if at == 0:
                now += more
            else:
                table.job["gain"][table.line["job"][node, at - 1]] += more - clear
            clear = more
    table.clears[slot, 0] = now
    for place in range(running):
        now += table.job["gain"][job_at(table, place)]
        table.clears[slot, place + 1] = now


@kernel
def free_of_cost(table: Table, job: int, ended: int) -> bool:
    """True if a job costs nothing once the first ``ended`` of the running list have ended.

    The reservation is left aside.
    """
    kind = table.job["kind"][job]
    slot = kind % len(table.slot)
    if table.slot["version"][slot] != table.par["version"][0] or table.slot["kind"][slot] != kind:
        count_clear(table, job, slot)
        table.slot["version"][slot] = table.par["version"][0]
        table.slot["kind"][slot] = kind
    return table.job["procs"][job] <= table.clears[slot, ended]


@routine
def free_around(table: Table, job: int, begin: int, ended: int) -> bool:
    """The same, at the start that follows these ends, around the reservation."""
    par = table.par
    if not free_of_cost(table, job, ended):
        return False
    if within_hold(table, begin, begin + table.job["length"][job]) == 0:
        return True
    if par["counted"][0] != 0:
        return False  # whether there is room is another question
    # Only the nodes of the reservation can lose by it, and no more than all they have.
    spare = table.clears[table.job["kind"][job] % len(table.slot), ended] - table.job["procs"][job]
    hold = within_hold(table, begin, begin + table.job["span"][job])
    rest = par["hold_top"][0]
    while spare >= 0 and spare < rest * par["cores"][0]:
        rest -= 1
        node = table.node["held"][rest]
        if table.node["soonest"][node] > begin:
            continue
        first = running_at(table, node, begin)
        room = room_on(table, node, first, begin, nf.ZERO)
        left = room_on(table, node, first, begin, par["hold"][0])
        spare -= clear_of_cost(table, node, first, room, job, begin, nf.ZERO)
        spare += clear_of_cost(table, node, first, left, job, begin, hold)
    return spare >= 0


@routine
def roomy(table: Table, job: int) -> bool:
    """False if a start now is known to cost something, whatever the allocation."""
    par = table.par
    kind = table.job["kind"][job]
    hold = nf.ZERO
    if par["hold"][0] == 1:
        hold = within_hold(table, par["now"][0], par["now"][0] + table.job["span"][job])
    roomy = table.roomy
    if (
        roomy["version"][hold, kind] != par["version"][0]
        or roomy["holds"][hold, kind] != hold * par["holds"][0]
    ):
        count = 0
        for node in range(par["nodes"][0]):
            if table.node["soonest"][node] == 0:
                room = room_on(table, node, nf.ZERO, par["now"][0], hold)
                count += clear_of_cost(table, node, nf.ZERO, room, job, par["now"][0], hold)
        roomy["processes"][hold, kind] = count
        roomy["version"][hold, kind] = par["version"][0]
        roomy["holds"][hold, kind] = hold * par["holds"][0]
    return table.job["procs"][job] <= roomy["processes"][hold, kind]
