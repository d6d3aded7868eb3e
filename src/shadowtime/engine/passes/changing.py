"""The loop of jobs that change: a function gives every job that is there a size and a speed.

Ends move whenever sizes do, so the next one is found among the running jobs and not in a heap; a
pass looks at all of them anyway (spec: changing 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.events import BROKEN, DONE, PASS_DUE, ROOM_NEEDED, to_be_saved
from shadowtime.kernel import changing as g
from shadowtime.kernel import choice as q
from shadowtime.kernel import record as r
from shadowtime.kernel import registers
from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.running import BACKFILLED, HEAD, RESERVED
from shadowtime.kernel.slots import SLOT_SHIFT
from shadowtime.types import MILLION, Ints

if TYPE_CHECKING:
    from shadowtime.kernel.choice import Chooser
    from shadowtime.kernel.profile import Profile


@entry
def run(t: g.Tables, f: Profile, c: q.Choice, fact: Ints, choose: Chooser) -> int:
    """The event loop; ``f`` is the profile that functions plan in, ``choose`` the function."""
    reg = t.reg
    if c.mark[q.PENDING] > 0 and not settled(t, c, c.mark[q.PENDING]):  # by the caller of a session
        return BROKEN
    while (
        reg[registers.ATTEMPTS] + 2 * (reg[registers.WAITING] + reg[registers.RUNNING])
        <= t.piece.shape[1]
    ):
        if to_be_saved(reg):
            break
        now = next_instant(t)
        if now >= registers.NEVER:
            return DONE
        reg[registers.NOW] = now
        end_jobs(t, now)
        while (
            reg[registers.ARRIVED] < t.job.shape[0]
            and t.job[reg[registers.ARRIVED], g.SUBMIT] <= now
        ):
            t.here[reg[registers.WAITING] + reg[registers.RUNNING]] = reg[registers.ARRIVED]
            reg[registers.ARRIVED] += 1
            reg[registers.WAITING] += 1
            reg[registers.EVENTS] += 1
        count = reg[registers.WAITING] + reg[registers.RUNNING]
        reg[registers.WAKE] = registers.NEVER
        if count == 0:
            continue
        reg[registers.PASSES] += 1
        describe(t, f, c, fact, count)
        if c.mark[q.HOW] == q.STEPPING:
            c.mark[q.PENDING] = count
            return PASS_DUE
        if choose(now, count, c.mark[q.WHERE]) != 0:
            describe(t, f, c, fact, count)  # as it was, to find out why (engine/selecting.py)
            reg[registers.FAILED] = q.SELECT_BROKE << SLOT_SHIFT | count
            return BROKEN
        if not settled(t, c, count):
            return BROKEN
        if c.mark[q.HOW] == q.ONCE:
            return DONE
    return ROOM_NEEDED


@routine
def settled(t: g.Tables, c: q.Choice, count: int) -> bool:
    """Carry out what was answered; False if it is not permitted."""
    c.mark[q.PENDING] = 0
    if not permitted(t, c, count):
        return False
    carry_out(t, c, count)
    if t.reg[registers.WAITING] == 0:
        overtook_none(t)
    return True


@kernel
def next_instant(t: g.Tables) -> int:
    """Time of the next end, submission or plan."""
    reg = t.reg
    now = reg[registers.WAKE]
    if reg[registers.ARRIVED] < t.job.shape[0]:
        now = min(now, t.job[reg[registers.ARRIVED], g.SUBMIT])
    for i in range(reg[registers.WAITING] + reg[registers.RUNNING]):
        now = min(now, t.job[t.here[i], g.ENDS_AT])
    return now


@kernel
def end_jobs(t: g.Tables, now: int) -> None:
    """End what ends now."""
    reg = t.reg
    kept = 0
    for i in range(reg[registers.WAITING] + reg[registers.RUNNING]):
        job = t.here[i]
        if t.job[job, g.ENDS_AT] != now:
            t.here[kept] = job
            kept += 1
            continue
        close(t, job, now, False)
        t.job[job, g.ENDS_AT] = registers.NEVER
        t.job[job, g.END] = now
        t.job[job, g.SIZE] = 0
        reg[registers.RUNNING] -= 1
        reg[registers.EVENTS] += 1


@routine
def describe(t: g.Tables, f: Profile, c: q.Choice, fact: Ints, count: int) -> None:
    """Fill the columns; the whole machine is free, as running jobs are to be planned too."""
    now = t.reg[registers.NOW]
    f.time[0, 0] = now
    for k in range(t.there.shape[0]):
        f.level[0, 0, k] = t.there[k]
    for k in range(t.later.shape[1]):
        f.time[0, k + 1] = t.later[0, k]
        f.level[0, k + 1, 0] = t.later[1, k]
    f.count[0] = 1 + t.later.shape[1]
    column, seen = c.column, q.COLUMNS
    own = seen + len(g.SEEN)
    for i in range(count):
        at = t.here[i]
        job = t.job[at]
        column[q.SUBMIT, i] = job[g.SUBMIT]
        column[q.REQUEST, i] = job[g.REQUEST]
        column[q.ESTIMATE, i] = job[g.ESTIMATE]
        column[q.PROCS, i] = job[g.OWN]
        column[q.NODES, i] = fact[at, r.NODES]
        column[q.MEMORY, i] = fact[at, r.MEMORY]
        column[q.GPUS, i] = fact[at, r.GPUS]
        column[q.USER, i] = fact[at, r.USER]
        column[q.ACCOUNT, i] = fact[at, r.ACCOUNT]
        column[q.PARTITION, i] = fact[at, r.PARTITION]
        column[q.QOS, i] = fact[at, r.QOS]
        column[q.EXECUTABLE, i] = fact[at, r.EXECUTABLE]
        column[q.BLOCKED_AT, i] = job[g.BLOCKED_AT]
        column[q.PROMISED, i] = job[g.PROMISED]
        column[q.DUE, i] = c.due[at]
        column[q.START, i] = job[g.START]
        size = job[g.SIZE]
        halted = suspended(t, at)
        column[seen + g.HELD, i] = 0 if halted else size
        column[seen + g.SUSPENDED_, i] = size if halted else 0
        column[seen + g.SIZE_, i] = size
        column[seen + g.SPEED_, i] = t.speed[job[g.LEVEL]]
        column[seen + g.LEAST_, i] = job[g.LEAST]
        column[seen + g.MOST_, i] = job[g.MOST]
        column[seen + g.LEFT_, i] = expected_left(t, at, now)
        since = job[g.SINCE] if halted else now
        column[seen + g.PAUSE_, i] = max(0, job[g.RESUME] - since) if size > 0 else 0
        column[seen + g.COST_, i] = job[g.COST]
        column[seen + g.STOPS_, i] = job[g.STOPS]
        column[seen + g.KIND_, i] = job[g.KIND]
        for k in range(3):  # the bits of fractions
            column[seen + g.A_ + k, i] = t.curve[at, k]
        for k in range(column.shape[0] - own):
            column[own + k, i] = fact[at, r.FACTS + k]
        for k in range(t.there.shape[0]):
            c.need[i, k] = t.need[at, k]


@kernel
def suspended(t: g.Tables, at: int) -> bool:
    """True if a job stands still at speed 0 and has given its processors back."""
    return bool(t.job[at, g.SIZE] > 0 and t.speed[t.job[at, g.LEVEL]] == 0)


@kernel
def done_at(t: g.Tables, at: int, now: int) -> int:
    """The work of the present piece so far."""
    job = t.job[at]
    if job[g.SIZE] == 0 or suspended(t, at):
        return 0
    lasted = max(0, now - max(job[g.SINCE], job[g.RESUME]))
    return int(min(job[g.LEFT], lasted * job[g.RATE]))


@kernel
def expected_left(t: g.Tables, at: int, now: int) -> int:
    """Seconds of work that the policy expects to be left (spec: changing 3.4)."""
    job = t.job[at]
    done = job[g.WORK] - job[g.LEFT] + done_at(t, at, now)
    left = job[g.ESTIMATE] * MILLION - done
    if left <= 0:
        left = job[g.REQUEST] * MILLION - done
    return int(max(1, -(-left // MILLION)))


@kernel
def close(t: g.Tables, at: int, now: int, stopped: bool) -> None:
    """End the present piece of a job: what was done counts, but for what a stop loses."""
    job, reg = t.job[at], t.reg
    work = done_at(t, at, now)
    every = job[g.CHECKPOINT] * MILLION
    if stopped and every > 0:
        before = job[g.WORK] - job[g.LEFT]
        work = max(0, (before + work) // every * every - before)
    job[g.LEFT] -= work
    # A piece of no length too: the cost of a change at the instant of the start follows from it.
    k = reg[registers.ATTEMPTS]
    reg[registers.ATTEMPTS] += 1
    t.piece[g.P_JOB, k] = at
    t.piece[g.P_FROM, k] = job[g.SINCE]
    t.piece[g.P_UNTIL, k] = now
    t.piece[g.P_STOPPED, k] = stopped
    t.piece[g.P_SIZE, k] = job[g.SIZE]
    t.piece[g.P_LEVEL, k] = job[g.LEVEL]
    cost = 0 if suspended(t, at) else max(0, min(now, job[g.RESUME]) - job[g.SINCE])
    t.piece[g.P_COST, k] = cost
    t.piece[g.P_WORK, k] = work


@routine
def permitted(t: g.Tables, c: q.Choice, count: int) -> bool:
    """True if sizes and speeds are allowed and fit; else the first that is not is noted."""
    total = 0
    sizes, speeds = q.COLUMNS + g.SIZE_, q.COLUMNS + g.SPEED_
    for i in range(count):
        at = t.here[i]
        size, speed = c.column[sizes, i], c.column[speeds, i]
        total += size if speed != 0 else 0
        wrong = 0
        if size != 0 and not t.job[at, g.LEAST] <= size <= t.job[at, g.MOST]:
            wrong = g.RESIZE_SIZE
        elif total > t.there[0]:
            wrong = g.RESIZE_FULL
        elif level_of(t, speed) < 0:
            wrong = g.RESIZE_SPEED
        elif speed == 0 < size and t.job[at, g.SIZE] == 0:
            wrong = g.RESIZE_WAITS
        if wrong > 0:
            t.reg[registers.FAILED] = wrong << SLOT_SHIFT | at
            return False
    for k in range(1, t.there.shape[0]):  # suspended jobs keep these
        held = 0
        for i in range(count):
            held += t.need[t.here[i], k] if c.column[sizes, i] > 0 else 0
            if held > t.there[k]:
                t.reg[registers.FAILED] = g.RESIZE_KEEPS << SLOT_SHIFT | t.here[i]
                return False
    return True


@kernel
def level_of(t: g.Tables, speed: int) -> int:
    """The place of a speed among those declared, -1 if it is none."""
    for level in range(t.speed.shape[0]):
        if t.speed[level] == speed:
            return level
    return -1


@routine
def carry_out(t: g.Tables, c: q.Choice, count: int) -> None:
    """Carry out what the function wrote."""
    reg = t.reg
    now = reg[registers.NOW]
    head = -1
    for i in range(count):
        at = t.here[i]
        job = t.job[at]
        if job[g.PROMISED] < 0 and c.column[q.PROMISED, i] >= 0:
            job[g.PROMISED] = c.column[q.PROMISED, i]
        due = c.column[q.DUE, i]
        c.due[at] = due
        if now < due < reg[registers.WAKE]:
            reg[registers.WAKE] = due
        size = c.column[q.COLUMNS + g.SIZE_, i]
        level = level_of(t, c.column[q.COLUMNS + g.SPEED_, i])
        if size == 0 and head < 0:
            head = at
            if job[g.BLOCKED_AT] < 0:
                job[g.BLOCKED_AT] = now
        held, halted = job[g.SIZE], suspended(t, at)
        halts = size > 0 and t.speed[level] == 0
        if (size == held and (size == 0 or level == job[g.LEVEL])) or (halts and halted):
            continue
        if held > 0:
            close(t, at, now, size == 0)
        if size == 0:
            job[g.STOPS] += 1
            job[g.SIZE] = 0
            job[g.LEVEL] = 0
            job[g.START] = -1
            job[g.ENDS_AT] = registers.NEVER
            reg[registers.KILLS] += 1
            reg[registers.RUNNING] -= 1
            reg[registers.WAITING] += 1
            continue
        if halts:
            job[g.LEVEL] = level
            job[g.SINCE] = now
            job[g.ENDS_AT] = registers.NEVER
            continue
        if held == 0:
            job[g.START] = now
            reg[registers.RUNNING] += 1
            reg[registers.WAITING] -= 1
            job[g.RESUME] = now + (job[g.COST] if job[g.STOPS] > 0 else 0)
            if job[g.BLOCKED_AT] == now:  # before a job of no length ended at this instant
                job[g.BLOCKED_AT] = -1
            if head >= 0:
                job[g.REASON] = BACKFILLED
            else:
                job[g.REASON] = RESERVED if job[g.BLOCKED_AT] >= 0 else HEAD
        elif size != held:
            job[g.RESUME] = now + job[g.COST]
        elif halted:
            job[g.RESUME] += now - job[g.SINCE]
        job[g.SIZE] = size
        job[g.LEVEL] = level
        job[g.SINCE] = now
        job[g.RATE] = g.rate_at(
            job[g.KIND], t.fraction[at, 0], t.fraction[at, 1], t.fraction[at, 2], t.knot,
            job[g.OWN], size, t.speed[level],
        )  # fmt: skip
        job[g.ENDS_AT] = max(now, job[g.RESUME]) + -(-job[g.LEFT] // job[g.RATE])


@kernel
def overtook_none(t: g.Tables) -> None:
    """What started now beside others that waited has overtaken none: they start now as well.

    Jobs of no length end at the instant of their start, and another pass follows; those that have
    ended are found by their pieces.
    """
    now, k = t.reg[registers.NOW], t.reg[registers.ATTEMPTS] - 1
    for i in range(t.reg[registers.RUNNING]):
        alone(t, t.here[i], now)
    while k >= 0 and t.piece[g.P_UNTIL, k] == now:
        alone(t, t.piece[g.P_JOB, k], now)
        k -= 1


@kernel
def alone(t: g.Tables, at: int, now: int) -> None:
    """The reason of a job that started now and overtook none."""
    job = t.job[at]
    if job[g.START] == now and job[g.REASON] == BACKFILLED:
        job[g.REASON] = RESERVED if job[g.BLOCKED_AT] >= 0 else HEAD
