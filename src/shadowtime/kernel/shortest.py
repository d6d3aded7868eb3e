"""Waiting jobs by width, the shortest of each width on top: which job overtakes next?

Of the jobs that may overtake the shortest is next, so two questions are enough, whatever the
queue's length: the shortest job within what is free, which may start if it is done by the shadow
time, and else the shortest one within the extra processors. Both ask for the least (estimate,
arrival) of all widths up to a bound: a tree of minima over the widths answers.

Jobs enter when they are first asked for, and leave when they come out on top and wait no more, so a
queue that stays short never pays. A job whose estimate changes, or which comes back, enters once
more; what it was before is dropped when it comes out on top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shadowtime.kernel.fields import FIRST_JOB, LENGTH, NEXT, PROCS, USER
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import ARRIVED, BIG, BITS, ENDED, UNKNOWN_USER
from shadowtime.types import AnyArray, Ints

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

NONE = (1 << 62) - 1
"""Key where no job is: behind all others."""
WIDEST = 1 << 20
"""Processors of the largest machine whose widths are kept apart."""
SINCE, ENTRIES = 0, 1
"""Places in ``mark``: the first job that has not been asked for yet, -1 where entries ran out;
entries made so far."""


class Shortest(NamedTuple):
    """A pairing heap of entries for each width, and a tree of minima over the widths."""

    found: Ints  # int64[n]: scratch for candidates
    tree: Ints  # int64[2 leaves]: least key of a node's widths; width w is leaf w
    top: Ints  # int64[leaves]: the entry with that key
    key: Ints  # int64[entries]: (estimate, job)
    below: Ints  # int64[entries]: the first child of an entry in its heap, -1 if none
    beside: Ints  # int64[entries]: the next child of the same parent
    length: Ints  # int64[n]: the estimate with which a job entered last
    mark: Ints  # int64[2]


def make_shortest(*, n: int, procs: int, used: bool, changes: bool = False) -> Shortest:
    """Room for ``n`` jobs on a machine of this many processors; next to none if it is not used.

    ``changes``: estimates of waiting jobs may change, and jobs may come back (``follow``).
    """
    leaves = 1 << int(procs).bit_length() if used and procs <= WIDEST else 1
    room = n + 1 if leaves > 1 else 1
    entries = 2 * room if changes else room
    return Shortest(
        found=np.empty(n + 1, np.int64),
        tree=np.full(2 * leaves, NONE, np.int64),
        top=np.full(leaves, -1, np.int64),
        key=np.empty(entries, np.int64),
        below=np.empty(entries, np.int64),
        beside=np.empty(entries, np.int64),
        length=np.empty(room, np.int64),
        mark=np.zeros(2, np.int64),
    )


@routine
def let_in(index: Shortest, wait: AnyArray, bits: int, first: int, arrived: int) -> None:
    """Take in the waiting jobs from ``first`` on that are new since the last time."""
    mark = index.mark
    since = max(first, mark[SINCE])
    if mark[SINCE] < 0 or mark[ENTRIES] + arrived - since > index.key.shape[0]:
        index.tree[:] = NONE  # begin anew, without what was left behind
        mark[ENTRIES] = 0
        since = first
    for job in range(since, arrived):
        if wait[PROCS, job] != BIG:
            add(index, wait, bits, job)
    mark[SINCE] = arrived


@kernel
def add(index: Shortest, wait: AnyArray, bits: int, job: int) -> None:
    """Enter a waiting job as it is now; one wider than the machine, as parts may be down, never."""
    width = wait[PROCS, job]
    if width >= index.top.shape[0]:
        return
    entry = index.mark[ENTRIES]
    index.mark[ENTRIES] = entry + 1
    leaf = index.tree.shape[0] // 2 + width
    key = np.int64(wait[LENGTH, job]) << bits | job
    index.key[entry] = key
    index.below[entry] = index.beside[entry] = -1
    index.length[job] = wait[LENGTH, job]
    if index.tree[leaf] == NONE:
        index.top[width] = entry
        set_least(index.tree, leaf, key)
    elif key < index.tree[leaf]:
        index.below[entry] = index.top[width]
        index.top[width] = entry
        set_least(index.tree, leaf, key)
    else:
        parent = index.top[width]
        index.beside[entry] = index.below[parent]
        index.below[parent] = entry


@routine
def enter_again(index: Shortest, wait: AnyArray, bits: int, job: int) -> None:
    """Enter a job that has changed or come back, if it is one of those asked for."""
    if job < index.mark[SINCE]:
        if index.mark[ENTRIES] < index.key.shape[0]:
            add(index, wait, bits, job)
        else:
            index.mark[SINCE] = -1  # no room: begin anew when asked again


@routine
def follow(state: State, index: Shortest) -> None:
    """Enter the waiting jobs again whose estimates changed as jobs of their users ended."""
    for i in range(state.reg[ENDED]):
        user = state.job[state.ended[i], USER]
        if user == state.reg[UNKNOWN_USER]:
            continue
        job = state.user[user, FIRST_JOB]
        while job < min(index.mark[SINCE], state.reg[ARRIVED]):
            length = state.wait[LENGTH, job]
            if state.wait[PROCS, job] != BIG and length != index.length[job]:
                enter_again(index, state.wait, state.reg[BITS], job)
            job = state.job[job, NEXT]


@kernel
def set_least(tree: Ints, leaf: int, key: Any) -> None:
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


@kernel
def is_current(wait: AnyArray, bits: int, key: int) -> bool:
    """True if a key's job waits and is as it was entered."""
    job = key & ((1 << bits) - 1)
    return bool(wait[PROCS, job] != BIG and wait[LENGTH, job] == key >> bits)


