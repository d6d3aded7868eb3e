"""The verbs of a pass on a site: ask, begin, plan, and what an end gives back."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.estimates import FIXED, repredict
from shadowtime.kernel.fields import (
    ESTIMATE,
    EXPECTED,
    FROM,
    KILLS,
    REASON,
    REQUEST,
    START,
    UNTIL,
    VICTIM,
)
from shadowtime.kernel.fields import FREE as TOTAL_FREE
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue
from shadowtime.kernel.registers import ATTEMPTS, LEARNER, NEVER, NOW, RUNNING, STARTED
from shadowtime.kernel.running import end_at, find, insert, job_at, log, remove
from shadowtime.kernel.site.choose import choose
from shadowtime.kernel.site.earliest import earliest
from shadowtime.kernel.site.fields import (
    ALT,
    ALT_SHAPE,
    ASK,
    CHANGES,
    CHOSEN,
    EARLY,
    ENTRIES,
    FREE,
    GAINS,
    GAINS_FROM,
    GIVEN,
    HAS_LIMITS,
    HELD,
    KEEPS,
    LEFT,
    LEVEL,
    PHASE,
    PLACE_COUNT,
    PLACE_FROM,
    PLACEABLE,
    PLACED,
    PLANS,
    REFUSED_AT,
    REFUSED_LENGTH,
    RELEASED,
    RES_BEGIN,
    RES_END,
    RES_KNOWN,
    RESERVATION,
    RING,
    RUNS,
    SHAPE,
    TRIED,
    WIDE,
    WIDTH,
)
from shadowtime.kernel.site.limits import (
    ASKED_FOR,
    IN_SCRATCH,
    account_end,
    account_start,
    within,
)
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.room import may_hold_now
from shadowtime.kernel.site.steps import amount, change

COMPRESSED = 1
"""KEEPS: promises are kept and compressed."""
BLOCKED = -1
"""The job is considered, but does not fit now."""
ASIDE = -2
"""The job is not considered: not placeable, or a limit forbids it."""


@kernel
def open_for(g: Any, now: int, shape: int, length: int) -> bool:
    """True if the shape's nodes are not gone for good and its reservation is long enough."""
    if g.shape[shape, PLACEABLE] == 0:
        return False
    named = g.shape[shape, RESERVATION]
    if named < 0:
        return True
    start = max(now, g.reservation[named, RES_BEGIN])
    known = g.reservation[named, RES_KNOWN] <= now
    return bool(known and start + length <= g.reservation[named, RES_END])


@routine
def ask_start(s: Any, g: Any, job: int) -> int:
    """The alternative by which a job may start now, placed in scratch; else BLOCKED or ASIDE."""
    now = s.reg[NOW]
    length = s.job[job, ESTIMATE]
    ask = g.job[job, ASK]
    verdict = ASIDE
    g.mark[TRIED] = 0
    for alt in range(g.ask[ask, 0], g.ask[ask, 1]):
        shape = g.alt[alt, ALT_SHAPE]
        if not open_for(g, now, shape, length):
            continue
        if g.mark[HAS_LIMITS] != 0 and not within(s, g, job, alt, number(ASKED_FOR)):
            continue
        verdict = BLOCKED
        if not may_hold_now(g, shape):
            continue
        if g.shape[shape, REFUSED_AT] == g.mark[RELEASED]:
            if length >= g.shape[shape, REFUSED_LENGTH]:
                continue
        named = g.shape[shape, RESERVATION]
        if named >= 0 and g.reservation[named, RES_BEGIN] > now:
            continue
        if choose(g, now, shape, now, length):
            if g.mark[HAS_LIMITS] == 0 or within(s, g, job, alt, number(IN_SCRATCH)):
                return alt
            g.mark[TRIED] = 1
        else:
            g.shape[shape, REFUSED_AT] = g.mark[RELEASED]
            g.shape[shape, REFUSED_LENGTH] = length
    return ASIDE if g.mark[TRIED] != 0 else verdict


