"""The arrays of one backfill pass, and the names of their columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shadowtime.kernel.slurm.words import words_of
from shadowtime.types import AnyArray, Ints

# Scalars, in ``mark``. First what the site sets:
WINDOW, STEP, BOUND, MAP_RECORDS, LINEAR, KEEPS_RUNNING, KILL_WAIT, BUSY_NODES = range(8)
"""bf_window, bf_resolution, bf_max_job_test, the most records of the map, bf_window_linear,
bf_running_job_reserve, seconds that a job past its limit needs to end, bf_busy_nodes."""
GANG, GPUS, SHARES, DIRECT = range(8, 12)
"""Jobs may lie above suspended ones; some nodes have GPUs; what running jobs hold on each node
counts; a start that was found needs no more tests."""
# Rules that changed between releases (slurm/rules.py).
FRESH, BOUNDED, MAP_FIRST, ROUNDED_UP, GOES_ON, HOLDERS_END, AT_TRY, MOVES_ON, RELEVANT = range(
    12, 21
)
# The pass.
(
    NOW,
    BEGAN,
    WINDOW_END,
    STARTS_ONLY,
    RECORDS,
    PASS,
    SHORTCUTS,
    REUSE,
    PASSES_OVER,
    CLEARS,
    VERDICTS,
) = range(21, 32)
"""``REUSE``: jobs with the same request get the same answer. ``PASSES_OVER``: a job that is certain
to be given up has no side effects. ``CLEARS``: Python looks at every record first.
``VERDICTS``: and at every plan."""
ASKS_LAST, WINDOWS = range(32, 34)
"""Python must agree that the last record could start; how many reservations there are."""
AT, LAST, SEEN, SEEN_STAMP, MEASURED, WIDEST, TESTED, MAY_RUN_OUT, OVER, NO_START = range(34, 44)
"""The record looked at; the last that could start now, and the versions in which it was found;
the version of the map in which WIDEST was the most nodes that any span has free; ..."""
STAMP, VERSION, MADE, SPANS, VALID, PLANS = range(44, 50)
"""``STAMP`` grows with every pass and every start: what was noted before it is void. ``VERSION``
counts changes of the map, ``MADE`` its records ever made. ``VALID``: until then a pass over the
same queue and the same running jobs compares all times alike."""
ENDS, FRESH_ENDS, COUNT, CANDIDATES, TABLE_ENDS = range(50, 55)
"""Running jobs in ``end`` (-1: not there yet), whether they were just written; how many of them
count as running in this test, and how many would be preempted; the number of ends that ``table``
is the state after (-1: none)."""
SHRUNK, SHRUNK_STAMP, FIRST_SPAN, KEEP_UNTIL = range(55, 59)
"""``KEEP_UNTIL``: plan the nodes of KEEP away until then, before anything else; 0: nothing."""
STAGE, FROM, AGAIN, COUNTED, LATER, START, VERDICT = range(59, 66)
"""Where a record was left; when its first try is; it is looked at once more after a plan; it
counts as tested, its next try, and the start that was found; what is to become of its plan."""
FREE_CPUS, FITS_NOW, UPS = range(66, 69)
"""Of all nodes; the record at AT may start on the nodes that the desk has chosen, whatever limits
say; how often nodes went down or came up."""
# The main pass; it shares AT and RECORDS.
ANSWERS, MOVES, BOUND_DEPTH, DEPTH, PART_DEPTH, FAILURES = range(69, 75)
"""Records are answered without a try where that is certain; tests leave weights behind; how many
records are looked at (-1: all), so far, and of each partition (0: all); partitions that failed."""
CHECKS_LIMITS, PLANS_WANTED, LEFTS, ONE_THREAD, NOTES, PREEMPTS = range(75, 81)
ALL_LEFT, MOVED, BEGINS = range(81, 84)
"""Limits are checked here, not by Python; all plans of a pass are wanted; how often LEFT changed in
all passes; every core has one thread; how often a job got another reason to wait; some jobs may
preempt others; LEFTS while all nodes that are up are left; weights may have moved; it begins."""
OWNERS_END, OWNED_NODES, OWNED_UNTIL = range(84, 87)
"""Nodes of other users are left out until they are free; rows of ``owner`` that count; when the
next node that was left out is free."""
KEPT_NODES = 87
"""Nothing preempts the job that started last, so that a backfill pass leaves it its nodes."""
DO = 88
"""What is asked for (run.py): to run from event to event, or the walk of a pass."""
RUN, MAIN_WALK, BACKFILL_WALK = range(3)
MARKS = 89

# ``STAGE``: to be looked at, cleared by Python, tried to start, its plan judged.
NEXT, CLEARED, TRIED_TO_START, JUDGED = range(4)
# ``VERDICT``: no plan; listed and no more; planned but not in the map; planned.
REFUSED, LISTED, BESIDE, KEPT = range(4)

# Columns of ``queue``.
ROW, SLOT, NOW_ONLY, GONE, TASKS, USER = range(6)
"""``SLOT``: the place of its job in ``met``. ``USER``: its number, where nodes may belong to
users."""
QUEUES = 6
# Columns of ``record``.
ASK, SECTION, LIMIT, WATCHED, KIND, RANK, LICENCES, RESERVATION, WHO, PLAIN = range(10)
"""``WATCHED``: an array or a job with licences. ``KIND``: its number of (partition, limit).
``RANK``: the class of jobs by which it preempts. ``LICENCES``: as bits. ``RESERVATION``: the
number of its own one (-1: none). ``WHO``: whose limits apply. ``PLAIN``: it is not watched and asks
for no nodes by name, reservation or alternatives."""
RECORD = 10
# Columns of ``who``, of ``check`` and of ``sums``.
FIRST_CHECK, JOB_CHECKS, CHECKS, SIMPLE = range(4)
"""``SIMPLE`` 0: other limits apply as well, which Python knows."""
GROUP, SUM, MOST, REASON = range(4)
SUM_CPU, SUM_NODE, SUM_GPU, SUM_MEM, SUM_NONE, SUM_JOBS = range(6)
# Columns of ``job``: running ones.
JOB_END, FIRST_SHARE, SHARE_COUNT, JOB_RANK, JOB_LICENCES, JOB_SECTION, IN_NO_ROW = range(7)
REACH_FIRST, REACH_LAST, ORDER, FREE_THEN = range(7, 11)
"""By limits' ends, which are JOB_END. ``JOB_RANK`` -1: it cannot be preempted. ``REACH_*``: the
first and the last word of ``held`` in which it has nodes. By place, not of the job there: ORDER,
the jobs that count as running, behind them those preempted; FREE_THEN, free cpus after so many
ends."""
JOBS = 11
# Columns of ``share``: those of a state (desk.py), but the node where that has IDLE.
SHARE_NODE = 3
# Columns of ``holder``, by node: shares in the order of their ends, summed up.
HOLDER_END, HOLDER_CPUS, HOLDER_MEMORY, HOLDER_GPUS = range(4)
# Columns of ``memo``, by ask and section.
FIRST_STAMP, FIRST, VAIN_STAMP, VAIN_VERSION, VAIN_LIMIT, VAIN_NOW_ONLY, VAIN_LICENCES = range(7)
VAIN_COUNTED, TALLIED, SERVED, SERVED_LEFT, TALLY = range(7, 12)
"""``TALLIED`` 1: what it counts with is known: at least what is in the columns of a sum from TALLY
on, at most what is from MOST_TALLY on; -1: it is not. ``SERVED``: 2 * UPS, and one more if the
partition's nodes, empty, serve it; ``SERVED_LEFT``: LEFTS, and the nodes that are left."""
MOST_TALLY = TALLY + SUM_JOBS
OWN_TALLY = MOST_TALLY + SUM_JOBS
"""Scratch: what it counts with on the nodes that were chosen."""
ALONE_UPS = OWN_TALLY + SUM_JOBS
ALONE_FITS = ALONE_UPS + 1
ALONE_TALLY = ALONE_FITS + 1
"""What it counted with on nodes of its own, when it was last offered those in ``alone``; whether
it fitted there; UPS then, and one more."""
MEMOS = ALONE_TALLY + SUM_JOBS
# Columns of ``when``, by floor.
ABLE_STAMP, WHEN_STAMP, BY_NODE = range(3)
# Columns of ``node``.
BASE_WEIGHT, GIVEN, SPARED_CPUS, PLAIN_WEIGHT, ALL_CPUS = range(5)
"""Its weight as a will-run test sets it; cpus that were chosen; scratch; its weight as a try to
start sets it; cpus that a job is counted with that has the node to itself."""
# Columns of ``narrow``, by kind of record.
NARROW_PASS, NARROW_NODES = range(2)
# Columns of ``part``, by section.
TIER, OFF, FAILED, LOOKED_AT = range(4)
"""``OFF``: its jobs are not preempted. In the main pass: nothing more is started in it; records of
it so far."""
# Rows of ``mask``.
IDLE, USABLE, COMPLETING = range(3)
"""Nodes without jobs; neither down nor completing; completing."""
BASE, ROOM, FOUND, CHOSEN, SEARCHED, ALL_FREE, BARRED, KEEP, SPARED, LEFT, OFFERED = range(3, 14)
"""The nodes that are searched, those that a try found, those that are tested, ..."""
UP, TAKEN = 14, 15
"""``TAKEN``: the nodes of the counts of features that have some."""
# Columns of ``span`` and of ``window``.
BEGIN, END, FREE_NODES, IDLE_NODES = range(4)
"""``FREE_NODES``: how many, in version MEASURED of the map; ``IDLE_NODES``: that stay free from now
to its end."""
WINDOW_NAME, BINDS = 2, 3
"""``BINDS``: its own jobs run on its nodes alone, and not before it begins."""
# Columns of ``plan``.
PLAN_AT, PLAN_START, PLAN_END = range(3)


