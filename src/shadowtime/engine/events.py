"""The one event loop: from instant to instant, and what each decision does to the world.

At one instant (spec 1.1): ends and kills by job id, prediction corrections, submissions by id,
timers, then one pass. An instant with corrections only has no pass.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.corrections import correct, first_correction
from shadowtime.kernel.estimates import FIXED, learn_end, learn_submit
from shadowtime.kernel.fields import (
    ENDS_AT,
    ESTIMATE,
    KIND,
    LIMIT,
    RANK,
    RUN,
    START,
    SUBMIT,
    WHICH,
)
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.queue import enqueue
from shadowtime.kernel.registers import (
    ARRIVED,
    ATTEMPTS,
    BITS,
    CHANGED,
    CORRECTIONS,
    DECISIONS,
    ENDED,
    ENDS,
    EVENTS,
    FRESH,
    KILLED,
    KILLS,
    LEARNER,
    NEVER,
    NOW,
    PASSES,
    RUNNING,
    WAKE,
)
from shadowtime.kernel.running import find, give_back, remove

DONE = 0
PASS_DUE = 1
ROOM_NEEDED = 2
BROKEN = 3
"""A function of the user's own failed for the job in the register FAILED (custom.py)."""


@kernel
def advance(s: Any, w: Any) -> int:
    """Go to the next instant and carry out its events: PASS_DUE, or DONE when nothing is left."""
    reg = s.reg
    while True:
        drop_stale_ends(s, w)
        now = next_instant(s, w)
        if now >= NEVER:
            return DONE
        reg[NOW] = now
        reg[ENDED] = 0
        reg[DECISIONS] = 0
        due = carry_out_ends(s, w, now)
        carry_out_corrections(s, w, now)
        due |= admit(s, w, now)
        if reg[WAKE] <= now:
            reg[WAKE] = NEVER
            due = True
        if due:
            reg[PASSES] += 1
            return PASS_DUE


@kernel
def next_instant(s: Any, w: Any) -> int:
    """Time of the next event of any kind."""
    reg = s.reg
    now = reg[WAKE]
    if reg[ENDS] > 0:
        now = min(now, w.ends[0] >> reg[BITS])
    if reg[CORRECTIONS] > 0:
        now = min(now, w.corrections[0] >> reg[BITS])
    if reg[ARRIVED] < s.job.shape[0]:
        now = min(now, s.job[reg[ARRIVED], SUBMIT])
    return now


@kernel
def drop_stale_ends(s: Any, w: Any) -> None:
    """Forget ends that were overtaken by a preemption or a new end."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    while reg[ENDS] > 0 and w.truth[w.of_rank[w.ends[0] & mask], ENDS_AT] != w.ends[0] >> reg[BITS]:
        reg[ENDS] = pop(w.ends, reg[ENDS])


@kernel
def carry_out_ends(s: Any, w: Any, now: int) -> bool:
    """End what ends now, by job id; the estimates learn from each."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    any_end = False
    while reg[ENDS] > 0 and w.ends[0] >> reg[BITS] == now:
        job = w.of_rank[w.ends[0] & mask]
        reg[ENDS] = pop(w.ends, reg[ENDS])
        if w.truth[job, ENDS_AT] != now:
            continue
        remove(s, find(s, job))
        s.ended[reg[ENDED]] = job
        reg[ENDED] += 1
        give_back(s, job)
        w.truth[job, ENDS_AT] = -1
        if reg[LEARNER] != FIXED:
            learn_end(s, job)
        reg[EVENTS] += 1
        any_end = True
    if any_end:
        reg[CHANGED] = 1
    return any_end


@kernel
def carry_out_corrections(s: Any, w: Any, now: int) -> None:
    """Raise the predictions that running jobs have outlived."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    while reg[CORRECTIONS] > 0 and w.corrections[0] >> reg[BITS] <= now:
        job = w.of_rank[w.corrections[0] & mask]
        when = w.corrections[0] >> reg[BITS]
        reg[CORRECTIONS] = pop(w.corrections, reg[CORRECTIONS])
        if w.truth[job, ENDS_AT] >= 0 and s.job[job, START] + s.job[job, ESTIMATE] == when:
            correct(s, w, job)
            reg[EVENTS] += 1
            reg[CHANGED] = 1


@kernel
def admit(s: Any, w: Any, now: int) -> bool:
    """Queue what is submitted now."""
    reg = s.reg
    reg[FRESH] = reg[ARRIVED]
    n = s.job.shape[0]
    while reg[ARRIVED] < n and s.job[reg[ARRIVED], SUBMIT] <= now:
        job = reg[ARRIVED]
        reg[ARRIVED] += 1
        if reg[LEARNER] != FIXED:
            learn_submit(s, job)
        enqueue(s, job)
        reg[EVENTS] += 1
    return reg[FRESH] != reg[ARRIVED]


@kernel
def carry_out_decisions(s: Any, w: Any) -> None:
    """Let what the pass decided happen: ends of started jobs, lost attempts of stopped ones."""
    reg = s.reg
    now = reg[NOW]
    for i in range(reg[DECISIONS]):
        job = s.did[WHICH, i]
        if s.did[KIND, i] == KILLED:
            w.truth[job, ENDS_AT] = -1
            reg[KILLS] += 1
        else:
            end = now + min(w.truth[job, RUN], s.job[job, LIMIT])
            w.truth[job, ENDS_AT] = end
            if reg[ENDS] == w.ends.shape[0]:
                compact(s, w)
            reg[ENDS] = push(w.ends, reg[ENDS], end << reg[BITS] | w.truth[job, RANK])
            if reg[LEARNER] != FIXED:
                first_correction(s, w, job)
    reg[CHANGED] = 0


@kernel
def compact(s: Any, w: Any) -> None:
    """Rebuild the heap of ends without the stale entries."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    kept = 0
    for i in range(reg[ENDS]):
        key = w.ends[i]
        if w.truth[w.of_rank[key & mask], ENDS_AT] == key >> reg[BITS]:
            kept = push(w.ends, kept, key)
    reg[ENDS] = kept


@kernel
def lacks_room(s: Any) -> bool:
    """True when the log of attempts might overflow in the next pass."""
    return s.reg[ATTEMPTS] + s.reg[RUNNING] > s.tried.shape[1]
