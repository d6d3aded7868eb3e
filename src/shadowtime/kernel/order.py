"""Which job is next: keys of the waiting jobs, higher first, and a heap that yields them in order.

Every order ends in (submit, id), which is the job's index.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from shadowtime.kernel.fields import ESTIMATE, NEED, SUBMIT
from shadowtime.kernel.jit import kernel
from shadowtime.types import Floats, Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

FCFS = 0
SJF = 1
LXF = 2
WEIGHTED = 3
CUSTOM = 4


@kernel
def fill_keys(
    state: State, kind: int, weight: Floats, now: int, jobs: Ints, count: int, key: Floats
) -> None:
    """Priorities of the jobs by a built-in order, evaluated at ``now``."""
    for i in range(count):
        job = jobs[i]
        if kind == SJF:
            key[i] = -float(state.job[job, ESTIMATE])
        elif kind == LXF:
            wait = now - state.job[job, SUBMIT]
            key[i] = float(wait + state.job[job, ESTIMATE]) / float(state.job[job, ESTIMATE])
        elif kind == WEIGHTED:
            key[i] = weighted(
                weight, now - state.job[job, SUBMIT], state.job[job, ESTIMATE], state.job[job, NEED]
            )
        else:
            key[i] = 0.0


@kernel
def weighted(weight: Floats, wait: int, estimate: int, procs: int) -> float:
    """Class partitioning's priority, in this order of evaluation (spec: algorithms 3.2)."""
    w = wait / 3600.0
    r = estimate / 3600.0
    return (weight[0] * sqrt((w + r) / r) + weight[1] * w) + weight[2] * procs


@kernel
def before(state: State, jobs: Ints, key: Floats, shortest: bool, a: int, b: int) -> bool:
    """True if candidate ``a`` comes before ``b``: by estimate if asked, then key, then job."""
    if shortest:
        first, second = state.job[jobs[a], ESTIMATE], state.job[jobs[b], ESTIMATE]
        if first != second:
            return first < second
    if key[a] != key[b]:
        return key[a] > key[b]
    return jobs[a] < jobs[b]


@kernel
def sift_down(
    state: State, heap: Ints, size: int, at: int, jobs: Ints, key: Floats, shortest: bool
) -> None:
    """Let the entry at ``at`` sink to its place."""
    entry = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and before(state, jobs, key, shortest, heap[child + 1], heap[child]):
            child += 1
        if before(state, jobs, key, shortest, entry, heap[child]):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = entry


@kernel
def heapify(state: State, heap: Ints, size: int, jobs: Ints, key: Floats, shortest: bool) -> None:
    """Make a heap of candidates."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(state, heap, size, at, jobs, key, shortest)


@kernel
def pop_first(state: State, heap: Ints, size: int, jobs: Ints, key: Floats, shortest: bool) -> int:
    """Remove the first candidate, ``heap[0]``; return the new size."""
    size -= 1
    if size > 0:
        heap[0] = heap[size]
        sift_down(state, heap, size, 0, jobs, key, shortest)
    return size