class Board(NamedTuple):
    """One pass. Masks are rows of words, the lowest node in the lowest bit of the first word."""

    mark: Ints
    queue: Ints
    """Records in Slurm's order: row of ``record``, now or never, out of the game, tasks."""
    met: Ints
    """By job: the number of what it was last passed over for, -1: nothing."""
    record: Ints
    memo: Ints
    alone: AnyArray
    """By row of ``memo``: the nodes that such a job was last offered for itself (alone.py)."""
    able: AnyArray
    """By floor: nodes that have that free now."""
    when: Ints
    """By floor: after how many ends each node has that free."""
    narrow: Ints
    """By kind: in which pass this number of nodes was found to be free nowhere."""
    section: AnyArray
    """Nodes of each partition that are up; then all of each partition."""
    part: Ints
    outranks: Ints
    """Whether jobs of one rank may preempt those of another."""
    preys: Ints
    """By rank: whether a job that it may preempt runs."""
    who: Ints
    check: Ints
    """Bounds, in the order in which they are checked."""
    sums: Ints
    """What running jobs hold, by group that some bound is on."""
    now: Ints
    """The state now (desk.py)."""
    table: Ints
    """Scratch: another state."""
    weight: Ints
    """Scheduling weights as earlier tests left them."""
    fresh_weight: Ints
    """Scratch: those of one test."""
    node: Ints
    held: AnyArray
    """Nodes of running jobs."""
    job: Ints
    share: Ints
    core: AnyArray
    """Cores of each share, where jobs may lie above others."""
    holder: Ints
    holders: Ints
    """Where the shares of each node begin in ``holder``."""
    after: AnyArray
    """By number of these ends: nodes without a job then."""
    span: Ints
    free: AnyArray
    """Nodes of each span that are not planned away."""
    window: Ints
    window_nodes: AnyArray
    """Reservations."""
    owner: Ints
    """Nodes with jobs, where nodes may belong to users (owners.py)."""
    plan: Ints
    planned: AnyArray
    mask: AnyArray
    """What is free now, and scratch."""
    cores: AnyArray
    """Scratch: cores of nodes: those to choose from, those above which nothing may lie, those of
    the best choice, and all of them."""


