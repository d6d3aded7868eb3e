"""Queues of waiting jobs that are alike: of each only the first need be looked at.

Jobs of one *kind* have the same estimate and needs: if the first of them cannot start, none of them
can. Jobs of one *line* also have the same priority but for their wait, so the first of a line comes
before the rest of it; a line holds one or more kinds. A pass looks at the first jobs alone, and a
queue of a hundred thousand jobs has some hundred lines and some thousand kinds.

Kinds are found by hashing when a job is first asked for. Lines and kinds with waiting jobs lie
densely in tables (``*_of`` gives the place), so that a pass walks over short arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel import fields as f
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.order import FCFS, LXF, SJF, WEIGHTED, weighted
from shadowtime.kernel.registers import ARRIVED, BIG, DECISIONS, NOW
from shadowtime.kernel.steps import Steps
from shadowtime.types import AnyArray, Floats

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

SINCE, KINDS, LINES, WAITING_KINDS, WAITING_LINES, GROUPING, ORDER_KIND, STEPS = range(8)
"""Places in ``mark``: the first job that was not asked for yet; kinds and lines known so far, and
those with waiting jobs; what makes a line; the order; steps of what is free in this pass."""

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

    mark: Any  # int64[8]
    table: Any  # int64[2, size]: hash tables of kinds and of lines, number + 1
    kind: Any  # int64[7, n]
    line: Any  # int64[7, n]
    of_job: Any  # int64[n]: kind of a job
    after: Any  # int64[2, n]: the next job of the same kind, of the same line; -1 if none
    kinds: Any  # int64[n]: those with waiting jobs
    procs: Any  # int32[n]: their widths
    length: Any  # int32[n]: their estimates
    lines: Any  # int64[n]: those with waiting jobs
    job: Any  # int64[n]: the job of each whose turn it is in this pass, -1 if none is left
    key: Any  # float64[n]: its priority
    heap: Any  # int64[n]: places
    hope: Any  # int64[n]: kinds that may still start in this pass
    open: Any  # int8[n]: 1 for these
    steps: Any  # Steps: what is free from now on, on a pool of processors


def make_alike(
    *, n: int, order: int, weight: tuple[float, float, float], apart: bool, steps: int
) -> Alike:
    """Empty queues for ``n`` jobs; ``apart``: every kind is a line of its own.

    ``steps`` is the room for what is free from now on.
    """
    grouping = ALL if order == FCFS else ESTIMATES
    if order == WEIGHTED and weight[2] != 0.0:
        grouping = WIDTHS
    mark = np.zeros(8, np.int64)
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
        job=numbers(),
        key=np.empty(room, np.float64),
        heap=numbers(),
        hope=numbers(),
        open=np.zeros(room, np.int8),
        steps=Steps(np.empty(steps, np.int64), np.empty(steps, np.int64)),
    )


@kernel
def mixed(so_far: int, value: int, mask: int) -> int:
    """A hash with one more value in it; nothing here leaves 64 bits."""
    return (so_far * 1000003 ^ value ^ value >> 15 ^ value >> 30) & mask


@routine
def let_in(state: State, alike: Alike) -> None:
    """Queue the waiting jobs that are new since the last time."""
    for job in range(alike.mark[SINCE], state.reg[ARRIVED]):
        if state.wait[f.PROCS, job] != BIG:
            number = kind_of(state, alike, job)
            alike.of_job[job] = number
            queue(alike, alike.kind, KIND_ROW, number, job)
            line = alike.kind[OF_LINE, number]
            queue(alike, alike.line, LINE_ROW, line, job)
            if alike.kind[PLACE, number] < 0:
                place = alike.mark[WAITING_KINDS]
                alike.mark[WAITING_KINDS] = place + 1
                alike.kind[PLACE, number] = place
                alike.kinds[place] = number
                alike.procs[place] = state.wait[f.PROCS, job]
                alike.length[place] = state.wait[f.LENGTH, job]
            if alike.line[PLACE, line] < 0:
                place = alike.mark[WAITING_LINES]
                alike.mark[WAITING_LINES] = place + 1
                alike.line[PLACE, line] = place
                alike.lines[place] = line
    alike.mark[SINCE] = state.reg[ARRIVED]


@kernel
def queue(alike: Alike, which: AnyArray, row: int, number: int, job: int) -> None:
    """Put a job at the end of a queue."""
    alike.after[row, job] = -1
    if which[PLACE, number] < 0:
        which[FIRST, number] = job
    else:
        alike.after[row, which[LAST, number]] = job
    which[LAST, number] = job


@kernel
def kind_of(state: State, alike: Alike, job: int) -> int:
    """The kind of a job; a new one if there was none like it."""
    mask = alike.table.shape[1] - 1
    length = state.job[job, f.ESTIMATE]
    at = mixed(2 * state.job[job, f.CLASS] + state.job[job, f.EXCLUSIVE], length, mask)
    for k in range(f.NEED, state.job.shape[1]):
        at = mixed(at, state.job[job, k], mask)
    while alike.table[KIND_ROW, at] != 0:
        number = alike.table[KIND_ROW, at] - 1
        if alike.kind[LENGTH_OF, number] == length and needs_the_same(
            state, job, alike.kind[LIKE, number]
        ):
            return number
        at = (at + 1) & mask
    number = alike.mark[KINDS]
    alike.mark[KINDS] = number + 1
    alike.table[KIND_ROW, at] = number + 1
    alike.kind[LENGTH_OF, number] = length
    alike.kind[LIKE, number] = job
    alike.kind[PLACE, number] = -1
    alike.kind[OF_LINE, number] = line_of(state, alike, job)
    return number


@kernel
def needs_the_same(state: State, a: int, b: int) -> bool:
    """True if two jobs differ in nothing that a start depends on, but maybe in their estimates."""
    if (
        state.job[a, f.CLASS] != state.job[b, f.CLASS]
        or state.job[a, f.EXCLUSIVE] != state.job[b, f.EXCLUSIVE]
    ):
        return False
    for k in range(f.NEED, state.job.shape[1]):
        if state.job[a, k] != state.job[b, k]:
            return False
    return True


@kernel
def line_of(state: State, alike: Alike, job: int) -> int:
    """The line of a job whose kind is new."""
    grouping = alike.mark[GROUPING]
    length = 0 if grouping == ALL else state.job[job, f.ESTIMATE]
    procs = state.job[job, f.NEED] if grouping == WIDTHS else 0
    mask = alike.table.shape[1] - 1
    at = mixed(procs, length, mask)
    while grouping != ONE_KIND and alike.table[LINE_ROW, at] != 0:
        number = alike.table[LINE_ROW, at] - 1
        if alike.line[LENGTH_OF, number] == length and alike.line[WIDTH, number] == procs:
            return number
        at = (at + 1) & mask
    number = alike.mark[LINES]
    alike.mark[LINES] = number + 1
    if grouping != ONE_KIND:
        alike.table[LINE_ROW, at] = number + 1
    alike.line[LENGTH_OF, number] = length
    alike.line[WIDTH, number] = procs
    alike.line[PLACE, number] = -1
    return number


@routine
def let_out(state: State, alike: Alike) -> None:
    """Take the jobs that this pass started out of their queues."""
    for i in range(state.reg[DECISIONS]):
        number = alike.of_job[state.did[f.WHICH, i]]
        line = alike.kind[OF_LINE, number]
        place = alike.kind[PLACE, number]
        if place >= 0 and first_of(state, alike, alike.kind, KIND_ROW, number) < 0:
            last = alike.mark[WAITING_KINDS] - 1
            alike.mark[WAITING_KINDS] = last
            alike.kinds[place] = alike.kinds[last]
            alike.procs[place] = alike.procs[last]
            alike.length[place] = alike.length[last]
            alike.kind[PLACE, alike.kinds[last]] = place
            alike.kind[PLACE, number] = -1
        place = alike.line[PLACE, line]
        if place < 0:
            continue
        if first_of(state, alike, alike.line, LINE_ROW, line) >= 0:
            continue
        last = alike.mark[WAITING_LINES] - 1
        alike.mark[WAITING_LINES] = last
        alike.lines[place] = alike.lines[last]
        alike.line[PLACE, alike.lines[last]] = place
        alike.line[PLACE, line] = -1


@kernel
def first_of(state: State, alike: Alike, which: AnyArray, row: int, number: int) -> int:
    """The first job of a queue that still waits, -1 if none does; the others are forgotten."""
    job = which[FIRST, number]
    while job >= 0 and state.wait[f.PROCS, job] == BIG:
        job = alike.after[row, job]
    which[FIRST, number] = job
    return job


@kernel
def next_in_line(state: State, alike: Alike, job: int) -> int:
    """The next waiting job of the same line, -1 if none."""
    job = alike.after[LINE_ROW, job]
    while job >= 0 and state.wait[f.PROCS, job] == BIG:
        job = alike.after[LINE_ROW, job]
    return job


@kernel
def priority(state: State, alike: Alike, weight: Floats, job: int) -> float:
    """The key of a job by a built-in order, now; higher comes first."""
    order = alike.mark[ORDER_KIND]
    length = state.job[job, f.ESTIMATE]
    wait = state.reg[NOW] - state.job[job, f.SUBMIT]
    if order == WEIGHTED:
        return weighted(weight, wait, length, state.job[job, f.NEED])
    if order == LXF:
        return float(wait + length) / float(length)
    return -float(length) if order == SJF else 0.0


@kernel
def begin_turn(state: State, alike: Alike, weight: Floats) -> None:
    """It is the turn of the first job of every line."""
    for place in range(alike.mark[WAITING_LINES]):
        job = alike.line[FIRST, alike.lines[place]]
        alike.job[place] = job
        alike.key[place] = priority(state, alike, weight, job)


@kernel
def before(alike: Alike, a: int, b: int) -> bool:
    """True if the entry ``a`` comes before ``b``: by key, then job."""
    return alike.key[a] > alike.key[b] or (
        alike.key[a] == alike.key[b] and alike.job[a] < alike.job[b]
    )


@kernel
def first_place(alike: Alike) -> int:
    """The line whose turn comes first, by its place; -1 if no job is left."""
    first = -1
    for place in range(alike.mark[WAITING_LINES]):
        if alike.job[place] >= 0 and (first < 0 or before(alike, place, first)):
            first = place
    return first


@kernel
def sift_down(alike: Alike, size: int, at: int) -> None:
    """Let the entry at ``at`` of the heap sink to its place."""
    entry = alike.heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and before(alike, alike.heap[child + 1], alike.heap[child]):
            child += 1
        if before(alike, entry, alike.heap[child]):
            break
        alike.heap[at] = alike.heap[child]
        at = child
        child = 2 * at + 1
    alike.heap[at] = entry


@kernel
def heapify(alike: Alike, size: int) -> None:
    """Make a heap of entries."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(alike, size, at)


