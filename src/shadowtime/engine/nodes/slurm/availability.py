"""What nodes will have free, for plans of many jobs: cores and counted bandwidth over time.

The line of time is cut into segments, each with what every node has left in it; the last one never
ends. Plans are made again at every pass, so a profile is filled, asked and thrown away (spec:
algorithms 6.3). Its numbers are the scheduler's, not the world's: a job on nodes of its own books
all their cores.

Jobs whose processes are counted alike are of one kind. For every kind a profile also has how many
processes of it go on every node, and on all: mostly that is all a search has to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG

if TYPE_CHECKING:
    from shadowtime.types import Ints

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
KINDS = 13
"""Kinds of waiting jobs in this pass."""
BITS = 14
"""Bits of the bandwidth in a cell: cores << BITS | bandwidth."""
HORIZON = 15
"""When the last of the jobs that may start now would end."""
PLANS = 16
"""Plans that searches remember (earliest.py)."""
BEHIND = 17
"""The last search knew from those that its job does not start before this."""
VALID = 18
"""1 while the book is that of the last pass and no job has ended since."""
ARRIVED = 19
"""Jobs below this index had arrived then."""
LISTED = 20
"""Entries of ``found``, gaps included."""
NEXT = 21
"""The first of them that has no plan yet and is not put off: ``since`` is known up to here."""
BLOCKED = 22
"""1 if a job in front of it could not start."""
MAY = 23
"""Entries of ``may``: blocks with jobs that may start in this pass (startable.py)."""
SOONEST = 24
"""The start that the last search found; if it was not soon enough, none is before this."""
BOUND = 25
"""No job that is put off starts before this."""
LISTED_RUNS = 26
"""Runs of nodes on the list of what is to be written (writing.py)."""
SERIAL = 27
"""How many books have been begun: what is known of jobs alike holds for one of them."""
LAST = 28
"""Place of the last job that may start in this pass; -1 if there is none."""
NEWEST = 29
"""No job in front of this place may start: they were asked in an earlier pass."""
HOLDER = 30
"""The entry of ``may`` whose longest job ends at HORIZON."""
ASKED = 31
"""Segments of which it is known how many processes could start now and run to their end: 0 if
something was written since they were counted."""
REGISTERS = 32

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
KIND = 8
ALIKE = 9
"""The number of its request: processes and time limit."""
JOB_COLUMNS = 10

ALONE = -1
SUM, RECORDS = 0, 1
"""Columns of a tag: sum of its records in grains, and their number."""
PLACE_BITS = 32


KIND_BITS = 3
MOST_KINDS = 1 << KIND_BITS
"""Further ones share the last, whose numbers are then too large for most of them."""
BLOCK_BITS = 5
BLOCK = 1 << BLOCK_BITS
"""Places of the list of waiting jobs that are looked at together (waiting.py)."""
GONE = BIG << KIND_BITS
"""In ``asked``: the job that was listed here has started."""


class Availability(NamedTuple):
    """Arrays of the scheduler on nodes; columns and registers are named above."""

    par: Any  # int64[REGISTERS]
    job: Any  # int64[n, JOB_COLUMNS]
    tag: Any  # int64[T, 2]
    running: Any  # int64[P + 1]: the running jobs
    places: Any  # int64[most nodes of all jobs]: node << 32 | processes
    found: Any  # int64[n + 1]: the waiting jobs of a pass, and gaps (waiting.py)
    asked: Any  # int64[n + 1]: processes << KIND_BITS | kind of each, side by side to be scanned
    lasts: Any  # int64[n + 1]: the time limit of each
    same: Any  # int64[n + 1]: number of the request << KIND_BITS | kind of each
    may: Any  # int64[blocks]: blocks of it with jobs that may start now
    most: Any  # int64[blocks]: by place in ``may``, none of those lasts longer than this
    plans: Any  # int64[4, n + 1]: processes, length, wish and start of those that were planned
    kinds: Any  # int64[MOST_KINDS]: what a process of each is counted with
    since: Any  # int64[n + BLOCK]: by place in ``found``, what it does not start before (NEXT)
    soon: Any  # int64[blocks]: the least of those in a block of it
    block: Any  # int64[blocks, MOST_KINDS, 3]: of its jobs of each kind, see FEWEST
    alike: Any  # int64[requests, MOST_KINDS, 2]: of a kind of a request, see BOOK
    node: Any  # int64[FITS + MOST_KINDS, N]: by place in a list of nodes or of runs of them
    least: Any  # int16[N]: the fewest processes that go on a node in the window at hand
    when: Any  # int64[ENOUGH + MOST_KINDS, S]: by place in the line
    cell: Any  # int64[S, N]: by row
    room: Any  # int16[MOST_KINDS, S, N]: by row, how many processes go on a node


TAKE, WHERE, UP_TO, DROP, KNOWN, FITS = 0, 1, 2, 3, 4, 5
"""Processes on each node of a run, its first node and the one behind its last, what is taken from
its cells, the cell that was met last, and how many processes of each kind go there."""
FEWEST, SHORTEST, LONGEST = 0, 1, 2
"""The fewest processes, the shortest and the longest limit of the jobs of a kind; NEVER, NEVER and
0 if there are none."""
BOOK, EARLIEST = 0, 1
"""The book in which a job of this request and kind was looked for, and no later one starts before
this."""
BEGIN, ROW, FREE, TOTAL = 0, 1, 2, 3
"""Begin and row of a segment, its free cores, its places for processes of each kind."""
ENOUGH = TOTAL + MOST_KINDS
"""By kind: how many could start now and run to the end of the segment (startable.py)."""


def make_book(
    *, nodes: int, cores: int, jobs: Ints, tags: Ints, registers: dict[int, int], segments: int
) -> Availability:
    """An empty book; ``jobs`` and ``tags`` hold the columns named above."""
    par = np.zeros(REGISTERS, np.int64)
    par[NODES], par[CORES] = nodes, cores
    for register, value in registers.items():
        par[register] = value
    par[BITS] = int(par[CAP]).bit_length()
    if par[BITS] + int(cores).bit_length() > 62:
        raise UsageError(
            "the bandwidth of a node is too large to be counted: give it in a larger unit"
        )
    n = len(jobs)
    most = int(np.minimum(jobs[:, PROCS], nodes).sum())
    return Availability(
        par=par,
        job=jobs,
        tag=tags,
        running=np.zeros(min(n, nodes * cores) + 1, np.int64),
        places=np.zeros(most + 1, np.int64),
        found=np.zeros(n + 1, np.int64),
        asked=np.zeros(n + 1, np.int64),
        lasts=np.zeros(n + 1, np.int64),
        same=np.zeros(n + 1, np.int64),
        may=np.zeros((n >> BLOCK_BITS) + 1, np.int64),
        most=np.zeros((n >> BLOCK_BITS) + 1, np.int64),
        plans=np.zeros((4, n + 1), np.int64),
        kinds=np.zeros(MOST_KINDS, np.int64),
        since=np.zeros(n + BLOCK, np.int64),
        soon=np.zeros((n >> BLOCK_BITS) + 1, np.int64),
        block=np.zeros(((n >> BLOCK_BITS) + 1, MOST_KINDS, 3), np.int64),
        alike=np.zeros((number_requests(jobs), MOST_KINDS, 2), np.int64),
        node=np.zeros((FITS + MOST_KINDS, nodes), np.int64),
        least=np.zeros(nodes, count_type(cores)),
        **rows(segments, nodes, cores),
    )


def number_requests(jobs: Ints) -> int:
    """Number the requests of the jobs, of as many processes and as long each: how many there are.

    Examples
    --------
    >>> jobs = np.zeros((3, JOB_COLUMNS), np.int64)
    >>> jobs[:, PROCS], jobs[:, LENGTH] = (4, 2, 4), (60, 60, 60)
    >>> number_requests(jobs), jobs[:, ALIKE].tolist()
    (2, [1, 0, 1])
    """
    order = np.lexsort((jobs[:, LENGTH], jobs[:, PROCS]))
    procs, length = jobs[order, PROCS], jobs[order, LENGTH]
    number = np.zeros(len(jobs), np.int64)
    np.cumsum((procs[1:] != procs[:-1]) | (length[1:] != length[:-1]), out=number[1:])
    jobs[order, ALIKE] = number
    return int(number.max(initial=0)) + 1


def rows(segments: int, nodes: int, cores: int) -> dict[str, Any]:
    """Empty rows for a number of segments."""
    return {
        "when": np.zeros((ENOUGH + MOST_KINDS, segments), np.int64),
        "cell": np.zeros((segments, nodes), np.int64),
        "room": np.zeros((MOST_KINDS, segments, nodes), count_type(cores)),
    }


def count_type(cores: int) -> Any:
    """The type in which processes on a node are counted: a small one, so that a search is short."""
    return np.int16 if cores <= np.iinfo(np.int16).max else np.int32


# ---------------------------------------------------------------------------- kinds of jobs
@kernel
def kind_of(b: Availability, wish: int) -> int:
    """The kind of this demand; as many as there are if there is none."""
    kind = 0
    while kind < b.par[KINDS] and b.kinds[kind] != wish:
        kind += 1
    return kind


# ---------------------------------------------------------------------------- the line of time
@kernel
def clear(b: Availability, now: int) -> None:
    """One segment from now on: everything is free."""
    par = b.par
    nodes = par[NODES]
    for node in range(nodes):
        b.cell[0, node] = par[CORES] << par[BITS] | par[CAP]
    b.when[BEGIN, 0] = now
    b.when[ROW, 0] = 0
    b.when[FREE, 0] = nodes * par[CORES]
    for kind in range(par[KINDS]):
        some = places_on(b, par[CORES], par[CAP], b.kinds[kind])
        for node in range(nodes):
            b.room[kind, 0, node] = some
        b.when[TOTAL + kind, 0] = nodes * some
    par[SEGMENTS] = 1
    par[PLANS] = 0
    par[SERIAL] += 1


@routine
def cut(b: Availability, time: int) -> int:
    """Place of the segment that begins at an instant from now on, cut there if need be."""
    when = b.when
    count = b.par[SEGMENTS]
    at = place_of(b, time)
    if at < count and when[BEGIN, at] == time:
        return at
    for line in range(TOTAL + b.par[KINDS]):
        for i in range(count, at, -1):
            when[line, i] = when[line, i - 1]
        when[line, at] = when[line, at - 1]
    old = when[ROW, at - 1]
    when[BEGIN, at] = time
    when[ROW, at] = count
    for node in range(b.par[NODES]):
        b.cell[count, node] = b.cell[old, node]
    for kind in range(b.par[KINDS]):
        for node in range(b.par[NODES]):
            b.room[kind, count, node] = b.room[kind, old, node]
    b.par[SEGMENTS] = count + 1
    return at


@kernel
def place_of(b: Availability, time: int) -> int:
    """Place of the first segment that begins no earlier than an instant."""
    low = 0
    high = b.par[SEGMENTS]
    while low < high:
        middle = (low + high) >> 1
        if b.when[BEGIN, middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


# ---------------------------------------------------------------------------- asking it
@kernel
def places_on(b: Availability, cores: int, width: int, wish: int) -> int:
    """How many processes of a demand fit into what is free.

    Most nodes are distinguished without a division.
    """
    if wish == ALONE:
        return b.par[SHARE] if cores == b.par[CORES] else 0
    if wish == 0 or b.par[COUNTS] == 0 or width >= cores * wish:
        return cores
    if width < wish:
        return 0
    return width // wish


@kernel
def places_in(b: Availability, cell: int, wish: int) -> int:
    """The same for a cell."""
    bits = b.par[BITS]
    return places_on(b, cell >> bits, cell & ((1 << bits) - 1), wish)


# ---------------------------------------------------------------------------- what is measured
@kernel
def look_up(b: Availability, job: int) -> None:
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
