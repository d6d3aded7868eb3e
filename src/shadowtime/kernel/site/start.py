"""The verbs of a pass on a site: ask, begin, plan, and what an end gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel import running
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.choose import settle
from shadowtime.kernel.site.earliest import earliest
from shadowtime.kernel.site.limits import ASKED_FOR, account_end, account_start, may_reserve, within
from shadowtime.kernel.site.room import may_hold_now
from shadowtime.kernel.site.steps import amount, amounts_from, change, hold_amounts
from shadowtime.kernel.site.under_limits import ever_allowed, next_release, place_at, varies

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

COMPRESSED = 1
"""KEEPS: promises are kept and compressed."""
BLOCKED = -1
"""The job is considered, but does not fit now."""
ASIDE = -2
"""The job is not considered: not placeable, or a limit forbids it."""


@kernel
def open_for(ground: sf.Ground, now: int, shape: int, length: int) -> bool:
    """True if the shape's nodes are not gone for good and its reservation is long enough."""
    if ground.shape[shape, sf.PLACEABLE] == 0:
        return False
    named = ground.shape[shape, sf.RESERVATION]
    if named < 0:
        return True
    start = max(now, ground.reservation[named, sf.RES_BEGIN])
    known = ground.reservation[named, sf.RES_KNOWN] <= now
    return bool(known and start + length <= ground.reservation[named, sf.RES_END])


@routine
def ask_start(state: State, ground: sf.Ground, job: int) -> int:
    """The alternative by which a job may start now, placed in scratch; else BLOCKED or ASIDE."""
    now = state.reg[r.NOW]
    length = state.job[job, f.ESTIMATE]
    ask = ground.job[job, sf.ASK]
    verdict = ASIDE
    doubtful = False
    forbidden = False
    for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
        shape = ground.alt[alt, sf.ALT_SHAPE]
        if not admits(state, ground, job, alt, length):
            continue
        if varies(ground, alt):
            doubtful = True
        else:
            verdict = BLOCKED
        if not may_hold_now(ground, shape):
            continue
        if ground.mark[sf.AMOUNTS] != 0 and amounts_from(ground, alt, now, now, length) > now:
            continue
        if ground.shape[shape, sf.REFUSED_AT] == ground.mark[sf.RELEASED]:
            if length >= ground.shape[shape, sf.REFUSED_LENGTH]:
                continue
        named = ground.shape[shape, sf.RESERVATION]
        if named >= 0 and ground.reservation[named, sf.RES_BEGIN] > now:
            continue
        ground.mark[sf.TRIED] = 0
        if place_at(state, ground, job, alt, now, length, sf.number(0)):
            return alt
        if ground.mark[sf.TRIED] != 0:
            forbidden |= ever_allowed(state, ground, job, alt, sf.number(0))
        else:
            ground.shape[shape, sf.REFUSED_AT] = ground.mark[sf.RELEASED]
            ground.shape[shape, sf.REFUSED_LENGTH] = length
    if forbidden:
        return ASIDE
    if doubtful and verdict == ASIDE:
        return doubted(state, ground, job, length)
    return verdict


@kernel
def admits(state: State, ground: sf.Ground, job: int, alt: int, length: int) -> bool:
    """True if an alternative is considered now, whatever its place."""
    if not open_for(ground, state.reg[r.NOW], ground.alt[alt, sf.ALT_SHAPE], length):
        return False
    return bool(
        ground.mark[sf.HAS_LIMITS] == 0 or within(state, ground, job, alt, sf.number(ASKED_FOR))
    )


@routine
def doubted(state: State, ground: sf.Ground, job: int, length: int) -> int:
    """BLOCKED if the limits allow a place on empty nodes by an alternative, else ASIDE."""
    ask = ground.job[job, sf.ASK]
    for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
        if admits(state, ground, job, alt, length) and ever_allowed(
            state, ground, job, alt, sf.number(0)
        ):
            return BLOCKED
    return ASIDE


@kernel
def might_start(state: State, ground: sf.Ground, job: int) -> bool:
    """A quick test that fails only if the job cannot start now."""
    ask = ground.job[job, sf.ASK]
    for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
        shape = ground.alt[alt, sf.ALT_SHAPE]
        if ground.shape[shape, sf.PLACEABLE] != 0 and may_hold_now(ground, shape):
            return True
    return False


@kernel
def may_start(state: State, ground: sf.Ground, job: int) -> bool:
    """A quick test that fails only if the job cannot start now around the plans."""
    ask = ground.job[job, sf.ASK]
    length = state.job[job, f.ESTIMATE]
    released = ground.mark[sf.RELEASED]
    for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
        shape = ground.alt[alt, sf.ALT_SHAPE]
        if (
            ground.shape[shape, sf.REFUSED_AT] == released
            and length >= ground.shape[shape, sf.REFUSED_LENGTH]
        ):
            continue
        if ground.shape[shape, sf.PLACEABLE] != 0 and may_hold_now(ground, shape):
            return True
    return False


