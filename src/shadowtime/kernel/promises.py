"""Promises in the book: when a job is due, how early it can be, and how its promise moves there.

Most promises that move slide by a few steps: what they give up at their end lies close to what they
take at their begin, and the steps between are all that changes place. A step that such a move
leaves without a change stays in the book until the next sweep, which drops them all at once; to the
searches it is the same as the step before it.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.availability import (
    DUE,
    FIRST,
    LAST_STEP,
    LEVEL,
    LISTED_AT,
    SOONEST,
    TIME,
    book,
    changes_nothing,
    last_step_before,
    link,
    roomy,
    seek_start,
    unlink,
)
from shadowtime.kernel.holes import add_holes, ask_behind, first_hole, release
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.vector import add_to, shift_down, shift_up


@kernel
def note_due(b: Any, job: int, start: int) -> None:
    """Remember when a job is due; it has no earlier start now."""
    b.job[job, DUE] = start
    b.ask[job] = 0
    b.mark[SOONEST] = min(b.mark[SOONEST], start)


@kernel
def slide(b: Any, need: Any, own: int) -> int:
    """The step at which a promise that is due at ``own`` can begin if it moves over free steps."""
    needs = need[: b.step.shape[0] - LEVEL]
    while own > b.mark[FIRST] and roomy(b.step, needs, own - 1):
        own -= 1
    return own


@kernel
def jump(b: Any, kind: int, need: Any, length: int, due: int, before: int, unknown: bool) -> int:
    """The earliest start in a hole that ends up to the promise; NEVER if none lies before one.

    ``unknown``: the holes have not been sought.
    """
    needs = need[: b.step.shape[0] - LEVEL]
    at = first_hole(b, kind, due - length, length, unknown)
    until = min(before, due - length + 1)
    return seek_start(b.step, at, b.mark[LAST_STEP], needs, length, until, due)


@kernel
def move(b: Any, job: int, need: Any, length: int, start: int, own: int, holes: bool) -> None:
    """Move the promise of a job, due at the step ``own``, to an earlier start.

    New holes are noted if wanted.
    """
    due = b.job[job, DUE]
    to = own
    unlink(b, job, own)
    note_due(b, job, start)
    if start + length < due:
        book(b, need, start, start + length, job)
        release(b, need, due, due + length, holes)
        return
    while b.step[TIME, to] > start:
        to -= 1
    for k in range(LEVEL, b.step.shape[0]):
        add_to(b.step[k], to, own, -need[k - LEVEL])
    link(b, job, to)
    release_end(b, need, start + length, due + length, own, holes)


@kernel
def release_end(b: Any, need: Any, begin: int, end: int, own: int, holes: bool) -> None:
    """Give back what a promise leaves at its end; it was due at the step ``own`` before."""
    step = b.step
    beyond = last_step_before(b, end + 1)
    if step[TIME, beyond] != end:  # another need began there, as large
        release(b, need, begin, end, holes)
        return
    first = beyond
    while step[TIME, first] > begin:
        first -= 1
    found = step[TIME, first] == begin
    for k in range(LEVEL, step.shape[0]):
        add_to(step[k], first if found else first + 1, beyond, need[k - LEVEL])
    if not found:
        rows, last = step.shape[0], b.mark[LAST_STEP]
        if ends_level(step, need, first, beyond):
            for k in range(rows):
                shift_up(step[k], first + 1, beyond - 1)
            first += 1
            beyond += 1
        elif changes_nothing(step, own, own - 1):
            for k in range(rows):
                shift_down(step[k], own, first)
        else:
            for k in range(rows):
                shift_up(step[k], first + 1, last)
            b.mark[LAST_STEP] = last + 1
            first += 1
            beyond += 1
        step[TIME, first], step[LISTED_AT, first] = begin, -1
        for k in range(LEVEL, rows):
            step[k, first] = step[k, first - 1] + need[k - LEVEL]
    ask_behind(b, first, beyond)
    if holes:
        add_holes(b, first, beyond)


@kernel
def ends_level(step: Any, need: Any, first: int, beyond: int) -> bool:
    """True if a step changes nothing once needs are given back from within ``first`` up to it.

    They were given back behind ``first`` already.
    """
    if step[LISTED_AT, beyond] >= 0:
        return False
    for k in range(LEVEL, step.shape[0]):
        more = need[k - LEVEL] if beyond - 1 == first else 0
        if step[k, beyond] != step[k, beyond - 1] + more:
            return False
    return True
