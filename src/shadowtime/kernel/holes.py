"""Holes in the availability profile: which waiting jobs may start earlier after an early end.

A job can move earlier in two ways. It slides: enough processors are free right before its promise,
and where it ends may already be its own; then that very step was raised, and the jobs that are due
at the end of a raised step are checked. Or it jumps into a hole, a rectangle of free processors
that is wide and long enough and ends before the promise. The longest hole is kept by width and
time, so that a job for which there is none is known by one comparison. It is an upper bound: where
it is rough, or shows what has been booked since, a job is checked needlessly, and after some such
checks it is recomputed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.availability import (
    AFTER,
    ASK,
    BEGINS,
    FIRST,
    HEIGHT,
    LAST_STEP,
    LEVEL,
    LISTED_AT,
    PARTS,
    SCALE,
    TIME,
    WIDEST,
    class_of,
    cut,
    last_step_before,
    make_room,
    merge,
)
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG, NEVER
from shadowtime.kernel.vector import ONE, add_to

NOTHING, ALL_PARTS = np.uint64(0), np.uint64(PARTS)
IN_VAIN = 64
"""The bound is recomputed after this many needless checks."""


@routine
def release(b: Any, need: Any, begin: int, end: int, holes: bool) -> None:
    """Give needs back during [begin, end), and note the jobs to check; new holes if wanted."""
    make_room(b)
    first = cut(b, begin)
    beyond = cut(b, end)
    for k in range(LEVEL, b.step.shape[0]):
        add_to(b.step[k], first, beyond, need[k - LEVEL])
    ask_behind(b, first, beyond)
    if holes:
        add_holes(b, first, beyond)
    merge(b, beyond)
    merge(b, first)


@kernel
def ask_behind(b: Any, first: int, beyond: int) -> None:
    """Mark the jobs that are due in or right behind steps that were raised."""
    for step in range(first + 1, min(beyond, b.mark[LAST_STEP]) + 1):
        job = b.step[LISTED_AT, step]
        while job >= 0:
            b.ask[job] = ASK
            job = b.job[job, AFTER]


@routine
def find_holes(b: Any) -> None:
    """Note all holes."""
    mark = b.mark
    first, last = mark[FIRST], mark[LAST_STEP]
    spread = b.step[TIME, last] - b.step[TIME, first]
    while spread >> mark[SCALE] >= PARTS:
        mark[SCALE] += 1
    while mark[SCALE] > 0 and spread >> (mark[SCALE] - 1) < PARTS:
        mark[SCALE] -= 1
    b.longest[: mark[WIDEST] + 1] = 0
    times, levels = b.step[TIME], b.step[LEVEL]
    begins, heights = b.listed[BEGINS], b.listed[HEIGHT]
    count = NOTHING
    step, end = np.uint64(first), np.uint64(last + 1)
    while step <= end:
        height = levels[step] if step < end else 0
        now = times[step] if step < end else NEVER
        begin = now
        while count > NOTHING and heights[count - ONE] > height:
            count -= ONE
            begin = begins[count]
            put_hole(b, begin, now - begin, heights[count])
        if height > 0 and (count == NOTHING or heights[count - ONE] < height):
            begins[count], heights[count] = begin, height
            count += ONE
        step += ONE
    spread_holes(b)


@kernel
def part_of(b: Any, when: int) -> int:
    """The part of time that an instant lies in; the last one holds all that follow."""
    return min((when - b.step[TIME, b.mark[FIRST]]) >> b.mark[SCALE], PARTS - 1)


@kernel
def put_hole(b: Any, begin: int, lasts: int, procs: int) -> None:
    """Remember a hole for its own width and begin; ``spread_holes`` follows."""
    kind, part = class_of(procs), part_of(b, begin)
    b.longest[kind, part] = max(b.longest[kind, part], np.int32(min(lasts, BIG)))


@kernel
def spread_holes(b: Any) -> None:
    """Make every hole known to narrower classes and later times."""
    kind = b.mark[WIDEST]
    rise(b.longest[kind], b.longest[kind])
    while kind > 0:
        kind -= 1
        rise(b.longest[kind], b.longest[kind + 1])


@kernel
def rise(row: Any, wider: Any) -> None:
    """Let a row of the longest holes know those of a wider class and of earlier times."""
    part, longest = NOTHING, np.int32(0)
    while part < ALL_PARTS:
        longest = max(longest, row[part], wider[part])
        row[part] = longest
        part += ONE


@kernel
def note_hole(b: Any, begin: int, lasts: int, procs: int) -> None:
    """Remember a hole for all widths that fit in and all times from its begin on."""
    first = part_of(b, begin)
    kind = class_of(procs)
    lasts = min(lasts, BIG)  # no job is longer
    # Narrower classes and later times have holes at least as long: one implies them.
    while kind >= 0 and b.longest[kind, first] < lasts:
        part = first
        while part < PARTS and b.longest[kind, part] < lasts:
            b.longest[kind, part] = lasts
            part += 1
        kind -= 1


@kernel
def add_holes(b: Any, first: int, beyond: int) -> None:
    """Note the holes that steps which were just raised are part of."""
    times, levels = b.step[TIME], b.step[LEVEL]
    start, last = np.uint64(b.mark[FIRST]), np.uint64(b.mark[LAST_STEP])
    step, end = np.uint64(first), np.uint64(beyond)
    while step < end:
        left = right = step
        height = levels[step]
        while height > 0:
            while left > start and levels[left - ONE] >= height:
                left -= ONE
            while right < last and levels[right + ONE] >= height:
                right += ONE
            until = times[right + ONE] if right < last else NEVER
            note_hole(b, times[left], until - times[left], height)
            height = 0
            if left > start:
                height = levels[left - ONE]
            if right < last:
                height = max(height, levels[right + ONE])
        step += ONE


@kernel
def may_jump(b: Any, kind: int, latest: int, length: int, unknown: bool) -> bool:
    """False if no hole that begins up to ``latest`` is wide and long enough.

    That is when a job would have to begin to end before its promise. ``unknown``: the holes have
    not been sought.
    """
    if latest <= b.step[TIME, b.mark[FIRST]]:
        return False
    return unknown or b.longest[kind, part_of(b, latest)] >= length


@kernel
def first_hole(b: Any, kind: int, latest: int, length: int, unknown: bool) -> int:
    """The step before which no hole begins that a job which may jump could take."""
    if unknown:
        return b.mark[FIRST]
    low, high = 0, part_of(b, latest)
    while low < high:
        middle = (low + high) >> 1
        if b.longest[kind, middle] >= length:
            high = middle
        else:
            low = middle + 1
    return last_step_before(b, b.step[TIME, b.mark[FIRST]] + (low << b.mark[SCALE]) + 1)
