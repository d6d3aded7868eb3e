"""The event loop on a site: ends, failures, closings, cancellations, arrivals, one pass.

The order within an instant is that of docs/decisions/site.md. Ends, corrections, learning and the
queue are those of every other machine.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.corrections import correct, first_correction
from shadowtime.engine.events import DONE, PASS_DUE, ROOM_NEEDED, compact, drop_stale_ends
from shadowtime.engine.site.gone import note_gone
from shadowtime.kernel.estimates import FIXED, LAST, learn_end, learn_submit, repredict
from shadowtime.kernel.fields import (
    ENDS_AT,
    ESTIMATE,
    EXPECTED,
    LIMIT,
    RANK,
    RUN,
    START,
    SUBMIT,
    WHICH,
)
from shadowtime.kernel.fields import FREE as TOTAL_FREE
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import dequeue, enqueue
from shadowtime.kernel.registers import (
    ARRIVED,
    ATTEMPTS,
    BITS,
    CHANGED,
    CORRECTIONS,
    DECISIONS,
    ENDS,
    EVENTS,
    KILLS,
    LEARNER,
    NEVER,
    NOW,
    PASSES,
    RUNNING,
    WAKE,
)
from shadowtime.kernel.running import job_at
from shadowtime.kernel.site.fields import (
    AFTER_START,
    AHEAD,
    ARRAY,
    BEGIN_AT,
    BEGINS,
    CANCEL,
    CANCELLED,
    CANCELS,
    CLOSINGS_AT,
    COMING,
    DUE,
    EARLY,
    ENDED,
    ENTRIES,
    FAILURES_AT,
    GAINS,
    GAINS_FROM,
    GONE_CANCELLED,
    GONE_LOST,
    HELD,
    KEEPS,
    LOST,
    OVER_AT,
    PASS_PENDING,
    PENDING,
    PHASE,
    PLACE_COUNT,
    PLACE_FROM,
    QUEUED,
    RELEASED,
    REPAIR,
    REQUEUE,
    STEPS_SPARE,
    WIDE,
    WIDTH,
)
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.start import (
    COMPRESSED,
    give_up,
    hold_place,
    hold_plan,
    note_gain,
    stop_run,
)

AFTER, AFTER_ANY, AFTER_OK, AFTER_NOT_OK = 0, 1, 2, 3
"""Kinds of dependencies; aftercorr is AFTER_OK, singleton AFTER_ANY."""

LEFT, READY = 0, 1
"""Places in ``count``: jobs that are not over, entries in the heap of jobs that may be ready."""
WELL, ONE_MET, STARTED_ONCE = 1, 2, 4
"""Bits of ``well``: ends well if it ends; one of several dependencies is met; it has started."""

GROUP_JOB, GROUP_LEFT, GROUP_ANY = 0, 1, 2
ARRAY_MOST, ARRAY_USED, ARRAY_FROM, ARRAY_BEHIND, ARRAY_NEXT = 0, 1, 2, 3, 4


@routine
def advance(s: Any, w: Any, g: Any, e: Any) -> int:
    """Go to the next instant and carry out its events: PASS_DUE, or DONE when nothing is left."""
    reg = s.reg
    while True:
        drop_stale_ends(s, w)
        drop_stale_cancels(s, g, e)
        now = next_instant(s, w, g, e)
        if now >= NEVER or e.count[LEFT] == 0:
            return DONE
        reg[NOW] = now
        reg[DECISIONS] = 0
        due = carry_out_ends(s, w, g, e, now)
        carry_out_corrections(s, w, g, now)
        due |= carry_out_failures(s, w, g, e, now)
        due |= carry_out_closings(s, g, e, now)
        due |= carry_out_cancels(s, g, e, now)
        due |= admit(s, g, e, now)
        enter_queue(s, g, e, now)
        if reg[WAKE] <= now:
            reg[WAKE] = NEVER
            due = True
        if due:
            reg[PASSES] += 1
            return PASS_DUE


@kernel
def next_instant(s: Any, w: Any, g: Any, e: Any) -> int:
    """Time of the next event of any kind."""
    reg = s.reg
    now = reg[WAKE]
    if reg[ENDS] > 0:
        now = min(now, w.ends[0] >> reg[BITS])
    if reg[CORRECTIONS] > 0:
        now = min(now, w.corrections[0] >> reg[BITS])
    if reg[ARRIVED] < s.job.shape[0]:
        now = min(now, s.job[reg[ARRIVED], SUBMIT])
    if g.mark[BEGINS] > 0:
        now = min(now, e.begins[0] >> reg[BITS])
    if g.mark[CANCELS] > 0:
        now = min(now, e.cancels[0] >> reg[BITS])
    if g.mark[CLOSINGS_AT] < e.times.shape[0]:
        now = min(now, e.times[g.mark[CLOSINGS_AT]])
    return int(now)


@kernel
def drop_stale_cancels(s: Any, g: Any, e: Any) -> None:
    """Forget cancellations of jobs that do not wait at that time."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    while g.mark[CANCELS] > 0:
        phase = g.job[e.cancels[0] & mask, PHASE]
        if PENDING <= phase <= QUEUED:
            return
        if phase == COMING:
            return
        if phase < ENDED and e.cancels[0] >> reg[BITS] > reg[NOW]:
            return  # it runs, and may be back in the queue by then
        g.mark[CANCELS] = pop(e.cancels, g.mark[CANCELS])


