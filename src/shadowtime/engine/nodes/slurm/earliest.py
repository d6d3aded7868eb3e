"""The earliest start of a job in the book of nodes, by a search that never looks back twice.

Starts between the cuts need not be looked at: going back to the cut before, no node has less. Long
queues need the answer a thousand times.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.slurm.availability import (
    ALONE,
    BEGIN,
    FREE,
    FROM,
    LENGTH,
    NODES,
    PROCS,
    ROOM,
    ROW,
    SEGMENTS,
    TAKE,
    WIDE,
    WISH,
    places_on,
)
from shadowtime.kernel.jit import kernel, routine


@routine
def earliest_start(b: Any, job: int, planned: int, until: int) -> int:
    """Place of the segment at which a job can start first; TAKE holds its processes by node.

    -1 if that is not before ``until``. The first ``planned`` entries of ``found`` are jobs whose
    plans are in the book already, each with its start in FROM.
    """
    when = b.when
    segments = b.par[SEGMENTS]
    start = not_before(b, job, planned)
    while True:
        start = with_cores(b, job, start)
        if start == segments or when[BEGIN, start] >= until:
            return -1
        end = when[BEGIN, start] + b.job[job, LENGTH]
        last = start
        count = look_at(b, job, start)
        check = start + 1  # a gap is mostly near: look after 1, 2, 4, ... segments
        while count >= 0 and last + 1 < segments and when[BEGIN, last + 1] < end:
            last += 1
            narrow_by(b, last, count)
            if last == check:
                count = keep_useful(b, job, count)
                check += check - start
        if count >= 0:
            count = keep_useful(b, job, count)
        if count >= 0:
            take(b, job, count)
            return start
        # A window that begins later ends later: it must not reach back over what was too little.
        start = behind_the_gap(b, job, last)


@kernel
def with_cores(b: Any, job: int, start: int) -> int:
    """Place of the first start from here on whose whole window has enough free cores in all."""
    when = b.when
    procs = b.job[job, PROCS]
    segments = b.par[SEGMENTS]
    at = start
    while start < segments and at < segments:
        if at > start and when[BEGIN, at] >= when[BEGIN, start] + b.job[job, LENGTH]:
            break
        if when[FREE, when[ROW, at]] < procs:
            start = at + 1
        at += 1
    return start


@kernel
def not_before(b: Any, job: int, planned: int) -> int:
    """Place of the first segment that can be a start.

    A job that asks for as much and as long as a job that was planned before it starts no earlier.
    """
    procs = b.job[job, PROCS]
    wish = b.job[job, WISH]
    length = b.job[job, LENGTH]
    time = b.when[BEGIN, 0]
    for i in range(planned):
        other = b.found[i]
        easier = b.job[other, PROCS] <= procs and b.job[other, LENGTH] <= length
        alike = b.job[other, WISH] == wish or ALONE < b.job[other, WISH] < wish
        if easier and alike and b.job[other, FROM] > time:
            time = b.job[other, FROM]
    low = 0
    high = b.par[SEGMENTS]
    while low < high:
        middle = (low + high) >> 1
        if b.when[BEGIN, middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def behind_the_gap(b: Any, job: int, last: int) -> int:
    """Place of the first start from which there is room up to the segment ``last``."""
    first = last
    count = look_at(b, job, last)
    while count >= 0 and first > 0:
        first -= 1
        narrow_by(b, first, count)
        count = keep_useful(b, job, count)
    return first + 1 if count < 0 else 0


# ------------------------------------------------- the window: useful nodes, packed to the front
@kernel
def look_at(b: Any, job: int, at: int) -> int:
    """Begin a window with a segment: how many nodes have places, -1 if they are not enough.

    TAKE holds the nodes, ROOM and WIDE what they have.
    """
    row = b.when[ROW, at]
    count = 0
    for node in range(b.par[NODES]):
        if b.cores[row, node] > 0:
            b.node[TAKE, count] = node
            b.node[ROOM, count] = b.cores[row, node]
            b.node[WIDE, count] = b.width[row, node]
            count += 1
    return keep_useful(b, job, count)


@kernel
def narrow_by(b: Any, at: int, count: int) -> None:
    """Add a segment to the window."""
    row = b.when[ROW, at]
    for k in range(count):
        node = b.node[TAKE, k]
        b.node[ROOM, k] = min(b.node[ROOM, k], b.cores[row, node])
        b.node[WIDE, k] = min(b.node[WIDE, k], b.width[row, node])


@kernel
def keep_useful(b: Any, job: int, count: int) -> int:
    """Drop the nodes without a place for the job: how many are left, -1 if they are not enough."""
    left = b.job[job, PROCS]
    kept = 0
    for k in range(count):
        places = places_on(b, b.node[ROOM, k], b.node[WIDE, k], b.job[job, WISH])
        if places > 0:
            b.node[TAKE, kept] = b.node[TAKE, k]
            b.node[ROOM, kept] = b.node[ROOM, k]
            b.node[WIDE, kept] = b.node[WIDE, k]
            left -= places
            kept += 1
    return kept if left <= 0 else -1


@kernel
def take(b: Any, job: int, count: int) -> None:
    """Fill the nodes of the window in index order; TAKE then holds processes by node."""
    left = b.job[job, PROCS]
    for k in range(count):
        places = places_on(b, b.node[ROOM, k], b.node[WIDE, k], b.job[job, WISH])
        b.node[ROOM, k] = min(left, places)
        left -= b.node[ROOM, k]
    at = b.par[NODES] - 1
    for k in range(count - 1, -1, -1):  # backwards: no node lies in front of its place in the list
        node = b.node[TAKE, k]
        while at > node:
            b.node[TAKE, at] = 0
            at -= 1
        b.node[TAKE, at] = b.node[ROOM, k]
        at -= 1
    while at >= 0:
        b.node[TAKE, at] = 0
        at -= 1
