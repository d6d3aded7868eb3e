"""When a job starts and what that costs: first fit, LessConsume, thresholds (spec 4.6, 4.7).

Two questions are asked. Of the head, alone with the running jobs: which start? Its costs never
rise with the start, so thresholds are found by bisection. Of a candidate for backfilling, around
the reservation: is its start now? For that few later starts need a look, and often none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shadowtime.kernel.jit import kernel
from shadowtime.kernel.nodes.fields import (
    BASE,
    CHEAPEST,
    COUNTED,
    FACTOR,
    FIRST_FIT,
    FREE,
    HINGES,
    HOLD,
    HOLD_FROM,
    HOLD_JOB,
    HOLD_UNTIL,
    LAW,
    LENGTH,
    NOW,
    PLAN_COST,
    PLAN_START,
    PROCS,
    PROMISE,
    REACH,
    READY,
    RUNNING,
    SEARCH,
    SEEN,
    SEEN_AT,
    SEEN_COST,
    SHARE,
    SPAN,
    SPARE,
    STARTS,
    STRETCHED,
    THETA_FROM,
    THETA_TO,
    UNTILS,
    WITHOUT,
    ZERO,
)
from shadowtime.kernel.nodes.placing import (
    NO_ROOM,
    allot,
    empty_cost,
    touches_pins,
    within_hold,
)
from shadowtime.kernel.nodes.pointers import MUST_WAIT, PLAN_AT, PLAN_HEAD, PREFERS_LATER, pointer
from shadowtime.kernel.nodes.table import end_at, job_at


class Units(NamedTuple):
    """What the pass calls through pointers."""

    evaluate: Any
    plan_at: Any
    plan_head: Any
    prefers_later: Any
    must_wait: Any


@kernel
def stretch(t: Any, job: int, cost: int) -> int:
    """Seconds that a planned cost adds to the limit (limit=pf), rounded up.

    The limit is the request times the penalty factor, which is that of the expected run time.
    """
    if t.par[STRETCHED] == 0:
        return 0
    base = t.par[BASE]
    length = t.job[job, LENGTH]
    span = t.job[job, SPAN]
    if span != length:
        cost *= length
        base *= span
    return (cost + base - 1) // base


@kernel
def allowed(t: Any, theta: int, job: int) -> int:
    """The largest cost within a threshold."""
    at = LAW + 2 * (t.par[HINGES] + theta)
    return t.job[job, SPAN] * t.par[at + FACTOR] // t.par[at + SHARE]


@kernel
def start_of(t: Any, at: int) -> int:
    """The start at a place in the running list; -1 is now."""
    return t.par[NOW] if at < 0 else end_at(t, at)


@kernel
def last_until(t: Any, bound: int) -> int:
    """Place of the last end up to an instant, -1 if none is."""
    low = ZERO
    high = t.par[RUNNING]
    while low < high:
        middle = (low + high) >> 1
        if end_at(t, middle) <= bound:
            low = middle + 1
        else:
            high = middle
    return low - 1


# ------------------------------------------------------------------------------- the head
@pointer(PLAN_HEAD)
def plan_head(t: Any, evaluate: Any, job: int) -> None:
    """Choose the head's start (PLAN_START); the table holds no reservation.

    Its cost is known and the evaluation at hand is of that start only if READY is 1.
    """
    par = t.par
    now = par[NOW]
    par[READY] = 0
    # First fit: the first end by which enough is free.
    free = par[FREE]
    at = -1
    while free < t.job[job, PROCS]:
        at += 1
        free += t.job[job_at(t, at), PROCS]
    start = start_of(t, at)
    par[PLAN_START] = start
    if par[SEARCH] == FIRST_FIT:
        return
    bound = par[PROMISE]
    if par[SEARCH] == CHEAPEST:
        bound = min(bound, start + t.job[job, REACH])
    last = last_until(t, bound)
    if last <= at:
        return
    cost = evaluate(t, job, start, ZERO)
    par[PLAN_COST] = cost
    par[READY] = 1
    if cost == 0:
        return
    par[READY] = 0
    least = evaluate(t, job, end_at(t, last), ZERO)
    best = -1
    place = last
    known = least
    # Smaller thresholds first: each larger one is met no later. LessConsume is one of penalty 0.
    for theta in range(par[THETA_FROM], max(par[THETA_FROM] + 1, par[THETA_TO])):
        most = least
        if par[SEARCH] != CHEAPEST:
            most = max(allowed(t, theta, job), least)
        if cost <= most:
            place = at
            known = cost
        low = at + 1
        while low < place:
            middle = (low + place) >> 1
            found = evaluate(t, job, end_at(t, middle), ZERO)
            if found <= most:
                place = middle
                known = found
            else:
                low = middle + 1
        slowness = par[BASE] * (start_of(t, place) - now) + known
        if best < 0 or slowness < best:
            best = slowness
            par[PLAN_START] = start_of(t, place)
            par[PLAN_COST] = known


# ------------------------------------------------------------------------------- candidates
@kernel
def free_at(t: Any, when: int) -> int:
    """Processors that the running jobs leave free at an instant."""
    free = t.par[FREE]
    at = 0
    while at < t.par[RUNNING] and end_at(t, at) <= when:
        free += t.job[job_at(t, at), PROCS]
        at += 1
    return free


@kernel
def room_by_count(t: Any, procs: int, begin: int, overlap: int) -> bool:
    """resv=counts: is there room, the reservation's number of processors left aside?"""
    if begin == t.par[NOW]:
        return procs <= t.par[FREE] and (overlap == 0 or procs <= t.par[SPARE])
    if procs > free_at(t, begin):
        return False
    if overlap == 0:
        return True
    later = max(begin, t.par[HOLD_FROM])
    return procs <= free_at(t, later) - t.job[t.par[HOLD_JOB], PROCS]


