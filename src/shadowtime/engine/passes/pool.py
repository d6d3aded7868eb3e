"""One reservation on a pool of K resources: the fast pass (spec: algorithms 5.1 to 5.3).

The same decisions as the general pass in order of arrival with at most one reservation, proved
equal in the tests. The plan of a single head needs no profile: what is free grows until the shadow
time, and beyond it a job that stays must leave the head its share. So two vectors decide, what is
free now and what will be left over at the shadow time. Blocks of the queue are skipped by their
minima, and where nothing ended since the last pass only newcomers are looked at, unless a start has
moved the balance that others were refused for. Where bounds change over time, such as a power cap
by the hour, kernel/ahead.py says what fits and when.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.engine import events
from shadowtime.kernel import balance, fields
from shadowtime.kernel import registers as r
from shadowtime.kernel.ahead import (
    COVERED,
    Ahead,
    changes,
    earliest,
    fits_ahead,
    free_now,
    make_ahead,
    reserve,
    to_now,
    wake_at_change,
)
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import entry, kernel
from shadowtime.kernel.queue import first_waiting
from shadowtime.kernel.running import (
    BACKFILLED,
    begin,
    begin_first,
    end_at,
    fits,
    forget_overdue,
    job_at,
)
from shadowtime.kernel.state import State, World
from shadowtime.kernel.vector import any_fits_both
from shadowtime.types import Ints

NONE_OVERTAKES = 0
"""Rule: no job overtakes (FCFS)."""
IN_ORDER = 1
"""Rule: every job that may, in order of arrival (EASY; greedy without a reservation)."""
SHORTEST = 2
"""Rule: the same, shortest first."""
BALANCE = 3
"""Rule: the best by BB's score, taken again after each start."""
LEAST_USED = 4
"""Rule: the largest request for the least used resource (BL), taken again after each start."""
NOT_WORSE = 5
"""Rule: in order of arrival, jobs that leave the resources no less evenly used (IBB)."""
NOT_WORSE_FROZEN = 6
"""Rule: the same against the balance at the beginning of the traversal."""
LITERAL = 7
"""Rule: jobs that do not raise the average use: Algorithm 1 of the IBB paper to the letter."""

RULE = 0
RESERVES = 1
AT_MOST = 2
"""Starts in a pass by BALANCE and LEAST_USED, 0: no bound."""
SETTLED = 3
"""1 if every waiting job was refused as things stand: only newcomers are of interest."""
SEEN = 4
"""The jobs whose need of the second resource is in ``more``."""
LOST = 5
"""1 if bounds that change never let the head start."""


class Pool(NamedTuple):
    """The pass's parameters and scratch."""

    par: Any  # int64[6]
    scale: Any  # int64[K + 1]: balance.py
    extra: Any  # int64[K]: left over at the shadow time beside the head
    mark: Any  # int64[2]: fullest share and sum of shares that IBB compares with
    found: Any  # int64[n]: candidates
    more: Any  # int32[n in whole blocks]: what a job needs of the second resource, or 31 bits of it
    ahead: Ahead


