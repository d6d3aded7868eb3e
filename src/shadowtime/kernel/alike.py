"""Queues of waiting jobs that are alike: of each only the first need be looked at.

Jobs of one *kind* have the same estimate and needs: if the first of them cannot start, none of them
can. Jobs of one *line* also have the same priority but for their wait, so the first of a line comes
before the rest of it; a line holds one or more kinds. A pass looks at the first jobs alone, and a
queue of a hundred thousand jobs has some hundred lines and some thousand kinds.

Kinds are found by hashing when a job is first asked for. Lines and kinds with waiting jobs lie
densely in tables (``*_of`` gives the place), so that a pass walks over short arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import (
    CLASS,
    ESTIMATE,
    EXCLUSIVE,
    LENGTH,
    NEED,
    PROCS,
    SUBMIT,
    WHICH,
)
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.order import FCFS, LXF, SJF, WEIGHTED, weighted
from shadowtime.kernel.registers import ARRIVED, BIG, DECISIONS, NOW

SINCE, KINDS, LINES, WAITING_KINDS, WAITING_LINES, GROUPING, ORDER_KIND = range(7)
"""Places in ``mark``: the first job that was not asked for yet; kinds and lines known so far, and
those with waiting jobs; what makes a line; the order."""

ALL, ESTIMATES, WIDTHS, ONE_KIND = range(4)
"""What jobs of a line have in common: nothing; the estimate; the width too; everything."""

FIRST, LAST, PLACE, LENGTH_OF, WIDTH, OF_LINE, LIKE = range(7)
"""Rows of ``kind`` and ``line``: first and last waiting job; the place among those with waiting
jobs, -1 if none waits; the estimate. Of a line: its width. Of a kind: its line, and one of it."""

KIND_ROW, LINE_ROW = 0, 1
"""Rows of ``after``, and of the hash tables."""

ONE, CHUNK = np.uint64(1), np.uint64(64)


class Alike(NamedTuple):
    """The queues, and what a pass needs to walk over them."""

    mark: Any  # int64[7]
    table: Any  # int64[2, size]: hash tables of kinds and of lines, number + 1
    kind: Any  # int64[7, n]
    line: Any  # int64[7, n]
    of_job: Any  # int64[n]: kind of a job
    after: Any  # int64[2, n]: the next job of the same kind, of the same line; -1 if none
    kinds: Any  # int64[n]: those with waiting jobs
    procs: Any  # int32[n]: their widths
    length: Any  # int32[n]: their estimates
    lines: Any  # int64[n]: those with waiting jobs
    submit: Any  # int64[n]: when their first jobs were submitted
    job: Any  # int64[n]: the job of each whose turn it is in this pass, -1 if none is left
    key: Any  # float64[n]: its priority
    heap: Any  # int64[n]: places
    hope: Any  # int64[n]: kinds that may still start in this pass
    open: Any  # int8[n]: 1 for these


def make_alike(*, n: int, order: int, weight: tuple[float, float, float], apart: bool) -> Alike:
    """Empty queues for ``n`` jobs; ``apart``: every kind is a line of its own."""
    grouping = ALL if order == FCFS else ESTIMATES
    if order == WEIGHTED and weight[2] != 0.0:
        grouping = WIDTHS
    mark = np.zeros(7, np.int64)
    mark[GROUPING] = ONE_KIND if apart else grouping
    mark[ORDER_KIND] = order
    room = n + 1

    def numbers() -> Any:
        return np.empty(room, np.int64)

    return Alike(
        mark=mark,
        table=np.zeros((2, 2 << room.bit_length()), np.int64),
        kind=np.empty((7, room), np.int64),
        line=np.empty((7, room), np.int64),
        of_job=numbers(),
        after=np.empty((2, room), np.int64),
        kinds=numbers(),
        procs=np.empty(room, np.int32),
        length=np.empty(room, np.int32),
        lines=numbers(),
        submit=numbers(),
        job=numbers(),
        key=np.empty(room, np.float64),
        heap=numbers(),
        hope=numbers(),
        open=np.zeros(room, np.int8),
    )


@kernel
def mixed(so_far: int, value: int, mask: int) -> int:
    """A hash with one more value in it; nothing here leaves 64 bits."""
    return (so_far * 1000003 ^ value ^ value >> 15 ^ value >> 30) & mask


@routine
def let_in(s: Any, x: Any) -> None:
    """Queue the waiting jobs that are new since the last time."""
    for job in range(x.mark[SINCE], s.reg[ARRIVED]):
        if s.wait[PROCS, job] != BIG:
            number = kind_of(s, x, job)
            x.of_job[job] = number
            queue(x, x.kind, KIND_ROW, number, job)
            line = x.kind[OF_LINE, number]
            queue(x, x.line, LINE_ROW, line, job)
            if x.kind[PLACE, number] < 0:
                place = x.mark[WAITING_KINDS]
                x.mark[WAITING_KINDS] = place + 1
                x.kind[PLACE, number] = place
                x.kinds[place] = number
                x.procs[place] = s.wait[PROCS, job]
                x.length[place] = s.wait[LENGTH, job]
            if x.line[PLACE, line] < 0:
                place = x.mark[WAITING_LINES]
                x.mark[WAITING_LINES] = place + 1
                x.line[PLACE, line] = place
                x.lines[place] = line
                x.submit[place] = s.job[job, SUBMIT]
    x.mark[SINCE] = s.reg[ARRIVED]


@kernel
def queue(x: Any, which: Any, row: int, number: int, job: int) -> None:
    """Put a job at the end of a queue."""
    x.after[row, job] = -1
    if which[PLACE, number] < 0:
        which[FIRST, number] = job
    else:
        x.after[row, which[LAST, number]] = job
    which[LAST, number] = job


@kernel
def kind_of(s: Any, x: Any, job: int) -> int:
    """The kind of a job; a new one if there was none like it."""
    mask = x.table.shape[1] - 1
    length = s.job[job, ESTIMATE]
    at = mixed(2 * s.job[job, CLASS] + s.job[job, EXCLUSIVE], length, mask)
    for k in range(NEED, s.job.shape[1]):
        at = mixed(at, s.job[job, k], mask)
    while x.table[KIND_ROW, at] != 0:
        number = x.table[KIND_ROW, at] - 1
        if x.kind[LENGTH_OF, number] == length and needs_the_same(s, job, x.kind[LIKE, number]):
            return number
        at = (at + 1) & mask
    number = x.mark[KINDS]
    x.mark[KINDS] = number + 1
    x.table[KIND_ROW, at] = number + 1
    x.kind[LENGTH_OF, number] = length
    x.kind[LIKE, number] = job
    x.kind[PLACE, number] = -1
    x.kind[OF_LINE, number] = line_of(s, x, job)
    return number


@kernel
def needs_the_same(s: Any, a: int, b: int) -> bool:
    """True if two jobs differ in nothing that a start depends on, but maybe in their estimates."""
    if s.job[a, CLASS] != s.job[b, CLASS] or s.job[a, EXCLUSIVE] != s.job[b, EXCLUSIVE]:
        return False
    for k in range(NEED, s.job.shape[1]):
        if s.job[a, k] != s.job[b, k]:
            return False
    return True


@kernel
def line_of(s: Any, x: Any, job: int) -> int:
    """The line of a job whose kind is new."""
    grouping = x.mark[GROUPING]
    length = 0 if grouping == ALL else s.job[job, ESTIMATE]
    procs = s.job[job, NEED] if grouping == WIDTHS else 0
    mask = x.table.shape[1] - 1
    at = mixed(procs, length, mask)
    while grouping != ONE_KIND and x.table[LINE_ROW, at] != 0:
        number = x.table[LINE_ROW, at] - 1
        if x.line[LENGTH_OF, number] == length and x.line[WIDTH, number] == procs:
            return number
        at = (at + 1) & mask
    number = x.mark[LINES]
    x.mark[LINES] = number + 1
    if grouping != ONE_KIND:
        x.table[LINE_ROW, at] = number + 1
    x.line[LENGTH_OF, number] = length
    x.line[WIDTH, number] = procs
    x.line[PLACE, number] = -1
    return number


@routine
def let_out(s: Any, x: Any) -> None:
    """Take the jobs that this pass started out of their queues."""
    for i in range(s.reg[DECISIONS]):
        number = x.of_job[s.did[WHICH, i]]
        line = x.kind[OF_LINE, number]
        place = x.kind[PLACE, number]
        if place >= 0 and first_of(s, x, x.kind, KIND_ROW, number) < 0:
            last = x.mark[WAITING_KINDS] - 1
            x.mark[WAITING_KINDS] = last
            x.kinds[place] = x.kinds[last]
            x.procs[place] = x.procs[last]
            x.length[place] = x.length[last]
            x.kind[PLACE, x.kinds[last]] = place
            x.kind[PLACE, number] = -1
        place = x.line[PLACE, line]
        if place < 0:
            continue
        job = first_of(s, x, x.line, LINE_ROW, line)
        if job >= 0:
            x.submit[place] = s.job[job, SUBMIT]
            continue
        last = x.mark[WAITING_LINES] - 1
        x.mark[WAITING_LINES] = last
        x.lines[place] = x.lines[last]
        x.submit[place] = x.submit[last]
        x.line[PLACE, x.lines[last]] = place
        x.line[PLACE, line] = -1


@kernel
def first_of(s: Any, x: Any, which: Any, row: int, number: int) -> int:
    """The first job of a queue that still waits, -1 if none does; the others are forgotten."""
    job = which[FIRST, number]
    while job >= 0 and s.wait[PROCS, job] == BIG:
        job = x.after[row, job]
    which[FIRST, number] = job
    return job


@kernel
def next_in_line(s: Any, x: Any, job: int) -> int:
    """The next waiting job of the same line, -1 if none."""
    job = x.after[LINE_ROW, job]
    while job >= 0 and s.wait[PROCS, job] == BIG:
        job = x.after[LINE_ROW, job]
    return job


@kernel
def priority(s: Any, x: Any, weight: Any, job: int) -> float:
    """The key of a job by a built-in order, now; higher comes first."""
    order = x.mark[ORDER_KIND]
    length = s.job[job, ESTIMATE]
    wait = s.reg[NOW] - s.job[job, SUBMIT]
    if order == WEIGHTED:
        return weighted(weight, wait, length, s.job[job, NEED])
    if order == LXF:
        return float(wait + length) / float(length)
    return -float(length) if order == SJF else 0.0


@kernel
def begin_turn(s: Any, x: Any, weight: Any) -> None:
    """It is the turn of the first job of every line."""
    for place in range(x.mark[WAITING_LINES]):
        job = x.line[FIRST, x.lines[place]]
        x.job[place] = job
        x.key[place] = priority(s, x, weight, job)


@kernel
def before(x: Any, a: int, b: int) -> bool:
    """True if the entry ``a`` comes before ``b``: by key, then job."""
    return x.key[a] > x.key[b] or (x.key[a] == x.key[b] and x.job[a] < x.job[b])


@kernel
def first_place(x: Any) -> int:
    """The line whose turn comes first, by its place; -1 if no job is left."""
    first = -1
    for place in range(x.mark[WAITING_LINES]):
        if x.job[place] >= 0 and (first < 0 or before(x, place, first)):
            first = place
    return first


@kernel
def sift_down(x: Any, size: int, at: int) -> None:
    """Let the entry at ``at`` of the heap sink to its place."""
    entry = x.heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and before(x, x.heap[child + 1], x.heap[child]):
            child += 1
        if before(x, entry, x.heap[child]):
            break
        x.heap[at] = x.heap[child]
        at = child
        child = 2 * at + 1
    x.heap[at] = entry


@kernel
def heapify(x: Any, size: int) -> None:
    """Make a heap of entries."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(x, size, at)


