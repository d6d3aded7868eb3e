"""Interchangeable whole nodes: the choice of choose.py, on runs of bits."""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.need import enough
from shadowtime.kernel.slurm.words import ALL, NONE, ONE, zeros_below
from shadowtime.types import AnyArray, Ints


@routine
def runs_of(mask: AnyArray, row: int, run: Ints) -> int:
    """Write places and lengths of the runs of neighbouring bits, lowest first; how many."""
    count = 0
    length = 0
    words = mask.shape[1]
    for at in range(words):
        word = mask[row, at]
        if word == NONE:
            if length > 0:
                run[d.RUN_NODES, count] = length
                count += 1
                length = 0
            continue
        if word == ALL:
            if length == 0:
                run[d.RUN_START, count] = 64 * at
            length += 64
            continue
        done = 0
        while word != NONE:
            skip = zeros_below(word)
            if skip > 0 and length > 0:  # the run from the word before ends
                run[d.RUN_NODES, count] = length
                count += 1
                length = 0
            word >>= np.uint64(skip)
            done += skip
            if length == 0:
                run[d.RUN_START, count] = 64 * at + done
            some = zeros_below(~word)
            length += some
            word >>= np.uint64(some)
            done += some
            if done < 64:
                run[d.RUN_NODES, count] = length
                count += 1
                length = 0
    if length > 0:
        run[d.RUN_NODES, count] = length
        count += 1
    return count


@kernel
def set_range(mask: AnyArray, row: int, first: int, count: int) -> None:
    """Set ``count`` bits from a place on."""
    at = first
    left = count
    while left > 0:
        bit = at % 64
        here = min(64 - bit, left)
        word = ALL if here == 64 else ((ONE << np.uint64(here)) - ONE) << np.uint64(bit)
        mask[row, at // 64] |= word
        at += here
        left -= here


@routine
def choose_whole(desk: Desk, ask: int) -> bool:
    """Leave in CHOSEN the nodes that a job gets of TRIED, which are idle; False: none."""
    mask, run, asks = desk.mask, desk.run, desk.ask
    cpus = desk.node[0, d.CPUS]
    sets = runs_of(mask, d.TRIED, run)
    nodes = max(asks[ask, d.MIN_NODES], asks[ask, d.WANTED])
    due = asks[ask, d.MIN_CPUS]
    most = asks[ask, d.MAX_NODES]
    for word in range(mask.shape[1]):
        mask[d.CHOSEN, word] = NONE
    while most > 0 and sets > 0:
        best = 0
        best_does = False
        for place in range(sets):
            length = run[d.RUN_NODES, place]
            serves = length * cpus >= due and enough(desk, ask, length, nodes)
            if place > 0:
                size = run[d.RUN_NODES, best]
                if serves:
                    if best_does and length >= size:
                        continue
                elif length <= size:
                    continue
            best, best_does = place, serves
        at, length = run[d.RUN_START, best], run[d.RUN_NODES, best]
        sets -= 1
        for place in range(best, sets):
            run[d.RUN_START, place] = run[d.RUN_START, place + 1]
            run[d.RUN_NODES, place] = run[d.RUN_NODES, place + 1]
        count = min(length, max(nodes, -(-due // cpus)), most)
        if nodes <= 1 and cpus >= due:
            count = min(count, 1)
        elif count == most and due - (most - 1) * cpus > cpus:
            count -= 1
        set_range(mask, d.CHOSEN, at, count)
        nodes -= count
        most -= count
        due -= count * cpus
        if nodes <= 0 and due <= 0:
            return True
    return due <= 0 and enough(desk, ask, 0, nodes)