@routine
def carry_out_ends(s: Any, w: Any, g: Any, e: Any, now: int) -> bool:
    """End what ends now, by job id; the estimates learn from each."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    any_end = False
    while reg[ENDS] > 0 and w.ends[0] >> reg[BITS] == now:
        job = w.of_rank[w.ends[0] & mask]
        reg[ENDS] = pop(w.ends, reg[ENDS])
        if w.truth[job, ENDS_AT] != now:
            continue
        give_up(s, g, job)
        w.truth[job, ENDS_AT] = -1
        if reg[LEARNER] != FIXED:
            learn_end(s, job)
        reg[EVENTS] += 1
        be_over(s, g, e, job, number(ENDED), now)
        any_end = True
    if any_end:
        reg[CHANGED] = 1
    return any_end


@routine
def carry_out_corrections(s: Any, w: Any, g: Any, now: int) -> None:
    """Raise the predictions that running jobs have outlived."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    while reg[CORRECTIONS] > 0 and w.corrections[0] >> reg[BITS] <= now:
        job = w.of_rank[w.corrections[0] & mask]
        when = w.corrections[0] >> reg[BITS]
        reg[CORRECTIONS] = pop(w.corrections, reg[CORRECTIONS])
        if w.truth[job, ENDS_AT] >= 0 and s.job[job, START] + s.job[job, ESTIMATE] == when:
            before = s.job[job, EXPECTED]
            correct(s, w, job)
            hold_place(g, job, now, max(before, now), s.job[job, EXPECTED], number(-1))
            reg[EVENTS] += 1
            reg[CHANGED] = 1


@routine
def carry_out_failures(s: Any, w: Any, g: Any, e: Any, now: int) -> bool:
    """Stop the jobs on nodes that fail now: they return to the queue, or are lost."""
    any_failure = False
    while g.mark[FAILURES_AT] < e.failures.shape[0] and e.failures[g.mark[FAILURES_AT], 0] <= now:
        node = e.failures[g.mark[FAILURES_AT], 1]
        g.mark[FAILURES_AT] += 1
        any_failure = True
        struck = 0
        for at in range(s.reg[RUNNING]):
            job = job_at(s, at)
            first = g.job[job, PLACE_FROM]
            for entry in range(first, first + g.job[job, PLACE_COUNT]):
                if g.place[entry] >> 32 == node:
                    e.found[struck] = job
                    struck += 1
        for at in range(struck):
            job = e.found[at]
            g.mark[EARLY] = 1
            w.truth[job, ENDS_AT] = -1
            s.reg[EVENTS] += 1
            s.reg[CHANGED] = 1
            if g.job[job, REQUEUE] != 0:
                stop_run(s, g, job)
                s.reg[KILLS] += 1
                to_queue(s, g, job)
            else:
                give_up(s, g, job)
                g.mark[LOST] += 1
                be_over(s, g, e, job, number(GONE_LOST), now)
    return any_failure


@routine
def to_queue(s: Any, g: Any, job: int) -> None:
    """The job waits from now on."""
    g.job[job, PHASE] = QUEUED
    g.job[job, DUE] = NEVER
    g.mark[WIDE] += g.job[job, WIDTH]
    enqueue(s, job)


@routine
def carry_out_closings(s: Any, g: Any, e: Any, now: int) -> bool:
    """A node closes or opens, or that becomes known: whatever was refused is asked again."""
    any_closing = False
    while g.mark[CLOSINGS_AT] < e.times.shape[0] and e.times[g.mark[CLOSINGS_AT]] <= now:
        g.mark[CLOSINGS_AT] += 1
        any_closing = True
    if any_closing:
        g.mark[RELEASED] += 1
        g.mark[REPAIR] = 1
        s.reg[CHANGED] = 1
        note_gone(g, now)
    return any_closing


