"""What nodes will have free, for plans of many jobs: cores and counted bandwidth over time.

The line of time is cut into segments, each with what every node has left in it; the last one never
ends. Plans are made again at every pass, so a profile is filled, asked and thrown away (spec:
algorithms 6.3). Its numbers are the scheduler's, not the world's: a job on nodes of its own books
all their cores.

Jobs whose processes are counted alike are of one kind. For every kind a profile also has how many
processes of it go on every node, and on all: mostly that is all a search has to read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.errors import UsageError
from shadowtime.kernel.columns import whole
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG
from shadowtime.types import AnyArray, Ints, Rows

REGISTERS = whole(
    "nodes",
    "cores",
    "cap",  # bandwidth of a node, in grains
    "counts",  # 1 if bandwidth is a limit, 0 if cores alone are
    "share",  # processes that an exclusive job puts on a node
    "by_tag",  # 1 if demands are those measured under the job's tag
    "late",  # 1 if they are read again at every pass, not once at submission (predict=start)
    "by_rate",  # 1 if what is measured falls with the job's own slowdown (record=rate)
    "segments",
    "running",
    "looked",  # jobs below this index have been looked up
    "places",  # entries in the log of places
    "resume",  # 1 if the pass of this instant is still to be made: the book had no room for it
    "kinds",  # kinds of waiting jobs in this pass
    "bits",  # bits of the bandwidth in a cell: cores << bits | bandwidth
    "horizon",  # when the last of the jobs that may start now would end
    "plans",  # plans that searches remember (earliest.py)
    "behind",  # the last search knew from those that its job does not start before this
    "valid",  # 1 while the book is that of the last pass and no job has ended since
    "arrived",  # jobs below this index had arrived then
    "listed",  # entries of ``found``, gaps included
    "next",  # the first of them that has no plan yet and is not put off: ``since`` is known so far
    "blocked",  # 1 if a job in front of it could not start
    "may",  # entries of ``may``: blocks with jobs that may start in this pass (startable.py)
    "soonest",  # the start that the last search found; if not soon enough, none is before this
    "bound",  # no job that is put off starts before this
    "listed_runs",  # runs of nodes on the list of what is to be written (writing.py)
    "serial",  # how many books have been begun: what is known of jobs alike holds for one of them
    "last",  # place of the last job that may start in this pass; -1 if there is none
    "newest",  # no job in front of this place may start: they were asked in an earlier pass
    "holder",  # the entry of ``may`` whose longest job ends at the horizon
    "asked",  # segments of which it is known how many processes could start now and run to their
    # end: 0 if something was written since they were counted
)

JOBS = whole(
    "procs",
    "length",  # the time limit: how long the job is planned to run
    "wish",  # counted bandwidth of a process in grains; ALONE: nodes of its own
    "tag",
    "measured",  # what a run of the job would be recorded as, in grains
    "until",  # planned end of a running job
    "from",  # where its places begin in the log
    "count",  # how many nodes it has
    "kind",
    "alike",  # the number of its request: processes and time limit
)

TAGS = whole(
    "sum",  # of its records, in grains
    "records",  # their number
)

RUNS = whole(
    "take",  # processes on each node of a run
    "where",  # its first node
    "up_to",  # the one behind its last
    "drop",  # what is taken from its cells
    "known",  # the cell that was met last
)
"""By place in a list of nodes, or of runs of them."""

BLOCKS = whole("fewest", "shortest", "longest")
"""Processes and limits of the jobs of a kind in a block; NEVER, NEVER and 0 if there are none."""

REQUESTS = whole(
    "book",  # the book in which a job of this request and kind was looked for,
    "earliest",  # and no later one starts before this
)

SEGMENTS = whole(
    "begin",
    "row",
    "free",  # free cores
)

ALONE = -1
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

    par: Rows  # REGISTERS[1]
    job: Rows  # JOBS[n]
    tag: Rows  # TAGS[T]
    running: Ints  # int64[P + 1]: the running jobs
    places: Ints  # int64[most nodes of all jobs]: node << 32 | processes
    found: Ints  # int64[n + 1]: the waiting jobs of a pass, and gaps (waiting.py)
    asked: Ints  # int64[n + 1]: processes << KIND_BITS | kind of each, side by side to be scanned
    lasts: Ints  # int64[n + 1]: the time limit of each
    same: Ints  # int64[n + 1]: number of the request << KIND_BITS | kind of each
    may: Ints  # int64[blocks]: blocks of it with jobs that may start now
    most: Ints  # int64[blocks]: by place in ``may``, none of those lasts longer than this
    plans: Ints  # int64[4, n + 1]: processes, length, wish and start of those that were planned
    kinds: Ints  # int64[MOST_KINDS]: what a process of each is counted with
    since: Ints  # int64[n + BLOCK]: by place in ``found``, what it does not start before (next)
    soon: Ints  # int64[blocks]: the least of those in a block of it
    block: Rows  # BLOCKS[blocks, MOST_KINDS]: of its jobs of each kind
    alike: Rows  # REQUESTS[requests, MOST_KINDS]: of a kind of a request
    node: Rows  # RUNS[N]
    fits: Ints  # int64[MOST_KINDS, N]: there too: how many processes of each kind go there
    least: AnyArray  # int16[N]: the fewest processes that go on a node in the window at hand
    when: Rows  # SEGMENTS[S]: by place in the line
    total: Ints  # int64[MOST_KINDS, S]: there too: places for processes of each kind
    enough: Ints  # int64[MOST_KINDS, S]: how many could start now and run to its end (startable.py)
    cell: Ints  # int64[S, N]: by row
    room: AnyArray  # int16[MOST_KINDS, S, N]: by row, how many processes go on a node


def make_book(
    *, nodes: int, cores: int, jobs: Rows, tags: Rows, registers: dict[str, int], segments: int
) -> Availability:
    """An empty book; ``jobs`` and ``tags`` hold the columns named above."""
    par = np.zeros(1, REGISTERS)
    par["nodes"][0], par["cores"][0] = nodes, cores
    for register, value in registers.items():
        par[register] = value
    par["bits"][0] = int(par["cap"][0]).bit_length()
    if par["bits"][0] + int(cores).bit_length() > 62:
        raise UsageError(
            "the bandwidth of a node is too large to be counted: give it in a larger unit"
        )
    n = len(jobs)
    most = int(np.minimum(jobs["procs"], nodes).sum())
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
        block=np.zeros(((n >> BLOCK_BITS) + 1, MOST_KINDS), BLOCKS),
        alike=np.zeros((number_requests(jobs), MOST_KINDS), REQUESTS),
        node=np.zeros(nodes, RUNS),
        fits=np.zeros((MOST_KINDS, nodes), np.int64),
        least=np.zeros(nodes, count_type(cores)),
        **rows(segments, nodes, cores),
    )


def number_requests(jobs: Rows) -> int:
    """Number the requests of the jobs, of as many processes and as long each: how many there are.

    Examples
    --------
    >>> jobs = np.zeros(3, JOBS)
    >>> jobs["procs"], jobs["length"] = (4, 2, 4), (60, 60, 60)
    >>> number_requests(jobs), jobs["alike"].tolist()
    (2, [1, 0, 1])
    """
    order = np.lexsort((jobs["length"], jobs["procs"]))
    procs, length = jobs["procs"][order], jobs["length"][order]
    number = np.zeros(len(jobs), np.int64)
    np.cumsum((procs[1:] != procs[:-1]) | (length[1:] != length[:-1]), out=number[1:])
    jobs["alike"][order] = number
    return int(number.max(initial=0)) + 1


def rows(segments: int, nodes: int, cores: int) -> dict[str, Any]:
    """Empty rows for a number of segments."""
    return {
        "when": np.zeros(segments, SEGMENTS),
        "total": np.zeros((MOST_KINDS, segments), np.int64),
        "enough": np.zeros((MOST_KINDS, segments), np.int64),
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
    while kind < b.par["kinds"][0] and b.kinds[kind] != wish:
        kind += 1
    return kind


# ---------------------------------------------------------------------------- the line of time
@kernel
def clear(b: Availability, now: int) -> None:
    """One segment from now on: everything is free."""
    par = b.par
    nodes = par["nodes"][0]
    for node in range(nodes):
        b.cell[0, node] = par["cores"][0] << par["bits"][0] | par["cap"][0]
    b.when["begin"][0] = now
    b.when["row"][0] = 0
    b.when["free"][0] = nodes * par["cores"][0]
    for kind in range(par["kinds"][0]):
        some = places_on(b, par["cores"][0], par["cap"][0], b.kinds[kind])
        for node in range(nodes):
            b.room[kind, 0, node] = some
        b.total[kind, 0] = nodes * some
    par["segments"][0] = 1
    par["plans"][0] = 0
    par["serial"][0] += 1


@routine
def cut(b: Availability, time: int) -> int:
    """Place of the segment that begins at an instant from now on, cut there if need be."""
    when = b.when
    count = b.par["segments"][0]
    at = place_of(b, time)
    if at < count and when["begin"][at] == time:
        return at
    for i in range(count, at - 1, -1):
        when[i] = when[i - 1]
    for kind in range(b.par["kinds"][0]):
        for i in range(count, at - 1, -1):
            b.total[kind, i] = b.total[kind, i - 1]
    old = when["row"][at - 1]
    when["begin"][at] = time
    when["row"][at] = count
    for node in range(b.par["nodes"][0]):
        b.cell[count, node] = b.cell[old, node]
    for kind in range(b.par["kinds"][0]):
        for node in range(b.par["nodes"][0]):
            b.room[kind, count, node] = b.room[kind, old, node]
    b.par["segments"][0] = count + 1
    return at


@kernel
def place_of(b: Availability, time: int) -> int:
    """Place of the first segment that begins no earlier than an instant."""
    low = 0
    high = b.par["segments"][0]
    while low < high:
        middle = (low + high) >> 1
        if b.when["begin"][middle] < time:
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
        return b.par["share"][0] if cores == b.par["cores"][0] else 0
    if wish == 0 or b.par["counts"][0] == 0 or width >= cores * wish:
        return cores
    if width < wish:
        return 0
    return width // wish


@kernel
def places_in(b: Availability, cell: int, wish: int) -> int:
    """The same for a cell."""
    bits = b.par["bits"][0]
    return places_on(b, cell >> bits, cell & ((1 << bits) - 1), wish)


# ---------------------------------------------------------------------------- what is measured
@kernel
def look_up(b: Availability, job: int) -> None:
    """A job's counted demand: the mean of its tag's records, rounded up; ALONE without any."""
    tag = b.job["tag"][job]
    if tag < 0 or b.tag["records"][tag] == 0:
        b.job["wish"][job] = ALONE
    else:
        records = b.tag["records"][tag]
        b.job["wish"][job] = (b.tag["sum"][tag] + records - 1) // records


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