@routine
def ask_earliest(
    state: State, ground: sf.Ground, job: int, since: int, before: int, limited: int
) -> tuple[int, int]:
    """(start, alternative) of the job's earliest start in [since, before), placed in scratch.

    ``limited``: what a limit forbids now is left out; else only what it forbids even if nothing is
    in use. (NEVER, -1) if there is none.
    """
    now = state.reg[r.NOW]
    length = state.job[job, f.ESTIMATE]
    ask = ground.job[job, sf.ASK]
    best = before
    chosen = -1
    looked = -1  # whose room is known at its start
    for alt in range(ground.ask[ask, 0], ground.ask[ask, 1]):
        shape = ground.alt[alt, sf.ALT_SHAPE]
        if not may_reserve(ground, alt) or not open_for(ground, now, shape, length):
            continue
        if limited != 0 and not admits(state, ground, job, alt, length):
            continue
        ground.mark[sf.CAPPED] = int(ground.alt[alt, sf.ALT_RESERVES] == sf.RESERVES_BY_NODE)
        if ground.mark[sf.AMOUNTS] == 0 and not varies(ground, alt):
            start = earliest(ground, now, shape, length, since, best)
            looked = alt if ground.shape[shape, sf.MOST] > 1 and start > now else -1
        else:
            looked = -1
            start = earliest_of_all(state, ground, job, alt, since, best, 1 - limited)
        if start < best:
            best = start
            chosen = alt
    ground.mark[sf.CAPPED] = 0
    if chosen < 0:
        return r.NEVER, -1
    ground.mark[sf.CAPPED] = int(ground.alt[chosen, sf.ALT_RESERVES] == sf.RESERVES_BY_NODE)
    if looked == chosen:
        settle(state, ground, job, ground.alt[chosen, sf.ALT_SHAPE], best)
    else:
        place_at(state, ground, job, chosen, best, length, 1 - limited)
    ground.mark[sf.CAPPED] = 0
    return best, chosen


@routine
def earliest_of_all(
    state: State, ground: sf.Ground, job: int, alt: int, since: int, before: int, bare: int
) -> int:
    """The first start in [since, before) with nodes that the limits allow and counted amounts."""
    now = state.reg[r.NOW]
    length = state.job[job, f.ESTIMATE]
    shape = ground.alt[alt, sf.ALT_SHAPE]
    start = since
    if not ever_allowed(state, ground, job, alt, bare):
        return r.NEVER
    while True:
        start = earliest(ground, now, shape, length, start, before)
        if start >= before:
            return r.NEVER
        if ground.mark[sf.AMOUNTS] != 0:
            later = amounts_from(ground, alt, now, start, length)
            if later > start:
                start = later
                continue
        if not varies(ground, alt) or place_at(state, ground, job, alt, start, length, bare):
            return start
        if ground.mark[sf.PLACE_RULE] == sf.SLURM:
            return r.NEVER  # Slurm chooses nodes and then rejects them
        start = next_release(ground, now, shape, start)


@routine
def keep_place(ground: sf.Ground, job: int, alt: int) -> None:
    """Enter the placement found last as the job's."""
    first = ground.mark[sf.ENTRIES]
    for at in range(ground.mark[sf.PLACED]):
        ground.place[first + at] = (
            ground.scratch[sf.CHOSEN, at] << 32 | ground.scratch[sf.GIVEN, at]
        )
    ground.mark[sf.ENTRIES] = first + ground.mark[sf.PLACED]
    ground.job[job, sf.PLACE_FROM] = first
    ground.job[job, sf.PLACE_COUNT] = ground.mark[sf.PLACED]
    ground.job[job, sf.ALT] = alt
    ground.job[job, sf.SHAPE] = ground.alt[alt, sf.ALT_SHAPE]


@routine
def hold_place(ground: sf.Ground, job: int, now: int, begin: int, end: int, sign: int) -> None:
    """Take (-1) or give back (+1) the job's place during [begin, end)."""
    first = ground.job[job, sf.PLACE_FROM]
    for at in range(first, first + ground.job[job, sf.PLACE_COUNT]):
        node, tasks = ground.place[at] >> 32, ground.place[at] & 0xFFFFFFFF
        change(ground, node, now, begin, end, ground.job[job, sf.SHAPE], tasks, sign)
    if ground.mark[sf.AMOUNTS] != 0:
        hold_amounts(ground, ground.job[job, sf.ALT], now, begin, end, sign)


@routine
def hold_plan(ground: sf.Ground, job: int, now: int, begin: int, end: int, sign: int) -> None:
    """The same for a plan."""
    hold_place(ground, job, now, begin, end, sign)
    count_plan(ground, job, sign)


@kernel
def count_plan(ground: sf.Ground, job: int, sign: int) -> None:
    """The job's nodes have one more plan (-1), or one less (+1)."""
    first = ground.job[job, sf.PLACE_FROM]
    for at in range(first, first + ground.job[job, sf.PLACE_COUNT]):
        ground.node[ground.place[at] >> 32, sf.PLANS] -= sign


