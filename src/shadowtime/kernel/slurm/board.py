"""The arrays of one backfill pass, and the names of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from shadowtime.types import AnyArray, Ints

# Scalars, in ``mark``.
NOW = 0
WINDOW = 1
"""bf_window."""
WINDOW_END = 2
STEP = 3
"""bf_resolution."""
BOUND = 4
"""bf_max_job_test."""
MAP_RECORDS = 5
LINEAR = 6
"""bf_window_linear."""
STARTS_ONLY = 7
RECORDS = 8
"""Records in the queue."""
AT = 9
"""The record looked at."""
LAST = 10
"""The last record that could start now."""
SEEN = 11
"""Version of the map when LAST was found."""
SEEN_STAMP = 12
MEASURED = 13
WIDEST = 14
"""The most nodes that any span has free, in version MEASURED of the map."""
TESTED = 15
MAY_RUN_OUT = 16
STAMP = 17
"""A number that grows with every pass and every start: what was noted before it is void."""
VERSION = 18
"""Changes of the map."""
MADE = 19
"""Records of the map ever made."""
SPANS = 20
OVER = 21
ENDS = 22
"""Running jobs in ``end``; -1 where they are not there yet."""
PLANS = 23
SHARES = 24
"""1 where some ask needs to know what running jobs hold on each node."""
MOST_CPUS = 25
"""Cpus of the largest node."""
EACH_CPUS = 26
"""Cpus of every node where all are alike."""
KEEPS_RUNNING = 27
"""bf_running_job_reserve."""
NO_START = 28
"""1 where no record could start, so that nothing was looked at."""
SHRUNK = 29
"""Version of the map that ``shrink`` was counted in."""
SHRUNK_STAMP = 30
FIRST_SPAN = 31
"""The first span counted in ``shrink``."""
FRESH_ENDS = 32
"""1 where running jobs were just written to ``end`` and ``held``."""
KEEP_UNTIL = 33
"""Plan the nodes in CHOSEN away until then, before anything else; 0: nothing to keep."""
FREE_CPUS = 34
VALID = 35
"""Until then a pass over the same queue and the same running jobs compares all times alike."""
PASS = 36
"""The pass: what was noted in an earlier one is void."""
KILL_WAIT = 37
"""Seconds that a job past its limit is taken to need until it is gone."""
MARKS = 38

# Columns of ``queue``.
ROW, NOW_ONLY, GONE, TASKS = range(4)
# Columns of ``record``.
ASK, SECTION, LIMIT, PLAIN, KIND = range(5)
# Columns of ``ask``.
MIN_NODES, MAX_NODES, WANTED_NODES, MIN_CPUS, EXCLUSIVE, WHOLE, FLOOR = range(7)
LEAST_CPUS, TASK_CPUS, NODE_TASKS, CPU_MEMORY = range(7, 11)
"""``WHOLE``: interchangeable whole nodes. ``CPU_MEMORY``: MB per cpu; -1: not asked so."""
ASKS = 11
# Columns of ``floor``.
FLOOR_CPUS, FLOOR_MEMORY, ABLE_STAMP, WHEN_STAMP = range(4)
"""``FLOOR_MEMORY``: MB; 0: all of it; -1: memory does not count."""
# Columns of ``node``.
CPUS, USED, MEMORY, THREADS, WEIGHT, OFFERED, LEFT, GIVEN = range(8)
"""Free cpus, MB in use and in all, and scratch: cpus for the job at hand, those that a try has left
of them, and those that it took."""
# Columns of ``share``.
SHARE_NODE, SHARE_CPUS, SHARE_MEMORY = range(3)
# Columns of ``holder``, by node: shares in the order of their ends, summed up.
HOLDER_END, HOLDER_CPUS, HOLDER_MEMORY = range(3)
# Columns of ``memo``, by ask and section.
FIRST_STAMP, FIRST, VAIN_STAMP, VAIN_VERSION, VAIN_LIMIT, VAIN_NOW_ONLY, VAIN_COUNTED = range(7)
MEMOS = 7
# Columns of ``narrow``, by kind of record.
NARROW_PASS, NARROW_NODES = range(2)
# Rows of ``here``.
IDLE, USABLE, COMPLETING = range(3)
"""Nodes without jobs; neither down nor completing; completing."""
# Rows of ``mask``: scratch.
FOUND, CHOSEN, SEARCHED, TRIED, ALL_FREE = range(5)
# Columns of ``span``.
BEGIN, END = range(2)
# Columns of ``plan``.
PLAN_AT, PLAN_START, PLAN_END = range(3)
# Rows of ``run``.
RUN_AT, RUN_LENGTH, RUN_CPUS = range(3)


class Board(NamedTuple):
    """One pass. Masks are rows of words, the lowest node in the lowest bit of the first word."""

    mark: Ints
    queue: Ints
    """Records in Slurm's order: row of ``record``, now or never, out of the game, tasks."""
    record: Ints
    ask: Ints
    suits: AnyArray
    """Nodes that could ever serve an ask."""
    floor: Ints
    """What a node must have free to be of any use, by number."""
    able: AnyArray
    """Nodes that have that free now."""
    when: Ints
    """After how many ends each node has that free."""
    node: Ints
    required: AnyArray
    """Nodes that it must have."""
    memo: Ints
    narrow: Ints
    """By kind (partition, limit): in which pass this number of nodes was found to be free nowhere.
    """
    room: Ints
    """Free nodes of each span, in version MEASURED of the map."""
    section: AnyArray
    """Nodes of each partition that are up."""
    here: AnyArray
    end: Ints
    """When running jobs end by their limits, in order."""
    held: AnyArray
    """Their nodes."""
    reach: Ints
    """The first and the last word of ``held`` in which they have any."""
    holds: Ints
    """Where their shares lie in ``share``, and how many they are."""
    share: Ints
    holder: Ints
    holders: Ints
    """Where the shares of each node begin in ``holder``."""
    after: AnyArray
    """By number of these ends: nodes without a job then."""
    total: Ints
    """By number of these ends: free cpus then."""
    span: Ints
    free: AnyArray
    """Nodes of each span that are not planned away."""
    plan: Ints
    planned: AnyArray
    mask: AnyArray
    run: Ints
    shrink: Ints
    """Idle nodes that stay free to the end of each span."""


