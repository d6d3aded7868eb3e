"""Which start a job is promised among all reservations, and where: the place parts.

spec: algorithms 4.6, 4.7.

The starts are now, the ends in the table and, for a job that is asked again, the start it was
promised; none is later than that one.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua import timeline as tl
from shadowtime.engine.nodes.rua.placing import NO_ROOM, allot, empty_cost
from shadowtime.engine.nodes.rua.pointers import ASSESS, SEEK, pointer
from shadowtime.engine.nodes.rua.search import allowed, stretch
from shadowtime.engine.nodes.rua.timeline import Plan
from shadowtime.engine.nodes.rua.window import gather, lowest, minimax, pick, within
from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import NEVER


@pointer(ASSESS)
def assess(b: Plan, table: Table, job: int, at: int, begin: int) -> int:
    """Cost of a job's allocation at a start, which lies in piece ``at``; NO_ROOM if none.

    Of that cost allot makes the allocation, and pick chooses its processors. Where its stretched
    limit runs into another job's time there, it is made again among the processors that are free
    until then. A cost of CAP or more only says that: it is no less where the choice is smaller.
    """
    procs = table.job["procs"][job]
    end = begin + table.job["length"][job]
    if gather(b, tl.WINDOW, at, end, procs) < procs:
        return NO_ROOM
    if b.par["costed"][0] == 0:
        b.par["plan_more"][0] = 0
        return 0
    while True:
        if table.par["search"][0] == nf.FIRST_FIT:
            cost = lowest(b, table, job, at, begin)
        else:
            cost = minimax(b, table, job, at, begin)
        more = stretch(table, job, cost)
        b.par["plan_more"][0] = more
        if more == 0 or cost >= b.par["cap"][0]:
            return cost
        allot(table, job, cost)
        pick(b, table, job)
        if gather(b, tl.OTHER, at, end + more, procs) < procs:
            return NO_ROOM
        if within(b, tl.PICK, tl.OTHER):
            return cost
        for word in range(b.par["words"][0]):
            b.mask[tl.WINDOW, word] = b.mask[tl.OTHER, word]


@kernel
def next_start(b: Plan, at: int, latest: int) -> int:
    """The first start behind piece ``at``: an end, at last ``latest`` itself; -1 if none."""
    at += 1
    while at < b.par["pieces"][0] and b.line["begin"][at] < latest:
        if b.line["ends"][at] != 0:
            return b.line["begin"][at]
        at += 1
    return latest if latest < NEVER else -1


@pointer(SEEK)
def seek(
    b: Plan, table: Table, first_room: Any, assess: Any, job: int, at: int, latest: int, before: int
) -> bool:
    """Find the start that the place part prefers to ``latest`` (NEVER: to none), and its plan.

    True if there is one: ``plan_start``, ``plan_more``, and its processors in ``pick``. The first
    start with room is sought from place ``at`` on and before an instant.
    """
    par = table.par
    now = par["now"][0]
    at = first_room(b, table, job, at, before, NEVER)
    if at < 0:
        return False
    kind = par["search"][0]
    start = b.line["begin"][at]
    near = min(latest, start + table.job["reach"][job])
    least = empty_cost(table, job)
    strict = par["theta_from"][0]
    met = par["theta_to"][0]
    chosen = -1
    quick = NEVER  # slowness of the start chosen
    best = -1
    best_start = -1
    # A job that is placed again tries the promised start first: mostly it is hard to improve on.
    sure = latest == NEVER
    if not sure and (kind == nf.THRESHOLD or (kind == nf.CHEAPEST and near == latest)):
        b.par["cap"][0] = tl.UNCAPPED
        best = assess(b, table, job, tl.place_of(b, latest), latest)
        best_start = latest
        sure = kind == nf.THRESHOLD and 0 <= best <= max(allowed(table, strict, job), least)
    seen = -1
    cost = NO_ROOM
    while start < latest:
        later = par["base"][0] * (start - now)
        if chosen >= 0 and sure and later + least > quick:
            # Every threshold is met in the end: those that are left, by slower starts.
            met = strict
            break
        cap = tl.UNCAPPED
        if best >= 0:
            cap = best if best_start < start else best + 1
        if kind == nf.THRESHOLD:
            enough = max(allowed(table, met - 1, job), least) + 1
            cap = enough if sure else max(cap, enough)
        b.par["cap"][0] = cap
        cost = assess(b, table, job, at, start)
        seen = start
        if cost != NO_ROOM and cost < cap:
            if best < 0 or cost < best or (cost == best and start < best_start):
                best = cost
                best_start = start
            if kind == nf.FIRST_FIT or (kind == nf.CHEAPEST and (cost == least or start > near)):
                break
            while met > strict and cost <= max(allowed(table, met - 1, job), least):
                met -= 1
                if chosen < 0 or later + cost <= quick:
                    chosen = start
                    quick = later + cost
            if kind == nf.THRESHOLD and met == strict:
                break
        start = next_start(b, at, latest)
        if start < 0 or (kind == nf.CHEAPEST and best >= 0 and start > near):
            break
        at = tl.place_of(b, start)
    # A job that meets a threshold nowhere, or has none, takes what costs least.
    if best >= 0 and (chosen < 0 or met > strict):
        if chosen < 0 or par["base"][0] * (best_start - now) + best <= quick:
            chosen = best_start
    b.par["cap"][0] = tl.UNCAPPED
    if chosen < 0 or chosen == latest:
        return False
    if chosen != seen:
        cost = assess(b, table, job, tl.place_of(b, chosen), chosen)
    allot(table, job, cost)
    pick(b, table, job)
    par["plan_start"][0] = chosen
    return True
