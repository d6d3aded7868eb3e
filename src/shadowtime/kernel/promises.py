"""Promises in the availability profile: when a job is due, how early it can be, and how its promise
moves there.

Most promises that move slide by a few steps: what they give up at their end lies close to what they
take at their begin.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.availability import (
    BEGINS_AT,
    DUE,
    EDGE,
    ENDS,
    ENDS_AT,
    FIRST,
    KNOWN,
    LENGTH_OF,
    LISTED_AT,
    NEXT,
    PREVIOUS,
    SOONEST,
    TIME,
    add,
    book,
    class_of,
    drop_if_idle,
    insert,
    link,
    roomy,
    seek_start,
    unlink,
)
from shadowtime.kernel.holes import add_holes, first_hole, lower_bound
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.line import ask_at


@kernel
def promise(b: Any, job: int, need: Any, at: int) -> None:
    """Let a job be due at the begin of a step."""
    due = b.step[TIME, at]
    b.job[job, DUE] = due
    b.mark[SOONEST] = min(b.mark[SOONEST], due)
    link(b, job, at)
    book(b, need, at, due + b.job[job, LENGTH_OF], job)


@kernel
def slide(b: Any, job: int, need: Any) -> int:
    """The step at which a promise can begin if it moves over free steps."""
    at = b.job[job, BEGINS_AT]
    before = b.step[PREVIOUS, at]
    while roomy(b.step, need, before):
        at = before
        before = b.step[PREVIOUS, at]
    return at


@kernel
def jump(b: Any, job: int, need: Any, before: int) -> int:
    """The step of the earliest start in a hole that ends up to the promise; EDGE if none.

    It begins before a step to which the promise can slide.
    """
    due, length, kind = b.job[job, DUE], b.job[job, LENGTH_OF], class_of(need[0])
    latest = due - length
    known = b.mark[KNOWN] != 0
    at = first_hole(b, kind, latest, length) if known else b.mark[FIRST]
    until = min(b.step[TIME, before], latest + 1)
    found, looked_at = seek_start(b.step, at, need, length, until, due)
    if known and found == EDGE and b.step[TIME, before] == due:
        lower_bound(b, need[0], kind, latest, length, looked_at)
    return found


@kernel
def move(b: Any, job: int, need: Any, to: int) -> None:
    """Move the promise of a job to the begin of an earlier step."""
    own, end = b.job[job, BEGINS_AT], b.job[job, ENDS_AT]
    due, start = b.step[TIME, own], b.step[TIME, to]
    unlink(b, job)
    if start + b.job[job, LENGTH_OF] < due:
        promise(b, job, need, to)
        release(b, need, own, end)
        drop_if_idle(b, own)
        return
    b.job[job, DUE] = start
    b.mark[SOONEST] = min(b.mark[SOONEST], start)
    link(b, job, to)
    while to != own:
        add(b.step, to, need, -1)
        to = b.step[NEXT, to]
    end_earlier(b, job, need, end, start + b.job[job, LENGTH_OF])
    drop_if_idle(b, own)


@kernel
def end_earlier(b: Any, job: int, need: Any, end: int, when: int) -> None:
    """Let a promise end at an earlier instant, no earlier than its begin before it moved."""
    step = b.step
    before = step[PREVIOUS, end]
    if step[TIME, before] < when and step[ENDS, end] == 1 and step[LISTED_AT, end] < 0:
        step[TIME, end] = when  # the step is the job's own, and none lies between
        if b.mark[KNOWN] != 0:
            add_holes(b, end, step[NEXT, end], need[0])
        return
    ask_at(b, end)
    step[ENDS, end] -= 1
    while step[TIME, before] > when:
        add(step, before, need, 1)
        ask_at(b, before)
        before = step[PREVIOUS, before]
    at = before if step[TIME, before] == when else insert(b, before, when)
    add(step, at, need, 1)
    step[ENDS, at] += 1
    b.job[job, ENDS_AT] = at
    if b.mark[KNOWN] != 0:
        add_holes(b, at, end, need[0])
    drop_if_idle(b, end)


@routine
def release(b: Any, need: Any, at: int, end: int) -> None:
    """Give needs back from a step up to another, at which their job was to end."""
    first = at
    while at != end:
        add(b.step, at, need, 1)
        at = b.step[NEXT, at]
        ask_at(b, at)
    if b.mark[KNOWN] != 0:
        add_holes(b, first, end, need[0])
    b.step[ENDS, end] -= 1
    drop_if_idle(b, end)
