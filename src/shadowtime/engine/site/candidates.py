"""The waiting jobs in the order of the policy: as they came, or a heap by (tier, key, arrival)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.site.head_plan import ORDER_KIND
from shadowtime.kernel.fields import ESTIMATE, SUBMIT
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.order import CUSTOM, FCFS, fill_keys
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import NOW
from shadowtime.kernel.site.fields import TIER, TIERS, number
from shadowtime.kernel.slots import ORDER, ask

if TYPE_CHECKING:
    from typing import Protocol

    from shadowtime.kernel.site.fields import Ground
    from shadowtime.kernel.slots import Knowing, OwnPointer
    from shadowtime.kernel.state import State
    from shadowtime.types import Floats, Ints


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
