"""The last record of a queue that matters now: a pass for starts alone ends there."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.ends import note_able
from shadowtime.kernel.slurm.limits import (
    WITHIN,
    about,
    is_still_over,
    too_many,
    too_much,
)
from shadowtime.kernel.slurm.offers import could_do
from shadowtime.kernel.slurm.spans import count_idle, free_until, idle_until
from shadowtime.kernel.slurm.words import NONE, bits_in


@routine
def could_start(board: Board, desk: Desk, at: int) -> bool:
    """False where nothing that this pass may still do lets the record start now.

    During a pass, what is free only shrinks. How many whole nodes there are for it is known.
    """
    row = board.queue[at, b.ROW]
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    end = board.mark[b.NOW] + board.record[row, b.LIMIT]
    whole = desk.ask[ask, d.EXCLUSIVE] != 0
    if not whole and board.mark[b.FREE_CPUS] < desk.ask[ask, d.MIN_CPUS]:
        return False
    mask = board.mask
    floor = desk.ask[ask, d.FLOOR]
    if not whole:
        note_able(board, desk, ask)
    for word in range(mask.shape[1]):
        able = board.mask[b.IDLE, word] if whole else board.able[floor, word]
        here = board.section[section, word] & desk.suits[ask, word]
        mask[b.FOUND, word] = here & board.mask[b.USABLE, word] & able
    free_until(board, end, b.FOUND)
    count = 0
    for word in range(mask.shape[1]):
        if desk.required[ask, word] & ~mask[b.FOUND, word] != NONE:
            return False
        count += bits_in(mask[b.FOUND, word])
    return could_do(desk, ask, count)


@kernel
def has_prey(board: Board, row: int) -> bool:
    """A job runs that the record may preempt."""
    rank = board.record[row, b.RANK]
    return rank >= 0 and board.preys[rank] != 0


@routine
def matters(board: Board, desk: Desk, at: int, row: int) -> bool:
    """False where a look at the record starts nothing, preempts nothing and notes nothing new."""
    if board.queue[at, b.GONE] != 0:
        return False
    mark, who = board.mark, board.record[row, b.WHO]
    if mark[b.CHECKS_LIMITS] != 0 and board.who[who, b.SIMPLE] != 0:
        reason = too_many(board, who)
        if reason != WITHIN:
            return reason != board.met[board.queue[at, b.SLOT]]
        if too_much(board, who, about(board, row)) != WITHIN:
            return not is_still_over(board, desk, at, row)
    elif mark[b.ASKS_LAST] != 0 and mark[b.VERDICTS] != 0:
        return True  # what Python may note is not known here
    return has_prey(board, row) or could_start(board, desk, at)


@routine
def last_to_start(board: Board, desk: Desk, at: int) -> None:
    """Move LAST down to the last record from ``at`` on that matters."""
    mark, queue, record, asks = board.mark, board.queue, board.record, desk.ask
    mark[b.SEEN], mark[b.SEEN_STAMP] = mark[b.VERSION], mark[b.STAMP]
    if mark[b.SHRUNK] != mark[b.VERSION] or mark[b.SHRUNK_STAMP] != mark[b.STAMP]:
        count_idle(board)
    most = idle_until(board, mark[b.NOW])
    plain = mark[b.ASKS_LAST] == 0 and mark[b.PREEMPTS] == 0
    last = mark[b.LAST]
    while last >= at:
        row = queue[last, b.ROW]
        ask = record[row, b.ASK]
        if plain and asks[ask, d.EXCLUSIVE] != 0:
            # Most of a long queue goes here, where no function is called.
            nodes = asks[ask, d.MIN_NODES]
            if nodes > most or idle_until(board, mark[b.NOW] + record[row, b.LIMIT]) < nodes:
                last -= 1
                continue
        if matters(board, desk, last, row):
            break
        last -= 1
    mark[b.LAST] = last