@kernel
def next_turn(s: Any, x: Any, weight: Any, size: int, job: int) -> int:
    """Let another job stand for the entry on top of the heap (-1: none); return the new size."""
    place = x.heap[0]
    x.job[place] = job
    if job >= 0:
        x.key[place] = priority(s, x, weight, job)
    else:
        size -= 1
        x.heap[0] = x.heap[size]
    if size > 0:
        sift_down(x, size, 0)
    return size


@kernel
def narrow_and_short(x: Any, free: int, extra: int, left: int) -> int:
    """Kinds within ``free``, and within ``extra`` or no longer than ``left``: how many, in hope."""
    narrow, spare, short = np.int32(free), np.int32(extra), np.int32(max(-1, min(left, BIG - 1)))
    at, end = np.uint64(0), np.uint64(x.mark[WAITING_KINDS])
    count = 0
    while at < end:
        stop = min(at + CHUNK, end)
        there = at
        hit = False
        while there < stop:
            width = x.procs[there]
            hit |= (width <= narrow) & ((x.length[there] <= short) | (width <= spare))
            there += ONE
        if hit:
            for place in range(at, stop):
                width = x.procs[place]
                if width <= narrow and (x.length[place] <= short or width <= spare):
                    x.hope[count] = x.kinds[place]
                    count += 1
        at = stop
    return count
