"""Promises in the availability profile: when a job is due, how early it can be, and how its promise
moves there.

Most promises that move slide by a few steps: what they give up at their end lies close to what they
take at their begin.
"""

from __future__ import annotations

from shadowtime.kernel import availability as av
from shadowtime.kernel.holes import add_holes, first_hole, lower_bound
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.line import ask_at
from shadowtime.types import Ints


@kernel
def promise(b: av.Availability, job: int, need: Ints, at: int) -> None:
    """Let a job be due at the begin of a step."""
    due = b.step[av.TIME, at]
    b.job[job, av.DUE] = due
    b.mark[av.SOONEST] = min(b.mark[av.SOONEST], due)
    av.link(b, job, at)
    av.book(b, need, at, due + b.job[job, av.LENGTH_OF], job)


@kernel
def slide(b: av.Availability, job: int, need: Ints) -> int:
    """The step at which a promise can begin if it moves over free steps."""
    at = b.job[job, av.BEGINS_AT]
    before = b.step[av.PREVIOUS, at]
    while av.roomy(b.step, need, before):
        at = before
        before = b.step[av.PREVIOUS, at]
    return at


@kernel
def jump(b: av.Availability, job: int, need: Ints, before: int) -> int:
    """The step of the earliest start in a hole that ends up to the promise; EDGE if none.

    It begins before a step to which the promise can slide.
    """
    due, length, kind = b.job[job, av.DUE], b.job[job, av.LENGTH_OF], av.class_of(need[0])
    latest = due - length
    known = b.mark[av.KNOWN] != 0
    at = first_hole(b, kind, latest, length) if known else b.mark[av.FIRST]
    until = min(b.step[av.TIME, before], latest + 1)
    found, looked_at = av.seek_start(b.step, at, need, length, until, due)
    if known and found == av.EDGE and b.step[av.TIME, before] == due:
        lower_bound(b, need[0], kind, latest, length, looked_at)
    return found


@kernel
def move(b: av.Availability, job: int, need: Ints, to: int) -> None:
    """Move the promise of a job to the begin of an earlier step."""
    own, end = b.job[job, av.BEGINS_AT], b.job[job, av.ENDS_AT]
    due, start = b.step[av.TIME, own], b.step[av.TIME, to]
    av.unlink(b, job)
    if start + b.job[job, av.LENGTH_OF] < due:
        promise(b, job, need, to)
        release(b, need, own, end)
        av.drop_if_idle(b, own)
        return
    b.job[job, av.DUE] = start
    b.mark[av.SOONEST] = min(b.mark[av.SOONEST], start)
    av.link(b, job, to)
    while to != own:
        av.add(b.step, to, need, -1)
        to = b.step[av.NEXT, to]
    end_earlier(b, job, need, end, start + b.job[job, av.LENGTH_OF])
    av.drop_if_idle(b, own)


@kernel
def end_earlier(b: av.Availability, job: int, need: Ints, end: int, when: int) -> None:
    """Let a promise end at an earlier instant, no earlier than its begin before it moved."""
    step = b.step
    before = step[av.PREVIOUS, end]
    if step[av.TIME, before] < when and step[av.ENDS, end] == 1 and step[av.LISTED_AT, end] < 0:
        step[av.TIME, end] = when  # the step is the job's own, and none lies between
        if b.mark[av.KNOWN] != 0:
            add_holes(b, end, step[av.NEXT, end], need[0])
        return
    ask_at(b, end)
    step[av.ENDS, end] -= 1
    while step[av.TIME, before] > when:
        av.add(step, before, need, 1)
        ask_at(b, before)
        before = step[av.PREVIOUS, before]
    at = before if step[av.TIME, before] == when else av.insert(b, before, when)
    av.add(step, at, need, 1)
    step[av.ENDS, at] += 1
    b.job[job, av.ENDS_AT] = at
    if b.mark[av.KNOWN] != 0:
        add_holes(b, at, end, need[0])
    av.drop_if_idle(b, end)


@routine
def release(b: av.Availability, need: Ints, at: int, end: int) -> None:
    """Give needs back from a step up to another, at which their job was to end."""
    first = at
    while at != end:
        av.add(b.step, at, need, 1)
        at = b.step[av.NEXT, at]
        ask_at(b, at)
    if b.mark[av.KNOWN] != 0:
        add_holes(b, first, end, need[0])
    b.step[av.ENDS, end] -= 1
    av.drop_if_idle(b, end)
