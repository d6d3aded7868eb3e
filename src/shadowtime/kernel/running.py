"""The running jobs, sorted by expected end, and the two verbs of a pass: begin and stop.

Under EASY++ a running job that outlives its prediction gets a longer one (spec: algorithms 1.6).
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel import fields as f
from shadowtime.kernel import registers as r
from shadowtime.kernel.estimates import FIXED, LAST_TWO, left_of, repredict
from shadowtime.kernel.heap import push
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.queue import dequeue, enqueue
from shadowtime.kernel.state import State, World
from shadowtime.types import Reason

HEAD, RESERVED = int(Reason.HEAD), int(Reason.RESERVED)
BACKFILLED, PREEMPTING = int(Reason.BACKFILLED), int(Reason.PREEMPTING)


@kernel
def insert(state: State, job: int, expected_end: int) -> None:
    """Add a job to the running list, behind all that are expected to end no later."""
    keys = state.running
    key = expected_end << state.reg[r.BITS] | job
    at = state.reg[r.RUNNING]
    while at > 0 and keys[at - 1] > key:
        keys[at] = keys[at - 1]
        at -= 1
    keys[at] = key
    state.job[job, f.EXPECTED] = expected_end
    state.reg[r.RUNNING] += 1


@kernel
def find(state: State, job: int) -> int:
    """Place of a running job in the list."""
    key = state.job[job, f.EXPECTED] << state.reg[r.BITS] | job
    low = 0
    high = state.reg[r.RUNNING]
    while low < high:
        middle = (low + high) >> 1
        if state.running[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def remove(state: State, at: int) -> None:
    """Close the gap at place ``at``."""
    last = state.reg[r.RUNNING] - 1
    keys = state.running
    for i in range(at, last):
        keys[i] = keys[i + 1]
    state.reg[r.RUNNING] = last


@kernel
def end_at(state: State, at: int) -> int:
    """Expected end of the running job at a place in the list."""
    return state.running[at] >> state.reg[r.BITS]


@kernel
def job_at(state: State, at: int) -> int:
    """The running job at a place in the list."""
    return state.running[at] & ((1 << state.reg[r.BITS]) - 1)


@kernel
def need_on(state: State, job: int, host: int, k: int) -> int:
    """What a job takes of resource ``k`` on a host: its need, or everything if it is exclusive."""
    if state.job[job, f.EXCLUSIVE] != 0:
        return state.host[f.CAPACITY, host, k]
    return state.job[job, f.NEED + k]


@kernel
def take(state: State, job: int, host: int) -> None:
    """Take what a job needs out of the free resources of a host."""
    for k in range(state.host.shape[2]):
        state.host[f.FREE, host, k] -= need_on(state, job, host, k)


@kernel
def give_back(state: State, job: int) -> None:
    """Return what a job took to its host."""
    host = state.job[job, f.HOST]
    for k in range(state.host.shape[2]):
        state.host[f.FREE, host, k] += need_on(state, job, host, k)


@kernel
def fits(state: State, job: int, host: int) -> bool:
    """True if a host has free now what the job takes there."""
    for k in range(state.host.shape[2]):
        if need_on(state, job, host, k) > state.host[f.FREE, host, k]:
            return False
        if state.job[job, f.NEED + k] > state.host[f.CAPACITY, host, k]:
            return False
    return True


@kernel
def log(state: State, kind: int, job: int) -> None:
    """Log a decision, for the event loop or the live port to carry out."""
    at = state.reg[r.DECISIONS]
    state.did[f.KIND, at] = kind
    state.did[f.WHICH, at] = job
    state.reg[r.DECISIONS] = at + 1


@kernel
def begin(state: State, job: int, host: int, reason: int) -> None:
    """Start a waiting job now on a host; its estimate is frozen as it stands."""
    now = state.reg[r.NOW]
    dequeue(state, job)
    state.job[job, f.HOST] = host
    take(state, job, host)
    state.job[job, f.START] = now
    state.job[job, f.REASON] = reason
    insert(state, job, now + state.job[job, f.ESTIMATE])
    log(state, r.STARTED, job)


@kernel
def begin_first(state: State, job: int, host: int) -> None:
    """Start the job that is first in the order."""
    begin(state, job, host, HEAD if state.job[job, f.BLOCKED_AT] < 0 else RESERVED)


@kernel
def record_attempt(state: State, job: int) -> None:
    """Note the run of a job that is being stopped, and what it has left to do.

    What happens to its work depends on the registers SAVE_EVERY and OVERHEAD.
    """
    at = state.reg[r.ATTEMPTS]
    state.tried[f.VICTIM, at] = job
    state.tried[f.FROM, at] = state.job[job, f.START]
    state.tried[f.UNTIL, at] = state.reg[r.NOW]
    state.tried[f.SAVED, at] = save(state, job)
    state.reg[r.ATTEMPTS] = at + 1
    state.job[job, f.KILLS] += 1
    state.job[job, f.AHEAD] = state.tried[f.SAVED, at] - state.reg[r.OVERHEAD]
    if state.reg[r.LEARNER] != FIXED:
        repredict(state, job)
    elif state.reg[r.SAVE_EVERY] + state.reg[r.OVERHEAD] != 0:
        state.job[job, f.ESTIMATE] = left_of(state, job, state.job[job, f.INITIAL])


@kernel
def stop(state: State, job: int) -> None:
    """Preempt a running job: it goes back into the queue with its old place."""
    remove(state, find(state, job))
    give_back(state, job)
    record_attempt(state, job)
    enqueue(state, job)
    log(state, r.KILLED, job)


@kernel
def save(state: State, job: int) -> int:
    """Seconds of a job's work that outlive its stop: all up to its last checkpoint."""
    every = state.reg[r.SAVE_EVERY]
    if every == 0:
        return 0
    before = state.job[job, f.AHEAD] + state.reg[r.OVERHEAD] if state.job[job, f.KILLS] > 0 else 0
    done = state.reg[r.NOW] - state.job[job, f.START] + state.job[job, f.AHEAD]
    return max(before, done // every * every)  # not a second while it is still starting again


@kernel
def forget_overdue(state: State) -> None:
    """Give jobs that outlived their expected end a new one: start + request if that lies ahead.

    Jobs past both stay at the front; the reader of the list takes them to end at now + 1.
    """
    now = state.reg[r.NOW]
    at = 0
    while at < state.reg[r.RUNNING] and end_at(state, at) <= now:
        job = job_at(state, at)
        later = state.job[job, f.START] + state.job[job, f.REQUEST] - state.job[job, f.AHEAD]
        if later > now:
            remove(state, at)
            insert(state, job, later)
        else:
            at += 1


LADDER = np.array(
    [60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000], dtype=np.int64
)
"""The k-th correction sets the prediction to the initial one plus this, never over the request."""


@kernel
def first_correction(state: State, world: World, job: int) -> None:
    """A job starts: note when its prediction runs out."""
    if state.reg[r.LEARNER] == LAST_TWO:
        state.job[job, f.STEPS] = 0
        note(state, world, job)


@kernel
def note(state: State, world: World, job: int) -> None:
    """Queue the next correction, unless the request itself has been reached."""
    reg = state.reg
    if state.job[job, f.ESTIMATE] < left_of(state, job, state.job[job, f.REQUEST]):
        when = state.job[job, f.START] + state.job[job, f.ESTIMATE]
        reg[r.CORRECTIONS] = push(
            world.corrections, reg[r.CORRECTIONS], when << reg[r.BITS] | world.truth[job, f.RANK]
        )


@kernel
def correct(state: State, world: World, job: int) -> None:
    """Give a running job its next, longer prediction."""
    step = state.job[job, f.STEPS]
    longer = state.job[job, f.REQUEST]
    if step < LADDER.shape[0]:
        longer = min(longer, state.job[job, f.INITIAL] + LADDER[step])
    longer = left_of(state, job, longer)
    state.job[job, f.STEPS] = step + 1
    state.job[job, f.ESTIMATE] = longer
    remove(state, find(state, job))
    insert(state, job, state.job[job, f.START] + longer)
    note(state, world, job)
