"""The tables of a whole run of slurmctld: its clocks, who waits, who runs and what happens next.

A pass works on a board (board.py). What lies between passes is here: so that a run goes on from
event to event (run.py) without Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shadowtime.kernel.columns import whole
from shadowtime.types import AnyArray, Floats, Ints, Rows

REGISTERS = whole(
    # The clocks (clocks.py).
    "fresh",  # something happened since a main pass over the whole queue started nothing
    "changed",  # something happened since a backfill pass found that no job could start
    "news",  # something happened that makes the backfill thread run at all
    # The site, its rules and the policy.
    "builtin",  # there is no backfill pass
    "steady",  # a main pass after one that started nothing starts nothing either
    "depth",  # default_queue_depth
    "deep",  # partition_job_depth bounds passes too
    "enforced",  # limits count
    "bounds_jobs",  # some limit is on numbers of jobs
    "limit_raised",  # limits of jobs with --time-min depend on plans
    "preempts",  # jobs are preempted: 1 by their partition, 2 by their QOS and their partition's
    "sorts",  # by QOS some jobs come before others: 1 by a number, 2 as Python says
    "threads_counted",  # a job is counted with cpus, not with whole cores
    "tasks_as_told",
    "gpus_as_counted",
    "bounded_will_run",
    # The queue: jobs that wait, also those that no partition can take.
    "waiting",
    "with_gpus",
    "with_least_time",
    "version",  # of its order
    "written",  # the version on the board
    # What runs, and what will happen.
    "running",
    "free_places",  # of running jobs
    "shares",  # rows of ``share`` in use
    "events",
    "number",  # of the last event
    "leaving",  # rows of nodes that have not answered after an end
    "only_periodic",  # of what Python keeps, only what repeats for ever is left
    "story",  # lines of the story
    "passes",
    "tests",  # passes that found which cpus jobs would get
    "idle_passes",
    "world_at",  # when nodes or reservations changed last
    "budget",  # events until Python looks how far the run is
    # The pass that is under way.
    "kind",
    "stage",
    "asked",  # what its walk stopped for
    "full",
    "notes",
    "started",  # jobs that it has started
    "waited",  # how many jobs waited before it
)
NO_PASS, MAIN, BACKFILL = range(3)
"""``kind``."""
BEFORE, WALKS, STARTS = range(3)
"""``stage``: nothing is done; to the next record; the record at AT starts."""

CLOCKS = np.dtype(
    [
        (name, np.float64)
        for name in (
            "time",  # of the pass that is under way
            "main_due",
            "last_main",
            "next_full",
            "next_backfill",
            "asleep_since",
            "quiet_until",
            "tick",  # the part of the second in which the main pass begins
            "sched_interval",
            "batch_sched_delay",
            "bf_interval",
            "latency",
            "python",  # when something happens that Python must do
        )
    ]
)
NUMBER, PART = np.int64, np.float64
WAITER = np.dtype(
    [
        ("row", NUMBER),  # of the log
        ("record", NUMBER),
        ("limit", NUMBER),
        ("submit", NUMBER),
        ("begin", NUMBER),
        ("branch", NUMBER),  # its association, by which it is charged
        ("partitions", NUMBER),
        ("who", NUMBER),  # whose limits apply in the partition that it names first; -1: none
        ("early", NUMBER),  # its start by a main pass is recorded a second early
        ("gpus", NUMBER),  # it asks for some
        ("least_time", NUMBER),  # it has --time-min
        ("run", PART),  # seconds that it runs
        ("part", PART),  # of a second, that the log cut off
    ],
    align=True,
)
"""A job that waits, or has waited, by its slot."""
RUNNER = np.dtype(
    [
        ("slot", NUMBER),
        ("record", NUMBER),
        ("start", NUMBER),
        ("ends_by", NUMBER),
        ("section", NUMBER),
        ("who", NUMBER),
        ("prey", NUMBER),  # the rank by which it is preempted; -1: it cannot be
        ("first_share", NUMBER),
        ("shares", NUMBER),
        ("cpus", NUMBER),
        ("gpus", NUMBER),
        ("memory", NUMBER),
        ("event", NUMBER),  # the number of its end
        ("billing", PART),
    ],
    align=True,
)
"""A job that runs, by its place."""
EVENT = np.dtype(
    [("time", PART), ("rank", NUMBER), ("number", NUMBER), ("what", NUMBER)], align=True
)
"""A heap; ``what``: the place of a job that ends, a row of ``leaving`` that answers."""
END, ANSWER, ANSWER_AT_ONCE = range(3)
"""``rank``. The nodes of a job that was killed answer "at once": both answers rank alike."""
STORY = np.dtype(
    [
        ("kind", NUMBER),
        ("slot", NUMBER),
        ("place", NUMBER),
        ("section", NUMBER),
        ("start", NUMBER),
        ("shown", NUMBER),  # the start as the log records it, or the end
        ("limit", NUMBER),
        ("cpus", NUMBER),
        ("memory", NUMBER),
        ("gpus", NUMBER),
        ("first_share", NUMBER),
        ("shares", NUMBER),
        ("by", NUMBER),  # the kind of the pass
        ("met", NUMBER),  # what it was last passed over for
        ("tests", NUMBER),
        ("time", PART),
    ],
    align=True,
)
"""What happened, for Python: a start or an end."""
STARTED, ENDED = range(2)

# Columns of ``queue``: its records in order.
Q_ROW, Q_SLOT, Q_SUBMIT, Q_ID, Q_PRIORITY, Q_PREY, Q_KEEPS = range(7)
"""``Q_PREY``: the rank by which it is preempted once it runs; ``Q_KEEPS``: then nothing preempts
it, so that a backfill pass leaves it its nodes."""
QUEUE_COLUMNS = 7


class Books(NamedTuple):
    """A run. Masks are rows of words, the lowest node or core in the lowest bit of the first."""

    reg: Rows
    clock: Rows
    queue: Ints
    size: Ints
    """How many records ``queue`` has, and the version of their order."""
    keys: Floats
    """By rank: what the queue is sorted by first, where ``sorts``."""
    waiter: Rows
    runner: Rows
    nodes: AnyArray
    """By place: the nodes of a job."""
    by_record: Ints
    """The places of running jobs, in the order of their records."""
    by_end: Ints
    """The same in the order of their ends by limit."""
    free_place: Ints
    groups: Ints
    """Rows of ``sums`` in which jobs count; those of one ``who`` stand together."""
    first_group: Ints
    """By ``who``: where they begin."""
    ranks: Ints
    """By ``who``: ranks that are there to be preempted while such a job runs, -1: none."""
    rank_jobs: Ints
    """By rank: how many such jobs run."""
    event: Rows
    leaving: AnyArray
    free_core: AnyArray
    """By node."""
    core: AnyArray
    """By row of ``share``."""
    spare_core: AnyArray
    """Scratch: cores to choose from, and those that are taken."""
    spot: Ints
    """Scratch: by node of a start, what it offers and gives, ... (holding.py)."""
    socket: Ints
    """Scratch."""
    story: Rows
    story_nodes: AnyArray
    started: Ints
    """Slots of the jobs that the pass under way has started."""


def empty_books(
    nodes: int = 0, *, words: int = 1, core_words: int = 1, sockets: int = 1, ranks: int = 1
) -> Books:
    """The books of a run that has not begun; the caller makes room as needed.

    Examples
    --------
    >>> empty_books(3).free_core.shape
    (3, 1)
    """

    def masks(rows: int, wide: int) -> AnyArray:
        return np.zeros((rows, wide), np.uint64)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return Books(
        reg=np.zeros(1, REGISTERS),
        clock=np.zeros(1, CLOCKS),
        queue=ints(64, QUEUE_COLUMNS),
        size=ints(2),
        keys=np.zeros(ranks + 1),
        waiter=np.zeros(64, WAITER),
        runner=np.zeros(64, RUNNER),
        nodes=masks(64, words),
        by_record=ints(64),
        by_end=ints(64),
        free_place=ints(64),
        groups=ints(1),
        first_group=ints(2),
        ranks=ints(1, 2),
        rank_jobs=ints(ranks),
        event=np.zeros(64, EVENT),
        leaving=masks(64, words),
        free_core=masks(max(1, nodes), core_words),
        core=masks(1, core_words),
        spare_core=masks(2, core_words),
        spot=ints(max(1, nodes), 8),
        socket=ints(3, sockets),
        story=np.zeros(4096, STORY),
        story_nodes=masks(4096, words),
        started=ints(64),
    )