@routine
def carry_out_cancels(s: Any, g: Any, e: Any, now: int) -> bool:
    """Jobs that leave the queue unstarted."""
    reg = s.reg
    mask = (1 << reg[BITS]) - 1
    any_cancel = False
    while g.mark[CANCELS] > 0 and e.cancels[0] >> reg[BITS] <= now:
        job = e.cancels[0] & mask
        phase = g.job[job, PHASE]
        g.mark[CANCELS] = pop(e.cancels, g.mark[CANCELS])  # if it is COMING, admit sees to it
        if phase == QUEUED:
            leave_queue(s, g, job, now)
        if PENDING <= phase <= QUEUED:
            g.mark[CANCELLED] += 1
            be_over(s, g, e, job, number(GONE_CANCELLED), now)
            reg[CHANGED] = 1
            any_cancel = True
    return any_cancel


@routine
def leave_queue(s: Any, g: Any, job: int, now: int) -> None:
    """A waiting job goes; what was planned for it comes free."""
    dequeue(s, job)
    g.mark[WIDE] -= g.job[job, WIDTH]
    due = g.job[job, DUE]
    if due < NEVER:
        end = due + s.job[job, ESTIMATE]
        hold_plan(g, job, now, due, end, number(1))
        note_gain(g, job, due, end)
        g.job[job, DUE] = NEVER
        g.mark[EARLY] = 1
        g.mark[RELEASED] += 1


@routine
def admit(s: Any, g: Any, e: Any, now: int) -> bool:
    """Jobs submitted now, and those whose begin time has come."""
    reg = s.reg
    any_arrival = False
    while reg[ARRIVED] < s.job.shape[0] and s.job[reg[ARRIVED], SUBMIT] <= now:
        job = reg[ARRIVED]
        reg[ARRIVED] += 1
        if reg[LEARNER] != FIXED:
            learn_submit(s, job)
        reg[EVENTS] += 1
        any_arrival = True
        if 0 <= g.job[job, CANCEL] <= now:
            g.mark[CANCELLED] += 1
            be_over(s, g, e, job, number(GONE_CANCELLED), now)
            continue
        g.job[job, PHASE] = PENDING
        if g.job[job, BEGIN_AT] > now:
            g.mark[BEGINS] = push(e.begins, g.mark[BEGINS], g.job[job, BEGIN_AT] << reg[BITS] | job)
        elif g.job[job, AHEAD] == 0:
            e.count[READY] = push(e.ready, e.count[READY], job)
    mask = (1 << reg[BITS]) - 1
    while g.mark[BEGINS] > 0 and e.begins[0] >> reg[BITS] <= now:
        job = e.begins[0] & mask
        g.mark[BEGINS] = pop(e.begins, g.mark[BEGINS])
        if g.job[job, PHASE] == PENDING:
            any_arrival = True
            if g.job[job, AHEAD] == 0:
                e.count[READY] = push(e.ready, e.count[READY], job)
    return any_arrival


@routine
def enter_queue(s: Any, g: Any, e: Any, now: int) -> None:
    """Jobs whose begin time, dependencies and array allow it enter the queue, by index."""
    while e.count[READY] > 0:
        job = e.ready[0]
        e.count[READY] = pop(e.ready, e.count[READY])
        array = g.job[job, ARRAY]
        if is_ready(g, job, now):
            if array >= 0:
                if e.array[array, ARRAY_USED] >= e.array[array, ARRAY_MOST]:
                    continue
                e.array[array, ARRAY_USED] += 1
            if s.reg[LEARNER] == LAST and s.job[job, SUBMIT] < now:
                repredict(s, job)  # what was learned while it was not in the queue
            to_queue(s, g, job)
        if array >= 0:
            call_next(g, e, array, now)


@kernel
def is_ready(g: Any, job: int, now: int) -> bool:
    """True if nothing but its array's throttle keeps a job out of the queue."""
    return bool(
        g.job[job, PHASE] == PENDING and g.job[job, BEGIN_AT] <= now and g.job[job, AHEAD] == 0
    )


@routine
def call_next(g: Any, e: Any, array: int, now: int) -> None:
    """Call the array's next task that is ready, if the throttle has room."""
    if e.array[array, ARRAY_USED] >= e.array[array, ARRAY_MOST]:
        return
    at = e.array[array, ARRAY_NEXT]
    behind = e.array[array, ARRAY_BEHIND]
    while at < behind and g.job[e.member[at], PHASE] > PENDING:
        at += 1
    e.array[array, ARRAY_NEXT] = at
    while at < behind:
        if is_ready(g, e.member[at], now):
            e.count[READY] = push(e.ready, e.count[READY], e.member[at])
            return
        at += 1


