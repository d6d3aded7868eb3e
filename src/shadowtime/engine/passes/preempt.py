"""Shadow-load preemption (PV-EASY 4.1, spec: algorithms 2.3 step 2): kill and restart.

A running job is shadow if the head outranks it, and rank is job order. Victims fall from the
lowest rank upwards until the head fits; no job is killed unless the head then starts.

The head's reservation counts only running jobs that outrank it (spec: algorithms 2.3 step 3a).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import CAPACITY, FREE, NEED
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import FAILED, NEVER, NOW, RUNNING
from shadowtime.kernel.running import end_at, fits, job_at, stop
from shadowtime.kernel.slots import VICTIM, ask
from shadowtime.kernel.state import State
from shadowtime.types import AnyArray

if TYPE_CHECKING:
    from shadowtime.kernel.general import General
    from shadowtime.kernel.slots import OwnPointer


@routine
def make_room(state: State, head: int, prune: bool) -> bool:
    """Kill shadow jobs so that the head fits on the pool; False, and none killed, if it cannot."""
    if not enough_above(state, head, head):
        return False
    if prune:
        kill_needed(state, head)
    else:
        while state.reg[RUNNING] > 0 and not fits(state, head, 0):
            stop(state, lowest_rank(state))
    return fits(state, head, 0)


@routine
def make_chosen_room(state: State, f: General, head: int, prune: bool, custom: OwnPointer) -> bool:
    """The same with victims in the order of a function of the user's own, the highest key first.

    Ties fall from the lowest rank upwards. Pruning spares the last ones chosen first.
    """
    if not enough_above(state, head, head):
        return False
    count = 0
    for at in range(state.reg[RUNNING]):
        if job_at(state, at) > head:
            f.asked[count] = job_at(state, at)
            count += 1
    ask(state, f, custom, VICTIM, f.asked[:count], f.answer[0, :count])
    if state.reg[FAILED] >= 0:
        return False
    chosen = 0
    while not fits_without(state, f.asked, chosen, -1, head):
        move_first(f.asked, f.answer, chosen, count)
        chosen += 1
    for i in range(chosen - 1, -1, -1):
        if prune and fits_without(state, f.asked, chosen, i, head):
            f.asked[i] = -1
    for i in range(chosen):
        if f.asked[i] >= 0:
            stop(state, f.asked[i])
    return fits(state, head, 0)


@kernel
def fits_without(state: State, victims: AnyArray, count: int, spared: int, head: int) -> bool:
    """True if the head fits once these jobs are gone, but for those that are spared."""
    for k in range(state.host.shape[2]):
        have = state.host[FREE, 0, k]
        for i in range(count):
            if i != spared and victims[i] >= 0:
                have += state.job[victims[i], NEED + k]
        if have < state.job[head, NEED + k]:
            return False
    return True


@kernel
def move_first(jobs: AnyArray, answer: AnyArray, at: int, count: int) -> None:
    """Bring the highest key of those from ``at`` on to that place, of equal ones the last job."""
    best = at
    for i in range(at + 1, count):
        if answer[0, i] > answer[0, best] or (
            answer[0, i] == answer[0, best] and jobs[i] > jobs[best]
        ):
            best = i
    jobs[at], jobs[best] = jobs[best], jobs[at]
    answer[0, at], answer[0, best] = answer[0, best], answer[0, at]


@kernel
def enough_above(state: State, head: int, rank: int) -> bool:
    """True if what is free and what running jobs behind ``rank`` hold is enough for the head."""
    for k in range(state.host.shape[2]):
        have = state.host[FREE, 0, k]
        for at in range(state.reg[RUNNING]):
            job = job_at(state, at)
            if job > rank:
                have += state.job[job, NEED + k]
        if have < state.job[head, NEED + k]:
            return False
    return True


@kernel
def lowest_rank(state: State) -> int:
    """The running job that was submitted last."""
    lowest = -1
    for at in range(state.reg[RUNNING]):
        lowest = max(lowest, job_at(state, at))
    return lowest


@kernel
def next_rank(state: State, rank: int) -> int:
    """The first running job behind ``rank``, or one beyond all jobs."""
    following = state.job.shape[0]
    for at in range(state.reg[RUNNING]):
        job = job_at(state, at)
        if job > rank:
            following = min(following, job)
    return following


@kernel
def kill_needed(state: State, head: int) -> None:
    """The same victims, but the highest ranks first, and a job that is not needed is spared."""
    beyond = state.job.shape[0]
    victim = next_rank(state, head)
    while victim < beyond and enough_above(state, head, victim):
        victim = next_rank(state, victim)  # not among the lowest ranks that suffice
    while victim < beyond and not fits(state, head, 0):
        if not enough_above(state, head, victim):
            stop(state, victim)
        victim = next_rank(state, victim)


@kernel
def fits_beside_sunny(state: State, head: int, when: int) -> bool:
    """True if the head fits beside the sunny jobs expected to run on after an instant."""
    soonest = state.reg[NOW] + 1
    for k in range(state.host.shape[2]):
        have = state.host[CAPACITY, 0, k]
        for at in range(state.reg[RUNNING]):
            job = job_at(state, at)
            if job < head and max(end_at(state, at), soonest) > when:
                have -= state.job[job, NEED + k]
        if have < state.job[head, NEED + k]:
            return False
    return True


@routine
def sunny_shadow(state: State, head: int) -> int:
    """The earliest time at which the head fits if shadow jobs are ignored.

    NEVER where it does not fit on the machine at all, as when nodes are down.
    """
    running = state.reg[RUNNING]
    resources = state.host.shape[2]
    now = state.reg[NOW]
    if resources > 1:
        when = now
        at = 0
        while not fits_beside_sunny(state, head, when):
            if at == running:
                return NEVER
            when = max(end_at(state, at), now + 1)
            at += 1
        return when
    # One resource: a single walk over the running jobs by expected end.
    have = state.host[CAPACITY, 0, 0]
    for at in range(running):
        if job_at(state, at) < head:
            have -= state.job[job_at(state, at), NEED]
    when = now
    at = 0
    while have < state.job[head, NEED]:
        if at == running:
            return NEVER
        when = max(end_at(state, at), now + 1)
        while at < running and max(end_at(state, at), now + 1) == when:
            if job_at(state, at) < head:
                have += state.job[job_at(state, at), NEED]
            at += 1
    return when
