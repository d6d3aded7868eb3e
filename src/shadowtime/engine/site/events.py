"""The event loop on a site: ends, failures, closings, cancellations, arrivals, one pass.

The order within an instant is that of docs/decisions/site.md. Ends, corrections, learning and the
queue are those of every other machine.
"""

from __future__ import annotations

from shadowtime.engine import events
from shadowtime.engine.events import DONE, PASS_DUE, ROOM_NEEDED
from shadowtime.engine.site import entering
from shadowtime.engine.site.gone import note_gone
from shadowtime.engine.site.world import Events
from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.estimates import FIXED, learn_end
from shadowtime.kernel.heap import pop, push
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.running import correct, first_correction, job_at
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.start import COMPRESSED, give_up, hold_place, stop_run
from shadowtime.kernel.state import State, World


@routine
def advance(state: State, world: World, ground: sf.Ground, e: Events) -> int:
    """Go to the next instant and carry out its events: PASS_DUE, or DONE when nothing is left."""
    reg = state.reg
    while True:
        events.drop_stale_ends(state, world)
        drop_stale_cancels(state, ground, e)
        now = next_instant(state, world, ground, e)
        if now >= r.NEVER or e.count[entering.LEFT] == 0:
            return DONE
        reg[r.NOW] = now
        reg[r.DECISIONS] = 0
        reg[r.FRESH] = reg[r.ARRIVED]
        reg[r.ENDED] = 0
        due = carry_out_ends(state, world, ground, e, now)
        carry_out_corrections(state, world, ground, now)
        due |= carry_out_failures(state, world, ground, e, now)
        due |= carry_out_closings(state, ground, e, now)
        due |= carry_out_cancels(state, ground, e, now)
        due |= entering.admit(state, ground, e, now)
        entering.enter_queue(state, ground, e, now)
        if reg[r.WAKE] <= now:
            reg[r.WAKE] = r.NEVER
            due = True
        if due:
            reg[r.PASSES] += 1
            return PASS_DUE


@kernel
def next_instant(state: State, world: World, ground: sf.Ground, e: Events) -> int:
    """Time of the next event of any kind."""
    reg = state.reg
    now = events.next_instant(state, world)
    if ground.mark[sf.BEGINS] > 0:
        now = min(now, e.begins[0] >> reg[r.BITS])
    if ground.mark[sf.CANCELS] > 0:
        now = min(now, e.cancels[0] >> reg[r.BITS])
    if ground.mark[sf.CLOSINGS_AT] < e.times.shape[0]:
        now = min(now, e.times[ground.mark[sf.CLOSINGS_AT]])
    return int(now)


@kernel
def drop_stale_cancels(state: State, ground: sf.Ground, e: Events) -> None:
    """Forget cancellations of jobs that do not wait at that time."""
    reg = state.reg
    mask = (1 << reg[r.BITS]) - 1
    while ground.mark[sf.CANCELS] > 0:
        phase = ground.job[e.cancels[0] & mask, sf.PHASE]
        if sf.PENDING <= phase <= sf.QUEUED:
            return
        if phase == sf.COMING:
            return
        if phase < sf.ENDED and e.cancels[0] >> reg[r.BITS] > reg[r.NOW]:
            return  # it runs, and may be back in the queue by then
        ground.mark[sf.CANCELS] = pop(e.cancels, ground.mark[sf.CANCELS])


@routine
def carry_out_ends(state: State, world: World, ground: sf.Ground, e: Events, now: int) -> bool:
    """End what ends now, by job id; the estimates learn from each."""
    reg = state.reg
    any_end = False
    while True:
        job = events.next_end(state, world, now)
        if job < 0:
            return any_end
        give_up(state, ground, job)
        world.truth[job, f.ENDS_AT] = -1
        if reg[r.LEARNER] != FIXED:
            learn_end(state, job)
        state.ended[reg[r.ENDED]] = job
        reg[r.ENDED] += 1
        reg[r.EVENTS] += 1
        reg[r.CHANGED] = 1
        entering.be_over(state, ground, e, job, sf.number(sf.ENDED), now)
        any_end = True


@routine
def carry_out_corrections(state: State, world: World, ground: sf.Ground, now: int) -> None:
    """Raise the predictions that running jobs have outlived."""
    while True:
        job = events.next_outlived(state, world, now)
        if job < 0:
            return
        before = state.job[job, f.EXPECTED]
        correct(state, world, job)
        hold_place(ground, job, now, max(before, now), state.job[job, f.EXPECTED], sf.number(-1))


@routine
def carry_out_failures(state: State, world: World, ground: sf.Ground, e: Events, now: int) -> bool:
    """Stop the jobs on nodes that fail now: they return to the queue, or are lost."""
    any_failure = False
    while (
        ground.mark[sf.FAILURES_AT] < e.failures.shape[0]
        and e.failures[ground.mark[sf.FAILURES_AT], 0] <= now
    ):
        node = e.failures[ground.mark[sf.FAILURES_AT], 1]
        ground.mark[sf.FAILURES_AT] += 1
        any_failure = True
        struck = 0
        for at in range(state.reg[r.RUNNING]):
            job = job_at(state, at)
            first = ground.job[job, sf.PLACE_FROM]
            for entry in range(first, first + ground.job[job, sf.PLACE_COUNT]):
                if ground.place[entry] >> 32 == node:
                    e.found[struck] = job
                    struck += 1
        for at in range(struck):
            job = e.found[at]
            ground.mark[sf.EARLY] = 1
            world.truth[job, f.ENDS_AT] = -1
            state.reg[r.EVENTS] += 1
            state.reg[r.CHANGED] = 1
            if ground.job[job, sf.REQUEUE] != 0:
                stop_run(state, ground, job)
                state.reg[r.KILLS] += 1
                entering.to_queue(state, ground, job)
            else:
                give_up(state, ground, job)
                ground.mark[sf.LOST] += 1
                entering.be_over(state, ground, e, job, sf.number(sf.GONE_LOST), now)
    return any_failure


