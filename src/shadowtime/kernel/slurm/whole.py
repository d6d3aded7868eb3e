"""Which whole nodes of a machine of equal nodes a job gets: choose.py on runs of bits."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm.board import (
    CHOSEN,
    EACH_CPUS,
    MAX_NODES,
    MIN_CPUS,
    MIN_NODES,
    MOST_CPUS,
    RUN_AT,
    RUN_LENGTH,
    WANTED_NODES,
)
from shadowtime.kernel.slurm.words import NONE, runs_of, set_range


@kernel
def could_do(board: Any, ask: int, count: int) -> bool:
    """False where no choice of ``count`` nodes serves an ask (could_fit of slurm/ends.py)."""
    least = board.ask[ask, MIN_NODES]
    if count < least:
        return False
    most = min(count, max(board.ask[ask, MAX_NODES], least))
    return most * board.mark[MOST_CPUS] >= board.ask[ask, MIN_CPUS]


@kernel
def does(board: Any, ask: int, have: int, nodes: int) -> bool:
    """True if ``nodes`` are enough: a range is content with fewer than it aims at."""
    least, wanted = board.ask[ask, MIN_NODES], board.ask[ask, WANTED_NODES]
    if wanted > least:
        return have >= nodes + least - wanted
    return have >= nodes


@routine
def choose_whole(board: Any, ask: int, row: int) -> bool:
    """Leave in CHOSEN the nodes that a job gets of the idle ones in ``mask[row]``; False: none."""
    mask, run = board.mask, board.run
    cpus = board.mark[EACH_CPUS]
    sets = runs_of(mask, row, run)
    nodes = max(board.ask[ask, MIN_NODES], board.ask[ask, WANTED_NODES])
    due = board.ask[ask, MIN_CPUS]
    most = board.ask[ask, MAX_NODES]
    for word in range(mask.shape[1]):
        mask[CHOSEN, word] = NONE
    while most > 0 and sets > 0:
        best = 0
        best_does = False
        for place in range(sets):
            length = run[RUN_LENGTH, place]
            serves = length * cpus >= due and does(board, ask, length, nodes)
            if place > 0:
                size = run[RUN_LENGTH, best]
                if serves:
                    if best_does and length >= size:
                        continue
                elif length <= size:
                    continue
            best, best_does = place, serves
        at, length = run[RUN_AT, best], run[RUN_LENGTH, best]
        sets -= 1
        for place in range(best, sets):
            run[RUN_AT, place] = run[RUN_AT, place + 1]
            run[RUN_LENGTH, place] = run[RUN_LENGTH, place + 1]
        count = min(length, max(nodes, -(-due // cpus)), most)
        if nodes <= 1 and cpus >= due:
            count = min(count, 1)
        elif count == most and due - (most - 1) * cpus > cpus:
            count -= 1
        set_range(mask, CHOSEN, at, count)
        nodes -= count
        most -= count
        due -= count * cpus
        if nodes <= 0 and due <= 0:
            return True
    return due <= 0 and does(board, ask, 0, nodes)
