"""A job that could start now and is over a limit: what its try would do, without Python."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.choose import choose
from shadowtime.kernel.slurm.limits import about, is_checked, note, too_much
from shadowtime.kernel.slurm.words import has


@kernel
def set_weights(board: Any) -> None:
    """What a try does to the weights of the nodes FOUND, those it may use (spec: slurm 11.4)."""
    for at in range(board.weight.shape[0]):
        if has(board.mask, b.FOUND, at):
            board.weight[at] = board.node[at, b.PLAIN_WEIGHT]


@kernel
def plain_weights(board: Any) -> None:
    """Leave in ``fresh_weight`` the weights that a try begins with."""
    for at in range(board.fresh_weight.shape[0]):
        board.fresh_weight[at] = board.node[at, b.PLAIN_WEIGHT]


@routine
def refuses_start(board: Any, desk: Any, at: int) -> bool:
    """A limit keeps the record from a start on FOUND that a try would find; it is noted.

    False where that is not certain. What a try of a job with GPUs leaves behind is not known here.
    """
    mark, mask = board.mark, board.mask
    row = board.queue[at, b.ROW]
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    if not is_checked(board, row) or mark[b.GANG] != 0 or desk.ask[ask, d.ASK_GPUS] > 0:
        return False
    if desk.ask[ask, d.PER_CPU] != 0 and mark[b.ONE_THREAD] == 0:
        return False  # it may take more memory than there is
    reason = too_much(board, board.record[row, b.WHO], about(board, row))
    if reason < 0:
        return False
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] &= board.section[section, word] & desk.suits[ask, word]
        desk.mask[d.TRIED, word] = mask[b.FOUND, word] & mask[b.USABLE, word]
    plain_weights(board)
    if not choose(desk, board.now, board.fresh_weight, ask):
        return False
    set_weights(board)
    note(board, at, reason)
    return True
