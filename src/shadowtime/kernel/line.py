"""The line of jobs with promises, in submit order: which of them a sweep must ask.

A job is asked if it is marked, as processors came free right before its promise, or if there may be
a hole for it. Whether there may be one is known for a block of the line and a class of width at
once, from the shortest job and from the latest instant at which one would have to begin.
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel import availability as av
from shadowtime.kernel.holes import may_jump
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG, BLOCK, SHIFT

SLIDE, JUMP = 1, 2
"""In ``ask``: the job may start right before its promise; there may be a hole for it."""
WHY, WIDTH, KIND = 3, 252, 2
"""The bits for both; those for the class of width, 0 in a gap; and where they begin."""


@kernel
def stand_in_line(b: av.Availability, job: int) -> None:
    """Put a job with a promise behind all others."""
    place = b.mark[av.LISTED]
    b.mark[av.LISTED] = place + 1
    put_in(b, job, place, 0)


@kernel
def put_in(b: av.Availability, job: int, place: int, why: int) -> None:
    """Write a job to a place of the line, behind which none is taken, and why it is to be asked."""
    block, kind = place >> SHIFT, av.class_of(b.job[job, av.NEEDS])
    if place & (BLOCK - 1) == 0:
        b.least[block], b.latest[block] = BIG + 1, 0
    b.listed[av.LINE, place], b.job[job, av.PLACE] = job, place
    b.ask[place] = kind << KIND | why
    b.least[block, kind] = min(b.least[block, kind], b.job[job, av.LENGTH_OF])
    note_latest(b, job)


@kernel
def note_latest(b: av.Availability, job: int) -> None:
    """Let the block know a promise that was given later than the place in the line."""
    block, kind = b.job[job, av.PLACE] >> SHIFT, av.class_of(b.job[job, av.NEEDS])
    latest = b.job[job, av.DUE] - b.job[job, av.LENGTH_OF]
    b.latest[block, kind] = max(b.latest[block, kind], latest)


@kernel
def leave_line(b: av.Availability, job: int) -> None:
    """Leave a gap where a job stood."""
    place = b.job[job, av.PLACE]
    b.listed[av.LINE, place], b.ask[place] = -1, 0
    b.mark[av.GAPS] += 1


@routine
def close_gaps(b: av.Availability) -> None:
    """Move up."""
    kept = 0
    for place in range(b.mark[av.LISTED]):
        job = b.listed[av.LINE, place]
        if job >= 0:
            put_in(b, job, kept, b.ask[place] & WHY)
            kept += 1
    b.mark[av.LISTED], b.mark[av.GAPS] = kept, 0


@kernel
def ask_at(b: av.Availability, step: int) -> None:
    """Mark the jobs that are due at a step: what lies before it was raised."""
    job = b.step[av.LISTED_AT, step]
    while job >= 0:
        b.ask[b.job[job, av.PLACE]] |= SLIDE
        job = b.job[job, av.AFTER]


@kernel
def next_asked(b: av.Availability, place: int, beyond: int) -> int:
    """The first place from one on whose job is to be asked, ``beyond`` if there is none before."""
    while place < beyond and b.ask[np.uint64(place)] & WHY == 0:
        place += 1
    return place


@routine
def mark_jumps(b: av.Availability, place: int) -> None:
    """Mark the jobs from a place up to the end of its block for which there may be a hole."""
    block = place >> SHIFT
    now = b.step[av.TIME, b.mark[av.FIRST]]
    for kind in range(1, b.mark[av.WIDEST] + 1):
        latest, least = b.latest[block, kind], b.least[block, kind]
        if latest > now and may_jump(b, kind, latest, least):
            mark_class(b, block, kind, place)


@routine
def mark_class(b: av.Availability, block: int, kind: int, place: int) -> None:
    """The same for one class of width, job by job; what is known of the class is made exact."""
    least, latest = BIG + 1, 0
    for at in range(block << SHIFT, min((block + 1) << SHIFT, b.mark[av.LISTED])):
        if b.ask[at] & WIDTH != kind << KIND:
            continue
        job = b.listed[av.LINE, at]
        length = b.job[job, av.LENGTH_OF]
        begin = b.job[job, av.DUE] - length
        least, latest = min(least, length), max(latest, begin)
        if at >= place and may_jump(b, kind, begin, length):
            b.ask[at] |= JUMP
    b.least[block, kind], b.latest[block, kind] = least, latest
