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

from typing import NamedTuple

import numpy as np

from shadowtime.engine.nodes.running_table import Table
from shadowtime.kernel.columns import filled, longer, whole
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.types import Ints, Rows

REGISTERS = whole(
    "compress",
    "costed",  # 1 if penalties matter to the policy, so that demand is booked
    "pieces",  # pieces of the line of time; the last one never ends
    "words",  # words of processors' bits in a row
    "soonest",  # the earliest promise of a waiting job
    "gain",  # no job can gain from what came free by starting later than this
    "resume",  # 1 if the pass of this instant is still to be made: there was no room for it
    "rows",  # rows that are not in use
    "slots",  # slots that are not in use
    "plan_more",  # seconds by which the plan at hand stretches the job's limit
    "cap",  # costs from this on make no difference: they need not be worked out to the end
)

PIECES = whole(
    "begin",
    "row",
    "starts",  # how many jobs start here,
    "ends",  # and how many end: others may start there. Neither is kept of the first piece
    "left",  # free processors
)
"""A piece of the line of time."""

WORD_BITS = 32
"""Processors in a word."""

JOBS = whole(
    "due",  # the promised start of a waiting job
    "more",  # seconds by which its limit is stretched
    "until",  # until when the table holds a running job's processors
    "slot",  # where the bits of its processors are
)

# Slots that belong to no job.
WINDOW = 0
"""Processors that are free in the window at hand."""
OTHER = 1
PICK = 2
"""Processors of the plan at hand."""
OWN = 3

UNUSED = whole("rows", "slots")

UNCAPPED = 1 << 62

COUNT = 1
PLACE = 2
"""What is booked: a number of processors, certain ones, or both."""


class Plan(NamedTuple):
    """Arrays of the table; columns and registers are named above."""

    par: Rows  # REGISTERS[1]
    line: Rows  # PIECES[S]
    room: Ints  # int64[S, W]: bits of the free processors
    load: Ints  # int64[S, N H]: by node, then hinge
    job: Rows  # JOBS[n]
    mask: Ints  # int64[L, W]: by slot
    unused: Rows  # UNUSED[max(S, L)]: stacks


def make_plan(
    *, n: int, nodes: int, cores: int, hinges: int, compress: bool, costed: bool, pieces: int = 256
) -> Plan:
    """An empty table with room for ``pieces`` pieces."""
    procs = nodes * cores
    words = -(-procs // WORD_BITS)
    par = np.zeros(1, REGISTERS)
    par["compress"][0], par["costed"][0], par["words"][0] = compress, costed, words
    par["soonest"][0] = NEVER
    par["cap"][0] = UNCAPPED
    plan = Plan(
        par=par,
        line=np.zeros(0, PIECES),
        room=np.zeros((0, words), np.int64),
        load=np.zeros((0, nodes * hinges), np.int64),
        job=filled(n, JOBS, -1),
        mask=np.zeros((0, words), np.int64),
        unused=np.zeros(0, UNUSED),
    )
    plan = with_more_room(plan, pieces)
    par["rows"][0] -= 1  # that of the first piece
    par["slots"][0] -= OWN + 1
    par["pieces"][0] = 1
    plan.line["left"][0] = procs
    for p in range(procs):
        plan.room[0, p // WORD_BITS] |= 1 << (p % WORD_BITS)
    return plan


def with_more_room(plan: Plan, more: int) -> Plan:
    """The same with ``more`` rows and slots; they lie on top of the stacks, lowest first."""
    rows, slots = plan.room.shape[0], plan.mask.shape[0]
    par = plan.par
    unused = longer(plan.unused, more)
    for stack, first in (("rows", rows), ("slots", slots)):
        count = int(par[stack][0])
        unused[stack][count : count + more] = np.arange(first + more - 1, first - 1, -1)
        par[stack] = count + more
    return plan._replace(
        line=longer(plan.line, more),
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
    high = b.par["pieces"][0]
    while low < high:
        middle = (low + high) >> 1
        if b.line["begin"][middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low - 1


@routine
def cut(b: Plan, time: int) -> int:
    """Place of the piece that begins at an instant, cut there if need be."""
    before = place_of(b, time)
    line = b.line
    if line["begin"][before] == time:
        return before
    at = before + 1
    for i in range(b.par["pieces"][0], at, -1):
        line[i] = line[i - 1]
    b.par["pieces"][0] += 1
    b.par["rows"][0] -= 1
    row = b.unused["rows"][b.par["rows"][0]]
    old = line["row"][before]
    line["begin"][at] = time
    line["row"][at] = row
    line["starts"][at] = 0
    line["ends"][at] = 0
    line["left"][at] = line["left"][before]
    for word in range(b.par["words"][0]):
        b.room[row, word] = b.room[old, word]
    if b.par["costed"][0] != 0:
        for k in range(b.load.shape[1]):
            b.load[row, k] = b.load[old, k]
    return at


@kernel
def close(b: Plan, at: int) -> None:
    """Close a cut at which no job starts or ends any more; the first piece always stays."""
    line = b.line
    if at == 0 or line["starts"][at] != 0 or line["ends"][at] != 0:
        return
    b.unused["rows"][b.par["rows"][0]] = line["row"][at]
    b.par["rows"][0] += 1
    b.par["pieces"][0] -= 1
    for i in range(at, b.par["pieces"][0]):
        line[i] = line[i + 1]


@kernel
def forget_past(b: Plan, now: int) -> None:
    """The line begins now."""
    line = b.line
    past = place_of(b, now)
    if past > 0:
        for i in range(past):
            b.unused["rows"][b.par["rows"][0]] = line["row"][i]
            b.par["rows"][0] += 1
        b.par["pieces"][0] -= past
        for i in range(b.par["pieces"][0]):
            line[i] = line[i + past]
    line["begin"][0] = now


@routine
def clear(b: Plan, table: Table) -> None:
    """No job holds anything: one piece from where the line begins."""
    while b.par["pieces"][0] > 1:
        b.par["pieces"][0] -= 1
        b.unused["rows"][b.par["rows"][0]] = b.line["row"][b.par["pieces"][0]]
        b.par["rows"][0] += 1
    row = b.line["row"][0]
    procs = table.par["nodes"][0] * table.par["cores"][0]
    b.line["left"][0] = procs
    for word in range(b.par["words"][0]):
        b.room[row, word] = (1 << min(WORD_BITS, procs - word * WORD_BITS)) - 1
    for k in range(b.load.shape[1]):
        b.load[row, k] = 0
