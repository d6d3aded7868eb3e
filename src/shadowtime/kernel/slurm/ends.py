"""Running jobs in the order of their limits' ends, and the machine after some have ended."""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.offers import could_do, gpus_in, lacks_required
from shadowtime.kernel.slurm.spans import valid_to
from shadowtime.kernel.slurm.words import NONE, ONE, bits_in, put


@routine
def note_ends(board: Board, desk: Desk) -> None:
    """Which nodes are idle after each end: all but those of the jobs that end later."""
    after, held, mark = board.after, board.held, board.mark
    count = mark[b.ENDS]
    mark[b.COUNT], mark[b.CANDIDATES], mark[b.TABLE_ENDS] = count, 0, -1
    for place in range(count):
        board.job[place, b.ORDER] = place
    if mark[b.SHARES] != 0:
        note_holders(board, desk)
    for place in range(count):
        if board.job[place, b.JOB_END] > mark[b.NOW]:
            valid_to(board, board.job[place, b.JOB_END])
            break
    for place in range(count):
        first, last = after.shape[1], -1
        for word in range(after.shape[1]):
            if held[place, word] != NONE:
                first, last = min(first, word), word
        board.job[place, b.REACH_FIRST], board.job[place, b.REACH_LAST] = first, last
    for word in range(after.shape[1]):
        busy = NONE
        for place in range(count, 0, -1):
            after[place, word] = busy
            busy |= held[place - 1, word]
        after[0, word] = busy
        everything = board.mask[b.IDLE, word] | busy
        for place in range(count + 1):
            after[place, word] = everything & ~after[place, word]


@routine
def note_candidates(board: Board, rank: int, section: int) -> int:
    """Leave the jobs that one of this rank may preempt in a partition behind ``order``; how many.

    spec: slurm 7.1.
    """
    mark, job = board.mark, board.job
    count, gone = 0, mark[b.ENDS]
    for place in range(mark[b.ENDS]):
        other = board.job[place, b.JOB_RANK]
        away = False
        if rank >= 0 and other >= 0 and board.outranks[rank, other] != 0:
            for word in range(board.held.shape[1]):
                if (
                    board.held[place, word] & board.section[board.part.shape[0] + section, word]
                    != NONE
                ):
                    away = True
                    break
        if away:
            gone -= 1
            job[gone, b.ORDER] = place
        else:
            job[count, b.ORDER] = place
            count += 1
    if gone < mark[b.ENDS] or mark[b.CANDIDATES] != 0:
        mark[b.TABLE_ENDS] = -1
    mark[b.COUNT], mark[b.CANDIDATES] = count, mark[b.ENDS] - count
    return mark[b.CANDIDATES]


@routine
def note_holders(board: Board, desk: Desk) -> None:
    """Sort the shares of running jobs by node, and by their ends there; sum up free cpus."""
    holders, holder, share, job = board.holders, board.holder, board.share, board.job
    nodes = desk.node.shape[0]
    job[0, b.FREE_THEN] = board.mark[b.FREE_CPUS]
    for at in range(nodes + 2):
        holders[at] = 0
    count = board.mark[b.ENDS]
    for end in range(count):
        first = job[end, b.FIRST_SHARE]
        job[end + 1, b.FREE_THEN] = job[end, b.FREE_THEN]
        for place in range(first, first + job[end, b.SHARE_COUNT]):
            holders[share[place, b.SHARE_NODE] + 2] += 1
            job[end + 1, b.FREE_THEN] += share[place, d.FREE]
    for at in range(nodes):
        holders[at + 2] += holders[at + 1]
    for end in range(count):
        first = job[end, b.FIRST_SHARE]
        for place in range(first, first + job[end, b.SHARE_COUNT]):
            to = holders[share[place, b.SHARE_NODE] + 1]
            holders[share[place, b.SHARE_NODE] + 1] += 1
            holder[to, b.HOLDER_END] = end
            holder[to, b.HOLDER_CPUS] = share[place, d.FREE]
            holder[to, b.HOLDER_MEMORY] = share[place, d.USED]
            holder[to, b.HOLDER_GPUS] = share[place, d.FREE_GPUS]
    for at in range(nodes):
        for to in range(holders[at] + 1, holders[at + 1]):
            holder[to, b.HOLDER_CPUS] += holder[to - 1, b.HOLDER_CPUS]
            holder[to, b.HOLDER_MEMORY] += holder[to - 1, b.HOLDER_MEMORY]
            holder[to, b.HOLDER_GPUS] |= holder[to - 1, b.HOLDER_GPUS]


@kernel
def serves(desk: Desk, ask: int, at: int, cpus: int, used: int, gpus: int) -> bool:
    """A node with this much free (memory: in use) is of use to a job that may share it."""
    asks = desk.ask
    memory = asks[ask, d.FLOOR_MEMORY]
    if cpus < asks[ask, d.FLOOR_CPUS] or (memory == 0 and used != 0):
        return False
    if memory > 0 and desk.node[at, d.MEMORY] - used < memory:
        return False
    return asks[ask, d.FLOOR_GPUS] == 0 or gpus_in(gpus) >= asks[ask, d.FLOOR_GPUS]


@routine
def note_able(board: Board, desk: Desk, ask: int) -> None:
    """Leave in ``able`` which nodes are of use to a job now."""
    floor = desk.ask[ask, d.FLOOR]
    if board.when[floor, b.ABLE_STAMP] == board.mark[b.STAMP]:
        return
    board.when[floor, b.ABLE_STAMP] = board.mark[b.STAMP]
    able, now = board.able, board.now
    for word in range(able.shape[1]):
        able[floor, word] = NONE
    for at in range(desk.node.shape[0]):
        if serves(desk, ask, at, now[at, d.FREE], now[at, d.USED], now[at, d.FREE_GPUS]):
            put(able, floor, at)