@kernel
def might_start(s: Any, g: Any, job: int) -> bool:
    """A quick test that fails only if the job cannot start now."""
    ask = g.job[job, ASK]
    for alt in range(g.ask[ask, 0], g.ask[ask, 1]):
        shape = g.alt[alt, ALT_SHAPE]
        if g.shape[shape, PLACEABLE] != 0 and may_hold_now(g, shape):
            return True
    return False


@kernel
def hopeful(s: Any, g: Any, job: int) -> bool:
    """A quick test that fails only if the job cannot start now around the plans."""
    ask = g.job[job, ASK]
    length = s.job[job, ESTIMATE]
    released = g.mark[RELEASED]
    for alt in range(g.ask[ask, 0], g.ask[ask, 1]):
        shape = g.alt[alt, ALT_SHAPE]
        if g.shape[shape, REFUSED_AT] == released and length >= g.shape[shape, REFUSED_LENGTH]:
            continue
        if g.shape[shape, PLACEABLE] != 0 and may_hold_now(g, shape):
            return True
    return False


@routine
def ask_earliest(
    s: Any, g: Any, job: int, since: int, before: int, limited: int
) -> tuple[int, int]:
    """(start, alternative) of the job's earliest start in [since, before), placed in scratch.

    ``limited``: alternatives that a limit forbids now are left out. (NEVER, -1) if there is none.
    """
    now = s.reg[NOW]
    length = s.job[job, ESTIMATE]
    ask = g.job[job, ASK]
    best = before
    chosen = -1
    for alt in range(g.ask[ask, 0], g.ask[ask, 1]):
        shape = g.alt[alt, ALT_SHAPE]
        if not open_for(g, now, shape, length):
            continue
        if (
            limited != 0
            and g.mark[HAS_LIMITS] != 0
            and not within(s, g, job, alt, number(ASKED_FOR))
        ):
            continue
        start = earliest(g, now, shape, length, since, best)
        if start < best:
            best = start
            chosen = alt
    if chosen < 0:
        return NEVER, -1
    choose(g, now, g.alt[chosen, ALT_SHAPE], best, length)
    return best, chosen


@routine
def keep_place(g: Any, job: int, alt: int) -> None:
    """Write the placement found last down as the job's."""
    first = g.mark[ENTRIES]
    for at in range(g.mark[PLACED]):
        g.place[first + at] = g.scratch[CHOSEN, at] << 32 | g.scratch[GIVEN, at]
    g.mark[ENTRIES] = first + g.mark[PLACED]
    g.job[job, PLACE_FROM] = first
    g.job[job, PLACE_COUNT] = g.mark[PLACED]
    g.job[job, ALT] = alt
    g.job[job, SHAPE] = g.alt[alt, ALT_SHAPE]


@routine
def hold_place(g: Any, job: int, now: int, begin: int, end: int, sign: int) -> None:
    """Take (-1) or give back (+1) the job's place during [begin, end)."""
    first = g.job[job, PLACE_FROM]
    for at in range(first, first + g.job[job, PLACE_COUNT]):
        node, tasks = g.place[at] >> 32, g.place[at] & 0xFFFFFFFF
        change(g, node, now, begin, end, g.job[job, SHAPE], tasks, sign)


@routine
def hold_plan(g: Any, job: int, now: int, begin: int, end: int, sign: int) -> None:
    """The same for a plan."""
    hold_place(g, job, now, begin, end, sign)
    count_plan(g, job, sign)


@kernel
def count_plan(g: Any, job: int, sign: int) -> None:
    """The job's nodes have one more plan (-1), or one less (+1)."""
    first = g.job[job, PLACE_FROM]
    for at in range(first, first + g.job[job, PLACE_COUNT]):
        g.node[g.place[at] >> 32, PLANS] -= sign


