"""The running jobs, sorted by expected end, and the two verbs of a pass: begin and stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.estimates import FIXED, left_of, repredict
from shadowtime.kernel.fields import (
    AHEAD,
    BLOCKED_AT,
    CAPACITY,
    ESTIMATE,
    EXCLUSIVE,
    EXPECTED,
    FREE,
    FROM,
    HOST,
    INITIAL,
    KILLS,
    KIND,
    NEED,
    REASON,
    REQUEST,
    SAVED,
    START,
    UNTIL,
    VICTIM,
    WHICH,
)
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.queue import dequeue, enqueue
from shadowtime.kernel.registers import (
    ATTEMPTS,
    BITS,
    DECISIONS,
    KILLED,
    LEARNER,
    NOW,
    OVERHEAD,
    RUNNING,
    SAVE_EVERY,
    STARTED,
)
from shadowtime.types import Reason

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

HEAD, RESERVED = int(Reason.HEAD), int(Reason.RESERVED)
BACKFILLED, PREEMPTING = int(Reason.BACKFILLED), int(Reason.PREEMPTING)


@kernel
def insert(state: State, job: int, expected_end: int) -> None:
    """Add a job to the running list, behind all that are expected to end no later."""
    keys = state.running
    key = expected_end << state.reg[BITS] | job
    at = state.reg[RUNNING]
    while at > 0 and keys[at - 1] > key:
        keys[at] = keys[at - 1]
        at -= 1
    keys[at] = key
    state.job[job, EXPECTED] = expected_end
    state.reg[RUNNING] += 1


@kernel
def find(state: State, job: int) -> int:
    """Place of a running job in the list."""
    key = state.job[job, EXPECTED] << state.reg[BITS] | job
    low = 0
    high = state.reg[RUNNING]
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
    last = state.reg[RUNNING] - 1
    keys = state.running
    for i in range(at, last):
        keys[i] = keys[i + 1]
    state.reg[RUNNING] = last


@kernel
def end_at(state: State, at: int) -> int:
    """Expected end of the running job at a place in the list."""
    return state.running[at] >> state.reg[BITS]


@kernel
def job_at(state: State, at: int) -> int:
    """The running job at a place in the list."""
    return state.running[at] & ((1 << state.reg[BITS]) - 1)


@kernel
def need_on(state: State, job: int, host: int, k: int) -> int:
    """What a job takes of resource ``k`` on a host: its need, or everything if it is exclusive."""
    if state.job[job, EXCLUSIVE] != 0:
        return state.host[CAPACITY, host, k]
    return state.job[job, NEED + k]


@kernel
def take(state: State, job: int, host: int) -> None:
    """Take what a job needs out of the free resources of a host."""
    for k in range(state.host.shape[2]):
        state.host[FREE, host, k] -= need_on(state, job, host, k)


@kernel
def give_back(state: State, job: int) -> None:
    """Return what a job took to its host."""
    host = state.job[job, HOST]
    for k in range(state.host.shape[2]):
        state.host[FREE, host, k] += need_on(state, job, host, k)


@kernel
def fits(state: State, job: int, host: int) -> bool:
    """True if a host has free now what the job takes there."""
    for k in range(state.host.shape[2]):
        if need_on(state, job, host, k) > state.host[FREE, host, k]:
            return False
        if state.job[job, NEED + k] > state.host[CAPACITY, host, k]:
            return False
    return True


@kernel
def log(state: State, kind: int, job: int) -> None:
    """Log a decision, for the event loop or the live port to carry out."""
    at = state.reg[DECISIONS]
    state.did[KIND, at] = kind
    state.did[WHICH, at] = job
    state.reg[DECISIONS] = at + 1


@kernel
def begin(state: State, job: int, host: int, reason: int) -> None:
    """Start a waiting job now on a host; its estimate is frozen as it stands."""
    now = state.reg[NOW]
    dequeue(state, job)
    state.job[job, HOST] = host
    take(state, job, host)
    state.job[job, START] = now
    state.job[job, REASON] = reason
    insert(state, job, now + state.job[job, ESTIMATE])
    log(state, STARTED, job)


@kernel
def begin_first(state: State, job: int, host: int) -> None:
    """Start the job that is first in the order."""
    begin(state, job, host, HEAD if state.job[job, BLOCKED_AT] < 0 else RESERVED)


@kernel
def record_attempt(state: State, job: int) -> None:
    """Note the run of a job that is being stopped, and what it has left to do.

    What happens to its work depends on the registers SAVE_EVERY and OVERHEAD.
    """
    at = state.reg[ATTEMPTS]
    state.tried[VICTIM, at] = job
    state.tried[FROM, at] = state.job[job, START]
    state.tried[UNTIL, at] = state.reg[NOW]
    state.tried[SAVED, at] = save(state, job)
    state.reg[ATTEMPTS] = at + 1
    state.job[job, KILLS] += 1
    state.job[job, AHEAD] = state.tried[SAVED, at] - state.reg[OVERHEAD]
    if state.reg[LEARNER] != FIXED:
        repredict(state, job)
    elif state.reg[SAVE_EVERY] + state.reg[OVERHEAD] != 0:
        state.job[job, ESTIMATE] = left_of(state, job, state.job[job, INITIAL])


@kernel
def stop(state: State, job: int) -> None:
    """Preempt a running job: it goes back into the queue with its old place."""
    remove(state, find(state, job))
    give_back(state, job)
    record_attempt(state, job)
    enqueue(state, job)
    log(state, KILLED, job)


@kernel
def save(state: State, job: int) -> int:
    """Seconds of a job's work that outlive its stop: all up to its last checkpoint."""
    every = state.reg[SAVE_EVERY]
    if every == 0:
        return 0
    before = state.job[job, AHEAD] + state.reg[OVERHEAD] if state.job[job, KILLS] > 0 else 0
    done = state.reg[NOW] - state.job[job, START] + state.job[job, AHEAD]
    return max(before, done // every * every)  # not a second while it is still starting again


@kernel
def forget_overdue(state: State) -> None:
    """Give jobs that outlived their expected end a new one: start + request if that lies ahead.

    Jobs past both stay at the front; the reader of the list takes them to end at now + 1.
    """
    now = state.reg[NOW]
    at = 0
    while at < state.reg[RUNNING] and end_at(state, at) <= now:
        job = job_at(state, at)
        later = state.job[job, START] + state.job[job, REQUEST] - state.job[job, AHEAD]
        if later > now:
            remove(state, at)
            insert(state, job, later)
        else:
            at += 1
