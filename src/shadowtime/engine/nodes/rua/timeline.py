"""The Reservation Table with a reservation for every job: processors over time.

spec: algorithms 1.3, 4.2.

The line of time is cut where a job starts or ends. Each piece has a row: how many processors are
free, which ones (a bit each), and what the jobs there draw on every node. A running job's row of
processors stays as it was booked when the job was promised its start, so starting costs nothing
here. A cut that no job starts or ends at any more is closed, so that ends, which are where others
may start, can be distinguished from what was one once.

Where reservations count processors (resv=counts), only running jobs have bits and demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.engine.nodes.fields import CORES, NODES
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER

if TYPE_CHECKING:
    from shadowtime.engine.nodes.running_table import Table

# Registers.
COMPRESS = 0
COSTED = 1
"""1 if penalties matter to the policy, so that demand is booked."""
PIECES = 2
"""Pieces of the line of time; the last one never ends."""
WORDS = 3
"""Words of processors' bits in a row."""
SOONEST = 4
"""The earliest promise of a waiting job."""
GAIN = 5
"""No job can gain from what came free by starting later than this."""
RESUME = 6
"""1 if the pass of this instant is still to be made: there was no room for it."""
ROWS = 7
"""Rows that are not in use."""
SLOTS = 8
"""Slots that are not in use."""
PLAN_MORE = 9
"""Seconds by which the plan at hand stretches the job's limit."""
CAP = 10
"""Costs from this on make no difference to the caller: they need not be worked out to the end."""

# The line of time, by place.
BEGIN = 0
ROW = 1
STARTS = 2
"""How many start here,"""
ENDS = 3
"""and how many end: others may start where a job ends. Neither is kept of the first piece."""
LEFT = 4
"""Free processors."""
COLUMNS = 5

BITS = 32
"""Processors in a word."""

# Jobs.
DUE = 0
"""The promised start of a waiting job."""
MORE = 1
"""Seconds by which its limit is stretched."""
UNTIL = 2
"""Until when the table holds a running job's processors."""
SLOT = 3
"""Where the bits of its processors are."""

# Slots that belong to no job.
WINDOW = 0
"""Processors that are free in the window at hand."""
OTHER = 1
PICK = 2
"""Processors of the plan at hand."""
OWN = 3

UNUSED_ROWS = 0
UNUSED_SLOTS = 1

UNCAPPED = 1 << 62

COUNT = 1
PLACE = 2
"""What is booked: a number of processors, certain ones, or both."""


class Plan(NamedTuple):
    """Arrays of the table; columns, rows and registers are named above."""

    par: Any  # int64[16]
    line: Any  # int64[COLUMNS, S]
    room: Any  # int64[S, W]: bits of the free processors
    load: Any  # int64[S, N H]: by node, then hinge
    job: Any  # int64[n, 4]
    mask: Any  # int64[L, W]: by slot
    unused: Any  # int64[2, max(S, L)]: stacks of rows and slots