def empty_board(
    nodes: int, *, sections: int = 1, spans: int = 4, parts: int = 1, cores: int = 0
) -> Board:
    """A board for an empty machine of ``nodes`` nodes; the caller makes room as needed.

    ``parts``: sockets and pools of a node. ``cores`` of the largest node, where jobs may lie above
    others.

    Examples
    --------
    >>> empty_board(70).free.shape
    (4, 2)
    """
    words = words_of(nodes)
    size = max(1, nodes)
    width = -(-cores // 64)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    def masks(rows: int, wide: int = words) -> AnyArray:
        return np.zeros((rows, wide), np.uint64)

    return Board(
        mark=ints(MARKS),
        queue=ints(1, QUEUES),
        met=ints(1),
        record=ints(1, RECORD),
        memo=ints(8 * sections, MEMOS),
        alone=masks(8 * sections),
        able=masks(8),
        when=ints(8, BY_NODE + size),
        narrow=ints(1, 2),
        section=masks(2 * sections),
        part=ints(sections, 4),
        outranks=ints(1, 1),
        preys=ints(1),
        who=ints(1, 4),
        check=ints(1, 4),
        sums=ints(1, 6),
        now=ints(size, 4 + parts),
        table=ints(size, 4 + parts),
        weight=ints(size),
        fresh_weight=ints(size),
        node=ints(size, 5),
        held=masks(1),
        job=ints(2, JOBS),
        share=ints(1, 4 + parts),
        core=masks(1, width),
        holder=ints(1, 4),
        holders=ints(nodes + 2),
        after=masks(2),
        span=ints(spans, 4),
        free=masks(spans),
        window=ints(1, 4),
        window_nodes=masks(1),
        owner=ints(size, 5),
        plan=ints(1, 3),
        planned=masks(1),
        mask=masks(16),
        cores=masks(4 * size if width else 1, width),
    )
