"""The waiting jobs in the order of the policy: as they came, or a heap by (tier, key, arrival).

Before them, what the general pass on a site works with: its parameters and scratch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import ESTIMATE, SUBMIT
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.order import CUSTOM, FCFS, fill_keys
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import NOW
from shadowtime.kernel.site.fields import TIER, TIERS, number
from shadowtime.kernel.slots import ORDER, TIME_WORDS, TIMERS, TIMES_FROM, ask
from shadowtime.types import Floats, Ints

if TYPE_CHECKING:
    from typing import Protocol

    from shadowtime.kernel.site.fields import Ground
    from shadowtime.kernel.slots import Knowing, OwnPointer
    from shadowtime.kernel.state import State

ORDER_KIND = 0
DEPTH = 1
PHASES = 2
"""1 if there is a phase of backfilling, 0 if no job overtakes."""
TEST = 3
KEY = 4
AT_MOST = 5
PLAN_NODES = 7
"""Most nodes that the plans of a pass can hold. The places 6 (slots in use) and from 9 on (timers)
are those of kernel/slots.py."""
KEPT_HEAD, KEPT_START, KEPT_AT, KEPT_CHANGES, KEPT_LAST = 0, 1, 2, 3, 4
"""Places in ``kept``: the head, its start, when the plan was made (releases, changes of nodes), and
the head whose plan was given up in this pass."""


class General(NamedTuple):
    """The pass's parameters and scratch."""

    par: Ints  # int64[TIMES_FROM + 3 TIMERS]
    weight: Floats  # float64[3]
    jobs: Ints  # int64[n]: candidates
    heap: Ints  # int64[n]: candidates still to be tried, as places in jobs
    key: Floats  # float64[n]
    fact: Ints  # int64[n, FACTS]: kernel/record.py, for functions of the user's own
    memory: Floats  # float64[rows, numbers]: what such functions remember
    series: Floats  # float64[words]: values over time, kernel/curve.py
    asked: Ints  # int64[n]: jobs, or rows of the memory, for which one is asked
    answer: Floats  # float64[1, n]: what it returns
    scale: Ints  # int64[R + 1]: kernel/balance.py
    frozen: Ints  # int64[2]
    planned: Ints  # int64[depth]: jobs with a plan in this pass
    kept: Ints  # int64[5]: the head's plan that is kept while nothing is released


def make_general(
    *,
    n: int,
    order: int = 0,
    weight: tuple[float, float, float] = (0.0, 0.0, 0.0),
    depth: int,
    plan_nodes: int = 0,
    phase: tuple[int, int, int] | None = None,
    scale: Any = None,
    own: Any,
) -> General:
    """Parameters and room for a run of ``n`` jobs."""
    depth = min(depth, n)
    test, key, at_most = phase if phase is not None else (0, 0, 0)
    asked = max(n, len(own.memory)) + 1 if own.bits else 1
    par = np.zeros(TIMES_FROM + TIMERS * TIME_WORDS, np.int64)
    par[:8] = order, depth, phase is not None, test, key, at_most, own.bits, plan_nodes
    timers = [word for timer in own.timers for word in timer]
    par[TIMES_FROM : TIMES_FROM + len(timers)] = timers
    return General(
        par=par,
        weight=np.array(weight, np.float64),
        jobs=np.empty(n + 1, np.int64),
        heap=np.empty(n + 1, np.int64),
        key=np.zeros(n + 1, np.float64),
        fact=own.fact,
        memory=own.memory,
        series=own.series,
        asked=np.zeros(asked, np.int64),
        answer=np.zeros((1, asked), np.float64),
        scale=np.zeros(2, np.int64) if scale is None else scale,
        frozen=np.zeros(2, np.int64),
        planned=np.empty(depth + 1, np.int64),
        kept=np.array([-1, 0, 0, 0, -1], np.int64),
    )


if TYPE_CHECKING:

    class Sorting(Knowing, Protocol):
        """A pass's record, as far as its queue is put in order."""

        @property
        def weight(self) -> Floats: ...
        @property
        def jobs(self) -> Ints: ...
        @property
        def heap(self) -> Ints: ...
        @property
        def key(self) -> Floats: ...


@kernel
def sorted_already(ground: Ground, f: Sorting) -> bool:
    """True where the order is that of arrival."""
    return bool(f.par[ORDER_KIND] == FCFS and ground.mark[TIERS] == 0)


@routine
def in_order(state: State, ground: Ground, f: Sorting, custom: OwnPointer) -> int:
    """Gather the waiting jobs: ascending by arrival, or as a heap by (tier, key, arrival)."""
    now = state.reg[NOW]
    count = gather(state, f.jobs)
    for i in range(count):
        f.heap[i] = i
    if sorted_already(ground, f):
        return count
    if f.par[ORDER_KIND] == CUSTOM:
        ask(state, f, custom, ORDER, f.jobs[:count], f.key[:count])
    else:
        fill_keys(state, f.par[ORDER_KIND], f.weight, now, f.jobs, count, f.key)
    make_heap(state, ground, f, count, number(0))
    return count


@kernel
def before(state: State, ground: Ground, f: Sorting, shortest: int, a: int, b: int) -> bool:
    """True if candidate ``a`` comes before ``b``: tier, estimate if asked, key, arrival."""
    one, other = f.jobs[a], f.jobs[b]
    if ground.job[one, TIER] != ground.job[other, TIER]:
        return bool(ground.job[one, TIER] > ground.job[other, TIER])
    if shortest != 0 and state.job[one, ESTIMATE] != state.job[other, ESTIMATE]:
        return bool(state.job[one, ESTIMATE] < state.job[other, ESTIMATE])
    if f.key[a] != f.key[b]:
        return bool(f.key[a] > f.key[b])
    if state.job[one, SUBMIT] != state.job[other, SUBMIT]:  # not by row where jobs follow others
        return bool(state.job[one, SUBMIT] < state.job[other, SUBMIT])
    return bool(one < other)


@routine
def sink(state: State, ground: Ground, f: Sorting, size: int, at: int, shortest: int) -> None:
    """Let a candidate sink in the heap."""
    heap = f.heap
    place = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and before(state, ground, f, shortest, heap[child + 1], heap[child]):
            child += 1
        if before(state, ground, f, shortest, place, heap[child]):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = place


@routine
def make_heap(state: State, ground: Ground, f: Sorting, size: int, shortest: int) -> None:
    """Make a heap of the candidates."""
    for at in range(size // 2 - 1, -1, -1):
        sink(state, ground, f, size, at, shortest)


@kernel
def removed_first(state: State, ground: Ground, f: Sorting, size: int, shortest: int) -> int:
    """Remove the first candidate of the heap; returns the new size."""
    size -= 1
    if size > 0:
        f.heap[0] = f.heap[size]
        sink(state, ground, f, size, number(0), shortest)
    return size
