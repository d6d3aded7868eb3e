"""Where jobs may lie above others that will be suspended (PreemptMode=GANG): rows of cores.

spec: slurm 7.6.

Rules
-----
Each partition has its own row of cores. First the job is tried on cores that are in no row; then on
those that no higher tier and no partition with PreemptMode=OFF holds: without the cores of its own
tier, and without as many of the lower tiers, the highest first, as it can spare; last on those that
its own partition does not hold. A node of which a job wants all cores counts as free where none is
taken away in the last of these steps: cores of a higher tier were taken away before and are not
missed. Memory and GPUs of suspended jobs stay in use.
"""

from __future__ import annotations

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.reference import by_reference
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.choose import choose
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.words import NONE, bits_in, has
from shadowtime.types import Ints

ALL_ROWS, ABOVE, SAME, OWN, DOWN_TO = range(5)
"""Which rows a view is without."""
OFFERED, LEFT_ABOVE, BEST, FULL = range(4)
"""Parts of ``cores``, one row per node each."""


@routine
def in_use(board: Board, desk: Desk, ends: int) -> None:
    """Leave in ``table`` memory, GPUs and pools as they are after this many ends."""
    table, full, share = board.table, desk.full, board.share
    for at in range(table.shape[0]):
        for column in range(table.shape[1]):
            table[at, column] = full[at, column]
    for place in range(ends, board.mark[b.ENDS]):
        job = board.job[place, b.ORDER]
        first = board.job[job, b.FIRST_SHARE]
        for one in range(first, first + board.job[job, b.SHARE_COUNT]):
            at = share[one, b.SHARE_NODE]
            table[at, d.USED] += share[one, d.USED]
            table[at, d.FREE_GPUS] &= ~share[one, d.FREE_GPUS]
            for column in range(table.shape[1] - desk.pool.shape[1], table.shape[1]):
                table[at, column] -= share[one, column]


@kernel
def is_without(board: Board, job: int, which: int, section: int, tier: int) -> bool:
    """A view is without the cores of this job."""
    home = board.job[job, b.JOB_SECTION]
    theirs, mine = board.part[home, b.TIER], board.part[section, b.TIER]
    if which == ABOVE:
        return theirs > mine or board.part[home, b.OFF] != 0
    if which == SAME:
        return theirs == mine
    if which == OWN:
        return home == section
    return which == ALL_ROWS or (theirs <= mine and theirs > tier)


@routine
def look(
    board: Board,
    desk: Desk,
    ends: int,
    suspends: bool,
    which: int,
    section: int,
    tier: int,
    last: int,
) -> None:
    """Leave in ``table`` the machine without the cores of some jobs.

    Of those in DOWN_TO partitions of a tier above ``tier``, and those of ``tier`` up to ``last``.
    """
    table, cores, share, mark = board.table, board.cores, board.share, board.mark
    nodes, words = table.shape[0], cores.shape[1]
    base = FULL if which <= ABOVE else LEFT_ABOVE
    for at in range(nodes):
        table[at, d.IDLE] = 1
        for word in range(words):
            cores[OFFERED * nodes + at, word] = cores[base * nodes + at, word]
    for place in range(ends, mark[b.COUNT] if suspends else mark[b.ENDS]):
        job = board.job[place, b.ORDER]
        if board.job[job, b.IN_NO_ROW] != 0:
            continue
        home = board.job[job, b.JOB_SECTION]
        low = which == DOWN_TO and board.part[home, b.TIER] == tier and home <= last
        if not low and not is_without(board, job, which, section, tier):
            continue
        first = board.job[job, b.FIRST_SHARE]
        for one in range(first, first + board.job[job, b.SHARE_COUNT]):
            at = share[one, b.SHARE_NODE]
            for word in range(words):
                if cores[at, word] & board.core[one, word] != NONE:
                    table[at, d.IDLE] = 0
                    cores[at, word] &= ~board.core[one, word]
    for at in range(nodes):
        count_cores(board, desk, at)