@routine
def occupy(s: Any, g: Any, job: int, sign: int) -> None:
    """Take (-1) or give back (+1) the job's place now, and write the changes down."""
    resources = g.step.shape[1] - LEVEL
    first = g.job[job, PLACE_FROM]
    shape = g.job[job, SHAPE]
    for at in range(first, first + g.job[job, PLACE_COUNT]):
        node, tasks = g.place[at] >> 32, g.place[at] & 0xFFFFFFFF
        row = g.mark[CHANGES] & (RING - 1)
        g.ring[row, 0] = node
        for k in range(resources):
            g.ring[row, 1 + k] = g.node[node, FREE + k]
            taken = sign * amount(g, shape, node, tasks, k)
            g.node[node, FREE + k] += taken
            s.host[TOTAL_FREE, 0, k] += taken
            g.ring[row, 1 + resources + k] = g.node[node, FREE + k]
        g.mark[CHANGES] += 1
    g.mark[HELD] -= sign * g.job[job, PLACE_COUNT]


@routine
def begin_here(s: Any, g: Any, job: int, reason: int) -> None:
    """Start a waiting job now in its place, which the steps already hold for it."""
    now = s.reg[NOW]
    dequeue(s, job)
    g.mark[WIDE] -= g.job[job, WIDTH]
    g.job[job, PHASE] = RUNS
    occupy(s, g, job, number(-1))
    s.job[job, START] = now
    s.job[job, REASON] = reason
    insert(s, job, now + s.job[job, ESTIMATE])
    log(s, STARTED, job)
    if g.mark[HAS_LIMITS] != 0:
        account_start(s, g, job)


@routine
def begin_placed(s: Any, g: Any, job: int, alt: int, reason: int) -> None:
    """Start a waiting job now in the placement found last."""
    now = s.reg[NOW]
    keep_place(g, job, alt)
    hold_place(g, job, now, now, now + s.job[job, ESTIMATE], number(-1))
    begin_here(s, g, job, reason)


@routine
def give_up(s: Any, g: Any, job: int) -> None:
    """A running job leaves its nodes now, at its end or stopped."""
    now = s.reg[NOW]
    remove(s, find(s, job))
    occupy(s, g, job, number(1))
    expected = s.job[job, EXPECTED]
    if expected > now:
        hold_place(g, job, now, now, expected, number(1))
        note_gain(g, job, now, expected)
        g.mark[EARLY] = 1
    elif expected < now and s.job[job, START] + s.job[job, REQUEST] > now:
        g.mark[EARLY] = 1  # its request would have been its expected end by now
    g.mark[RELEASED] += 1
    g.mark[LEFT] += 1
    if g.mark[HAS_LIMITS] != 0:
        account_end(s, g, job, now)


@routine
def note_gain(g: Any, job: int, begin: int, end: int) -> None:
    """Write down that the job's nodes came free during an interval."""
    if g.mark[KEEPS] != COMPRESSED:
        return
    first = g.job[job, PLACE_FROM]
    for at in range(first, first + g.job[job, PLACE_COUNT]):
        row = g.mark[GAINS] - g.mark[GAINS_FROM]
        g.gain[row, 0] = g.place[at] >> 32
        g.gain[row, 1] = begin
        g.gain[row, 2] = end
        g.mark[GAINS] += 1


@routine
def stop_run(s: Any, g: Any, job: int) -> None:
    """A failure stops a running job: the attempt goes on record."""
    give_up(s, g, job)
    at = s.reg[ATTEMPTS]
    s.tried[VICTIM, at] = job
    s.tried[FROM, at] = s.job[job, START]
    s.tried[UNTIL, at] = s.reg[NOW]
    s.reg[ATTEMPTS] = at + 1
    s.job[job, KILLS] += 1
    if s.reg[LEARNER] != FIXED:
        repredict(s, job)


@routine
def extend_overdue(s: Any, g: Any) -> None:
    """Running jobs past their expected end: until start + request, or else the next second."""
    now = s.reg[NOW]
    at = 0
    while at < s.reg[RUNNING] and end_at(s, at) <= now:
        job = job_at(s, at)
        later = s.job[job, START] + s.job[job, REQUEST]
        if later > now:
            remove(s, at)
            insert(s, job, later)
            hold_place(g, job, now, now, later, number(-1))
        else:
            hold_place(g, job, now, now, now + 1, number(-1))
            at += 1