def words_of(nodes: int) -> int:
    """Words of a mask of ``nodes`` nodes."""
    return max(1, -(-nodes // 64))


def packed(mask: int, words: int) -> AnyArray:
    """A mask as words.

    Examples
    --------
    >>> packed(5 | 1 << 64, 2).tolist()
    [5, 1]
    """
    return np.frombuffer(mask.to_bytes(8 * words, "little"), np.uint64)


def unpacked(words: AnyArray) -> int:
    """The mask of a row of words.

    Examples
    --------
    >>> unpacked(packed(5 | 1 << 64, 2)) == 5 | 1 << 64
    True
    """
    return int.from_bytes(words.tobytes(), "little")


def empty_board(nodes: int, *, sections: int = 1, spans: int = 4) -> Board:
    """A board for an empty machine of ``nodes`` nodes; the caller makes room as needed.

    Examples
    --------
    >>> empty_board(70).free.shape
    (4, 2)
    """
    words = words_of(nodes)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    def masks(rows: int) -> AnyArray:
        return np.zeros((rows, words), np.uint64)

    return Board(
        mark=ints(MARKS),
        queue=ints(1, 4),
        record=ints(1, 5),
        ask=ints(1, ASKS),
        suits=masks(1),
        floor=ints(1, 4),
        able=masks(1),
        when=ints(1, max(1, nodes)),
        node=ints(max(1, nodes), 8),
        required=masks(1),
        memo=ints(sections, MEMOS),
        narrow=ints(1, 2),
        room=ints(spans),
        section=masks(sections),
        here=masks(3),
        end=ints(1),
        held=masks(1),
        reach=ints(1, 2),
        holds=ints(1, 2),
        share=ints(1, 3),
        holder=ints(1, 3),
        holders=ints(nodes + 2),
        after=masks(2),
        total=ints(2),
        span=ints(spans, 2),
        free=masks(spans),
        plan=ints(1, 3),
        planned=masks(1),
        mask=masks(5),
        run=ints(3, nodes + 2),
        shrink=ints(spans),
    )
