"""The waiting jobs, in job order.

The queue is the range of job indices itself. ``wait`` mirrors processors and estimate of waiting
jobs in 32 bits and holds a tombstone (BIG) for all others; a block of 64 jobs also knows its
smallest processors and estimate, so a scan skips most of a queue. What is kept for the longest
queues is in groups.py.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.fields import ESTIMATE, KNOWN, LENGTH, NEED, PROCS
from shadowtime.kernel.groups import lower_group, tighten_group
from shadowtime.kernel.jit import kernel
from shadowtime.kernel.registers import ARRIVED, BIG, BLOCK, GROUP, QUEUE_FROM, SHIFT, WAITING
from shadowtime.kernel.vector import least_in_block


@kernel
def enqueue(s: Any, job: int) -> None:
    """Put a job into the queue, at its place in job order."""
    procs = s.job[job, NEED]
    estimate = s.job[job, ESTIMATE]
    s.wait[PROCS, job] = procs
    s.wait[LENGTH, job] = estimate
    block = job >> SHIFT
    if procs < s.least[PROCS, block]:
        s.least[PROCS, block] = procs
    if estimate < s.least[LENGTH, block]:
        s.least[LENGTH, block] = estimate
    if s.group[KNOWN, block // GROUP] != 0:
        lower_group(s.least, s.group, job, procs, estimate)
    s.reg[WAITING] += 1
    if job < s.reg[QUEUE_FROM]:
        s.reg[QUEUE_FROM] = job


@kernel
def dequeue(s: Any, job: int) -> None:
    """Take a job out of the queue."""
    s.wait[PROCS, job] = BIG
    s.wait[LENGTH, job] = BIG
    s.reg[WAITING] -= 1
    tighten(s, job)


@kernel
def reestimate(s: Any, job: int, estimate: int) -> None:
    """Change the estimate of a waiting job."""
    s.job[job, ESTIMATE] = estimate
    s.wait[LENGTH, job] = estimate
    tighten(s, job)


@kernel
def tighten(s: Any, job: int) -> None:
    """Recompute the minima that a job has a part in."""
    block = job >> SHIFT
    s.least[PROCS, block] = least_in_block(s.wait, PROCS, block)
    s.least[LENGTH, block] = least_in_block(s.wait, LENGTH, block)
    if s.group[KNOWN, block // GROUP] != 0:
        tighten_group(s.wait, s.least, s.group, job, s.job[job, NEED])


@kernel
def first_waiting(s: Any) -> int:
    """The first waiting job in job order, -1 if none waits."""
    if s.reg[WAITING] == 0:
        s.reg[QUEUE_FROM] = s.reg[ARRIVED]
        return -1
    at = next_waiting(s, s.reg[QUEUE_FROM])
    s.reg[QUEUE_FROM] = at
    return at


@kernel
def next_waiting(s: Any, at: int) -> int:
    """The first waiting job with an index of at least ``at``, -1 if there is none."""
    arrived = s.reg[ARRIVED]
    while at < arrived:
        if s.wait[PROCS, at] != BIG:
            return at
        at += 1
        if at & (BLOCK - 1) == 0:
            block = at >> SHIFT
            while block * BLOCK < arrived and s.least[PROCS, block] == BIG:
                block += 1
            at = block * BLOCK
    return -1


@kernel
def gather(s: Any, out: Any) -> int:
    """Write all waiting jobs into ``out`` in job order; return how many there are."""
    count = 0
    if first_waiting(s) < 0:
        return 0
    arrived = s.reg[ARRIVED]
    block = s.reg[QUEUE_FROM] >> SHIFT
    while block * BLOCK < arrived:
        if s.least[PROCS, block] != BIG:
            for job in range(block * BLOCK, min(arrived, block * BLOCK + BLOCK)):
                if s.wait[PROCS, job] != BIG:
                    out[count] = job
                    count += 1
        block += 1
    return count
