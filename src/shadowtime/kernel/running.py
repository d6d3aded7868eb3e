"""The running jobs, sorted by expected end, and the two verbs of a pass: begin and stop."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.estimates import FIXED, repredict
from shadowtime.kernel.fields import (
    BLOCKED_AT,
    CAPACITY,
    ESTIMATE,
    EXCLUSIVE,
    EXPECTED,
    FREE,
    FROM,
    HOST,
    KILLS,
    KIND,
    NEED,
    REASON,
    REQUEST,
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
    RUNNING,
    STARTED,
)
from shadowtime.types import Reason

HEAD, RESERVED = int(Reason.HEAD), int(Reason.RESERVED)
BACKFILLED, PREEMPTING = int(Reason.BACKFILLED), int(Reason.PREEMPTING)


@kernel
def insert(s: Any, job: int, expected_end: int) -> None:
    """Add a job to the running list, behind all that are expected to end no later."""
    keys = s.running
    key = expected_end << s.reg[BITS] | job
    at = s.reg[RUNNING]
    while at > 0 and keys[at - 1] > key:
        keys[at] = keys[at - 1]
        at -= 1
    keys[at] = key
    s.job[job, EXPECTED] = expected_end
    s.reg[RUNNING] += 1


@kernel
def find(s: Any, job: int) -> int:
    """Place of a running job in the list."""
    key = s.job[job, EXPECTED] << s.reg[BITS] | job
    low = 0
    high = s.reg[RUNNING]
    while low < high:
        middle = (low + high) >> 1
        if s.running[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def remove(s: Any, at: int) -> None:
    """Close the gap at place ``at``."""
    last = s.reg[RUNNING] - 1
    keys = s.running
    for i in range(at, last):
        keys[i] = keys[i + 1]
    s.reg[RUNNING] = last


@kernel
def end_at(s: Any, at: int) -> int:
    """Expected end of the running job at a place in the list."""
    return s.running[at] >> s.reg[BITS]


@kernel
def job_at(s: Any, at: int) -> int:
    """The running job at a place in the list."""
    return s.running[at] & ((1 << s.reg[BITS]) - 1)


@kernel
def need_on(s: Any, job: int, host: int, k: int) -> int:
    """What a job takes of resource ``k`` on a host: its need, or everything if it is exclusive."""
    if s.job[job, EXCLUSIVE] != 0:
        return s.host[CAPACITY, host, k]
    return s.job[job, NEED + k]


@kernel
def take(s: Any, job: int, host: int) -> None:
    """Take what a job needs out of the free resources of a host."""
    for k in range(s.host.shape[2]):
        s.host[FREE, host, k] -= need_on(s, job, host, k)


@kernel
def give_back(s: Any, job: int) -> None:
    """Return what a job took to its host."""
    host = s.job[job, HOST]
    for k in range(s.host.shape[2]):
        s.host[FREE, host, k] += need_on(s, job, host, k)


@kernel
def fits(s: Any, job: int, host: int) -> bool:
    """True if a host has free now what the job takes there."""
    for k in range(s.host.shape[2]):
        if need_on(s, job, host, k) > s.host[FREE, host, k]:
            return False
        if s.job[job, NEED + k] > s.host[CAPACITY, host, k]:
            return False
    return True


@kernel
def log(s: Any, kind: int, job: int) -> None:
    """Write a decision down, for the event loop or the live port to carry out."""
    at = s.reg[DECISIONS]
    s.did[KIND, at] = kind
    s.did[WHICH, at] = job
    s.reg[DECISIONS] = at + 1


@kernel
def begin(s: Any, job: int, host: int, reason: int) -> None:
    """Start a waiting job now on a host; its estimate is frozen as it stands."""
    now = s.reg[NOW]
    dequeue(s, job)
    s.job[job, HOST] = host
    take(s, job, host)
    s.job[job, START] = now
    s.job[job, REASON] = reason
    insert(s, job, now + s.job[job, ESTIMATE])
    log(s, STARTED, job)


@kernel
def begin_first(s: Any, job: int, host: int) -> None:
    """Start the job that is first in the order."""
    begin(s, job, host, HEAD if s.job[job, BLOCKED_AT] < 0 else RESERVED)


@kernel
def stop(s: Any, job: int) -> None:
    """Preempt a running job: it goes back into the queue with its old place, its work is lost."""
    remove(s, find(s, job))
    give_back(s, job)
    at = s.reg[ATTEMPTS]
    s.tried[VICTIM, at] = job
    s.tried[FROM, at] = s.job[job, START]
    s.tried[UNTIL, at] = s.reg[NOW]
    s.reg[ATTEMPTS] = at + 1
    s.job[job, KILLS] += 1
    if s.reg[LEARNER] != FIXED:
        repredict(s, job)
    enqueue(s, job)
    log(s, KILLED, job)


@kernel
def forget_overdue(s: Any) -> None:
    """Give jobs that outlived their expected end a new one: start + request if that lies ahead.

    Jobs past both stay at the front; whoever reads the list takes them to end at now + 1.
    """
    now = s.reg[NOW]
    at = 0
    while at < s.reg[RUNNING] and end_at(s, at) <= now:
        job = job_at(s, at)
        later = s.job[job, START] + s.job[job, REQUEST]
        if later > now:
            remove(s, at)
            insert(s, job, later)
        else:
            at += 1