@routine
def be_over(s: Any, g: Any, e: Any, job: int, phase: int, now: int) -> None:
    """A job is done for good: its array and whoever depends on it learn so."""
    array = g.job[job, ARRAY]
    if array >= 0 and g.job[job, PHASE] >= QUEUED:
        e.array[array, ARRAY_USED] -= 1
    g.job[job, PHASE] = phase
    g.job[job, OVER_AT] = now
    e.count[LEFT] -= 1
    if array >= 0:
        call_next(g, e, array, now)
    well = phase == ENDED and e.well[job] & WELL != 0
    for at in range(e.first[job], e.first[job + 1]):
        kind = e.edge[at, 1]
        if kind == AFTER and s.job[job, START] >= 0:
            continue  # met when it started
        if (kind == AFTER_OK and not well) or (kind == AFTER_NOT_OK and well):
            continue
        meet(g, e, e.edge[at, 0], now)


@routine
def meet(g: Any, e: Any, group: int, now: int) -> None:
    """One of the jobs that a dependency names has done what was asked."""
    e.group[group, GROUP_LEFT] -= 1
    if e.group[group, GROUP_LEFT] != 0:
        return
    job = e.group[group, GROUP_JOB]
    if e.group[group, GROUP_ANY] != 0:
        if e.well[job] & ONE_MET != 0:
            return  # another one of several has been met before
        e.well[job] |= ONE_MET
    g.job[job, AHEAD] -= 1
    if is_ready(g, job, now):
        e.count[READY] = push(e.ready, e.count[READY], job)


@routine
def carry_out_decisions(s: Any, w: Any, g: Any, e: Any) -> None:
    """Let the starts that the pass decided happen."""
    reg = s.reg
    now = reg[NOW]
    for i in range(reg[DECISIONS]):
        job = s.did[WHICH, i]
        end = now + min(w.truth[job, RUN], s.job[job, LIMIT])
        w.truth[job, ENDS_AT] = end
        if reg[ENDS] == w.ends.shape[0]:
            compact(s, w)
        reg[ENDS] = push(w.ends, reg[ENDS], end << reg[BITS] | w.truth[job, RANK])
        if reg[LEARNER] != FIXED:
            first_correction(s, w, job)
        if e.first[job] != e.first[job + 1] and e.well[job] & STARTED_ONCE == 0:
            e.well[job] |= STARTED_ONCE
            for at in range(e.first[job], e.first[job + 1]):
                if e.edge[at, 1] == AFTER:
                    waits_for = e.group[e.edge[at, 0], GROUP_JOB]
                    if g.job[waits_for, PHASE] == PENDING:
                        g.mark[AFTER_START] = 1
                    meet(g, e, e.edge[at, 0], now)
    reg[CHANGED] = 0
    if g.mark[AFTER_START] != 0:
        reg[WAKE] = min(reg[WAKE], now + 1)
        g.mark[AFTER_START] = 0


@routine
def next_pass(s: Any, w: Any, g: Any, e: Any, plans: int) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED to be called again."""
    if g.mark[PASS_PENDING] == 0:
        if lacks_room(s, g, plans):
            return ROOM_NEEDED
        if advance(s, w, g, e) != PASS_DUE:
            return DONE
        g.mark[PASS_PENDING] = 1
    if lacks_room(s, g, plans):
        return ROOM_NEEDED
    g.mark[PASS_PENDING] = 0
    return PASS_DUE


@kernel
def lacks_room(s: Any, g: Any, plans: int) -> bool:
    """True when a table might overflow in the next instant or pass.

    ``plans``: most nodes that the plans of a pass can hold.
    """
    wide = g.mark[WIDE]
    starts = min(wide, s.host[TOTAL_FREE, 0, 0] + g.mark[HELD])
    steps = 2 * min(wide, plans) + starts + 64
    entries = starts + min(wide, plans) + 64
    if g.mark[KEEPS] != 0:
        steps += 2 * wide
        entries += 2 * wide
        gains = g.mark[GAINS] - g.mark[GAINS_FROM] + 2 * wide + g.mark[HELD] + 64
        if g.mark[KEEPS] == COMPRESSED and gains > g.gain.shape[0]:
            return True
    return bool(
        s.reg[ATTEMPTS] + s.reg[RUNNING] > s.tried.shape[1]
        or g.mark[STEPS_SPARE] < steps
        or g.mark[ENTRIES] + entries > g.place.shape[0]
    )


__all__ = ["DONE", "PASS_DUE", "ROOM_NEEDED", "carry_out_decisions", "lacks_room", "next_pass"]
