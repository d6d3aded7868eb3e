"""What nodes will have free, for plans of many jobs: cores and counted bandwidth over time.

The line of time is cut into segments, each with what every node has left in it; the last one never
ends. Plans are made again at every pass, so a profile is filled, asked and thrown away (spec 6.3).
Its numbers are the scheduler's, not the world's: a job on nodes of its own books all their cores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.jit import kernel, routine

# Registers.
NODES = 0
CORES = 1
CAP = 2
"""Bandwidth of a node, in grains."""
COUNTS = 3
"""1 if bandwidth is a limit, 0 if cores alone are."""
SHARE = 4
"""Processes that an exclusive job puts on a node."""
BY_TAG = 5
"""1 if demands are those measured under the job's tag."""
LATE = 6
"""1 if they are read again at every pass, not once at submission (predict=start)."""
BY_RATE = 7
"""1 if what is measured falls with the job's own slowdown (record=rate)."""
SEGMENTS = 8
RUNNING = 9
LOOKED = 10
"""Jobs below this index have been looked up."""
PLACES = 11
"""Entries in the log of places."""
RESUME = 12
"""1 if the pass of this instant is still to be made: the book had no room for it."""

# Jobs.
PROCS = 0
LENGTH = 1
"""The time limit: how long the job is planned to run."""
WISH = 2
"""Counted bandwidth of a process in grains; ALONE: nodes of its own."""
TAG = 3
MEASURED = 4
"""What a run of the job would be recorded as, in grains."""
UNTIL = 5
"""Planned end of a running job."""
FROM = 6
"""Where its places begin in the log."""
COUNT = 7
"""How many nodes it has."""

ALONE = -1
SUM, RECORDS = 0, 1
"""Columns of a tag: sum of its records in grains, and their number."""
PLACE_BITS = 32


class Availability(NamedTuple):
    """Arrays of the scheduler on nodes; columns and registers are named above."""

    par: Any  # int64[16]
    job: Any  # int64[n, 8]
    tag: Any  # int64[T, 2]
    running: Any  # int64[P + 1]: the running jobs
    places: Any  # int64[most nodes of all jobs]: node << 32 | processes
    found: Any  # int64[n + 1]: the waiting jobs of a pass
    node: Any  # int64[3, N]: processes taken, cores and bandwidth of the window at hand
    when: Any  # int64[3, S]: by place in the line: begin and row of a segment; by row: free cores
    cores: Any  # int64[S, N]: by row
    width: Any  # int64[S, N]: by row


TAKE, ROOM, WIDE = 0, 1, 2
BEGIN, ROW, FREE = 0, 1, 2


def make_book(
    *, nodes: int, cores: int, jobs: Any, tags: Any, registers: dict[int, int], segments: int
) -> Availability:
    """An empty book; ``jobs`` and ``tags`` hold the columns named above."""
    par = np.zeros(16, np.int64)
    par[NODES], par[CORES] = nodes, cores
    for register, value in registers.items():
        par[register] = value
    n = len(jobs)
    most = int(np.minimum(jobs[:, PROCS], nodes).sum())
    return Availability(
        par=par,
        job=jobs,
        tag=tags,
        running=np.zeros(min(n, nodes * cores) + 1, np.int64),
        places=np.zeros(most + 1, np.int64),
        found=np.zeros(n + 1, np.int64),
        node=np.zeros((3, nodes), np.int64),
        **rows(segments, nodes),
    )


def rows(segments: int, nodes: int) -> dict[str, Any]:
    """Empty rows for so many segments."""
    return {
        "when": np.zeros((3, segments), np.int64),
        "cores": np.zeros((segments, nodes), np.int64),
        "width": np.zeros((segments, nodes), np.int64),
    }


# ---------------------------------------------------------------------------- the line of time
@kernel
def clear(b: Any, now: int) -> None:
    """One segment from now on: everything is free."""
    par = b.par
    for node in range(par[NODES]):
        b.cores[0, node] = par[CORES]
        b.width[0, node] = par[CAP]
    b.when[BEGIN, 0] = now
    b.when[ROW, 0] = 0
    b.when[FREE, 0] = par[NODES] * par[CORES]
    par[SEGMENTS] = 1


@routine
def cut(b: Any, time: int) -> int:
    """Place of the segment that begins at an instant from now on, cut there if need be."""
    when = b.when
    count = b.par[SEGMENTS]
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if when[BEGIN, middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < count and when[BEGIN, low] == time:
        return low
    for i in range(count, low, -1):
        when[BEGIN, i] = when[BEGIN, i - 1]
        when[ROW, i] = when[ROW, i - 1]
    old = when[ROW, low - 1]
    when[BEGIN, low] = time
    when[ROW, low] = count
    when[FREE, count] = when[FREE, old]
    for node in range(b.par[NODES]):
        b.cores[count, node] = b.cores[old, node]
        b.width[count, node] = b.width[old, node]
    b.par[SEGMENTS] = count + 1
    return low


@kernel
def write_on(b: Any, node: int, count: int, wish: int, first: int, last: int) -> None:
    """Book processes on a node in the segments from ``first`` up to ``last``."""
    cores = b.par[CORES] if wish == ALONE else count
    width = 0 if wish == ALONE else count * wish
    for i in range(first, last):
        row = b.when[ROW, i]
        b.cores[row, node] -= cores
        b.width[row, node] -= width
        b.when[FREE, row] -= cores


# ---------------------------------------------------------------------------- asking it
@kernel
def places_on(b: Any, cores: int, width: int, wish: int) -> int:
    """How many processes of a demand go where so much is free.

    Most nodes are distinguished without a division.
    """
    if wish == ALONE:
        return b.par[SHARE] if cores == b.par[CORES] else 0
    if wish == 0 or b.par[COUNTS] == 0 or width >= cores * wish:
        return cores
    if width < wish:
        return 0
    return width // wish


# ---------------------------------------------------------------------------- what is measured
@kernel
def look_up(b: Any, job: int) -> None:
    """A job's counted demand: the mean of its tag's records, rounded up; ALONE without any."""
    tag = b.job[job, TAG]
    if tag < 0 or b.tag[tag, RECORDS] == 0:
        b.job[job, WISH] = ALONE
    else:
        records = b.tag[tag, RECORDS]
        b.job[job, WISH] = (b.tag[tag, SUM] + records - 1) // records


@kernel
def share_of(amount: int, part: int, whole: int) -> int:
    """amount * part // whole, exact where the product would not fit; part <= whole < 2^62."""
    quotient = 0
    rest = 0
    bit = 1 << 40
    while bit > 0:
        quotient *= 2
        rest *= 2
        if amount & bit != 0:
            rest += part
        while rest >= whole:
            rest -= whole
            quotient += 1
        bit >>= 1
    return quotient
