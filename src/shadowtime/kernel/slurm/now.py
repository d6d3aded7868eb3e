"""Whether a record starts now, without the ends of running jobs."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.alone import is_alone, known_reason, note_offer, offer
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.last import has_prey
from shadowtime.kernel.slurm.limits import UNKNOWN, WITHIN, about, is_checked, note, too_much
from shadowtime.kernel.slurm.refusal import REFUSED, UNSURE, overfills, try_to_start
from shadowtime.kernel.slurm.spans import search
from shadowtime.kernel.slurm.words import NONE, bits_in

VAIN = 3
"""Beside the answers of :func:`try_to_start`: it does not start, and its plan is of no account."""


@kernel
def is_simple(board: Board, desk: Desk, row: int) -> bool:
    """A will-run test finds that the record starts now exactly where a try to start it does.

    It takes no nodes from others, has no other tries, and no test of others changes the order of
    its nodes: where weights move, a test of GPUs sets those of all nodes that it can use.
    """
    mark = board.mark
    ask = board.record[row, b.ASK]
    if mark[b.MOVES] != 0:
        if desk.ask[ask, d.ASK_GPUS] == 0:
            return False
    elif mark[b.STARTS_ONLY] == 0:
        return False
    if mark[b.WINDOWS] != 0:
        return False
    if not is_checked(board, row) or board.memo[about(board, row), b.TALLIED] <= 0:
        return False
    return desk.ask[ask, d.ALONE] < 0 and not overfills(board, desk, ask)


@routine
def starts_now(board: Board, desk: Desk, at: int) -> int:
    """As :func:`try_to_start` on what no plan takes meanwhile; UNSURE: a will-run test must tell.

    The plan of the last record that matters is of no account, but for a limit that it may break.
    """
    mark, mask = board.mark, board.mask
    row = board.queue[at, b.ROW]
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    if not is_simple(board, desk, row) or has_prey(board, row):
        return UNSURE
    for word in range(mask.shape[1]):
        mask[b.BASE, word] = board.section[section, word]
        if mark[b.GOES_ON] != 0:
            mask[b.BASE, word] &= ~desk.excluded[ask, word]
    search(board, b.BASE, mark[b.LATER], mark[b.NOW] + board.record[row, b.LIMIT])
    count = 0
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] &= desk.suits[ask, word]
        if mask[b.FOUND, word] & mask[b.COMPLETING, word] != NONE:
            return UNSURE
        if desk.required[ask, word] & ~mask[b.FOUND, word] != NONE:
            return UNSURE
        count += bits_in(mask[b.FOUND, word])
    if count < desk.ask[ask, d.MIN_NODES]:
        return UNSURE
    who, known = board.record[row, b.WHO], about(board, row)
    alone = is_alone(desk, ask)
    if alone:
        offer(board, desk, ask, b.FOUND, section)
        reason = known_reason(board, who, known, True)
        if reason >= 0 and too_much(board, who, known) == UNKNOWN:
            note(board, at, reason)
            mark[b.TESTED] += 1
            return REFUSED
    for node in range(board.weight.shape[0]):
        board.fresh_weight[node] = board.weight[node]
    answer = try_to_start(board, desk, at)
    if answer != UNSURE:
        mark[b.TESTED] += 1
        if alone and answer == REFUSED and too_much(board, who, known) == UNKNOWN:
            note_offer(board, known, True)
        return answer
    for node in range(board.weight.shape[0]):
        board.weight[node] = board.fresh_weight[node]
    if mark[b.STARTS_ONLY] != 0 and at == mark[b.LAST] and mark[b.MAY_RUN_OUT] == 0:
        if too_much(board, who, known) == WITHIN:
            return VAIN
    return answer
