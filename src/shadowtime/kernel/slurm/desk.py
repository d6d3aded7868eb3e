"""The arrays that the choice of nodes works on, and the names of their columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shadowtime.kernel.slurm.words import words_of
from shadowtime.types import AnyArray, Ints

# ``rule``: what changed between releases (slurm/rules.py) and what the site sets, 1 where it holds.
WHOLE_TASKS, CPUS_BESIDE_GPUS, WHOLE_GPU_TASKS, TASK_A_NODE_ONCE, ONE_GPU_TEST = range(5)
LEFT_OUT_SINGLY, LEFT_OUT_BY_PRODUCT, CPUS_OF_GPU_TASKS, FIRST_SINGLE, LEAF_NEEDS_CPUS = range(
    5, 10
)
COUNTS_CPUS, PACK_SERIAL, SHORTCUTS, MOST_CPUS, LEAVES, LAST_COUNTS = range(10, 16)
AS_TOLD, AS_COUNTED = range(16, 18)
"""``MOST_CPUS``: of the largest node. ``LEAVES``: how many leaf switches there are.
``LAST_COUNTS``: the least loaded node is counted with the cpus of the one looked at last.
``AS_TOLD``: tasks are those of -n; ``AS_COUNTED``: GPUs those that counted."""
RULES = 18
# ``node``: what a node has.
MEMORY, THREADS, CORES, SOCKETS, GPUS, BOUND, CPUS, IN_LEAF, PICKS = range(9)
"""``BOUND``: its GPUs belong to sockets. ``PICKS``: a start picks certain GPUs."""
NODES = 9
# A state, by node: what is free, then the free cores of each socket, and of each pool what is left.
FREE, USED, FREE_GPUS, IDLE, FIRST_SOCKET = range(5)
"""Cpus, MB in use, GPUs as a mask, 1 where no job is on the node."""
# ``ask``: a request in the numbers that Slurm schedules by (slurm/ask.py).
TASKS, TASK_CPUS, MIN_NODES, MAX_NODES, WANTED, MIN_CPUS, LEAST_CPUS, NODE_TASKS = range(8)
ASK_MEMORY, PER_CPU, ASK_GPUS, GPUS_PER, CPUS_PER_GPU, EXCLUSIVE, ONE_NODE, FIXED = range(8, 16)
UNBOUNDED, FLOOR_CPUS, FLOOR_MEMORY, FLOOR_GPUS, JOB_GPUS, SINGLE, FEWEST, MOST_TASKS = range(
    16, 24
)
WHOLE, FLOOR, ALONE, FIRST_EITHER, EITHERS, IN_A_ROW, SPREAD, SHARED, IDLE_NODES = range(24, 33)
LEAST_LOADED, CPU_POOL, OWN_USER, PARTS, REST, TOLD = range(33, 39)
"""``ASK_MEMORY`` -1: does not count; ``FLOOR_*``: what a node must have free to be of any use, and
``FLOOR`` its number; ``FEWEST`` and ``MOST_TASKS`` on one node (-1: no bound); ``WHOLE``:
interchangeable whole nodes; ``ALONE``: the row of the same job on nodes of its own (-1: none);
``EITHERS`` rows of ``either`` are the nodes of its alternatives; ``IN_A_ROW``: --contiguous;
``SPREAD``: --spread-job; ``SHARED``: the row that will-run tests take, of one that gets no whole
nodes (-1: its own); ``IDLE_NODES``: it takes idle nodes all the same; ``LEAST_LOADED``: nodes with
the largest share of free cpus come first; ``CPU_POOL``: the pool that bounds its cpus, or -1;
``OWN_USER``: its nodes run jobs of its user alone; ``PARTS`` rows of ``either`` from FIRST_EITHER
on are the nodes of its counts of features, and ``REST`` is the row of what they leave; ``TOLD``:
the tasks of -n."""
ASKS = 39
PER_NODE, PER_JOB, PER_TASK = 1, 2, 3
"""``GPUS_PER``."""
# ``spot``: scratch, by node.
OFFER, COUNTED, NEAR, ALL_GPUS, LEAST, GIVEN, UNUSED, HERE, LEFT, TAKEN, BEFORE, MARK = range(12)
ADDED_GPUS = 12
"""Cpus that a node offers (less once a try gave fewer), GPUs that count and all free ones, cpus
beside GPUs, cpus that must come with GPUs, cpus given, free cpus; whether it is among the nodes
tried; cpus for this try, whether it is taken; its weight before the test; a mark. ``ADDED_GPUS``:
GPUs that counted when it was taken, of those that a job still needed."""
SPOTS = 13
# ``need``: what is still needed while nodes are added, and marks of a test.
N_CPUS, N_BOUND, N_DUE, N_MOST, N_GPUS, N_NODES = range(6)
LOW, HIGH, AGAIN, CLIPPED, ALL_FREE, TASK_BOUND, BUSY_FIRST, CARRIED = range(6, 14)
"""The first and last place in ``tried`` to look at; a later try; a try gave less than a node
offers; all cores count as free; the most tasks on a node by which GPUs bound cpus (-1: none); busy
nodes first; GPUs of single nodes that did not do, which Slurm counts for the next ones."""
NEEDS = 14
# ``run``: sets of neighbours.
RUN_START, RUN_END, RUN_CPUS, RUN_GPUS, RUN_NODES, RUN_REQUIRED, RUN_WEIGHT = range(7)
RUNS = 7
# ``socket``: scratch, by socket.
S_CORES, S_GPUS, S_REQUIRED, S_SEEN = range(4)
# Rows of ``mask``.
TRIED, CHOSEN, IDLE_NOW = range(3)


class Desk(NamedTuple):
    """What a machine and its requests are, and scratch for one test at a time."""

    rule: Ints
    node: Ints
    near: Ints
    """GPUs bound to each socket, as masks."""
    leaf: AnyArray
    """Nodes of each leaf switch."""
    full: Ints
    """The state of an empty machine."""
    ask: Ints
    pool: Ints
    """By request: what it takes of each pool on each node."""
    suits: AnyArray
    """Nodes that could ever serve a request."""
    required: AnyArray
    excluded: AnyArray
    without_type: AnyArray
    """Nodes that have no GPUs of the type asked for."""
    either: AnyArray
    part: Ints
    """By row of ``either``: the request for a count of features."""
    spot: Ints
    tried: Ints
    """The nodes TRIED, lowest first."""
    need: Ints
    run: Ints
    socket: Ints
    mask: AnyArray


def empty_desk(nodes: int, *, sockets: int = 1, pools: int = 0, leaves: int = 0) -> Desk:
    """A desk for ``nodes`` nodes; the caller fills in what they have.

    Examples
    --------
    >>> empty_desk(70, sockets=2).full.shape
    (70, 6)
    """
    words = words_of(nodes)
    size = max(1, nodes)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    def masks(rows: int) -> AnyArray:
        return np.zeros((rows, words), np.uint64)

    return Desk(
        rule=ints(RULES),
        node=ints(size, NODES),
        near=ints(size, sockets),
        leaf=masks(max(1, leaves)),
        full=ints(size, FIRST_SOCKET + sockets + pools),
        ask=ints(8, ASKS),
        pool=ints(8, pools),
        suits=masks(8),
        required=masks(8),
        excluded=masks(8),
        without_type=masks(8),
        either=masks(8),
        part=ints(8),
        spot=ints(size, SPOTS),
        tried=ints(size),
        need=ints(NEEDS),
        run=ints(RUNS, max(size, leaves) + 2),
        socket=ints(4, sockets),
        mask=masks(3),
    )
