"""Waiting jobs by width, the shortest of each width on top: who overtakes next, shortest first?

Among those who may overtake the shortest is next, so two questions are enough, whatever the queue's
length: the shortest job within what is free, which may start if it is done by the shadow time, and
else the shortest one within the extra processors. Both ask for the least (estimate, arrival) of all
widths up to a bound: a tree of minima over the widths answers.

Jobs enter when they are first asked for, and leave when they come out on top and wait no more, so a
queue that stays short never pays. An estimate that changes while a job waits is not followed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import LENGTH, PROCS
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import BIG

NONE = (1 << 62) - 1
"""Key where no job is: behind all others."""
WIDEST = 1 << 20
"""Processors of the largest machine whose widths are kept apart."""
SINCE = 0
"""Place in ``mark``: the first job that has not been asked for yet."""


class Shortest(NamedTuple):
    """A pairing heap of jobs for each width, and a tree of minima over the widths."""

    found: Any  # int64[n]: scratch for candidates
    tree: Any  # int64[2 leaves]: least key of a node's widths; width w is leaf w
    key: Any  # int64[n]: (estimate, job) as it was when the job entered
    below: Any  # int64[n]: the first child of a job in its heap, -1 if none
    beside: Any  # int64[n]: the next child of the same parent
    mark: Any  # int64[1]


def make_shortest(*, n: int, procs: int, used: bool) -> Shortest:
    """Room for ``n`` jobs on a machine of so many processors; next to none if it is not used."""
    leaves = 1 << int(procs).bit_length() if used and procs <= WIDEST else 1
    room = n + 1 if leaves > 1 else 1
    return Shortest(
        found=np.empty(n + 1, np.int64),
        tree=np.full(2 * leaves, NONE, np.int64),
        key=np.empty(room, np.int64),
        below=np.full(room, -1, np.int64),
        beside=np.full(room, -1, np.int64),
        mark=np.zeros(1, np.int64),
    )


@routine
def let_in(x: Any, wait: Any, bits: int, first: int, arrived: int) -> None:
    """Take in the waiting jobs that are new since the last time."""
    for job in range(max(first, x.mark[SINCE]), arrived):
        if wait[PROCS, job] != BIG:
            leaf = x.tree.shape[0] // 2 + wait[PROCS, job]
            key = np.int64(wait[LENGTH, job]) << bits | job
            x.key[job] = key
            top = x.tree[leaf]
            if top == NONE:
                set_least(x.tree, leaf, key)
            elif key < top:
                x.below[job] = top & ((1 << bits) - 1)
                set_least(x.tree, leaf, key)
            else:
                parent = top & ((1 << bits) - 1)
                x.beside[job] = x.below[parent]
                x.below[parent] = job
    x.mark[SINCE] = arrived


@kernel
def set_least(tree: Any, leaf: int, key: Any) -> None:
    """Give a width a new least key."""
    at = leaf
    tree[at] = key
    at >>= 1
    while at > 0:
        least = min(tree[2 * at], tree[2 * at + 1])
        if tree[at] == least:
            return
        tree[at] = least
        at >>= 1


@routine
def drop_top(x: Any, wait: Any, bits: int, leaf: int) -> None:
    """Remove the top of a width's heap and those that wait no more behind it."""
    mask = (1 << bits) - 1
    top = x.tree[leaf] & mask
    while True:
        top = melded(x, x.below[top])
        if top < 0:
            set_least(x.tree, leaf, NONE)
            return
        if wait[PROCS, top] != BIG:
            set_least(x.tree, leaf, x.key[top])
            return


@routine
def melded(x: Any, child: int) -> int:
    """One heap of a job's children, by pairs and then from the last pair on; -1 if none."""
    pairs = -1
    while child >= 0:
        other = x.beside[child]
        if other < 0:
            following = -1
        else:
            following = x.beside[other]
            child = meld(x, child, other)
        x.beside[child] = pairs
        pairs = child
        child = following
    whole = -1
    while pairs >= 0:
        following = x.beside[pairs]
        x.beside[pairs] = -1
        whole = pairs if whole < 0 else meld(x, whole, pairs)
        pairs = following
    return whole


@kernel
def meld(x: Any, a: int, b: int) -> int:
    """Hang the later one of two heaps under the other; return that."""
    if x.key[b] < x.key[a]:
        a, b = b, a
    x.beside[b] = x.below[a]
    x.below[a] = b
    return a


@routine
def shortest_within(x: Any, wait: Any, bits: int, procs: int) -> int:
    """The waiting job of the least (estimate, arrival) no wider than so many, -1 if none."""
    if procs < 1:
        return -1
    leaves = x.tree.shape[0] // 2
    while True:
        least, at = NONE, leaves
        low, high = leaves, leaves + min(procs, leaves - 1) + 1
        while low < high:
            if low & 1:
                if x.tree[low] < least:
                    least, at = x.tree[low], low
                low += 1
            if high & 1:
                high -= 1
                if x.tree[high] < least:
                    least, at = x.tree[high], high
            low >>= 1
            high >>= 1
        if least == NONE:
            return -1
        job = least & ((1 << bits) - 1)
        if wait[PROCS, job] != BIG:
            return int(job)
        while at < leaves:
            at = 2 * at if x.tree[2 * at] == least else 2 * at + 1
        drop_top(x, wait, bits, at)