@kernel
def count_cores(board: Board, desk: Desk, at: int) -> None:
    """Free cpus of a node and cores of its sockets, by its cores."""
    table, cores, node = board.table, board.cores, desk.node
    found = 0
    for word in range(cores.shape[1]):
        found += bits_in(cores[at, word])
    table[at, d.FREE] = found * node[at, d.THREADS]
    if board.mark[b.GPUS] == 0:
        return
    each = node[at, d.CORES] // node[at, d.SOCKETS]
    for socket in range(node[at, d.SOCKETS]):
        found = 0
        for core in range(each * socket, each * (socket + 1)):
            if has(cores, at, core):
                found += 1
        table[at, d.FIRST_SOCKET + socket] = found


@routine
def copy_cores(board: Board, source: int, target: int) -> None:
    """Copy one part of ``cores`` to another."""
    nodes = board.table.shape[0]
    for at in range(nodes):
        for word in range(board.cores.shape[1]):
            board.cores[target * nodes + at, word] = board.cores[source * nodes + at, word]


@routine
def chooses(board: Board, desk: Desk, weight: Ints, ask: int) -> bool:
    """The choice on what ``table`` has, among SPARED."""
    for word in range(board.mask.shape[1]):
        desk.mask[d.TRIED, word] = board.mask[b.SPARED, word]
    return choose(desk, board.table, weight, ask)


@routine
def save(board: Board, desk: Desk) -> None:
    """Remember a choice and what it was made from."""
    copy_cores(board, OFFERED, BEST)
    for at in range(board.table.shape[0]):
        board.node[at, b.SPARED_CPUS] = desk.spot[at, d.GIVEN]
    for word in range(board.mask.shape[1]):
        board.mask[b.KEEP, word] = desk.mask[d.CHOSEN, word]


@routine
def restore(board: Board, desk: Desk) -> None:
    """The choice that was remembered is the choice."""
    copy_cores(board, BEST, OFFERED)
    for at in range(board.table.shape[0]):
        desk.spot[at, d.GIVEN] = board.node[at, b.SPARED_CPUS]
    for word in range(board.mask.shape[1]):
        desk.mask[d.CHOSEN, word] = board.mask[b.KEEP, word]


@routine
def fits_in_rows(
    board: Board, desk: Desk, weight: Ints, ask: int, section: int, ends: int, suspends: bool
) -> bool:
    """The job fits on TRIED after this many ends; ``suspends``: those it would preempt too.

    The cores that it was chosen from are left in the first part of ``cores``.
    """
    for word in range(board.mask.shape[1]):
        board.mask[b.SPARED, word] = desk.mask[d.TRIED, word]
    in_use(board, desk, ends)
    look(board, desk, ends, suspends, ALL_ROWS, section, 0, 0)
    if chooses(board, desk, weight, ask):
        return True
    look(board, desk, ends, suspends, ABOVE, section, 0, 0)
    copy_cores(board, OFFERED, LEFT_ABOVE)
    if not chooses(board, desk, weight, ask):
        return False
    look(board, desk, ends, suspends, SAME, section, 0, 0)
    if not chooses(board, desk, weight, ask):
        look(board, desk, ends, suspends, OWN, section, 0, 0)
        return chooses(board, desk, weight, ask)
    save(board, desk)
    part = board.part
    tier, last = part[section, b.TIER], part.shape[0]
    while True:  # the next partition below: by tier, those of one tier in their order
        found = -1
        for one in range(part.shape[0]):
            if part[one, b.TIER] < part[section, b.TIER] and (
                part[one, b.TIER] < tier or (part[one, b.TIER] == tier and one > last)
            ):
                if found < 0 or part[one, b.TIER] > part[found, b.TIER]:
                    found = one
        if found < 0:
            break
        tier, last = part[found, b.TIER], found
        look(board, desk, ends, suspends, DOWN_TO, section, tier, last)
        if not chooses(board, desk, weight, ask):
            break
        save(board, desk)
    restore(board, desk)
    return True


@entry
def rows_now(board: Board, desk: Desk, ask: int, section: int) -> bool:
    """For Python: as :func:`fits_in_rows`, now.

    Examples
    --------
    >>> from shadowtime.kernel.slurm.board import empty_board
    >>> from shadowtime.kernel.slurm.desk import empty_desk
    >>> rows_now(empty_board(2, cores=4), empty_desk(2), 0, 0)
    True
    """
    for place in range(board.mark[b.ENDS]):
        board.job[place, b.ORDER] = place
    own = by_reference(board)
    return fits_in_rows(own, by_reference(desk), own.weight, ask, section, 0, False)
