"""The queue of a run in Slurm's order, as rows of numbers (spec: slurm 2.1)."""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.books import Books
from shadowtime.types import Ints

COUNT, VERSION = range(2)
"""Places of ``size``."""


@kernel
def precedes(record: Ints, part: Ints, queue: Ints, one: int, other: int) -> bool:
    """A record ranks before another: reservation, tier, priority, submission, id."""
    mine, theirs = queue[one, k.Q_ROW], queue[other, k.Q_ROW]
    apart, beside = record[mine, b.RESERVATION] < 0, record[theirs, b.RESERVATION] < 0
    if apart != beside:
        return not apart
    tier, level = part[record[mine, b.SECTION], b.TIER], part[record[theirs, b.SECTION], b.TIER]
    if tier != level:
        return tier > level
    if queue[one, k.Q_PRIORITY] != queue[other, k.Q_PRIORITY]:
        return queue[one, k.Q_PRIORITY] > queue[other, k.Q_PRIORITY]
    if queue[one, k.Q_SUBMIT] != queue[other, k.Q_SUBMIT]:
        return queue[one, k.Q_SUBMIT] < queue[other, k.Q_SUBMIT]
    return queue[one, k.Q_ID] < queue[other, k.Q_ID]


@entry
def put_in(record: Ints, part: Ints, queue: Ints, size: Ints) -> int:
    """Move the record behind the last one to its place, behind its equals; that place.

    Examples
    --------
    >>> from shadowtime.kernel.slurm.board import empty_board
    >>> board, queue = empty_board(1), np.zeros((3, k.QUEUE_COLUMNS), np.int64)
    >>> queue[:, k.Q_PRIORITY] = 5, 3, 4
    >>> put_in(board.record, board.part, queue, np.array([2, 0])), queue[:, k.Q_PRIORITY].tolist()
    (1, [5, 4, 3])
    """
    last = size[COUNT]
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if precedes(record, part, queue, last, middle):
            high = middle
        else:
            low = middle + 1
    for column in range(queue.shape[1]):
        kept = queue[last, column]
        for at in range(last, low, -1):
            queue[at, column] = queue[at - 1, column]
        queue[low, column] = kept
    size[COUNT] += 1
    size[VERSION] += 1
    return low


@entry
def take_out(queue: Ints, size: Ints, slot: int) -> None:
    """A job waits no longer: its records leave.

    Examples
    --------
    >>> queue, size = np.zeros((3, k.QUEUE_COLUMNS), np.int64), np.array([3, 0])
    >>> queue[:, k.Q_SLOT] = 7, 8, 7
    >>> take_out(queue, size, 7)
    >>> queue[:1, k.Q_SLOT].tolist(), size.tolist()
    ([8], [1, 1])
    """
    leave(queue, size, slot)


@routine
def leave(queue: Ints, size: Ints, slot: int) -> None:
    """As :func:`take_out`."""
    to = 0
    for at in range(size[COUNT]):
        if queue[at, k.Q_SLOT] == slot:
            continue
        if to != at:
            for column in range(queue.shape[1]):
                queue[to, column] = queue[at, column]
        to += 1
    size[COUNT] = to
    size[VERSION] += 1


@routine
def lay_out(board: Board, books: Books) -> bool:
    """Put the queue on the board; False where Python must do it, as some preempt others."""
    reg, queue = books.reg, board.queue
    count = books.size[COUNT]
    if reg["written"][0] != books.size[VERSION]:
        if reg["sorts"][0] == 2:
            return False
        if reg["sorts"][0] == 1:
            most = -np.inf
            for at in range(count):
                rank = board.record[books.queue[at, k.Q_ROW], b.RANK]
                key = books.keys[rank if rank >= 0 else books.keys.shape[0] - 1]
                if key < most:
                    return False
                if key > most:
                    most = key
        for at in range(count):
            queue[at, b.ROW] = books.queue[at, k.Q_ROW]
            queue[at, b.SLOT] = books.queue[at, k.Q_SLOT]
            queue[at, b.TASKS] = 1
        reg["written"][0] = books.size[VERSION]
    for at in range(count):
        queue[at, b.NOW_ONLY] = queue[at, b.GONE] = 0
    board.mark[b.RECORDS] = count
    return True
