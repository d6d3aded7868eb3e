"""Would a candidate for backfilling rather start later? First fit, LessConsume, thresholds.

A candidate starts where its own allocation, made around the reservation, begins now (spec:
algorithms 4.6, 4.7). To know that, few later starts need a look, and often none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua import placing
from shadowtime.engine.nodes.rua.cost import free_around, free_of_cost, within_hold
from shadowtime.engine.nodes.rua.pointers import MUST_WAIT, PLAN_AT, PREFERS_LATER, pointer
from shadowtime.engine.nodes.running_table import Table, end_at, free_at
from shadowtime.kernel.jit import kernel


class Units(NamedTuple):
    """What the pass calls through pointers."""

    evaluate: Any
    within: Any
    plan_at: Any
    plan_head: Any
    prefers_later: Any
    must_wait: Any


@kernel
def stretch(table: Table, job: int, cost: int) -> int:
    """Seconds that a planned cost adds to the limit (limit=pf), rounded up.

    The limit is the request times the penalty factor, which is that of the expected run time.
    """
    if table.par["stretched"][0] == 0:
        return 0
    base = table.par["base"][0]
    length = table.job["length"][job]
    span = table.job["span"][job]
    if span != length:
        cost *= length
        base *= span
    return (cost + base - 1) // base


@kernel
def allowed(table: Table, theta: int, job: int) -> int:
    """The largest cost within a threshold."""
    span = table.job["span"][job]
    return span * table.theta["factor"][theta] // table.theta["share"][theta]


@kernel
def start_of(table: Table, at: int) -> int:
    """The start at a place in the running list; -1 is now."""
    return table.par["now"][0] if at < 0 else end_at(table, at)


@kernel
def last_until(table: Table, bound: int) -> int:
    """Place of the last end up to an instant, -1 if none is."""
    low = nf.ZERO
    high = table.par["running"][0]
    while low < high:
        middle = (low + high) >> 1
        if end_at(table, middle) <= bound:
            low = middle + 1
        else:
            high = middle
    return low - 1


@kernel
def room_by_count(table: Table, procs: int, begin: int, overlap: int) -> bool:
    """resv=counts: is there room, the reservation's number of processors left aside?"""
    if begin == table.par["now"][0]:
        return procs <= table.par["free"][0] and (overlap == 0 or procs <= table.par["spare"][0])
    if procs > free_at(table, begin):
        return False
    if overlap == 0:
        return True
    later = max(begin, table.par["hold_from"][0])
    return procs <= free_at(table, later) - table.job["procs"][table.par["hold_job"][0]]


@pointer(PLAN_AT)
def plan_at(table: Table, evaluate: Any, job: int, begin: int) -> int:
    """Cost of a candidate's allocation at a start, around the reservation; NO_ROOM if none.

    A limit stretched into the reservation must do without its processors.
    """
    procs = table.job["procs"][job]
    end = begin + table.job["length"][job]
    overlap = within_hold(table, begin, end)
    counted = table.par["counted"][0] != 0
    without = 0 if counted else overlap
    if counted and not room_by_count(table, procs, begin, overlap):
        return placing.NO_ROOM
    cost = evaluate(table, job, begin, without)
    if (
        cost > 0
        and overlap == 0
        and within_hold(table, begin, end + stretch(table, job, cost)) != 0
    ):
        overlap = table.par["hold"][0]
        if counted:
            if not room_by_count(table, procs, begin, overlap):
                return placing.NO_ROOM
        else:
            placing.allot(table, job, cost)
            if placing.touches_pins(table, begin):
                without = overlap
                cost = evaluate(table, job, begin, without)
    table.par["without"][0] = without
    return cost


@kernel
def seen_start(table: Table, job: int, bound: int) -> int:
    """The first start from the one that was cheaper when last looked at; now if there is none.

    Waiting jobs are asked again and again, and mostly the same start is the answer.
    """
    seen = table.job["seen"][job]
    if seen > table.par["now"][0]:
        at = last_until(table, seen - 1) + 1
        if at < table.par["running"][0] and end_at(table, at) <= bound:
            return end_at(table, at)
    return table.par["now"][0]


@kernel
def costs_within(table: Table, within: Any, job: int, begin: int, most: int) -> bool:
    """True if plan_at() is known to find a cost of at most ``most`` there."""
    overlap = within_hold(table, begin, begin + table.job["length"][job])
    if overlap != 0 and table.par["counted"][0] != 0:
        return False
    return within(table, job, begin, overlap, most)