@pointer(PLAN_AT)
def plan_at(t: Any, evaluate: Any, job: int, begin: int) -> int:
    """Cost of a candidate's allocation at a start, around the reservation; NO_ROOM if none.

    A limit stretched into the reservation must do without its processors.
    """
    procs = t.job[job, PROCS]
    end = begin + t.job[job, LENGTH]
    overlap = within_hold(t, begin, end)
    counted = t.par[COUNTED] != 0
    without = 0 if counted else overlap
    if counted and not room_by_count(t, procs, begin, overlap):
        return NO_ROOM
    cost = evaluate(t, job, begin, without)
    if cost > 0 and overlap == 0 and within_hold(t, begin, end + stretch(t, job, cost)) != 0:
        overlap = t.par[HOLD]
        if counted:
            if not room_by_count(t, procs, begin, overlap):
                return NO_ROOM
        else:
            allot(t, job, cost)
            if touches_pins(t, begin):
                without = overlap
                cost = evaluate(t, job, begin, without)
    t.par[WITHOUT] = without
    return cost


@kernel
def once_seen(t: Any, evaluate: Any, plan_at: Any, job: int, bound: int) -> int:
    """Cost of the first start from the one that was cheaper when last looked at; NO_ROOM if none.

    Waiting jobs are asked again and again, and mostly the same start is the answer. Where it cost
    nothing and the reservation is not in its way, it still costs nothing as long as nobody has
    started since who will be there then.
    """
    seen = t.job[job, SEEN]
    if seen <= t.par[NOW]:
        return NO_ROOM
    at = last_until(t, seen - 1) + 1
    if at == t.par[RUNNING] or end_at(t, at) > bound:
        return NO_ROOM
    start = end_at(t, at)
    apart = within_hold(t, start, start + t.job[job, LENGTH]) == 0
    since = t.job[job, SEEN_AT]
    if since >= 0 and apart:
        while since < t.par[STARTS] and t.list[UNTILS, since] <= seen:
            since += 1
        if since == t.par[STARTS]:
            t.job[job, SEEN_AT] = since
            return 0
    t.par[READY] = 0
    found = plan_at(t, evaluate, job, start)
    remember(t, job, start, found)
    return found