def make_plan(
    *, n: int, nodes: int, cores: int, hinges: int, compress: bool, costed: bool, pieces: int = 256
) -> Plan:
    """An empty table with room for ``pieces`` pieces."""
    procs = nodes * cores
    words = -(-procs // BITS)
    par = np.zeros(16, np.int64)
    par[COMPRESS], par[COSTED], par[WORDS] = compress, costed, words
    par[SOONEST] = NEVER
    par[CAP] = UNCAPPED
    plan = Plan(
        par=par,
        line=np.zeros((COLUMNS, 0), np.int64),
        room=np.zeros((0, words), np.int64),
        load=np.zeros((0, nodes * hinges), np.int64),
        job=np.full((n, 4), -1, np.int64),
        mask=np.zeros((0, words), np.int64),
        unused=np.zeros((2, 0), np.int64),
    )
    plan = with_more_room(plan, pieces)
    par[ROWS] -= 1  # that of the first piece
    par[SLOTS] -= OWN + 1
    par[PIECES] = 1
    plan.line[LEFT, 0] = procs
    for p in range(procs):
        plan.room[0, p // BITS] |= 1 << (p % BITS)
    return plan


def with_more_room(plan: Plan, more: int) -> Plan:
    """The same with ``more`` rows and slots; they lie on top of the stacks, lowest first."""
    rows, slots = plan.room.shape[0], plan.mask.shape[0]
    par = plan.par
    unused = np.pad(plan.unused, ((0, 0), (0, more)))
    for stack, register, first in ((UNUSED_ROWS, ROWS, rows), (UNUSED_SLOTS, SLOTS, slots)):
        count = int(par[register])
        unused[stack, count : count + more] = np.arange(first + more - 1, first - 1, -1)
        par[register] = count + more
    return plan._replace(
        line=np.pad(plan.line, ((0, 0), (0, more))),
        room=np.pad(plan.room, ((0, more), (0, 0))),
        load=np.pad(plan.load, ((0, more), (0, 0))),
        mask=np.pad(plan.mask, ((0, more), (0, 0))),
        unused=unused,
    )


# ------------------------------------------------------------------------- the line of time
@kernel
def lacks_room(b: Plan, jobs: int) -> bool:
    """True if the rows or slots might not be enough for ``jobs`` running and waiting jobs."""
    return 2 * jobs + 8 > b.room.shape[0] or jobs + OWN + 2 > b.mask.shape[0]


@kernel
def place_of(b: Plan, time: int) -> int:
    """Place of the piece that an instant from now on lies in."""
    low = 1
    high = b.par[PIECES]
    while low < high:
        middle = (low + high) >> 1
        if b.line[BEGIN, middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low - 1


@routine
def cut(b: Plan, time: int) -> int:
    """Place of the piece that begins at an instant, cut there if need be."""
    before = place_of(b, time)
    line = b.line
    if line[BEGIN, before] == time:
        return before
    at = before + 1
    for i in range(b.par[PIECES], at, -1):
        for k in range(COLUMNS):
            line[k, i] = line[k, i - 1]
    b.par[PIECES] += 1
    b.par[ROWS] -= 1
    row = b.unused[UNUSED_ROWS, b.par[ROWS]]
    old = line[ROW, before]
    line[BEGIN, at] = time
    line[ROW, at] = row
    line[STARTS, at] = 0
    line[ENDS, at] = 0
    line[LEFT, at] = line[LEFT, before]
    for word in range(b.par[WORDS]):
        b.room[row, word] = b.room[old, word]
    if b.par[COSTED] != 0:
        for k in range(b.load.shape[1]):
            b.load[row, k] = b.load[old, k]
    return at


@kernel
def close(b: Plan, at: int) -> None:
    """Close a cut at which no job starts or ends any more; the first piece always stays."""
    line = b.line
    if at == 0 or line[STARTS, at] != 0 or line[ENDS, at] != 0:
        return
    b.unused[UNUSED_ROWS, b.par[ROWS]] = line[ROW, at]
    b.par[ROWS] += 1
    b.par[PIECES] -= 1
    for i in range(at, b.par[PIECES]):
        for k in range(COLUMNS):
            line[k, i] = line[k, i + 1]


@kernel
def forget_past(b: Plan, now: int) -> None:
    """The line begins now."""
    line = b.line
    past = place_of(b, now)
    if past > 0:
        for i in range(past):
            b.unused[UNUSED_ROWS, b.par[ROWS]] = line[ROW, i]
            b.par[ROWS] += 1
        b.par[PIECES] -= past
        for k in range(COLUMNS):
            for i in range(b.par[PIECES]):
                line[k, i] = line[k, i + past]
    line[BEGIN, 0] = now


@routine
def clear(b: Plan, table: Table) -> None:
    """No job holds anything: one piece from where the line begins."""
    while b.par[PIECES] > 1:
        b.par[PIECES] -= 1
        b.unused[UNUSED_ROWS, b.par[ROWS]] = b.line[ROW, b.par[PIECES]]
        b.par[ROWS] += 1
    row = b.line[ROW, 0]
    procs = table.par[NODES] * table.par[CORES]
    b.line[LEFT, 0] = procs
    for word in range(b.par[WORDS]):
        b.room[row, word] = (1 << min(BITS, procs - word * BITS)) - 1
    for k in range(b.load.shape[1]):
        b.load[row, k] = 0
