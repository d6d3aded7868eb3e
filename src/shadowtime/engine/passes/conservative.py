"""Conservative backfilling: every waiting job holds a promise that outlives the pass.

spec: algorithms 1.3.

With compression, an instant with an early end sweeps the waiting jobs once in submit order and
moves promises earlier. The sweep looks at few of them: those that are due where processors came
free since they were last asked, and those for which there may be a hole (kernel/holes.py).
"""

from __future__ import annotations

from shadowtime.engine import events
from shadowtime.kernel import availability as av
from shadowtime.kernel import fields as f
from shadowtime.kernel import line, running
from shadowtime.kernel import registers as r
from shadowtime.kernel.availability import Availability, make_availability
from shadowtime.kernel.holes import bound_is_stale, divide_time, find_holes, may_jump
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.promises import jump, move, promise, release, slide
from shadowtime.kernel.queue import first_waiting, next_waiting
from shadowtime.kernel.state import State, World


@entry
def run(state: State, world: World, b: Availability) -> int:
    """The event loop with this pass."""
    while not events.lacks_room(state):
        if events.advance(state, world) != events.PASS_DUE:
            return events.DONE
        decide(state, b)
        events.carry_out_decisions(state, world)
    return events.ROOM_NEEDED


# The parts of every pass are kernels: with short queues, to hand all these arrays on from call to
# call would take longer than what is done with them.
@kernel
def decide(state: State, b: Availability) -> None:
    """One pass."""
    now = state.reg[r.NOW]
    av.forget_past(b, now)
    early = book_out_ended(state, b, now)
    if state.reg[r.VOLATILE] != 0:
        running.forget_overdue(state)
        rebuild(state, b)
    if b.mark[av.HOLDS] > av.HOLDS_FEW + (b.mark[av.STEPS] >> 1):
        av.renew_near(b)
    if early and b.mark[av.COMPRESS] != 0:
        compress(state, b)
    for job in range(state.reg[r.FRESH], state.reg[r.ARRIVED]):
        describe(state, b, job)
        need = b.job[job, av.NEEDS :]
        at = av.find_start(b, need, b.job[job, av.LENGTH_OF])
        if at != av.EDGE:  # a live pass has set aside what the hosts of now could never hold
            promise(b, job, need, at)
            line.stand_in_line(b, job)
        state.job[job, f.PROMISED] = b.job[job, av.DUE]
    if b.mark[av.COMPRESS] != 0:
        start_due(state, b, now)
    else:
        start_around(state, b, now)
    state.reg[r.WAKE] = max(b.mark[av.SOONEST], now + 1)  # time passes, whatever was promised


@kernel
def book_out_ended(state: State, b: Availability, now: int) -> bool:
    """Free what early ends leave of their expected time; True if there was one."""
    early = False
    for i in range(state.reg[r.ENDED]):
        job = state.ended[i]
        if state.job[job, f.EXPECTED] > now:
            early = True
            if state.reg[r.VOLATILE] == 0:  # else the book is made anew
                release(b, state.job[job, f.NEED :], b.mark[av.FIRST], b.job[job, av.ENDS_AT])
    return early


@kernel
def describe(state: State, b: Availability, job: int) -> None:
    """Note what the book must know of a job."""
    b.job[job, av.LENGTH_OF] = state.job[job, f.ESTIMATE]
    for k in range(av.NEEDS, b.job.shape[1]):
        b.job[job, k] = state.job[job, f.NEED + k - av.NEEDS]


@kernel
def compress(state: State, b: Availability) -> None:
    """One sweep in submit order: every promise to its earliest start, never later."""
    if b.mark[av.GAPS] > b.mark[av.LISTED] >> 2:
        line.close_gaps(b)
    few = state.reg[r.WAITING] <= b.mark[av.ASK_ALL]
    if few:
        b.mark[av.KNOWN] = 0
    now = b.step[av.TIME, b.mark[av.FIRST]]
    listed = b.mark[av.LISTED]
    for block in range(0, listed, r.BLOCK):
        place, beyond, rises = block, min(block + r.BLOCK, listed), -1
        while place < beyond:
            if not few:
                if b.mark[av.RISES] != rises:
                    if bound_is_stale(b):
                        find_holes(b)
                    line.mark_jumps(b, place)
                    rises = b.mark[av.RISES]
                place = line.next_asked(b, place, beyond)
                if place == beyond:
                    break
            job = b.listed[av.LINE, place]
            if job >= 0:
                move_earlier(b, job, place, now, few)
            place += 1


@kernel
def move_earlier(b: Availability, job: int, place: int, now: int, few: bool) -> None:
    """Move a promise to its earliest start, if that is one of those its line gives reason for."""
    ask = b.ask[place]
    b.ask[place] = ask & line.WIDTH
    length = b.job[job, av.LENGTH_OF]
    latest = b.job[job, av.DUE] - length
    if few:
        jumps = latest > now
    else:
        jumps = ask & line.JUMP != 0 and may_jump(b, ask >> line.KIND, latest, length)
    need = b.job[job, av.NEEDS :]
    to = b.job[job, av.BEGINS_AT]
    if ask & line.SLIDE != 0:
        to = slide(b, job, need)
    if jumps:
        found = jump(b, job, need, to)
        if found != av.EDGE:
            to = found
    if to != b.job[job, av.BEGINS_AT]:
        move(b, job, need, to)


