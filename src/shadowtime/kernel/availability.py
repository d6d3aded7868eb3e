"""The availability profile: what will be free on the pool from now on, kept between passes.

A step function like the profile's, but it lives as long as the run. Its steps are a linked list in
order of time, closed by an edge on which nothing is free, and a job with a promise knows the steps
at which it begins and ends: most promises that move earlier move by one step, which then needs no
search and shifts nothing. A step at which no job begins or ends any more leaves the list at once.
Its place is held until ``near`` has been renewed, which may still name it.

A step knows the jobs that are due at its begin. So the jobs to check again when processors come
free are known at once: a job that had no earlier start can have one now only if it is due in or
right behind the steps that were raised, or if they are part of a hole that is wide and long enough
for it (holes.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG, NEVER, SHIFT
from shadowtime.types import AnyArray, Ints

(FIRST, COMPRESS, SOONEST, ASK_ALL, USED, SPARE, HELD, HELD_LAST, HOLDS, STEPS) = range(10)
"""Places in ``mark``: the first step in force; compress promises?; no promise falls due before; up
to this many waiting jobs are all asked; places of ``step`` ever used; the first that may be used
again; the first and the last of those that are held, and how many they are; the steps in the list
when ``near`` was renewed."""
HOLDS_FEW = 16
"""Up to this many places may always be held."""
(LISTED, GAPS, SCALE, WIDEST, BASE, LAST_BEGIN, KNOWN, RISES, WASTED, SOUGHT) = range(10, 20)
"""Places in ``line``; those whose job has started; seconds in a part of time, as a power of two;
the class of the whole pool's width; when the first part begins; when the last step began; is
``longest`` valid?; how often it has risen; steps examined without a result since it was made, and
steps examined to make it."""
MARKS = 20
FEW = 128
"""Up to this many jobs are asked more quickly than holes are found (measured on the archive's
logs).
"""
PARTS, CLASSES = 64, 34
"""Parts of time and classes of width in ``longest``."""

EDGE = 0
"""The place in ``step`` that closes the list at both ends."""
TIME, NEXT, PREVIOUS, LISTED_AT, ENDS, LEVEL = 0, 1, 2, 3, 4, 5
"""Rows of ``step``: when a step begins; the steps beside it; a job that is due then, -1 if none
is; how many jobs end then, -1 in a place that is held; and from here on what is free of each
resource."""
DUE, AFTER, BEFORE, BEGINS_AT, ENDS_AT, PLACE, LENGTH_OF, NEEDS = 0, 1, 2, 3, 4, 5, 6, 7
"""Columns of ``job``: when it is due; the next job that is due at the same time and the one before,
-1 if none is; the steps at which it begins and ends; its place in ``line``; its length; and from
here on what it needs of each resource."""
LINE_OF_CACHE = 64
"""Bytes: a row of a job on a pool of processors alone, if rows begin where such lines do."""
LINE, STARTS, BEGINS, HEIGHT = 0, 1, 2, 3
"""Rows of ``listed``: the jobs with promises in submit order, -1 for one that has started; the jobs
that start in a pass; the holes that have begun while all are sought, each higher than the one
before."""


class Availability(NamedTuple):
    """The step function, and what is known of each waiting job.

    Few arrays: a call that is not inlined passes each of them field by field.
    """

    step: Ints  # int64[5 + K, cap]
    job: Ints  # int64[n, 7 + K]
    ask: AnyArray  # uint8[n]: by place in the line, the class of width and why to ask (line.py)
    listed: Ints  # int64[4, n]
    least: Ints  # int64[blocks of the line, CLASSES]: no job of that width is shorter
    latest: Ints  # int64[blocks, CLASSES]: none would have to begin later to end before its promise
    longest: AnyArray  # int32[CLASSES, PARTS]: the longest hole so wide that begins up to then
    near: Ints  # int64[PARTS]: a step that begins no later than the part of time
    mark: Ints  # int64[MARKS]

    @property
    def due(self) -> Any:
        """When each waiting job is due, NEVER if it has no promise."""
        return self.job[:, DUE]


def make_availability(
    *, n: int, capacity: Ints, compress: bool, ask_all: int = FEW
) -> Availability:
    """A profile for a run of ``n`` jobs: nothing is promised yet."""
    # Each job begins at one step and ends at another. A sweep takes one more place for each job at
    # most, and those that are held before it are half as many as the steps.
    room, blocks = 4 * n + 64, (n >> SHIFT) + 1
    availability = Availability(
        step=np.zeros((LEVEL + capacity.shape[1], room), np.int64),
        job=in_lines(n + 1, NEEDS + capacity.shape[1]),
        ask=np.zeros(n + 1, np.uint8),
        listed=np.zeros((4, n + 1), np.int64),
        least=np.full((blocks, CLASSES), BIG + 1, np.int64),
        latest=np.zeros((blocks, CLASSES), np.int64),
        longest=np.zeros((CLASSES, PARTS), np.int32),
        near=np.zeros(PARTS, np.int64),
        mark=np.zeros(MARKS, np.int64),
    )
    availability.job[:, DUE] = NEVER
    availability.mark[WIDEST] = class_of(int(capacity[0, 0]))
    availability.mark[COMPRESS] = compress
    availability.mark[ASK_ALL] = ask_all
    empty(availability, 0)
    availability.step[LEVEL:, availability.mark[FIRST]] = capacity[0]
    return availability


def in_lines(rows: int, columns: int) -> Any:
    """A table of zeros that begins where a line of the cache does.

    Examples
    --------
    >>> in_lines(3, 8).shape, in_lines(3, 8).ctypes.data % LINE_OF_CACHE
    ((3, 8), 0)
    """
    room = np.zeros(rows * columns + LINE_OF_CACHE // 8, np.int64)
    first = -room.ctypes.data % LINE_OF_CACHE // 8
    return room[first : first + rows * columns].reshape(rows, columns)


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
def empty(b: Availability, now: int) -> None:
    """Leave one step that begins now; the caller fills in what is free."""
    mark, first = b.mark, EDGE + 1
    mark[FIRST], mark[USED], mark[SPARE] = first, first + 1, EDGE
    mark[HELD], mark[HOLDS], mark[STEPS] = EDGE, 0, 1
    mark[LISTED] = mark[GAPS] = mark[KNOWN] = 0
    mark[SOONEST] = NEVER
    for at in (EDGE, first):
        b.step[NEXT, at] = b.step[PREVIOUS, at] = EDGE + first - at
        b.step[LISTED_AT, at], b.step[ENDS, at] = -1, 0
    b.step[TIME, EDGE], b.step[TIME, first] = NEVER, now
    for k in range(LEVEL, b.step.shape[0]):
        b.step[k, EDGE] = -1


@kernel
def forget_past(b: Availability, now: int) -> None:
    """Let the function begin now."""
    step, mark = b.step, b.mark
    first = mark[FIRST]
    while step[TIME, step[NEXT, first]] <= now:
        after = step[NEXT, first]
        hold(b, first)
        first = after
    mark[FIRST] = first
    step[TIME, first], step[PREVIOUS, first], step[NEXT, EDGE] = now, EDGE, first


@kernel
def part_of(b: Availability, when: int) -> int:
    """The part of time that an instant lies in; the last one holds all that follow."""
    return min((when - b.mark[BASE]) >> b.mark[SCALE], PARTS - 1)


@kernel
def drop_if_idle(b: Availability, at: int) -> None:
    """Take a step out of the list if nothing happens at its begin; the first one stays."""
    step = b.step
    if step[ENDS, at] == 0 and step[LISTED_AT, at] < 0 and at != b.mark[FIRST]:
        before, after = step[PREVIOUS, at], step[NEXT, at]
        step[NEXT, before], step[PREVIOUS, after] = after, before
        hold(b, at)


@kernel
def hold(b: Availability, at: int) -> None:
    """Keep the place of a step that has left the list; it still knows when and behind which."""
    step, mark = b.step, b.mark
    if mark[HELD] == EDGE:
        mark[HELD_LAST] = at
    step[NEXT, at], step[ENDS, at] = mark[HELD], -1
    mark[HELD] = at
    mark[HOLDS] += 1


@kernel
def give_back(b: Availability, steps: int) -> None:
    """Let all places that are held be used again: ``near`` has been renewed from so many steps."""
    step, mark = b.step, b.mark
    if mark[HELD] != EDGE:
        step[NEXT, mark[HELD_LAST]] = mark[SPARE]
        mark[SPARE] = mark[HELD]
    mark[HELD], mark[HOLDS], mark[STEPS] = EDGE, 0, steps


@routine
def renew_near(b: Availability) -> None:
    """Note steps near the parts of time."""
    step = b.step
    before = at = b.mark[FIRST]
    part = steps = 0
    while at != EDGE:
        part = name_near(b, part, step[TIME, at], before)
        before = at
        at = step[NEXT, at]
        steps += 1
    name_near(b, part, NEVER, before)
    give_back(b, steps)


@kernel
def name_near(b: Availability, part: int, when: int, before: int) -> int:
    """Note a step for the parts of time that begin up to an instant; returns the next part.

    It comes before that instant: a step that begins then is not near, as one may be made before it.
    """
    beyond = part_of(b, when) + 1
    while part < beyond:
        b.near[part] = before
        part += 1
    return part


@kernel
def near_to(b: Availability, part: int) -> int:
    """A step in the list that begins no later than a part of time."""
    step, first = b.step, b.mark[FIRST]
    at = b.near[part]
    while step[TIME, at] >= step[TIME, first]:
        if step[ENDS, at] >= 0:
            return at
        at = step[PREVIOUS, at]
    return first


@kernel
def insert(b: Availability, before: int, when: int) -> int:
    """A new step behind another one, as free as that."""
    step, mark = b.step, b.mark
    at = mark[SPARE]
    if at != EDGE:
        mark[SPARE] = step[NEXT, at]
    else:
        at = mark[USED]
        mark[USED] = at + 1
    after = step[NEXT, before]
    step[TIME, at], step[NEXT, at], step[PREVIOUS, at] = when, after, before
    step[LISTED_AT, at], step[ENDS, at] = -1, 0
    step[NEXT, before] = step[PREVIOUS, after] = at
    for k in range(LEVEL, step.shape[0]):
        step[k, at] = step[k, before]
    return at


@kernel
def add(step: Ints, at: int, need: Ints, sign: int) -> None:
    """Add needs to what is free in a step, or take them out of it."""
    for k in range(LEVEL, step.shape[0]):
        step[k, at] += sign * need[k - LEVEL]


@routine
def book(b: Availability, need: Ints, at: int, end: int, job: int) -> None:
    """Take the needs of a job out of what is free from a step up to an instant."""
    step = b.step
    before = at
    while step[TIME, at] < end:
        add(step, at, need, -1)
        before = at
        at = step[NEXT, at]
    if step[TIME, at] != end:
        at = insert(b, before, end)
        add(step, at, need, 1)
    step[ENDS, at] += 1
    b.job[job, ENDS_AT] = at


@kernel
def link(b: Availability, job: int, at: int) -> None:
    """Add a job to those that are due at the begin of a step."""
    other = b.step[LISTED_AT, at]
    b.job[job, BEFORE], b.job[job, AFTER] = -1, other
    if other >= 0:
        b.job[other, BEFORE] = job
    b.step[LISTED_AT, at] = job
    b.job[job, BEGINS_AT] = at


@kernel
def unlink(b: Availability, job: int) -> None:
    """Take a job out of them."""
    before, after, at = b.job[job, BEFORE], b.job[job, AFTER], b.job[job, BEGINS_AT]
    if before >= 0:
        b.job[before, AFTER] = after
    else:
        b.step[LISTED_AT, at] = after
    if after >= 0:
        b.job[after, BEFORE] = before


@kernel
def roomy(step: Ints, need: Ints, at: Any) -> bool:
    """True if needs fit into a step."""
    if step[LEVEL, at] < need[0]:
        return False
    for k in range(LEVEL + 1, step.shape[0]):
        if step[k, at] < need[k - LEVEL]:
            return False
    return True


@routine
def seek_start(step: Ints, at: int, need: Ints, length: int, before: int, own_from: int) -> Any:
    """The step of the earliest start before an instant, from a step on; EDGE if there is none.

    ``before`` is at most ``own_from``: from there on the job's own promise keeps the room. Also
    how many steps were looked at.
    """
    count = 0
    here = np.uint64(at)  # a signed place may be negative in Numba's eyes
    while step[TIME, here] < before:
        count += 1
        if not roomy(step, need, here):
            here = np.uint64(step[NEXT, here])
            continue
        begin = here
        until = min(step[TIME, here] + length, own_from)
        here = np.uint64(step[NEXT, here])
        while step[TIME, here] < until and roomy(step, need, here):
            here = np.uint64(step[NEXT, here])
            count += 1
        if step[TIME, here] >= until:
            return np.int64(begin), count
    return EDGE, count


@kernel
def find_start(b: Availability, need: Ints, length: int) -> int:
    """The step of the earliest start of a job without a promise."""
    at, _ = seek_start(b.step, b.mark[FIRST], need, length, NEVER, NEVER)
    return at


@kernel
def step_before(b: Availability, when: int) -> int:
    """The last step that begins up to an instant, while promises are only added.

    The steps near the parts of time come closer to them with every search.
    """
    part = part_of(b, when)
    begin = b.mark[BASE] + (part << b.mark[SCALE])
    at = b.near[part]
    while b.step[TIME, b.step[NEXT, at]] <= begin:
        at = b.step[NEXT, at]
    b.near[part] = at
    while b.step[TIME, b.step[NEXT, at]] <= when:
        at = b.step[NEXT, at]
    return at


@kernel
def holds_from(b: Availability, need: Ints, at: int, until: int) -> bool:
    """True if needs fit from a step on up to an instant."""
    while b.step[TIME, at] < until:
        if not roomy(b.step, need, at):
            return False
        at = b.step[NEXT, at]
    return True
