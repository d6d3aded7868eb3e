"""The earliest start of a job in the book of nodes, by a search that never looks back twice.

Starts between the cuts need not be looked at: going back to the cut before, no node has less. Long
queues need the answer a thousand times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.engine.nodes.slurm.writing import clear_list, list_node
from shadowtime.kernel.jit import kernel, routine

ZERO: Any = np.int64(0)
ONE = np.uint64(1)
"""Unsigned counters make vector code of the loops over nodes (kernel/vector.py)."""
P_PROCS, P_LENGTH, P_WISH, P_START = 0, 1, 2, 3
"""Rows of the plans that are remembered."""


@routine
def earliest_start(b: av.Availability, job: int, since: int, until: int) -> int:
    """Place of the segment at which a job can start first; its nodes are listed.

    It is known not to start before ``since``. -1 if it does not before ``until`` either; it does
    not before ``soonest`` then.
    """
    when = b.when
    segments = b.par["segments"][0]
    kind = b.job["kind"][job]
    procs = b.job["procs"][job]
    exact = b.kinds[kind] == b.job["wish"][job]
    length = b.job["length"][job]
    start = with_places(b, kind, procs, length, av.place_of(b, since))
    b.par["soonest"][0] = when["begin"][start]
    if when["begin"][start] >= until:
        return -1
    start = max(start, not_before(b, job))
    while True:
        start = with_places(b, kind, procs, length, start)
        b.par["soonest"][0] = when["begin"][start]
        if when["begin"][start] >= until:
            return -1
        end = when["begin"][start] + length
        begin_window(b, kind, when["row"][start])
        last = start
        check = start + 1  # a gap is mostly near: count after 1, 2, 4, ... segments
        enough = True
        while enough and last + 1 < segments and when["begin"][last + 1] < end:
            last += 1
            row = when["row"][last]
            if last == check or last + 1 == segments or when["begin"][last + 1] >= end:
                enough = narrow_and_count(b, kind, row) >= procs
                check += check - start if last == check else 0
            else:
                narrow(b, kind, row)
        if not enough:
            # A window that begins later ends later: it must not reach back over what was too
            # little.
            start = behind_the_gap(b, kind, procs, last)
        elif exact or has_exactly(b, job, start, last):
            take(b, job, when["row"][start])
            return start
        else:
            start = exactly_behind(b, job, last)


@kernel
def with_places(b: av.Availability, kind: int, procs: int, length: int, start: int) -> int:
    """Place of the first start from here on whose whole window has places enough in all."""
    when = b.when
    segments = b.par["segments"][0]
    at = start
    while start < segments and at < segments:
        if at > start and when["begin"][at] >= when["begin"][start] + length:
            break
        if b.total[kind, at] < procs:
            start = at + 1
        at += 1
    return start


@kernel
def not_before(b: av.Availability, job: int) -> int:
    """Place of the first segment that can be a start; ``behind`` is when it begins.

    A job that asks for as much and as long as a job that was planned before it starts no earlier.
    """
    procs = b.job["procs"][job]
    wish = b.job["wish"][job]
    length = b.job["length"][job]
    plans = b.plans
    least = min(0, wish)  # a job on nodes of its own is comparable to others like it
    first = b.when["begin"][0]
    time = first
    at = np.uint64(0)
    end = np.uint64(b.par["plans"][0])
    while at < end:
        start = plans[P_START, at]
        easier = (plans[P_PROCS, at] <= procs) & (plans[P_LENGTH, at] <= length)
        easier &= (plans[P_WISH, at] <= wish) & (plans[P_WISH, at] >= least)
        time = max(time, start if easier else first)
        at += ONE
    b.par["behind"][0] = time
    return av.place_of(b, time)


@kernel
def remember_plan(b: av.Availability, job: int, start: int) -> None:
    """Let later searches know when a job was planned, if they could not know as much before."""
    if start > b.par["behind"][0]:
        at = b.par["plans"][0]
        b.plans[P_PROCS, at] = b.job["procs"][job]
        b.plans[P_LENGTH, at] = b.job["length"][job]
        b.plans[P_WISH, at] = b.job["wish"][job]
        b.plans[P_START, at] = start
        b.par["plans"][0] = at + 1


# ----------------------------------------------- jobs of equal request: one of them is looked for
@kernel
def earliest_known(b: av.Availability, i: int) -> int:
    """The job at a place of the queue does not start before this: one like it did not either.

    That one asks for as much, for as long, and is of the same kind; the book only fills up. In a
    kind of several demands only the least demanding jobs are remembered, and no other starts
    before they do.
    """
    request = b.same[i] >> av.KIND_BITS
    kind = b.same[i] & (av.MOST_KINDS - 1)
    if b.alike["book"][request, kind] != b.par["serial"][0]:
        return b.when["begin"][0]
    return b.alike["earliest"][request, kind]


@kernel
def remember_earliest(b: av.Availability, job: int, start: int) -> None:
    """Let jobs like this one know that it does not start before ``start``."""
    kind = b.job["kind"][job]
    if b.kinds[kind] == b.job["wish"][job]:
        request = b.job["alike"][job]
        b.alike["book"][request, kind] = b.par["serial"][0]
        b.alike["earliest"][request, kind] = start


@kernel
def behind_the_gap(b: av.Availability, kind: int, procs: int, last: int) -> int:
    """Place of the first start from which there is room up to the segment ``last``."""
    begin_window(b, kind, b.when["row"][last])
    first = last
    while first > 0:
        first -= 1
        if narrow_and_count(b, kind, b.when["row"][first]) < procs:
            return first + 1
    return 0


# ----------------------------------------------- the window: what a kind has on every node in it
@kernel
def begin_window(b: av.Availability, kind: int, row: int) -> None:
    """Begin a window with a segment: LEAST is what goes there."""
    least, room = b.least, b.room
    line, which = np.uint64(row), np.uint64(kind)
    at = np.uint64(0)
    end = np.uint64(b.par["nodes"][0])
    while at < end:
        least[at] = room[which, line, at]
        at += ONE


@kernel
def narrow(b: av.Availability, kind: int, row: int) -> None:
    """Add a segment to the window."""
    least, room = b.least, b.room
    line, which = np.uint64(row), np.uint64(kind)
    at = np.uint64(0)
    end = np.uint64(b.par["nodes"][0])
    while at < end:
        some, other = least[at], room[which, line, at]
        least[at] = some if some < other else other
        at += ONE


@kernel
def narrow_and_count(b: av.Availability, kind: int, row: int) -> int:
    """Add a segment to the window: how many processes have a place in all of it."""
    least, room = b.least, b.room
    line, which = np.uint64(row), np.uint64(kind)
    at = np.uint64(0)
    end = np.uint64(b.par["nodes"][0])
    count: Any = 0
    while at < end:
        some, other = least[at], room[which, line, at]
        fewer = some if some < other else other
        least[at] = fewer
        count += np.int64(fewer)
        at += ONE
    return count


@kernel
def take(b: av.Availability, job: int, row: int) -> None:
    """Fill the nodes of the window in index order: they are listed. It begins with a row."""
    left = b.job["procs"][job]
    wish = b.job["wish"][job]
    clear_list(b)
    node = 0
    while left > 0:
        room: Any = np.int64(b.least[node])
        if room > 0:
            some = min(left, room)
            list_node(b, row, node, some, wish)
            left -= some
        node += 1


# ------------------------------------------- kinds of several demands: what one job has in cells
@routine
def has_exactly(b: av.Availability, job: int, start: int, last: int) -> bool:
    """True if a window in which its kind has room has room for the job itself: LEAST is its own."""
    count = list_least(b)
    for at in range(start, last + 1):
        narrow_cells(b, job, at, count)
    left = b.job["procs"][job]
    for k in range(count):
        b.least[b.node["where"][k]] = b.fits[0, k]
        left -= b.fits[0, k]
    return left <= 0


@routine
def exactly_behind(b: av.Availability, job: int, last: int) -> int:
    """Place of the first start from which the job itself has room up to the segment ``last``."""
    kind = b.job["kind"][job]
    begin_window(b, kind, b.when["row"][last])
    count = list_least(b)
    first = last
    left = ZERO
    while left <= 0:
        left = b.job["procs"][job] - narrow_cells(b, job, first, count)
        if left <= 0:
            if first == 0:
                return 0
            first -= 1
    return first + 1


@kernel
def list_least(b: av.Availability) -> int:
    """List the nodes of the window that have places; how many there are."""
    count = 0
    for node in range(b.par["nodes"][0]):
        if b.least[node] > 0:
            b.node["where"][count] = node
            b.node["known"][count] = -1
            b.fits[0, count] = b.least[node]
            count += 1
    return count


@kernel
def narrow_cells(b: av.Availability, job: int, at: int, count: int) -> int:
    """Add a segment to the window of the listed nodes: how many of the job's processes go there."""
    row = b.when["row"][at]
    wish = b.job["wish"][job]
    total = 0
    for k in range(count):
        cell = b.cell[row, b.node["where"][k]]
        if b.fits[0, k] > 0 and cell != b.node["known"][k]:
            b.node["known"][k] = cell
            b.fits[0, k] = min(b.fits[0, k], av.places_in(b, cell, wish))
        total += b.fits[0, k]
    return total