@kernel
def next_turn(state: State, alike: Alike, weight: Floats, size: int, job: int) -> int:
    """Let another job stand for the entry on top of the heap (-1: none); return the new size."""
    place = alike.heap[0]
    alike.job[place] = job
    if job >= 0:
        alike.key[place] = priority(state, alike, weight, job)
    else:
        size -= 1
        alike.heap[0] = alike.heap[size]
    if size > 0:
        sift_down(alike, size, 0)
    return size


@kernel
def narrow_and_short(alike: Alike, free: int, extra: int, left: int) -> int:
    """Kinds within ``free``, and within ``extra`` or no longer than ``left``: how many, in hope."""
    narrow, spare, short = np.int32(free), np.int32(extra), np.int32(max(-1, min(left, BIG - 1)))
    at, end = np.uint64(0), np.uint64(alike.mark[WAITING_KINDS])
    count = 0
    while at < end:
        stop = min(at + CHUNK, end)
        there = at
        hit = False
        while there < stop:
            width = alike.procs[there]
            hit |= (width <= narrow) & ((alike.length[there] <= short) | (width <= spare))
            there += ONE
        if hit:
            for place in range(at, stop):
                width = alike.procs[place]
                if width <= narrow and (alike.length[place] <= short or width <= spare):
                    alike.hope[count] = alike.kinds[place]
                    count += 1
        at = stop
    return count
