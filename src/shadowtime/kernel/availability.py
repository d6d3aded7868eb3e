"""The availability profile: what will be free on the pool from now on, kept between passes.

A step function like the profile's, but it lives as long as the run: the past falls off its front
and equal neighbours are merged. A step knows the jobs that are due at its begin. So the jobs to
check again when processors come free are known at once: a job that had no earlier start can have
one now only if it is due in or right behind the steps that were raised, or if they are part of a
hole that is wide and long enough for it (holes.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.vector import ONE, add_to, first_at_least, last_below, shift_down, shift_up

FIRST, LAST_STEP, COMPRESS, SOONEST, LISTED, SCALE, WIDEST, ASK_ALL = 0, 1, 2, 3, 4, 5, 6, 7
"""Places in ``mark``: the first step in force and the last; compress promises?; no promise falls
due before; jobs in LINE; seconds in a part of ``longest``, as a power of two; the class of the
whole pool's width; so many waiting jobs are all asked."""
FEW = 128
"""To ask so few jobs is quicker than to look for holes (measured on the archive's logs)."""
PARTS, CLASSES = 64, 34
"""Parts of time and classes of width in ``longest``."""


TIME, LISTED_AT, LEVEL = 0, 1, 2
"""Rows of ``step``: when a step begins; a job that is due then, -1 if none is; and from here on
what is free of each resource."""
DUE, AFTER, BEFORE = 0, 1, 2
"""Columns of ``job``: when it is due; the next job that is due at the same time and the one before,
-1 if none is."""
ASK, GONE = 1, 2
"""In ``ask``: the job may start right before its promise; it has started."""
LINE, DUE_OF, LENGTH_OF, CLASS_OF, STARTS, BEGINS, HEIGHT = 0, 1, 2, 3, 4, 4, 5
"""Rows of ``listed``: the jobs with promises in submit order, of which some may have started since,
and when each is due, its length and its class of width, side by side for the sweep; the jobs that
start in a pass; the holes that have begun while all are sought, each higher than the one before."""


class Availability(NamedTuple):
    """The step function, and what is known of each waiting job.

    Few arrays: a call that is not inlined passes each of them field by field.
    """

    step: Any  # int64[2 + K, cap]
    job: Any  # int64[n, 4]: a row does not cross the lines of the cache
    ask: Any  # int8[n]
    listed: Any  # int64[6, n]
    longest: Any  # int32[CLASSES, PARTS]: the longest hole so wide that begins up to then
    mark: Any  # int64[8]

    @property
    def due(self) -> Any:
        """When each waiting job is due, NEVER if it has no promise."""
        return self.job[:, DUE]


def make_availability(*, n: int, capacity: Any, compress: bool, ask_all: int = FEW) -> Availability:
    """A book for a run of ``n`` jobs: nothing is promised yet."""
    room = 4 * n + 64
    resources = capacity.shape[1]
    availability = Availability(
        step=np.zeros((LEVEL + resources, room), np.int64),
        job=np.zeros((n + 1, 4), np.int64),
        ask=np.zeros(n + 1, np.int8),
        listed=np.zeros((6, n + 1), np.int64),
        longest=np.zeros((CLASSES, PARTS), np.int32),
        mark=np.zeros(8, np.int64),
    )
    availability.step[LISTED_AT, 0] = -1
    availability.step[LEVEL:, 0] = capacity[0]
    availability.job[:, DUE] = NEVER
    availability.mark[WIDEST] = class_of(int(capacity[0, 0]))
    availability.mark[COMPRESS] = compress
    availability.mark[ASK_ALL] = ask_all
    availability.mark[SOONEST] = NEVER
    return availability


@kernel
def class_of(procs: int) -> int:
    """The class of a width: how often it can be halved, and one.

    Examples
    --------
    >>> [class_of(procs) for procs in (0, 1, 2, 3, 4, 1023, 1024)]
    [0, 1, 2, 2, 3, 10, 11]
    """
    halvings = 0
    if procs >= 1 << 16:
        procs, halvings = procs >> 16, 16
    if procs >= 1 << 8:
        procs, halvings = procs >> 8, halvings + 8
    if procs >= 1 << 4:
        procs, halvings = procs >> 4, halvings + 4
    if procs >= 1 << 2:
        procs, halvings = procs >> 2, halvings + 2
    if procs >= 2:
        return halvings + 2
    return halvings + procs


@kernel
def forget_past(b: Any, now: int) -> None:
    """Let the function begin now."""
    mark = b.mark
    while mark[FIRST] < mark[LAST_STEP] and b.step[TIME, mark[FIRST] + 1] <= now:
        mark[FIRST] += 1
    b.step[TIME, mark[FIRST]] = now


@kernel
def move_to_front(b: Any) -> None:
    """Make room at the end of the arrays."""
    mark = b.mark
    shift = mark[FIRST]
    for i in range(shift, mark[LAST_STEP] + 1):
        for k in range(b.step.shape[0]):
            b.step[k, i - shift] = b.step[k, i]
    mark[FIRST] = 0
    mark[LAST_STEP] -= shift