@kernel
def start_due(state: State, b: Availability, now: int) -> None:
    """Start jobs that are due now."""
    if b.mark[av.SOONEST] <= now:
        count = 0
        job = b.step[av.LISTED_AT, b.mark[av.FIRST]]
        while job >= 0:  # in submit order
            at = count
            while at > 0 and b.listed[av.STARTS, at - 1] > job:
                b.listed[av.STARTS, at] = b.listed[av.STARTS, at - 1]
                at -= 1
            b.listed[av.STARTS, at] = job
            count += 1
            job = b.job[job, av.AFTER]
        b.step[av.LISTED_AT, b.mark[av.FIRST]] = -1
        for at in range(count):
            # The reason of a job that starts behind a job that stays is known at once.
            job = b.listed[av.STARTS, at]
            line.leave_line(b, job)
            if first_waiting(state) < job:
                running.begin(state, job, 0, running.BACKFILLED)
            else:
                running.begin_first(state, job, 0)
        at = b.step[av.NEXT, b.mark[av.FIRST]]
        while at != av.EDGE and b.step[av.LISTED_AT, at] < 0:
            at = b.step[av.NEXT, at]
        b.mark[av.SOONEST] = b.step[av.TIME, at]
    head = first_waiting(state)
    if head >= 0:
        block_head(state, head, now)


@routine
def start_around(state: State, b: Availability, now: int) -> None:
    """Without compression: start jobs that are due now, and those that fit before their promise."""
    head = -1
    soonest = r.NEVER
    arrived = state.reg[r.ARRIVED]
    for block in range(state.reg[r.QUEUE_FROM] >> r.SHIFT, (arrived + r.BLOCK - 1) >> r.SHIFT):
        if state.least[f.PROCS, block] == r.BIG:
            continue
        for job in range(block * r.BLOCK, min(arrived, block * r.BLOCK + r.BLOCK)):
            if state.wait[f.PROCS, job] == r.BIG:
                continue
            if b.job[job, av.DUE] == now or may_start_early(state, b, job, now):
                if head >= 0:
                    running.begin(state, job, 0, running.BACKFILLED)
                else:
                    running.begin_first(state, job, 0)
                continue
            soonest = min(soonest, b.job[job, av.DUE])
            if head < 0:
                head = job
    b.step[av.LISTED_AT, b.mark[av.FIRST]] = -1
    b.mark[av.SOONEST] = soonest
    if head >= 0:
        block_head(state, head, now)


@kernel
def block_head(state: State, head: int, now: int) -> None:
    """Note the first pass at which a job was first in the queue and could not start."""
    if state.job[head, f.BLOCKED_AT] < 0:
        state.job[head, f.BLOCKED_AT] = now


@kernel
def may_start_early(state: State, b: Availability, job: int, now: int) -> bool:
    """The job fits now for its whole estimate around all promises."""
    if not running.fits(state, job, 0):
        return False
    need, own, first = b.job[job, av.NEEDS :], b.job[job, av.BEGINS_AT], b.mark[av.FIRST]
    length = b.job[job, av.LENGTH_OF]
    at, _ = av.seek_start(b.step, first, need, length, now + 1, b.job[job, av.DUE])
    if at != first:
        return False
    end = b.job[job, av.ENDS_AT]
    av.unlink(b, job)
    release(b, need, own, end)
    promise(b, job, need, first)
    av.drop_if_idle(b, own)
    return True


@routine
def rebuild(state: State, b: Availability) -> None:
    """A job may have outlived its estimate: book everything again.

    In submit order, promises that still hold around the running jobs stay; those that do not
    are given again afterwards, in the same order, and counted as slipped.
    """
    now = state.reg[r.NOW]
    av.empty(b, now)
    first = b.mark[av.FIRST]
    for k in range(av.LEVEL, b.step.shape[0]):
        b.step[k, first] = state.host[f.CAPACITY, 0, k - av.LEVEL]
    for at in range(state.reg[r.RUNNING]):
        job = running.job_at(state, at)
        av.book(b, state.job[job, f.NEED :], first, max(running.end_at(state, at), now + 1), job)
    fresh, last = state.reg[r.FRESH], now
    job = first_waiting(state)
    while 0 <= job < fresh:
        last = max(last, b.job[job, av.DUE])
        job = next_waiting(state, job + 1)
    divide_time(b, now, last)
    b.near[:] = first
    slipped = 0
    job = first_waiting(state)
    while 0 <= job < fresh:
        describe(state, b, job)
        need, due = b.job[job, av.NEEDS :], b.job[job, av.DUE]
        at = av.step_before(b, due)
        if av.holds_from(b, need, at, due + b.job[job, av.LENGTH_OF]):
            if b.step[av.TIME, at] != due:
                at = av.insert(b, at, due)
            promise(b, job, need, at)
        else:
            b.job[job, av.DUE] = -1
            slipped += 1
        line.stand_in_line(b, job)
        job = next_waiting(state, job + 1)
    for place in range(b.mark[av.LISTED]):
        job = b.listed[av.LINE, place]
        if b.job[job, av.DUE] < 0:
            need = b.job[job, av.NEEDS :]
            promise(b, job, need, av.find_start(b, need, b.job[job, av.LENGTH_OF]))
            line.note_latest(b, job)
        b.ask[place] |= line.SLIDE
    state.reg[r.SLIPPED] += slipped


@entry
def once(state: State, made: Availability) -> None:
    """The pass alone, without the event loop."""
    decide(state, made)


__all__ = ["decide", "make_availability", "once", "run"]