@kernel
def remember(t: Any, job: int, start: int, cost: int) -> None:
    """Keep a start that was looked at, and whether it costs nothing whatever the reservation."""
    t.job[job, SEEN] = start
    t.job[job, SEEN_AT] = -1
    if cost == 0 and within_hold(t, start, start + t.job[job, LENGTH]) == 0:
        t.job[job, SEEN_AT] = t.par[STARTS]


@pointer(MUST_WAIT)
def must_wait(t: Any, evaluate: Any, plan_at: Any, job: int) -> bool:
    """True if a candidate that would cost something now is known to prefer a later start.

    No cost is within the loosest threshold, or the start seen last costs nothing.
    """
    if t.par[SEARCH] == CHEAPEST:
        found = once_seen(t, evaluate, plan_at, job, t.par[NOW] + t.job[job, REACH])
        t.par[SEEN_COST] = found
        return found == 0
    return max(allowed(t, t.par[THETA_TO] - 1, job), empty_cost(t, job)) == 0


@pointer(PREFERS_LATER)
def prefers_later(t: Any, evaluate: Any, plan_at: Any, job: int, cost: int) -> bool:
    """True if the policy would rather have a later start than now, at this cost above 0.

    LessConsume: a start within the horizon costs less. Thresholds: none is met now, or a smaller
    one has a start that is as quick. The least cost of all is that of the empty machine, which
    the last start of the table has; so a threshold below it is met by the starts that have just
    that.
    """
    par = t.par
    now = par[NOW]
    least = empty_cost(t, job)
    strict = par[THETA_FROM]
    met = strict
    if par[SEARCH] == CHEAPEST:
        if cost == least:
            return False
        most = cost - 1
        bound = now + t.job[job, REACH]
        if par[SEEN_COST] != NO_ROOM and par[SEEN_COST] <= most:
            return True
    else:
        while met < par[THETA_TO] and cost > max(allowed(t, met, job), least):
            met += 1
        if met == par[THETA_TO]:
            return True
        if met == strict:
            return False
        most = max(allowed(t, met - 1, job), least)
        bound = now + (cost - least) // par[BASE]  # later ones are slower whatever they cost
    last = last_until(t, bound)
    held = par[HOLD] != 0 and par[HOLD_UNTIL] <= bound
    latest = start_of(t, last)
    if held:
        latest = max(latest, par[HOLD_UNTIL])
    if latest == now:
        return False
    # The reservation can only make a start dearer: without it the last one is a bound.
    par[READY] = 0
    hold = par[HOLD]
    par[HOLD] = 0
    bound_on_cost = evaluate(t, job, latest, ZERO)
    at = ZERO
    if bound_on_cost <= most:
        beyond = last + 1
        while at < beyond:
            middle = (at + beyond) >> 1
            if evaluate(t, job, end_at(t, middle), ZERO) <= most:
                beyond = middle
            else:
                at = middle + 1
    par[HOLD] = hold
    if bound_on_cost > most:
        return False
    # Starts before ``at`` are too dear even without it. The others in ascending order: a threshold
    # is settled by the first start that meets it, so those from ``met`` on are settled.
    before = now
    while at <= last or held:
        if held and (at > last or par[HOLD_UNTIL] <= end_at(t, at)):
            start = par[HOLD_UNTIL]
            held = False
        else:
            start = end_at(t, at)
            at += 1
        if start == before:
            continue
        before = start
        found = plan_at(t, evaluate, job, start)
        if found == NO_ROOM or found > most:
            continue
        if par[SEARCH] == CHEAPEST:
            remember(t, job, start, found)
            return True
        while met > strict and found <= max(allowed(t, met - 1, job), least):
            if par[BASE] * (start - now) + found <= cost:
                return True
            met -= 1
        if met == strict:
            return False
        most = max(allowed(t, met - 1, job), least)
    return False
