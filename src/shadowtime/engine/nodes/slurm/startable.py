"""Which jobs may still start in a pass of Slurm's scheduler: none behind the last is planned.

With ten thousand waiting jobs a plan for each would take minutes; the few that could start now are
what a pass is for.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.slurm.availability import (
    BEGIN,
    CAP,
    FREE,
    LENGTH,
    NODES,
    PROCS,
    ROW,
    TAKE,
    WISH,
    places_on,
)
from shadowtime.kernel.jit import kernel, routine

HORIZON = 15
"""Register: when the last of the jobs that may start now would end."""


@routine
def last_that_may_start(b: Any, first: int, last: int, segments: int) -> int:
    """Place of the last waiting job from ``first`` to ``last`` that the book has room for now.

    The book only fills up during a pass: a job it has no room for stays without. ``segments`` of
    it are looked at; with running jobs alone in it the first one is enough, since they give back.
    HORIZON becomes the latest end of all of them.
    """
    back = b.when.shape[1] - 1
    count = 0
    row = b.when[ROW, 0]
    free = b.when[FREE, row]
    least = least_wish(b, first, last)
    for node in range(b.par[NODES]):
        if b.cores[row, node] > 0 and b.width[row, node] >= least:
            b.node[TAKE, count] = node
            b.cores[back, count] = b.cores[row, node]
            b.width[back, count] = b.width[row, node]
            count += 1
    reach = least_so_far(b, count, segments)
    found = first - 1
    longest = 0
    for i in range(first, last + 1):
        job = b.found[i]
        if b.job[job, PROCS] <= free and room_until_end(b, job, count, segments, reach):
            found = i
            longest = max(longest, b.job[job, LENGTH])
    b.par[HORIZON] = b.when[BEGIN, 0] + longest
    return found


@kernel
def least_wish(b: Any, first: int, last: int) -> int:
    """The least bandwidth that a process of these jobs is counted with."""
    least = b.par[CAP]
    for i in range(first, last + 1):
        least = min(least, max(0, b.job[b.found[i], WISH]))
    return least


@kernel
def least_so_far(b: Any, count: int, segments: int) -> int:
    """For every segment the least that the nodes in TAKE have up to its end; how many there are.

    They are written into the last rows, backwards: the book never has more than half of them.
    Behind the first segment without a free core nothing is worth writing.
    """
    back = b.when.shape[1] - 1
    for i in range(1, segments):
        row = b.when[ROW, i]
        some = 0
        for k in range(count):
            node = b.node[TAKE, k]
            cores = min(b.cores[back - i + 1, k], b.cores[row, node])
            b.cores[back - i, k] = cores
            b.width[back - i, k] = min(b.width[back - i + 1, k], b.width[row, node])
            some += cores
        if some == 0:
            return i
    return segments


@kernel
def room_until_end(b: Any, job: int, count: int, segments: int, reach: int) -> bool:
    """True if the nodes in TAKE have room for a job from now until its end."""
    end = b.when[BEGIN, 0] + b.job[job, LENGTH]
    low = 1
    high = segments
    while low < high:
        middle = (low + high) >> 1
        if b.when[BEGIN, middle] < end:
            low = middle + 1
        else:
            high = middle
    if low > reach:
        return False
    row = b.when.shape[1] - low
    left = b.job[job, PROCS]
    for k in range(count):
        left -= places_on(b, b.cores[row, k], b.width[row, k], b.job[job, WISH])
        if left <= 0:
            return True
    return False
