"""Holes in the availability profile: which waiting jobs may start earlier after an early end.

A job can move earlier in two ways. It slides: enough processors are free right before its promise,
and where it ends may already be its own; then that very step was raised, and the jobs that are due
at the end of a raised step are checked. Or it jumps into a hole, a rectangle of free processors
that is wide and long enough and ends before the promise. The longest hole is kept by width and
time, so that a job for which there is none is known by one comparison. It is an upper bound: where
it is rough, or shows what has been booked since, a job is checked needlessly. Each such check
lowers the bound, which is recomputed once they have cost more than that.
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel import availability as av
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG, NEVER
from shadowtime.kernel.vector import ONE
from shadowtime.types import AnyArray

NOTHING, ALL_PARTS = np.uint64(0), np.uint64(av.PARTS)
SEARCH = 16
"""A needless check costs as much as this many steps, and those that it looks at."""
WORTH = 8
"""The bound is made anew once needless checks have looked at so many times the steps that it takes.
Chosen by run time among 2, 4, 8 and 16 on generated jobs at loads 0.9 and 1.05; no schedule depends
on it."""


@kernel
def bound_is_stale(b: av.Availability) -> bool:
    """True if the bound on holes is unknown, has cost more than a new one would, or is too old."""
    mark = b.mark
    passed = (b.step[av.TIME, mark[av.FIRST]] - mark[av.BASE]) >> mark[av.SCALE]
    return (
        mark[av.KNOWN] == 0 or mark[av.WASTED] > WORTH * mark[av.SOUGHT] or passed >= av.PARTS >> 1
    )


@kernel
def divide_time(b: av.Availability, begin: int, end: int) -> None:
    """Let the parts of time begin at an instant and reach to another."""
    mark = b.mark
    mark[av.BASE] = begin
    while (end - begin) >> mark[av.SCALE] >= av.PARTS:
        mark[av.SCALE] += 1
    while mark[av.SCALE] > 0 and (end - begin) >> (mark[av.SCALE] - 1) < av.PARTS:
        mark[av.SCALE] -= 1


@routine
def find_holes(b: av.Availability) -> None:
    """Note all holes."""
    step, mark = b.step, b.mark
    at = mark[av.FIRST]
    divide_time(b, step[av.TIME, at], max(step[av.TIME, at], mark[av.LAST_BEGIN]))
    b.longest[: mark[av.WIDEST] + 1] = 0
    begins, heights = b.listed[av.BEGINS], b.listed[av.HEIGHT]
    count, sought, part, previous = NOTHING, 0, 0, at
    while True:
        height, begin = step[av.LEVEL, at], step[av.TIME, at]  # -1 at the edge
        now = begin
        while count > NOTHING and heights[count - ONE] > height:
            count -= ONE
            begin = begins[count]
            kind, first = av.class_of(heights[count]), av.part_of(b, begin)
            lasts = np.int32(min(now - begin, BIG))
            b.longest[kind, first] = max(b.longest[kind, first], lasts)
        if at == av.EDGE:
            break
        if height > 0 and (count == NOTHING or heights[count - ONE] < height):
            begins[count], heights[count] = begin, height
            count += ONE
        sought += 1
        part = av.name_near(b, part, now, previous)
        previous = at
        at = step[av.NEXT, at]
    av.name_near(b, part, NEVER, previous)
    spread_holes(b)
    mark[av.LAST_BEGIN] = step[av.TIME, previous]
    mark[av.KNOWN], mark[av.WASTED], mark[av.SOUGHT] = 1, 0, sought
    mark[av.RISES] += 1
    av.give_back(b, sought)


@kernel
def spread_holes(b: av.Availability) -> None:
    """Make every hole known to narrower classes and later times."""
    kind = b.mark[av.WIDEST]
    rise(b.longest[kind], b.longest[kind])
    while kind > 0:
        kind -= 1
        rise(b.longest[kind], b.longest[kind + 1])


@kernel
def rise(row: AnyArray, wider: AnyArray) -> None:
    """Let a row of the longest holes know those of a wider class and of earlier times."""
    part, longest = NOTHING, np.int32(0)
    while part < ALL_PARTS:
        longest = max(longest, row[part], wider[part])
        row[part] = longest
        part += ONE


@kernel
def note_hole(b: av.Availability, begin: int, lasts: int, procs: int) -> None:
    """Remember a hole for all widths that fit in and all times from its begin on."""
    first = av.part_of(b, begin)
    kind = av.class_of(procs)
    lasts = min(lasts, BIG)  # no job is longer
    if b.longest[kind, first] >= lasts:
        return
    b.mark[av.RISES] += 1
    # Narrower classes and later times have holes at least as long: one implies them.
    while kind >= 0 and b.longest[kind, first] < lasts:
        part = first
        while part < av.PARTS and b.longest[kind, part] < lasts:
            b.longest[kind, part] = lasts
            part += 1
        kind -= 1


@kernel
def add_holes(b: av.Availability, at: int, beyond: int, procs: int) -> None:
    """Note the holes that exist since steps were raised by ``procs`` processors."""
    step = b.step
    while at != beyond:
        left = np.uint64(at)  # a signed place may be negative in Numba's eyes
        height = step[av.LEVEL, left]
        before = height - procs  # lower holes were there before
        outer_left, outer = np.uint64(step[av.PREVIOUS, left]), np.uint64(step[av.NEXT, left])
        while height > before:
            while step[av.LEVEL, outer_left] >= height:
                left = outer_left
                outer_left = np.uint64(step[av.PREVIOUS, left])
            while step[av.LEVEL, outer] >= height:
                outer = np.uint64(step[av.NEXT, outer])
            note_hole(b, step[av.TIME, left], step[av.TIME, outer] - step[av.TIME, left], height)
            height = max(step[av.LEVEL, outer_left], step[av.LEVEL, outer])
        at = step[av.NEXT, at]


@kernel
def may_jump(b: av.Availability, kind: int, latest: int, length: int) -> bool:
    """False if no hole that begins up to ``latest`` is wide and long enough.

    That is when a job would have to begin to end before its promise.
    """
    if latest <= b.step[av.TIME, b.mark[av.FIRST]]:
        return False
    return b.longest[kind, av.part_of(b, latest)] >= length


@kernel
def first_hole(b: av.Availability, kind: int, latest: int, length: int) -> int:
    """The step before which no hole begins that a job which may jump could take."""
    low, high = 0, av.part_of(b, latest)
    while low < high:
        middle = (low + high) >> 1
        if b.longest[kind, middle] >= length:
            high = middle
        else:
            low = middle + 1
    return av.near_to(b, low)


@kernel
def lower_bound(
    b: av.Availability, procs: int, kind: int, latest: int, length: int, looked_at: int
) -> None:
    """Learn that no hole which begins up to ``latest`` is so wide and long.

    Where other resources count too, one of them may have been short: then the check has only cost
    time, and the hole may be one for a job that asks for less of it.
    """
    b.mark[av.WASTED] += looked_at + SEARCH
    if b.step.shape[0] > av.LEVEL + 1:
        return
    if procs > (1 << kind) >> 1:
        kind += 1  # there may be holes of this class that are narrower
    whole = av.part_of(b, latest) - 1  # in the part itself a hole may begin later
    while kind <= b.mark[av.WIDEST]:
        part = whole
        while part >= 0 and b.longest[kind, part] >= length:
            b.longest[kind, part] = length - 1
            part -= 1
        kind += 1
