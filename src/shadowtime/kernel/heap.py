"""A binary heap of int64 keys in a given array: smallest first."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel
from shadowtime.types import Ints


@kernel
def push(heap: Ints, size: int, key: int) -> int:
    """Add a key; return the new size. The array must have room."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent] <= key:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = key
    return size + 1


@kernel
def pop(heap: Ints, size: int) -> int:
    """Remove the smallest key, ``heap[0]``; return the new size."""
    size -= 1
    heap[0] = heap[size]
    settle_down(heap, size, 0)
    return size


@kernel
def settle_down(heap: Ints, size: int, at: int) -> None:
    """Let the key at a place sink to where it belongs."""
    key = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if key <= heap[child]:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = key
