"""A site's tables and the names of their columns (engine/site/tables.py builds them)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.kernel.jit import kernel
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.kernel.site.choose import Scoring

# Scalars of a run, in ``mark``.
PLACE_RULE = 0
STEPS_USED = 1
"""Steps of the pool ever handed out; below it lie those in use and the free ones."""
STEPS_FREE = 2
"""First of the list of free steps, -1 if none."""
STEPS_SPARE = 3
"""How many steps can still be handed out."""
ENTRIES = 4
"""Entries of places written."""
PLACED = 5
"""Nodes in the placement found last: ``scratch[CHOSEN]`` and ``scratch[GIVEN]``."""
MEMORY = 6
"""Place of memory among the resources, -1 where it is not counted."""
RELEASED = 7
"""Counts releases: what was refused is asked again when it has grown."""
CHANGES = 8
"""Node changes written to the ring of changes so far."""
GAINS = 9
"""Entries in the log of gains, plus GAINS_FROM: a number that only grows."""
GAINS_FROM = 10
KEEPS = 11
"""1 if gains are written down (promises are kept and compressed)."""
EARLY = 12
"""1 if something was released early since the last sweep."""
WIDE = 14
"""Most nodes that all waiting jobs can take together."""
PASS_PENDING = 15
"""1 if a pass is due that waits for room."""
CANCELLED = 19
LOST = 20
FAILED = 21
SOONEST = 22
"""No promise falls due before."""
HAS_LIMITS = 23
CLOSINGS_AT = 24
"""Next of the instants at which a node closes or opens, or that becomes known."""
FAILURES_AT = 25
BEGINS = 26
"""Entries in the heap of begin times."""
CANCELS = 27
"""Entries in the heap of cancellations."""
AFTER_START = 28
"""1 if a job waits for the start of a job that started in this pass."""
TIERS = 29
"""1 if jobs have different tiers."""
ANY_CLOSING = 30
TRIED = 31
"""1 if nodes were found for the job asked about last, though limits forbade the first choice."""
REPAIR = 32
"""1 if promises may not hold any more."""
HELD = 33
"""Nodes that running jobs hold, each counted for each job."""
NEGATIVE = 34
"""1 if more was taken than there is: a promise does not hold any more."""
LEFT = 35
"""Runs that have left their nodes so far."""
TIMES = 36
"""Class partitioning: plans counted by node take at most this multiple of what it has; 0 without.
"""
MOST_COUNTED = 37
"""Class partitioning: plans that are counted, at most."""
COUNTED = 38
"""Such plans in this pass."""
CAPPED = 39
"""1 while what a node holds is bounded by the plans that it may still get."""
GPUS = 40
"""Place of GPUs among the resources, -1 where they are not counted."""
AMOUNTS = 41
"""Amounts counted over the whole site, such as licences: the last rows of the table of nodes."""
GIVEN_UP = 42
"""Searches for a place under the limits that were given up."""
MARKS = 44

# The table of nodes, one row each, in (weight, index) order; then a row for each counted amount,
# whose steps have it in their first column.
FIRST_STEP = 0
WEIGHT = 1
CLOSE_FROM = 2
CLOSE_COUNT = 3
GONE = 4
"""1 while the node is known to be closed for good."""
PLANS = 5
"""Plans that hold the node; without any, what is free on it only grows with time."""
INDEX = 6
"""The node's place in the site."""
FREE = 7
"""First of the R columns of amounts free now; then R columns of capacities."""

# The table of shapes.
TASKS = 0
LEAST = 1
MOST = 2
PER_NODE = 3
EXCLUSIVE = 4
RESERVATION = 5
MASK_FROM = 6
MASK_COUNT = 7
ALL_MEMORY = 8
WANTED = 9
FLOOR = 10
PLACEABLE = 11
NOW_STAMP = 12
"""Up to which change TOTAL and COUNT are right, -1 for not at all."""
NOW_TOTAL = 13
"""Tasks that the nodes hold now together."""
NOW_COUNT = 14
"""Nodes that hold a task now."""
REFUSED_AT = 15
"""Release count at which REFUSED_LENGTH was noted."""
REFUSED_LENGTH = 16
"""No job of the shape that is as long can start now."""
MASK = 17
DIVISOR = 18
"""The number of parts in one unit: amounts per task are in such parts."""
IN_A_ROW = 19
"""1 if the nodes must be neighbours."""
COUNTS = 20
"""Row of the counts of features that the shape asks for, -1 without."""
PER_TASK = 21
"""First of R columns of amounts per task, then R of amounts per node."""

# Steps of a node's availability.
TIME = 0
NEXT = 1
LEVEL = 2
"""First of the R columns of amounts free from TIME on."""