@routine
def note_when(board: Board, desk: Desk, ask: int) -> None:
    """Leave in ``when`` after how many ends each node is of use; more than there are: never."""
    floor = desk.ask[ask, d.FLOOR]
    if board.when[floor, b.WHEN_STAMP] == board.mark[b.STAMP]:
        return
    board.when[floor, b.WHEN_STAMP] = board.mark[b.STAMP]
    when, holder, now = board.when, board.holder, board.now
    for at in range(desk.node.shape[0]):
        cpus, used, gpus = now[at, d.FREE], now[at, d.USED], now[at, d.FREE_GPUS]
        found = 0
        if not serves(desk, ask, at, cpus, used, gpus):
            found = board.mark[b.ENDS] + 1
            for place in range(board.holders[at], board.holders[at + 1]):
                more = cpus + holder[place, b.HOLDER_CPUS]
                less = used - holder[place, b.HOLDER_MEMORY]
                if serves(desk, ask, at, more, less, gpus | holder[place, b.HOLDER_GPUS]):
                    found = holder[place, b.HOLDER_END] + 1
                    break
        when[floor, b.BY_NODE + at] = found


@routine
def able_after(board: Board, desk: Desk, ask: int, ends: int) -> int:
    """Leave of TRIED what is of use after this number of ends; how many nodes, 0: too few cpus."""
    mask = desk.mask
    count = 0
    if desk.ask[ask, d.EXCLUSIVE] != 0:
        for word in range(mask.shape[1]):
            mask[d.TRIED, word] &= board.after[ends, word]
            count += bits_in(mask[d.TRIED, word])
        return count
    if board.job[ends, b.FREE_THEN] < desk.ask[ask, d.MIN_CPUS]:
        return 0
    note_when(board, desk, ask)
    floor = desk.ask[ask, d.FLOOR]
    for word in range(mask.shape[1]):
        rest = left = mask[d.TRIED, word]
        at = 64 * word
        while rest != NONE:
            if rest & ONE != NONE and board.when[floor, b.BY_NODE + at] > ends:
                left ^= ONE << np.uint64(at % 64)
            rest >>= ONE
            at += 1
        mask[d.TRIED, word] = left
        count += bits_in(left)
    return count


@routine
def first_end(board: Board, desk: Desk, ask: int, section: int) -> int:
    """A lower bound: the number of ends before which the job fits nowhere in the partition.

    One more than there are ends where it never could.
    """
    memo, mark = board.memo, board.mark
    place = ask * board.part.shape[0] + section
    if memo[place, b.FIRST_STAMP] == mark[b.STAMP]:
        return memo[place, b.FIRST]
    low, high = 0, mark[b.ENDS] + 1
    while low < high:
        middle = (low + high) // 2
        for word in range(desk.mask.shape[1]):
            desk.mask[d.TRIED, word] = board.section[section, word] & desk.suits[ask, word]
        count = able_after(board, desk, ask, middle)
        if could_do(desk, ask, count) and not lacks_required(desk, ask):
            high = middle
        else:
            low = middle + 1
    memo[place, b.FIRST_STAMP], memo[place, b.FIRST] = mark[b.STAMP], low
    return low


@kernel
def give(board: Board, desk: Desk, place: int) -> None:
    """Release in ``table`` what a running job holds."""
    share, table = board.share, board.table
    first = board.job[place, b.FIRST_SHARE]
    for one in range(first, first + board.job[place, b.SHARE_COUNT]):
        at = share[one, b.SHARE_NODE]
        table[at, d.FREE] += share[one, d.FREE]
        table[at, d.USED] -= share[one, d.USED]
        table[at, d.FREE_GPUS] |= share[one, d.FREE_GPUS]
        table[at, d.IDLE] = 1 if table[at, d.FREE] == desk.node[at, d.CPUS] else 0
        for column in range(d.FIRST_SOCKET, table.shape[1]):
            table[at, column] += share[one, column]


@routine
def state_after(board: Board, desk: Desk, ends: int) -> None:
    """Leave in ``table`` the state after this many ends, without the jobs that are preempted."""
    mark, table, now = board.mark, board.table, board.now
    if mark[b.TABLE_ENDS] < 0 or mark[b.TABLE_ENDS] > ends:
        mark[b.TABLE_ENDS] = 0
        for at in range(table.shape[0]):
            for column in range(table.shape[1]):
                table[at, column] = now[at, column]
        for place in range(mark[b.COUNT], mark[b.ENDS]):
            give(board, desk, board.job[place, b.ORDER])
    for place in range(mark[b.TABLE_ENDS], ends):
        give(board, desk, board.job[place, b.ORDER])
    mark[b.TABLE_ENDS] = ends


@kernel
def end_of(board: Board, at: int) -> int:
    """When the job at this place of those that count as running ends."""
    return board.job[board.job[at, b.ORDER], b.JOB_END]


@kernel
def touches(board: Board, place: int, row: int) -> bool:
    """A running job holds some node of ``mask[row]``."""
    held, mask, job = board.held, board.mask, board.job
    for word in range(job[place, b.REACH_FIRST], job[place, b.REACH_LAST] + 1):
        if held[place, word] & mask[row, word] != NONE:
            return True
    return False