@routine
def occupy(state: State, ground: sf.Ground, job: int, sign: int) -> None:
    """Take (-1) or give back (+1) the job's place now, and log the changes."""
    resources = ground.step.shape[1] - sf.LEVEL
    first = ground.job[job, sf.PLACE_FROM]
    shape = ground.job[job, sf.SHAPE]
    for at in range(first, first + ground.job[job, sf.PLACE_COUNT]):
        node, tasks = ground.place[at] >> 32, ground.place[at] & 0xFFFFFFFF
        row = ground.mark[sf.CHANGES] & (sf.RING - 1)
        ground.ring[row, 0] = node
        for k in range(resources):
            ground.ring[row, 1 + k] = ground.node[node, sf.FREE + k]
            taken = sign * amount(ground, shape, node, tasks, k)
            ground.node[node, sf.FREE + k] += taken
            state.host[f.FREE, 0, k] += taken
            ground.ring[row, 1 + resources + k] = ground.node[node, sf.FREE + k]
        ground.mark[sf.CHANGES] += 1
    ground.mark[sf.HELD] -= sign * ground.job[job, sf.PLACE_COUNT]


@routine
def begin_here(state: State, ground: sf.Ground, job: int, reason: int) -> None:
    """Start a waiting job now in its place, which the steps already hold for it."""
    now = state.reg[r.NOW]
    dequeue(state, job)
    ground.mark[sf.WIDE] -= ground.job[job, sf.WIDTH]
    ground.job[job, sf.PHASE] = sf.RUNS
    occupy(state, ground, job, sf.number(-1))
    state.job[job, f.START] = now
    state.job[job, f.REASON] = reason
    running.insert(state, job, now + state.job[job, f.ESTIMATE])
    running.log(state, r.STARTED, job)
    if ground.mark[sf.HAS_LIMITS] != 0:
        account_start(state, ground, job)


@routine
def begin_placed(state: State, ground: sf.Ground, job: int, alt: int, reason: int) -> None:
    """Start a waiting job now in the placement found last."""
    now = state.reg[r.NOW]
    keep_place(ground, job, alt)
    hold_place(ground, job, now, now, now + state.job[job, f.ESTIMATE], sf.number(-1))
    begin_here(state, ground, job, reason)


@kernel
def latest_end(state: State, job: int) -> int:
    """When the run of a job is over by its request, what it has behind it counted in."""
    return int(state.job[job, f.START] + state.job[job, f.REQUEST] - state.job[job, f.AHEAD])


@routine
def give_up(state: State, ground: sf.Ground, job: int) -> None:
    """A running job leaves its nodes now, at its end or stopped."""
    now = state.reg[r.NOW]
    running.remove(state, running.find(state, job))
    occupy(state, ground, job, sf.number(1))
    expected = state.job[job, f.EXPECTED]
    if expected > now:
        hold_place(ground, job, now, now, expected, sf.number(1))
        note_gain(ground, job, now, expected)
        ground.mark[sf.EARLY] = 1
    elif expected < now and latest_end(state, job) > now:
        ground.mark[sf.EARLY] = 1  # its request would have been its expected end by now
    ground.mark[sf.RELEASED] += 1
    ground.mark[sf.LEFT] += 1
    if ground.mark[sf.HAS_LIMITS] != 0:
        account_end(state, ground, job, now)


@routine
def note_gain(ground: sf.Ground, job: int, begin: int, end: int) -> None:
    """Log that the job's nodes came free during an interval."""
    if ground.mark[sf.KEEPS] != COMPRESSED:
        return
    first = ground.job[job, sf.PLACE_FROM]
    for at in range(first, first + ground.job[job, sf.PLACE_COUNT]):
        row = ground.mark[sf.GAINS] - ground.mark[sf.GAINS_FROM]
        ground.gain[row, 0] = ground.place[at] >> 32
        ground.gain[row, 1] = begin
        ground.gain[row, 2] = end
        ground.mark[sf.GAINS] += 1


@routine
def stop_run(state: State, ground: sf.Ground, job: int) -> None:
    """A running job is stopped, by a policy or a failure: the attempt goes on record."""
    give_up(state, ground, job)
    running.record_attempt(state, job)


@routine
def extend_overdue(state: State, ground: sf.Ground) -> None:
    """Running jobs past their expected end: until start + request, or else the next second."""
    now = state.reg[r.NOW]
    at = 0
    while at < state.reg[r.RUNNING] and running.end_at(state, at) <= now:
        job = running.job_at(state, at)
        later = latest_end(state, job)
        if later > now:
            running.remove(state, at)
            running.insert(state, job, later)
            hold_place(ground, job, now, now, later, sf.number(-1))
        else:
            hold_place(ground, job, now, now, now + 1, sf.number(-1))
            at += 1