@routine
def drop_top(index: Shortest, wait: AnyArray, bits: int, width: int) -> None:
    """Remove the top of a width's heap and those behind it that are out of date."""
    leaf = index.tree.shape[0] // 2 + width
    top = index.top[width]
    while True:
        top = melded(index, index.below[top])
        if top < 0:
            set_least(index.tree, leaf, NONE)
            return
        if is_current(wait, bits, index.key[top]):
            index.top[width] = top
            set_least(index.tree, leaf, index.key[top])
            return


@routine
def melded(index: Shortest, child: int) -> int:
    """One heap of an entry's children, by pairs and then from the last pair on; -1 if none."""
    pairs = -1
    while child >= 0:
        other = index.beside[child]
        if other < 0:
            following = -1
        else:
            following = index.beside[other]
            child = meld(index, child, other)
        index.beside[child] = pairs
        pairs = child
        child = following
    whole = -1
    while pairs >= 0:
        following = index.beside[pairs]
        index.beside[pairs] = -1
        whole = pairs if whole < 0 else meld(index, whole, pairs)
        pairs = following
    return whole


@kernel
def meld(index: Shortest, a: int, b: int) -> int:
    """Hang the later one of two heaps under the other; return that."""
    if index.key[b] < index.key[a]:
        a, b = b, a
    index.beside[b] = index.below[a]
    index.below[a] = b
    return a


@routine
def shortest_within(index: Shortest, wait: AnyArray, bits: int, procs: int) -> int:
    """The waiting job of the least (estimate, arrival) no wider than ``procs``, -1 if none."""
    if procs < 1:
        return -1
    leaves = index.tree.shape[0] // 2
    while True:
        least, at = NONE, leaves
        low, high = leaves, leaves + min(procs, leaves - 1) + 1
        while low < high:
            if low & 1:
                if index.tree[low] < least:
                    least, at = index.tree[low], low
                low += 1
            if high & 1:
                high -= 1
                if index.tree[high] < least:
                    least, at = index.tree[high], high
            low >>= 1
            high >>= 1
        if least == NONE:
            return -1
        if is_current(wait, bits, least):
            return int(least & ((1 << bits) - 1))
        while at < leaves:
            at = 2 * at if index.tree[2 * at] == least else 2 * at + 1
        drop_top(index, wait, bits, at - leaves)