@routine
def carry_out_closings(state: State, ground: sf.Ground, e: Events, now: int) -> bool:
    """A node closes or opens, or that becomes known: whatever was refused is asked again."""
    any_closing = False
    while (
        ground.mark[sf.CLOSINGS_AT] < e.times.shape[0]
        and e.times[ground.mark[sf.CLOSINGS_AT]] <= now
    ):
        ground.mark[sf.CLOSINGS_AT] += 1
        any_closing = True
    if any_closing:
        ground.mark[sf.RELEASED] += 1
        ground.mark[sf.REPAIR] = 1
        state.reg[r.CHANGED] = 1
        note_gone(ground, now)
    return any_closing


@routine
def carry_out_cancels(state: State, ground: sf.Ground, e: Events, now: int) -> bool:
    """Jobs that leave the queue unstarted."""
    reg = state.reg
    mask = (1 << reg[r.BITS]) - 1
    any_cancel = False
    while ground.mark[sf.CANCELS] > 0 and e.cancels[0] >> reg[r.BITS] <= now:
        job = e.cancels[0] & mask
        phase = ground.job[job, sf.PHASE]
        ground.mark[sf.CANCELS] = pop(
            e.cancels, ground.mark[sf.CANCELS]
        )  # if it is COMING, admit handles it
        if phase == sf.QUEUED:
            entering.leave_queue(state, ground, job, now)
        if sf.PENDING <= phase <= sf.QUEUED:
            ground.mark[sf.CANCELLED] += 1
            entering.be_over(state, ground, e, job, sf.number(sf.GONE_CANCELLED), now)
            reg[r.CHANGED] = 1
            any_cancel = True
    return any_cancel


@kernel
def coarse(ahead: int) -> int:
    """A time as one of 16 to 32 in each octave, the nearest: far ahead few instants are left.

    Examples
    --------
    >>> [coarse(ahead) for ahead in (-3, 31, 101, 5000, 90_000)]
    [-3, 31, 100, 5120, 90112]
    """
    unit = 1
    while 32 * unit <= ahead:
        unit *= 2
    return (ahead + unit // 2) // unit * unit


@routine
def carry_out_decisions(state: State, world: World, ground: sf.Ground, e: Events) -> None:
    """Carry out the starts that the pass decided."""
    reg = state.reg
    now = reg[r.NOW]
    for i in range(reg[r.DECISIONS]):
        job = state.did[f.WHICH, i]
        whole = min(world.truth[job, f.RUN], state.job[job, f.LIMIT])
        end = now + whole - state.job[job, f.AHEAD]
        if reg[r.COARSE] > 0:
            end = max(now + 1, reg[r.COARSE] + coarse(end - reg[r.COARSE]))
        world.truth[job, f.ENDS_AT] = end
        if reg[r.ENDS] == world.ends.shape[0]:
            events.compact(state, world)
        reg[r.ENDS] = push(world.ends, reg[r.ENDS], end << reg[r.BITS] | world.truth[job, f.RANK])
        if reg[r.LEARNER] != FIXED:
            first_correction(state, world, job)
        entering.note_start(ground, e, job, now)
    reg[r.CHANGED] = 0
    if ground.mark[sf.AFTER_START] != 0:
        reg[r.WAKE] = min(reg[r.WAKE], now + 1)
        ground.mark[sf.AFTER_START] = 0


@routine
def next_pass(state: State, world: World, ground: sf.Ground, e: Events, plans: int) -> int:
    """Go to the next instant with a pass: PASS_DUE, DONE, or ROOM_NEEDED to be called again."""
    if ground.mark[sf.PASS_PENDING] == 0:
        if events.to_be_saved(state.reg) or lacks_room(state, ground, plans):
            return ROOM_NEEDED
        if advance(state, world, ground, e) != PASS_DUE:
            return DONE
        ground.mark[sf.PASS_PENDING] = 1
    if lacks_room(state, ground, plans):
        return ROOM_NEEDED
    ground.mark[sf.PASS_PENDING] = 0
    return PASS_DUE


@kernel
def lacks_room(state: State, ground: sf.Ground, plans: int) -> bool:
    """True when a table might overflow in the next instant or pass.

    ``plans``: most nodes that the plans of a pass can hold.
    """
    wide = ground.mark[sf.WIDE]
    starts = min(wide, state.host[f.FREE, 0, 0] + ground.mark[sf.HELD])
    steps = 2 * min(wide, plans) + starts
    entries = starts + min(wide, plans) + 64
    if ground.mark[sf.KEEPS] != 0:
        steps += 2 * wide
        entries += 2 * wide
        gains = (
            ground.mark[sf.GAINS]
            - ground.mark[sf.GAINS_FROM]
            + 2 * wide
            + ground.mark[sf.HELD]
            + 64
        )
        if ground.mark[sf.KEEPS] == COMPRESSED and gains > ground.gain.shape[0]:
            return True
    steps = (1 + ground.mark[sf.AMOUNTS]) * steps + 64
    return bool(
        state.reg[r.ATTEMPTS] + state.reg[r.RUNNING] > state.tried.shape[1]
        or ground.mark[sf.STEPS_SPARE] < steps
        or ground.mark[sf.ENTRIES] + entries > ground.place.shape[0]
    )


__all__ = [
    "DONE", "PASS_DUE", "ROOM_NEEDED", "carry_out_decisions", "coarse", "lacks_room", "next_pass",
]  # fmt: skip