# Closings of nodes.
BEGIN = 0
END = 1
KNOWN = 2
WHOSE = 3
"""The reservation's number, -1 for an outage."""

# Named reservations.
RES_BEGIN = 0
RES_END = 1
RES_KNOWN = 2

# What a job has on a site.
ASK = 0
PLACE_FROM = 1
PLACE_COUNT = 2
SHAPE = 3
DUE = 4
"""Promised start, NEVER without."""
ASKED = 5
"""Up to which gain the job's promise has been asked about."""
TIER = 6
PHASE = 7
ALT = 8
"""The alternative that runs or is planned: its limits are charged."""
AHEAD = 9
"""Dependencies that are not met yet."""
ARRAY = 10
"""Dense number of a throttled array, -1 otherwise."""
WIDTH = 11
"""Most nodes the job can take."""
CANCEL = 12
BEGIN_AT = 13
REQUEUE = 14
OVER_AT = 15
"""When it left for good, -1 while it has not."""
BROKEN = 16
WITHDRAWN = 17
"""Value of LEFT plus one at which a limit withdrew the promise: no new one before a run leaves."""
COLUMNS = 18

# Phases of a job.
COMING, PENDING, QUEUED, RUNS, ENDED, GONE_CANCELLED, GONE_LOST = 0, 1, 2, 3, 4, 5, 6

# Alternatives of an ask.
ALT_SHAPE = 0
ALT_FROM = 1
"""First of its buckets of limits."""
ALT_COUNT = 2
ALT_RESERVES = 3
"""Whether it may be planned, and how plans are counted."""
ALT_JOBS = 4
"""Jobs that limits count: 1, or 0 for a further part of a job that is written as several."""
ALT_VARIES = 5
"""1 if limits charge different places differently."""
ALT_AMOUNTS = 6
"""First of the columns of what it takes of each counted amount."""
RESERVES_FREELY, RESERVES_COUNTED, RESERVES_BY_NODE, RESERVES_NEVER = 0, 1, 2, 3

# Rows of scratch.
ROOM = 0
"""Tasks that the node at each place of a mask holds."""
UPCOMING = 1
"""Heap of changes to come."""
ORDER = 2
"""Places of a mask in the order of the rule."""
CHOSEN = 3
GIVEN = 4
"""The placement found last: nodes and tasks."""
BEST = 5
"""Step in force at the start on the node at each place of a mask."""
TALLY = 6
"""By number of tasks: how many nodes hold it."""
CHARGE = 7
"""What a start adds to each column of limits."""
HITS = 8
"""For each set of counts of features: nodes used that satisfy one of them."""
HEADROOM = 9
"""What the limits leave for a start of the job asked about last: R resources, then nodes."""
SCRATCH = 10

GROUPS = 4
"""Counts of features in one shape, at most."""
SETS = 1 << GROUPS

# Limits.
BOUND, USED = 0, 1

NO_BOUND = 1 << 62
RING = 4096
"""Changes of nodes that are remembered; a power of two."""
EVER = (1 << 40) - 1
"""An end that never comes."""
FIRST_FIT, BEST_FIT, PACK, SPREAD, SLURM, SCORE = 0, 1, 2, 3, 4, 5


class Ground(NamedTuple):
    """The site as the kernels see it, and what each job has on it."""

    mark: Ints  # int64[MARKS]: scalars
    node: Ints  # int64[N + A, FREE + 2R]: nodes, then counted amounts
    shape: Ints  # int64[S, PER_TASK + 2R]
    mask: Ints  # int64[...]: nodes of each mask, in the order in which they are looked at
    bits: AnyArray  # int8[masks, N]
    step: Ints  # int64[room, LEVEL + R]
    close: Ints  # int64[closings, 4], by node and begin
    reservation: Ints  # int64[reservations, 3]
    ask: Ints  # int64[asks, 2]: first alternative, and behind the last
    alt: Ints  # int64[alternatives, ALT_AMOUNTS + A]
    bucket: Ints  # int64[...]: buckets of each alternative
    limit: Ints  # int64[2, buckets, columns]: bounds and what is in use
    job: Ints  # int64[n, COLUMNS]
    place: Ints  # int64[room]: node << 32 | tasks
    gain: Ints  # int64[room, 3]: node, begin, end
    ring: Ints  # int64[RING, 1 + 2R]: node, free before, free after
    scratch: Ints  # int64[SCRATCH, width]
    count: Any  # int64[rows, SETS]: nodes that sets of counts of features ask for
    kind: Ints  # int64[rows, N]: which of those counts each node satisfies, as bits
    planned: Ints  # int64[N, R]: what the plans of a pass take (class partitioning)
    own: Scoring


@kernel
def number(value: int) -> int:
    """The same value as a plain int64: Numba compiles a routine for every literal argument."""
    return value + 0