@kernel
def last_step_before(b: Any, when: int) -> int:
    """The last step that begins before an instant (the first step if none does)."""
    return last_below(b.step[TIME], b.mark[FIRST], b.mark[LAST_STEP], when)


@kernel
def cut(b: Any, when: int) -> int:
    """Index of the step that begins at an instant, which is now or later; made if needed."""
    mark = b.mark
    if b.step[TIME, mark[FIRST]] >= when:
        return mark[FIRST]
    before = last_step_before(b, when)
    at = before + 1
    if at <= mark[LAST_STEP] and b.step[TIME, at] == when:
        return at
    for k in range(b.step.shape[0]):
        shift_up(b.step[k], at, mark[LAST_STEP])
        b.step[k, at] = b.step[k, before]
    b.step[TIME, at] = when
    b.step[LISTED_AT, at] = -1
    mark[LAST_STEP] += 1
    return at


@kernel
def changes_nothing(step: Any, at: Any, before: Any) -> bool:
    """True if a step is as free as one before it and no job is due at its begin."""
    if step[LISTED_AT, at] >= 0:
        return False
    for k in range(LEVEL, step.shape[0]):
        if step[k, at] != step[k, before]:
            return False
    return True


@kernel
def merge(b: Any, at: int) -> None:
    """Drop a step if it changes nothing."""
    mark = b.mark
    if at <= mark[FIRST] or at > mark[LAST_STEP] or not changes_nothing(b.step, at, at - 1):
        return
    for k in range(b.step.shape[0]):
        shift_down(b.step[k], at, mark[LAST_STEP])
    mark[LAST_STEP] -= 1


@routine
def tidy(b: Any) -> None:
    """Drop all steps that change nothing."""
    step, mark = b.step, b.mark
    kept = np.uint64(mark[FIRST])
    at, end = kept + ONE, np.uint64(mark[LAST_STEP] + 1)
    while at < end:
        if not changes_nothing(step, at, kept):
            kept += ONE
            for k in range(step.shape[0]):
                step[k, kept] = step[k, at]
        at += ONE
    mark[LAST_STEP] = kept


@kernel
def make_room(b: Any) -> None:
    """See to it that two steps more have a place."""
    if b.mark[LAST_STEP] + 3 >= b.step.shape[1]:
        move_to_front(b)
        tidy(b)


@routine
def book(b: Any, need: Any, begin: int, end: int, job: int) -> None:
    """Take needs out of what is free during [begin, end), for a job that is due then if not -1."""
    make_room(b)
    first = cut(b, begin)
    beyond = cut(b, end)
    for k in range(LEVEL, b.step.shape[0]):
        add_to(b.step[k], first, beyond, -need[k - LEVEL])
    if job >= 0:
        link(b, job, first)
    merge(b, beyond)
    merge(b, first)


@kernel
def link(b: Any, job: int, step: int) -> None:
    """Add a job to those that are due at the begin of a step."""
    other = b.step[LISTED_AT, step]
    b.job[job, BEFORE], b.job[job, AFTER] = -1, other
    if other >= 0:
        b.job[other, BEFORE] = job
    b.step[LISTED_AT, step] = job


@kernel
def unlink(b: Any, job: int, step: int) -> None:
    """Take a job out of them."""
    before, after = b.job[job, BEFORE], b.job[job, AFTER]
    if before >= 0:
        b.job[before, AFTER] = after
    else:
        b.step[LISTED_AT, step] = after
    if after >= 0:
        b.job[after, BEFORE] = before


@kernel
def roomy(step: Any, need: Any, at: int) -> bool:
    """True if needs fit into a step."""
    for k in range(need.shape[0]):
        if step[LEVEL + k, at] < need[k]:
            return False
    return True


@kernel
def find_start(b: Any, need: Any, length: int, before: int, own_from: int) -> int:
    """The earliest start before an instant, the job's own promise left out; NEVER if none.

    ``before`` is at most ``own_from``: from there on the job's own promise keeps the room.
    """
    needs = need[: b.step.shape[0] - LEVEL]
    return seek_start(b.step, b.mark[FIRST], b.mark[LAST_STEP], needs, length, before, own_from)


@routine
def seek_start(
    step: Any, at: int, last: int, need: Any, length: int, before: int, own_from: int
) -> int:
    """The same from a step on."""
    while at <= last and step[TIME, at] < before:
        if not roomy(step, need, at):
            at = first_at_least(step[LEVEL], at + 1, last, need[0])
            continue
        begin = step[TIME, at]
        until = min(begin + length, own_from)
        at += 1
        while at <= last and step[TIME, at] < until and roomy(step, need, at):
            at += 1
        if at > last or step[TIME, at] >= until:
            return begin
    return NEVER


@kernel
def holds_at(b: Any, need: Any, length: int, start: int) -> bool:
    """True if needs fit from a start on for their whole length."""
    needs = need[: b.step.shape[0] - LEVEL]
    step = last_step_before(b, start + 1)
    while step <= b.mark[LAST_STEP] and b.step[TIME, step] < start + length:
        if not roomy(b.step, needs, step):
            return False
        step += 1
    return True