def make_pool(
    *,
    n: int,
    resources: int,
    rule: int,
    reserves: bool,
    at_most: int = 0,
    scale: Ints | None = None,
    ahead: Ahead | None = None,
) -> Pool:
    """Parameters and room for a run of ``n`` jobs; ``ahead`` has bounds that change."""
    if ahead is None:
        none = np.zeros(0, np.int64)
        ahead = make_ahead(time=none, drop=none.reshape(0, resources), room=0)
    return Pool(
        par=np.array([rule, reserves, at_most, 0, 0, 0], np.int64),
        scale=np.zeros(resources + 1, np.int64) if scale is None else scale,
        extra=np.zeros(resources, np.int64),
        mark=np.zeros(2, np.int64),
        found=np.empty(n + 1, np.int64),
        more=np.zeros((n // r.BLOCK + 1) * r.BLOCK, np.int32),
        ahead=ahead,
    )


@entry
def run(state: State, world: World, f: Pool) -> int:
    """The event loop with this pass."""
    while not events.lacks_room(state):
        if events.advance(state, world) != events.PASS_DUE:
            return events.DONE
        decide(state, f)
        if f.par[LOST] != 0:
            return events.NEVER_FITS
        events.carry_out_decisions(state, world)
    return events.ROOM_NEEDED


@kernel
def decide(state: State, f: Pool) -> None:
    """One pass."""
    reg = state.reg
    see_newcomers(state, f)
    moved = changes(f.ahead) and to_now(state, f.ahead)
    if reg[r.CHANGED] == 0 and reg[r.HEAD] >= 0 and reg[r.VOLATILE] == 0 and not moved:
        # Nothing ended: the head stays blocked, and a job that did not fit before does not fit now.
        first = reg[r.FRESH] if f.par[SETTLED] != 0 else reg[r.HEAD] + 1
        f.par[SETTLED] = 1
        backfill(state, f, first)
    else:
        begin_in_order(state, f)
    if changes(f.ahead):
        wake_at_change(state, f.ahead)


@kernel
def see_newcomers(state: State, f: Pool) -> None:
    """Note what they need of the second resource, in one line for whole blocks of the queue."""
    if f.extra.shape[0] > 1:
        for job in range(f.par[SEEN], state.reg[r.ARRIVED]):
            f.more[job] = min(state.job[job, fields.NEED + 1], r.BIG - 1)
        f.par[SEEN] = state.reg[r.ARRIVED]


@kernel
def begin_in_order(state: State, f: Pool) -> None:
    """Start jobs while the first one fits; the one that does not is blocked, others overtake it."""
    reg = state.reg
    if reg[r.VOLATILE] != 0:
        forget_overdue(state)
    if changes(f.ahead):
        reserve(state, f.ahead, -1, 0)
    head = first_waiting(state)
    while head >= 0 and fits_now(state, f, head):
        begin_first(state, head, 0)
        f.ahead.mark[COVERED] = -1
        head = first_waiting(state)
    reg[r.HEAD] = head
    if head < 0:
        return
    if f.par[RESERVES] == 0:
        reg[r.SHADOW] = r.NEVER
    elif changes(f.ahead):
        reserve(state, f.ahead, head, reg[r.SHADOW])
        f.par[LOST] = reg[r.SHADOW] >= r.NEVER
    else:
        find_shadow(state, f, head)
    if state.job[head, fields.BLOCKED_AT] < 0:
        state.job[head, fields.BLOCKED_AT] = reg[r.NOW]
        if f.par[RESERVES] != 0:
            state.job[head, fields.PROMISED] = reg[r.SHADOW]
    f.par[SETTLED] = 1
    if reg[r.WAITING] > 1:
        backfill(state, f, head + 1)


@kernel
def fits_now(state: State, f: Pool, job: int) -> bool:
    """True if the job that is first in order may start; bounds that change say when else."""
    if not changes(f.ahead):
        return fits(state, job, 0)
    state.reg[r.SHADOW] = earliest(state, f.ahead, job, f.extra)
    return bool(state.reg[r.SHADOW] <= state.reg[r.NOW])


@kernel
def find_shadow(state: State, f: Pool, head: int) -> None:
    """When the head will fit in every resource, and what will be left over then.

    All jobs expected to end together are released together.
    """
    reg = state.reg
    first = state.host[fields.FREE, 0, 0] - state.job[head, fields.NEED]
    lacks = first < 0
    for k in range(1, f.extra.shape[0]):
        f.extra[k] = state.host[fields.FREE, 0, k] - state.job[head, fields.NEED + k]
        lacks |= f.extra[k] < 0
    running = reg[r.RUNNING]
    shadow = reg[r.NOW] + 1
    at = 0
    while at < running and (lacks or end_at(state, at) <= shadow):
        shadow = max(shadow, end_at(state, at))
        job = job_at(state, at)
        first += state.job[job, fields.NEED]
        lacks = first < 0
        for k in range(1, f.extra.shape[0]):
            f.extra[k] += state.job[job, fields.NEED + k]
            lacks |= f.extra[k] < 0
        at += 1
    f.extra[0] = first
    reg[r.SHADOW] = shadow


@kernel
def may_start(state: State, f: Pool, job: int, left: int) -> bool:
    """Fits now, and is gone by the shadow time or content with what is left over then."""
    short = state.wait[fields.LENGTH, job] <= left
    for k in range(f.extra.shape[0]):
        need = state.job[job, fields.NEED + k]
        if need > state.host[fields.FREE, 0, k] or (not short and need > f.extra[k]):
            return False
    return not changes(f.ahead) or fits_ahead(state, f.ahead, job)


@kernel
def might_start(state: State, f: Pool, job: int) -> bool:
    """The same by what lies in lines, which costs next to nothing: False is certain."""
    return bool(
        state.wait[fields.PROCS, job] <= state.host[fields.FREE, 0, 0]
        and f.more[job] <= free_of_second(state, f)
    )


@kernel
def free_of_second(state: State, f: Pool) -> int:
    """What is free now of the second resource, if there is one."""
    if f.extra.shape[0] == 1:
        return 0
    if changes(f.ahead):
        return free_now(state, f.ahead, 1)
    return int(state.host[fields.FREE, 0, 1])


@kernel
def start_backfilled(state: State, f: Pool, job: int, left: int) -> None:
    """Start a job that may; one that stays beyond the shadow time uses up what is left over."""
    if state.job[job, fields.ESTIMATE] > left:
        for k in range(f.extra.shape[0]):
            f.extra[k] -= state.job[job, fields.NEED + k]
    begin(state, job, 0, BACKFILLED)
    f.ahead.mark[COVERED] = -1


@kernel
def block_may_hold(state: State, f: Pool, block: int, left: int) -> bool:
    """False if no job of the block can start by its first needs: minima first, then all 64."""
    free, extra = state.host[fields.FREE, 0, 0], f.extra[0]
    least = state.least[fields.PROCS, block]
    if least > free or (state.least[fields.LENGTH, block] > left and least > extra):
        return False
    rest = f.extra[1] if f.extra.shape[0] > 1 else 0
    second = free_of_second(state, f)
    return any_fits_both(state.wait, f.more, block, free, extra, second, rest, left)


@kernel
def backfill(state: State, f: Pool, first: int) -> None:
    """Start jobs from index ``first`` on by the policy's rule."""
    rule = f.par[RULE]
    left = state.reg[r.SHADOW] - state.reg[r.NOW]
    if rule == NONE_OVERTAKES:
        return
    if rule == IN_ORDER or rule >= NOT_WORSE:
        walk(state, f, first, left, rule)
        return
    count = collect(state, f, first, left)
    if rule == SHORTEST:
        shortest_first(state, f, count, left)
    elif count > 0:
        best_first(state, f, count, left, rule)


@kernel
def walk(state: State, f: Pool, first: int, left: int, rule: int) -> None:
    """Each job once, in order of arrival; IBB's readings look at the balance as well."""
    reg = state.reg
    arrived = reg[r.ARRIVED]
    if rule >= NOT_WORSE:
        note_balance(state, f)
    for block in range(first >> r.SHIFT, ((arrived - 1) >> r.SHIFT) + 1):
        if state.host[fields.FREE, 0, 0] == 0:
            return
        if not block_may_hold(state, f, block, left):
            continue
        for job in range(max(first, block * r.BLOCK), min(arrived, block * r.BLOCK + r.BLOCK)):
            if not (might_start(state, f, job) and may_start(state, f, job, left)):
                continue
            if rule >= NOT_WORSE and not keeps_balance(state, f, job, rule):
                continue
            start_backfilled(state, f, job, left)
            if rule >= NOT_WORSE:
                f.par[SETTLED] = 0  # the balance has moved: a refused job may start now
                if rule == NOT_WORSE:
                    note_balance(state, f)


@kernel
def note_balance(state: State, f: Pool) -> None:
    """The balance as it is now, for others to be compared with."""
    f.mark[0] = balance.fullest_with(state, f.scale, -1)
    f.mark[1] = balance.sum_with(state, f.scale, -1)


@kernel
def keeps_balance(state: State, f: Pool, job: int, rule: int) -> bool:
    """IBB: max(S+R) / avg(S+R) <= max(S) / avg(S) (eq. 2), or the paper's Algorithm 1."""
    if rule == LITERAL:
        return balance.sum_with(state, f.scale, job) <= f.mark[1]
    return balance.not_worse(state, f.scale, job, f.mark[0], f.mark[1])


@kernel
def collect(state: State, f: Pool, first: int, left: int) -> int:
    """Every job from index ``first`` on that may start, in order of arrival."""
    arrived = state.reg[r.ARRIVED]
    count = 0
    if state.host[fields.FREE, 0, 0] == 0:
        return 0
    for block in range(first >> r.SHIFT, ((arrived - 1) >> r.SHIFT) + 1):
        if block_may_hold(state, f, block, left):
            for job in range(max(first, block * r.BLOCK), min(arrived, block * r.BLOCK + r.BLOCK)):
                if might_start(state, f, job) and may_start(state, f, job, left):
                    f.found[count] = job
                    count += 1
    return count


@kernel
def shortest_first(state: State, f: Pool, count: int, left: int) -> None:
    """Candidates in order of (estimate, arrival): the list becomes a heap of such keys."""
    bits = state.reg[r.BITS]
    for i in range(count):
        push(f.found, i, state.job[f.found[i], fields.ESTIMATE] << bits | f.found[i])
    while count > 0 and state.host[fields.FREE, 0, 0] > 0:
        job = f.found[0] & ((1 << bits) - 1)
        count = pop(f.found, count)
        if may_start(state, f, job, left):
            start_backfilled(state, f, job, left)


@kernel
def best_first(state: State, f: Pool, count: int, left: int, rule: int) -> None:
    """The best candidate by a score that every start changes, again and again."""
    remaining = f.par[AT_MOST]
    while count > 0:
        if rule == BALANCE:
            best = balance.best_balance(state, f.scale, f.found, count)
        else:
            best = balance.largest_request(state, f.scale, f.found, count)
        start_backfilled(state, f, f.found[best], left)
        remaining -= 1
        if remaining == 0:
            f.par[SETTLED] = 0  # others may be startable still: they wait for the next pass
            return
        kept = 0
        for i in range(count):
            job = f.found[i]
            if i != best and may_start(state, f, job, left):
                f.found[kept] = job
                kept += 1
        count = kept
