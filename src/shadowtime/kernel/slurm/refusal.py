"""A job that could start now: what its try would do, without Python."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.choose import choose
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.limits import (
    UNKNOWN,
    WITHIN,
    about,
    is_checked,
    note,
    too_much,
    too_much_there,
)
from shadowtime.kernel.slurm.words import has

REFUSED, UNSURE, FITS = range(3)


@kernel
def set_weights(board: Board) -> None:
    """What a try does to the weights of the nodes FOUND, those it may use (spec: slurm 11.4)."""
    for at in range(board.weight.shape[0]):
        if has(board.mask, b.FOUND, at):
            board.weight[at] = board.node[at, b.PLAIN_WEIGHT]


@kernel
def weights_moved(board: Board) -> bool:
    """Some weight is not that which a try begins with."""
    for at in range(board.weight.shape[0]):
        if board.weight[at] != board.node[at, b.PLAIN_WEIGHT]:
            return True
    return False


@kernel
def plain_weights(board: Board) -> None:
    """Leave in ``fresh_weight`` the weights that a try begins with."""
    for at in range(board.fresh_weight.shape[0]):
        board.fresh_weight[at] = board.node[at, b.PLAIN_WEIGHT]


@kernel
def overfills(board: Board, desk: Desk, ask: int) -> bool:
    """A start may take more than a test counts, and more than there is: memory, or GPUs."""
    if desk.rule[d.FIRST_SINGLE] != 0 and desk.ask[ask, d.SINGLE] != 0:
        if desk.ask[ask, d.JOB_GPUS] > 0:
            return True
    return (
        desk.ask[ask, d.PER_CPU] != 0
        and desk.ask[ask, d.EXCLUSIVE] == 0
        and board.mark[b.ONE_THREAD] == 0
    )


@routine
def fits_now(board: Board, desk: Desk, ask: int) -> bool:
    """The job fits on nodes of FOUND, whose weights are set first: those that the desk has chosen.

    Where it does not, more may be to do: a job with GPUs is tested on empty nodes then.
    """
    set_weights(board)
    for word in range(board.mask.shape[1]):
        desk.mask[d.TRIED, word] = board.mask[b.FOUND, word] & board.mask[b.USABLE, word]
    return choose(desk, board.now, board.weight, ask)


@routine
def try_to_start(board: Board, desk: Desk, at: int) -> int:
    """FITS where a try would start the record on nodes of FOUND, which the desk has chosen.

    REFUSED where a limit keeps it from that, which is noted; UNSURE where neither is certain.
    """
    mark, mask = board.mark, board.mask
    row = board.queue[at, b.ROW]
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    who, known = board.record[row, b.WHO], about(board, row)
    if not is_checked(board, row) or mark[b.GANG] != 0 or board.memo[known, b.TALLIED] <= 0:
        return UNSURE
    if overfills(board, desk, ask):
        return UNSURE
    reason = too_much(board, who, known)
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] &= board.section[section, word] & desk.suits[ask, word]
    if not fits_now(board, desk, ask):
        return UNSURE
    if reason == UNKNOWN:
        reason = too_much_there(board, desk, who, known)
    if reason == WITHIN:
        return FITS
    note(board, at, reason)
    return REFUSED
