"""Limits of QOS and associations on running sums: which of them keeps a job from starting.

spec: slurm 6.

Jobs of one QOS, account, user and partition are checked against the same bounds in the same order,
which slurm/limit_table.py writes to ``check``.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.words import has
from shadowtime.types import Ints

WITHIN, UNKNOWN = -1, -2
"""No bound is in the way; that is not certain."""


@kernel
def too_many(board: Board, who: int) -> int:
    """The reason of the first bound on numbers of running jobs that is reached, or WITHIN."""
    check = board.check
    first = board.who[who, b.FIRST_CHECK]
    for at in range(first, first + board.who[who, b.JOB_CHECKS]):
        if board.sums[check[at, b.GROUP], b.SUM_JOBS] >= check[at, b.MOST]:
            return check[at, b.REASON]
    return WITHIN


@kernel
def broken_by(board: Board, who: int, tally: Ints) -> int:
    """The reason of the first bound on resources that these would break, or WITHIN."""
    check = board.check
    first = board.who[who, b.FIRST_CHECK] + board.who[who, b.JOB_CHECKS]
    for at in range(first, first + board.who[who, b.CHECKS]):
        column = check[at, b.SUM]
        if board.sums[check[at, b.GROUP], column] + tally[column] > check[at, b.MOST]:
            return check[at, b.REASON]
    return WITHIN


@kernel
def too_much(board: Board, who: int, about: int) -> int:
    """As :func:`too_many` for resources, with those of the request at this place of ``memo``.

    UNKNOWN where it depends on the nodes. If the least that it counts with breaks the same bound as
    the most, so does whatever lies between.
    """
    memo = board.memo
    if memo[about, b.TALLIED] <= 0:
        return UNKNOWN
    reason = broken_by(board, who, memo[about, b.TALLY : b.MOST_TALLY])
    if reason != broken_by(board, who, memo[about, b.MOST_TALLY : b.OWN_TALLY]):
        return UNKNOWN
    return reason


@routine
def too_much_there(board: Board, desk: Desk, who: int, about: int) -> int:
    """As :func:`too_much` for a job that has the nodes to itself which the desk has chosen."""
    memo = board.memo
    cpus = count = 0
    for at in range(board.node.shape[0]):
        if has(desk.mask, d.CHOSEN, at):
            cpus += board.node[at, b.ALL_CPUS]
            count += 1
    for column in range(b.SUM_JOBS):
        memo[about, b.OWN_TALLY + column] = memo[about, b.TALLY + column]
    memo[about, b.OWN_TALLY + b.SUM_CPU] = cpus
    memo[about, b.OWN_TALLY + b.SUM_NODE] = count
    return broken_by(board, who, memo[about, b.OWN_TALLY : b.ALONE_UPS])


@kernel
def note(board: Board, at: int, reason: int) -> None:
    """The record was passed over for this reason."""
    slot = board.queue[at, b.SLOT]
    if board.met[slot] != reason:
        board.met[slot] = reason
        board.mark[b.NOTES] += 1


@kernel
def about(board: Board, row: int) -> int:
    """The place in ``memo`` of a record's request in its partition."""
    return board.record[row, b.ASK] * board.part.shape[0] + board.record[row, b.SECTION]


@kernel
def is_checked(board: Board, row: int) -> bool:
    """The limits of a record are checked here."""
    record = board.record
    if board.mark[b.CHECKS_LIMITS] == 0 or record[row, b.PLAIN] == 0:
        return False
    return board.who[record[row, b.WHO], b.SIMPLE] != 0


@kernel
def leaves_weights(board: Board, desk: Desk, ask: int) -> bool:
    """A test of this request leaves weights behind: it asks for GPUs (spec: slurm 11.4)."""
    return board.mark[b.FRESH] == 0 and desk.ask[ask, d.ASK_GPUS] > 0


@routine
def a_try_sets_weights(board: Board, desk: Desk, row: int) -> bool:
    """A try to start the record may change weights: its own, or those that others have left."""
    if board.mark[b.MOVES] == 0:
        return False
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    if leaves_weights(board, desk, ask):
        return True
    for at in range(board.weight.shape[0]):
        if board.weight[at] != board.node[at, b.PLAIN_WEIGHT]:
            if has(board.section, section, at) and has(desk.suits, ask, at):
                return True
    return False


@routine
def is_still_over(board: Board, desk: Desk, at: int, row: int) -> bool:
    """A limit on resources keeps the record from starting, as it did before on whichever nodes.

    A look at it would change nothing but the count of tested jobs. Where the limit was not the
    reason before, other things may be.
    """
    reason = too_much(board, board.record[row, b.WHO], about(board, row))
    if reason < 0 or reason != board.met[board.queue[at, b.SLOT]]:
        return False
    return not a_try_sets_weights(board, desk, row)


@routine
def is_over_a_limit(board: Board, desk: Desk, at: int, row: int) -> bool:
    """A limit keeps the record from a plan, and nothing else depends on a look at it."""
    mark = board.mark
    reason = too_many(board, board.record[row, b.WHO])
    if reason != WITHIN:
        note(board, at, reason)
        return True
    if mark[b.PLANS_WANTED] != 0 or mark[b.MAY_RUN_OUT] != 0:
        return False
    return is_still_over(board, desk, at, row)