@pointer(MUST_WAIT)
def must_wait(table: Table, within: Any, job: int) -> bool:
    """True if a candidate that would cost something now is known to prefer a later start.

    No cost is within the loosest threshold, or the start seen last still costs no more than it
    did and now costs more than that.
    """
    par = table.par
    if par["search"][0] != nf.CHEAPEST:
        return max(allowed(table, par["theta_to"][0] - 1, job), placing.empty_cost(table, job)) == 0
    start = seen_start(table, job, par["now"][0] + table.job["reach"][job])
    if start == par["now"][0]:
        return False
    mark = par["version"][0] + par["holds"][0]
    if table.job["settled"][job] == mark:
        return True
    if free_around(table, job, start, last_until(table, start) + 1):
        table.job["settled"][job] = mark
        return True
    most = table.job["seen_cost"][job]
    if most == 0 or par["stretched"][0] != 0:
        return False
    overlap = within_hold(table, par["now"][0], par["now"][0] + table.job["length"][job])
    if within(table, job, par["now"][0], 0 if par["counted"][0] != 0 else overlap, most):
        return False
    return costs_within(table, within, job, start, most)


@pointer(PREFERS_LATER)
def prefers_later(table: Table, evaluate: Any, plan_at: Any, job: int, cost: int) -> bool:
    """True if the policy would rather have a later start than now, at this cost above 0.

    LessConsume: a start within the horizon costs less. Thresholds: none is met now, or a smaller
    one has a start that is as quick. The least cost of all is that of the empty machine, which
    the last start of the table has; so a threshold below it is met by the starts that have just
    that.
    """
    par = table.par
    now = par["now"][0]
    least = placing.empty_cost(table, job)
    strict = par["theta_from"][0]
    met = strict
    if par["search"][0] == nf.CHEAPEST:
        if cost == least:
            return False
        most = cost - 1
        bound = now + table.job["reach"][job]
        seen = seen_start(table, job, bound)
        if seen > now:
            par["ready"][0] = 0
            found = plan_at(table, evaluate, job, seen)
            if found != placing.NO_ROOM and found <= most:
                table.job["seen_cost"][job] = found
                return True
    else:
        while met < par["theta_to"][0] and cost > max(allowed(table, met, job), least):
            met += 1
        if met == par["theta_to"][0]:
            return True
        if met == strict:
            return False
        most = max(allowed(table, met - 1, job), least)
        bound = now + (cost - least) // par["base"][0]  # later ones are slower whatever they cost
    last = last_until(table, bound)
    held = par["hold"][0] != 0 and par["hold_until"][0] <= bound
    latest = start_of(table, last)
    if held:
        latest = max(latest, par["hold_until"][0])
    if latest == now:
        return False
    # The reservation can only make a start dearer: without it the last one is a bound.
    par["ready"][0] = 0
    hold = par["hold"][0]
    bound_on_cost = nf.ZERO
    if not free_of_cost(table, job, last + 1):
        par["hold"][0] = 0
        bound_on_cost = evaluate(table, job, latest, nf.ZERO)
        par["hold"][0] = hold
    if bound_on_cost > most:
        return False
    if par["search"][0] == nf.CHEAPEST:
        # Any cheaper start will do, and the last one stays cheap the longest.
        found = bound_on_cost
        if hold != 0 and latest < par["hold_until"][0]:
            found = plan_at(table, evaluate, job, latest)
        if found != placing.NO_ROOM and found <= most:
            table.job["seen"][job] = latest
            table.job["seen_cost"][job] = found
            return True
    at = nf.ZERO
    beyond = last + 1
    par["hold"][0] = 0
    while at < beyond:
        middle = (at + beyond) >> 1
        if evaluate(table, job, end_at(table, middle), nf.ZERO) <= most:
            beyond = middle
        else:
            at = middle + 1
    par["hold"][0] = hold
    # Starts before ``at`` are too dear even without it. The others in ascending order: a threshold
    # is settled by the first start that meets it, so those from ``met`` on are settled.
    before = now
    while at <= last or held:
        if held and (at > last or par["hold_until"][0] <= end_at(table, at)):
            start = par["hold_until"][0]
            held = False
        else:
            start = end_at(table, at)
            at += 1
        if start == before:
            continue
        before = start
        found = plan_at(table, evaluate, job, start)
        if found == placing.NO_ROOM or found > most:
            continue
        if par["search"][0] == nf.CHEAPEST:
            table.job["seen"][job] = start
            table.job["seen_cost"][job] = found
            return True
        while met > strict and found <= max(allowed(table, met - 1, job), least):
            if par["base"][0] * (start - now) + found <= cost:
                return True
            met -= 1
        if met == strict:
            return False
        most = max(allowed(table, met - 1, job), least)
    return False
