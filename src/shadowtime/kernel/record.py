"""What a user's own function sees of a job, and the type of the pointer to it.

The record is built in registers from two rows: the state's table of jobs, and ``fact``, which is
filled once before a run (engine/uses.py). Compiled, a field that a function does not read is never
loaded.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from shadowtime.kernel import fields as f
from shadowtime.kernel.jit import cached_cfunc, kernel
from shadowtime.types import Floats, Ints


@cache
def own_signature() -> Any:
    """Slot, now; tables of jobs and of facts; candidates; memory; series; what is filled.

    Returns the first candidate for which the function failed, -1 if it did for none.
    """
    from numba import types

    whole, table, numbers = types.int64[::1], types.int64[:, ::1], types.float64[::1]
    return types.int64(
        types.int64, types.int64, table, table, whole, types.float64[:, ::1], numbers, numbers
    )


ROW = 0
"""Row of the job in a memory by user, account and executable: three columns."""
USER = 3
NODES = 4
MEMORY = 5
GPUS = 6
ACCOUNT = 7
PARTITION = 8
QOS = 9
EXECUTABLE = 10
FACTS = 11

UNKNOWN = -1


class Job(NamedTuple):
    """A job as functions see it: whole seconds, counts, and numbers of names (-1: unknown)."""

    submit: int
    wait: int
    """Seconds since its submission."""
    request: int
    estimate: int
    procs: int
    nodes: int
    memory: int
    """KB, of the whole job."""
    gpus: int
    user: int
    account: int
    partition: int
    qos: int
    executable: int
    start: int
    """-1 while it waits."""
    ran: int
    """Seconds since its start, 0 while it waits: at its end the run time. A job that was stopped
    and kept its work has that to its credit, less what starting again costs."""
    promised: int
    """The start that it was promised first, -1 if none."""
    blocked_at: int
    """When it was first in order and could not start, -1 if never."""


class Node(NamedTuple):
    """A node with room for a job, as a place function sees it (-1: not counted on the machine)."""

    number: int
    """Its place among the machine's nodes, from 0: neighbours have neighbouring numbers."""
    weight: int
    """Rank of its weight among the site's weights, from 0."""
    room: int
    """Tasks of the job that it holds."""
    start: int
    """When the job would start there: now, or the start that is planned for it."""
    cpus: int
    memory: int
    gpus: int
    free_cpus: int
    """What is free on it at that start."""
    free_memory: int
    free_gpus: int


NODE_WORDS = len(Node._fields)
OFFERS_FROM = 2
"""What a place function is asked about: the job, which node failed, then the nodes' fields."""


@kernel
def node_record(offers: Ints, i: int) -> Any:
    """The record of the i-th node that a place function is asked about."""
    at = OFFERS_FROM + NODE_WORDS * i
    return Node(
        offers[at],
        offers[at + 1],
        offers[at + 2],
        offers[at + 3],
        offers[at + 4],
        offers[at + 5],
        offers[at + 6],
        offers[at + 7],
        offers[at + 8],
        offers[at + 9],
    )


CHANGING = frozenset(("wait", "start", "ran", "promised", "blocked_at"))
"""Fields that change while a job waits."""


@kernel
def record(now: int, job: Ints, fact: Ints, at: int) -> Any:
    """The record of the job in row ``at``."""
    submit = job[at, f.SUBMIT]
    start = job[at, f.START]
    return Job(
        submit,
        now - submit,
        job[at, f.REQUEST],
        job[at, f.ESTIMATE],
        job[at, f.NEED],
        fact[at, NODES],
        fact[at, MEMORY],
        fact[at, GPUS],
        fact[at, USER],
        fact[at, ACCOUNT],
        fact[at, PARTITION],
        fact[at, QOS],
        fact[at, EXECUTABLE],
        start,
        max(0, now - start + job[at, f.AHEAD]) if start >= 0 else 0,
        job[at, f.PROMISED],
        job[at, f.BLOCKED_AT],
    )


@cached_cfunc(own_signature)
def no_function(
    slot: int,
    now: int,
    job: Ints,
    fact: Ints,
    jobs: Ints,
    memory: Floats,
    series: Floats,
    out: Floats,
) -> int:
    """Stands in where a policy brings no function."""
    return -1


@cached_cfunc(own_signature)
def given_keys(
    slot: int,
    now: int,
    job: Ints,
    fact: Ints,
    jobs: Ints,
    memory: Floats,
    series: Floats,
    out: Floats,
) -> int:
    """Stands in for an order function whose keys were worked out before: memory's first column."""
    for i in range(jobs.shape[0]):
        out[i] = memory[jobs[i], 0]
    return -1
