"""The waiting jobs, in job order.

The queue is the range of job indices itself. ``wait`` mirrors processors and estimate of waiting
jobs in 32 bits and holds a tombstone (BIG) for all others; a block of 64 jobs also knows its
smallest processors and estimate, so a scan skips most of a queue. What is kept for the longest
queues is in groups.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import ESTIMATE, KNOWN, LENGTH, NEED, PROCS
from shadowtime.kernel.groups import lower_group, tighten_group
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import ARRIVED, BIG, BLOCK, GROUP, QUEUE_FROM, SHIFT, WAITING
from shadowtime.kernel.vector import least_in_block
from shadowtime.types import Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State


@kernel
def enqueue(state: State, job: int) -> None:
    """Put a job into the queue, at its place in job order."""
    procs = state.job[job, NEED]
    estimate = state.job[job, ESTIMATE]
    state.wait[PROCS, job] = procs
    state.wait[LENGTH, job] = estimate
    block = job >> SHIFT
    if procs < state.least[PROCS, block]:
        state.least[PROCS, block] = procs
    if estimate < state.least[LENGTH, block]:
        state.least[LENGTH, block] = estimate
    if state.group[KNOWN, block // GROUP] != 0:
        lower_group(state.least, state.group, job, procs, estimate)
    state.reg[WAITING] += 1
    if job < state.reg[QUEUE_FROM]:
        state.reg[QUEUE_FROM] = job


@kernel
def dequeue(state: State, job: int) -> None:
    """Take a job out of the queue."""
    state.wait[PROCS, job] = BIG
    state.wait[LENGTH, job] = BIG
    state.reg[WAITING] -= 1
    tighten(state, job)


@kernel
def reestimate(state: State, job: int, estimate: int) -> None:
    """Change the estimate of a waiting job."""
    state.job[job, ESTIMATE] = estimate
    state.wait[LENGTH, job] = estimate
    tighten(state, job)


@kernel
def tighten(state: State, job: int) -> None:
    """Recompute the minima that a job has a part in."""
    block = job >> SHIFT
    state.least[PROCS, block] = least_in_block(state.wait, PROCS, block)
    state.least[LENGTH, block] = least_in_block(state.wait, LENGTH, block)
    if state.group[KNOWN, block // GROUP] != 0:
        tighten_group(state.wait, state.least, state.group, job, state.job[job, NEED])


@kernel
def first_waiting(state: State) -> int:
    """The first waiting job in job order, -1 if none waits."""
    if state.reg[WAITING] == 0:
        state.reg[QUEUE_FROM] = state.reg[ARRIVED]
        return -1
    at = next_waiting(state, state.reg[QUEUE_FROM])
    state.reg[QUEUE_FROM] = at
    return at


@kernel
def next_waiting(state: State, at: int) -> int:
    """The first waiting job with an index of at least ``at``, -1 if there is none."""
    arrived = state.reg[ARRIVED]
    while at < arrived:
        if state.wait[PROCS, at] != BIG:
            return at
        at += 1
        if at & (BLOCK - 1) == 0:
            block = at >> SHIFT
            while block * BLOCK < arrived and state.least[PROCS, block] == BIG:
                block += 1
            at = block * BLOCK
    return -1


@kernel
def gather(state: State, out: Ints) -> int:
    """Write all waiting jobs into ``out`` in job order; return how many there are."""
    count = 0
    if first_waiting(state) < 0:
        return 0
    arrived = state.reg[ARRIVED]
    block = state.reg[QUEUE_FROM] >> SHIFT
    while block * BLOCK < arrived:
        if state.least[PROCS, block] != BIG:
            for job in range(block * BLOCK, min(arrived, block * BLOCK + BLOCK)):
                if state.wait[PROCS, job] != BIG:
                    out[count] = job
                    count += 1
        block += 1
    return count
