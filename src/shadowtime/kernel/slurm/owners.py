"""Which nodes a try leaves out because jobs of other users run there (spec: slurm 4.17)."""

from __future__ import annotations

from shadowtime.kernel.jit import routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.words import bits_in, drop, has

# Columns of ``owner``: nodes with jobs, the last to be free first.
NODE, LAST_END, USER, OWNED, MIXED = range(5)
"""``USER``: of its first job. ``OWNED``: a job keeps it for its user. ``MIXED``: several users."""
OWNERS = 5


@routine
def in_the_way(board: Board, desk: Desk, one: int, at: int, ask: int) -> bool:
    """The jobs of a node keep a record from it."""
    node = board.owner[one]
    own = node[USER] == board.queue[at, b.USER]
    if desk.ask[ask, d.OWN_USER] != 0:
        return not own or node[MIXED] != 0
    return node[OWNED] != 0 and not own


@routine
def leave_out_others(board: Board, desk: Desk, at: int, ask: int, begin: int) -> bool:
    """Take the nodes of others out of BASE; False where too few would be left.

    Up to 24.05 nodes of others are left out at every time; from 24.11 on until they are free: then
    OWNED_UNTIL is when the next one is.
    """
    mark, mask = board.mark, board.mask
    mark[b.OWNED_UNTIL] = 0
    left = 0
    for word in range(mask.shape[1]):
        left += bits_in(mask[b.BASE, word])
    for one in range(mark[b.OWNED_NODES]):
        node = board.owner[one, NODE]
        ends = board.owner[one, LAST_END]
        if mark[b.OWNERS_END] != 0 and ends <= begin:
            return True  # all others are free by then, too
        if not has(mask, b.BASE, node) or not in_the_way(board, desk, one, at, ask):
            continue
        if mark[b.OWNERS_END] != 0:
            mark[b.OWNED_UNTIL] = ends
            if left <= desk.ask[ask, d.MIN_NODES] or has(desk.required, ask, node):
                return False
            left -= 1
        drop(mask, b.BASE, node)
    return True
