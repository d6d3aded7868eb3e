"""What a job that wants nodes to itself was counted with when it was last offered these nodes.

Which of them it gets depends on nothing else, so that limits can be checked without a choice.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.limits import UNKNOWN, broken_by


@kernel
def is_alone(desk: Desk, ask: int) -> bool:
    """A request for nodes of one's own that no test of others matters to."""
    return desk.ask[ask, d.EXCLUSIVE] != 0 and desk.ask[ask, d.ASK_GPUS] == 0


@routine
def offer(board: Board, desk: Desk, ask: int, base: int, section: int) -> None:
    """Leave in OFFERED which nodes of ``mask[base]`` such a request may have now."""
    mask = board.mask
    for word in range(mask.shape[1]):
        here = board.section[section, word] & desk.suits[ask, word]
        here &= mask[b.USABLE, word] & mask[b.IDLE, word]
        mask[b.OFFERED, word] = here & mask[base, word]


@routine
def known_reason(board: Board, who: int, about: int, fits: bool) -> int:
    """What limits say of it on OFFERED; UNKNOWN where it was not offered these, or not so."""
    memo = board.memo
    if memo[about, b.ALONE_UPS] != board.mark[b.UPS] + 1:
        return UNKNOWN
    if fits and memo[about, b.ALONE_FITS] == 0:
        return UNKNOWN
    for word in range(board.mask.shape[1]):
        if board.alone[about, word] != board.mask[b.OFFERED, word]:
            return UNKNOWN
    return broken_by(board, who, memo[about, b.ALONE_TALLY : b.MEMOS])


@routine
def note_offer(board: Board, about: int, fits: bool) -> None:
    """It was counted with OWN_TALLY on OFFERED; not ``fits``: as if all nodes were empty."""
    memo = board.memo
    memo[about, b.ALONE_UPS] = board.mark[b.UPS] + 1
    memo[about, b.ALONE_FITS] = 1 if fits else 0
    for column in range(b.SUM_JOBS):
        memo[about, b.ALONE_TALLY + column] = memo[about, b.OWN_TALLY + column]
    for word in range(board.mask.shape[1]):
        board.alone[about, word] = board.mask[b.OFFERED, word]
