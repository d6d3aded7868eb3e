"""A job that could start now: what its try would do, without Python."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.choose import choose
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
def set_weights(board: Any) -> None:
    """What a try does to the weights of the nodes FOUND, those it may use (spec: slurm 11.4)."""
    for at in range(board.weight.shape[0]):
        if has(board.mask, b.FOUND, at):
            board.weight[at] = board.node[at, b.PLAIN_WEIGHT]


@kernel
def weights_moved(board: Any) -> bool:
    """Some weight is not that which a try begins with."""
    for at in range(board.weight.shape[0]):
        if board.weight[at] != board.node[at, b.PLAIN_WEIGHT]:
            return True
    return False


@kernel
def plain_weights(board: Any) -> None:
    """Leave in ``fresh_weight`` the weights that a try begins with."""
    for at in range(board.fresh_weight.shape[0]):
        board.fresh_weight[at] = board.node[at, b.PLAIN_WEIGHT]


@kernel
def overfills(board: Any, desk: Any, ask: int) -> bool:
    """A start may take more memory than a test counts, and more than there is."""
    return (
        desk.ask[ask, d.PER_CPU] != 0
        and desk.ask[ask, d.EXCLUSIVE] == 0
        and board.mark[b.ONE_THREAD] == 0
    )


@routine
def try_to_start(board: Any, desk: Any, at: int) -> int:
    """FITS where a try would start the record on nodes of FOUND, which the desk has chosen.

    REFUSED where a limit keeps it from that, which is noted; UNSURE where neither is certain. What
    a try of a job with GPUs leaves behind is not known here.
    """
    mark, mask, asks = board.mark, board.mask, desk.ask
    row = board.queue[at, b.ROW]
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    who, known = board.record[row, b.WHO], about(board, row)
    if not is_checked(board, row) or mark[b.GANG] != 0 or board.memo[known, b.TALLIED] <= 0:
        return UNSURE
    gpus = asks[ask, d.ASK_GPUS] > 0
    if overfills(board, desk, ask) or (gpus and mark[b.MOVES] != 0):
        return UNSURE
    reason = too_much(board, who, known)
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] &= board.section[section, word] & desk.suits[ask, word]
        desk.mask[d.TRIED, word] = mask[b.FOUND, word] & mask[b.USABLE, word]
    plain_weights(board)
    if not choose(desk, board.now, board.fresh_weight, ask):
        return UNSURE
    if reason == UNKNOWN:
        reason = too_much_there(board, desk, who, known)
    set_weights(board)
    if reason == WITHIN:
        return FITS
    note(board, at, reason)
    return REFUSED
