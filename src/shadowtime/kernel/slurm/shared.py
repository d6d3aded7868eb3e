"""Which nodes a job gets that may share them, by cpus and memory alone: choose.py, but faster.

Sets of neighbours of equal weight, best fit (spec: slurm 4.2, 4.3). Asks for GPUs or for named
nodes are not for this code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm.board import (
    ABLE_STAMP,
    CHOSEN,
    CPU_MEMORY,
    CPUS,
    ENDS,
    EXCLUSIVE,
    FLOOR_CPUS,
    FLOOR_MEMORY,
    FREE_CPUS,
    GIVEN,
    HOLDER_CPUS,
    HOLDER_END,
    HOLDER_MEMORY,
    LEAST_CPUS,
    LEFT,
    MAX_NODES,
    MEMORY,
    MIN_CPUS,
    MIN_NODES,
    NODE_TASKS,
    OFFERED,
    RUN_AT,
    RUN_CPUS,
    RUN_LENGTH,
    SHARE_CPUS,
    SHARE_MEMORY,
    SHARE_NODE,
    STAMP,
    TASK_CPUS,
    THREADS,
    USED,
    WANTED_NODES,
    WEIGHT,
    WHEN_STAMP,
)
from shadowtime.kernel.slurm.whole import does
from shadowtime.kernel.slurm.words import NONE, ONE


@kernel
def has(mask: Any, row: int, node: int) -> bool:
    """A node is in ``mask[row]``."""
    return (mask[row, node // 64] >> np.uint64(node % 64)) & ONE != NONE


@kernel
def put(mask: Any, row: int, node: int) -> None:
    """Add a node to ``mask[row]``."""
    mask[row, node // 64] |= ONE << np.uint64(node % 64)


@kernel
def reaches(board: Any, floor: int, node: int, cpus: int, used: int) -> bool:
    """True if a node with these cpus free and this memory in use is of use (Usage.able)."""
    if cpus < board.floor[floor, FLOOR_CPUS]:
        return False
    memory = board.floor[floor, FLOOR_MEMORY]
    if memory < 0:
        return True
    return used == 0 if memory == 0 else board.node[node, MEMORY] - used >= memory


@routine
def note_able(board: Any, floor: int) -> None:
    """Leave in ``able`` which nodes are of use now."""
    if board.floor[floor, ABLE_STAMP] == board.mark[STAMP]:
        return
    board.floor[floor, ABLE_STAMP] = board.mark[STAMP]
    node, able = board.node, board.able
    for word in range(able.shape[1]):
        able[floor, word] = NONE
    for at in range(node.shape[0]):
        if reaches(board, floor, at, node[at, CPUS], node[at, USED]):
            put(able, floor, at)


@routine
def note_holders(board: Any) -> None:
    """Sort the shares of running jobs by node, and by their ends there; sum up free cpus."""
    holders, holder, share, holds = board.holders, board.holder, board.share, board.holds
    total = board.total
    total[0] = board.mark[FREE_CPUS]
    nodes = board.node.shape[0]
    for at in range(nodes + 2):
        holders[at] = 0
    count = board.mark[ENDS]
    for end in range(count):
        first = holds[end, 0]
        total[end + 1] = total[end]
        for place in range(first, first + holds[end, 1]):
            holders[share[place, SHARE_NODE] + 2] += 1
            total[end + 1] += share[place, SHARE_CPUS]
    for at in range(nodes):
        holders[at + 2] += holders[at + 1]
    for end in range(count):
        first = holds[end, 0]
        for place in range(first, first + holds[end, 1]):
            to = holders[share[place, SHARE_NODE] + 1]
            holders[share[place, SHARE_NODE] + 1] += 1
            holder[to, HOLDER_END] = end
            holder[to, HOLDER_CPUS] = share[place, SHARE_CPUS]
            holder[to, HOLDER_MEMORY] = share[place, SHARE_MEMORY]
    for at in range(nodes):
        for to in range(holders[at] + 1, holders[at + 1]):
            holder[to, HOLDER_CPUS] += holder[to - 1, HOLDER_CPUS]
            holder[to, HOLDER_MEMORY] += holder[to - 1, HOLDER_MEMORY]


@routine
def note_when(board: Any, floor: int) -> None:
    """Leave in ``when`` after how many ends each node is of use; more than there are: never."""
    if board.floor[floor, WHEN_STAMP] == board.mark[STAMP]:
        return
    board.floor[floor, WHEN_STAMP] = board.mark[STAMP]
    node, when, holder = board.node, board.when, board.holder
    for at in range(node.shape[0]):
        cpus, used = node[at, CPUS], node[at, USED]
        found = 0
        if not reaches(board, floor, at, cpus, used):
            found = board.mark[ENDS] + 1
            for place in range(board.holders[at], board.holders[at + 1]):
                then = used - holder[place, HOLDER_MEMORY]
                if reaches(board, floor, at, cpus + holder[place, HOLDER_CPUS], then):
                    found = holder[place, HOLDER_END] + 1
                    break
        when[floor, at] = found


@kernel
def offered(board: Any, ask: int, at: int, ends: int) -> int:
    """Cpus that a node can give after this number of ends (cpus_offered of offers.py)."""
    node, asks, holder = board.node, board.ask, board.holder
    cpus, used = node[at, CPUS], node[at, USED]
    if ends > 0:
        last = -1
        for place in range(board.holders[at], board.holders[at + 1]):
            if holder[place, HOLDER_END] >= ends:
                break
            last = place
        if last >= 0:
            cpus += holder[last, HOLDER_CPUS]
            used -= holder[last, HOLDER_MEMORY]
    each = asks[ask, CPU_MEMORY]
    if each >= 0:
        left = node[at, MEMORY] - used
        if asks[ask, EXCLUSIVE] != 0:
            if each * cpus > left:
                return 0
        else:
            while cpus > 0 and each * cpus > left:
                cpus -= node[at, THREADS]
            cpus = max(cpus, 0)
        if asks[ask, TASK_CPUS] > 1:
            cpus -= cpus % asks[ask, TASK_CPUS]
        if cpus < asks[ask, NODE_TASKS]:
            return 0
    return cpus


@routine
def note_offers(board: Any, ask: int, row: int, ends: int) -> int:
    """Leave in OFFERED what each node of ``mask[row]`` gives after ``ends``; how many do.

    The nodes are known to be of use then. 0 where all of them together have too few cpus.
    """
    node, mask = board.node, board.mask
    least = board.ask[ask, LEAST_CPUS]
    count = total = 0
    for at in range(node.shape[0]):
        cpus = 0
        if mask[row, at // 64] != NONE and has(mask, row, at):
            cpus = offered(board, ask, at, ends)
        node[at, OFFERED] = cpus
        if cpus > 0:
            count += 1
            total += max(cpus, least)  # a node may be given the fewest cpus where it offers less
    return count if total >= board.ask[ask, MIN_CPUS] else 0


@routine
def sets_of(board: Any, ask: int) -> int:
    """Write the sets of neighbours of equal weight that offer anything to ``run``; how many."""
    node, run = board.node, board.run
    each = board.ask[ask, TASK_CPUS]
    count = -1
    last = -2
    for at in range(node.shape[0]):
        cpus = node[at, OFFERED]
        if each > 1 and cpus < each:
            cpus = 0
        node[at, LEFT] = cpus
        if cpus == 0:
            continue
        if at != last + 1 or node[at, WEIGHT] != node[last, WEIGHT]:
            count += 1
            run[RUN_AT, count], run[RUN_LENGTH, count], run[RUN_CPUS, count] = at, 0, 0
        run[RUN_LENGTH, count] += 1
        run[RUN_CPUS, count] += cpus
        last = at
    return count + 1


@routine
def best_set(board: Any, ask: int, sets: int, nodes: int, cpus: int) -> int:
    """The set to take next: lowest weight, then the tightest that suffices; -1: none."""
    node, run = board.node, board.run
    best = -1
    best_does = False
    for place in range(sets):
        length = run[RUN_LENGTH, place]
        if length == 0:
            continue
        have = run[RUN_CPUS, place]
        serves = have >= cpus and does(board, ask, length, nodes)
        if best >= 0:
            weight, best_weight = node[run[RUN_AT, place], WEIGHT], node[run[RUN_AT, best], WEIGHT]
            if weight > best_weight:
                continue
            if weight == best_weight:
                size = run[RUN_CPUS, best]
                if serves:
                    if best_does and have >= size:
                        continue
                elif have <= size:
                    continue
        best, best_does = place, serves
    return best


@kernel
def keep_single(board: Any, first: int, length: int, cpus: int) -> None:
    """Where one node of a set does, leave the one with the fewest cpus, the first of equals."""
    node = board.node
    best = -1
    for at in range(first, first + length):
        have = node[at, LEFT]
        if have < cpus or have == 0:
            continue
        if best < 0 or have < node[best, LEFT]:
            best = at
            if have == cpus:
                break
    if best >= 0:
        for at in range(first, first + length):
            if at != best:
                node[at, LEFT] = 0


@routine
def fill(board: Any, ask: int) -> int:
    """Leave in CHOSEN and GIVEN what the job takes of what is OFFERED.

    0: none will do; 1: found; -1: none will do, and some node was given less than it offers.
    """
    node, mask, run, asks = board.node, board.mask, board.run, board.ask
    for word in range(mask.shape[1]):
        mask[CHOSEN, word] = NONE
    sets = sets_of(board, ask)
    nodes = max(asks[ask, MIN_NODES], asks[ask, WANTED_NODES])
    due = asks[ask, MIN_NODES]
    most = asks[ask, MAX_NODES]
    cpus = asks[ask, MIN_CPUS]
    exclusive = asks[ask, EXCLUSIVE] != 0
    clipped = 0
    while most > 0:
        best = best_set(board, ask, sets, nodes, cpus)
        if best < 0:
            break
        first, length = run[RUN_AT, best], run[RUN_LENGTH, best]
        if nodes <= 1:
            keep_single(board, first, length, cpus)
        for at in range(first, first + length):
            if most <= 0 or (nodes <= 0 and cpus <= 0):
                break
            have = node[at, LEFT]
            if have == 0 or (most == 1 and have < cpus):
                continue
            if not exclusive:
                room = cpus - max(due - 1, 0) * node[at, THREADS]
                if have > room:
                    have = max(room, asks[ask, LEAST_CPUS])
                    node[at, OFFERED] = have
                    clipped = -1
            node[at, GIVEN] = have
            put(mask, CHOSEN, at)
            cpus -= have
            nodes -= 1
            due -= 1
            most -= 1
        if nodes <= 0 and cpus <= 0:
            return 1
        run[RUN_LENGTH, best] = run[RUN_CPUS, best] = 0
    return 1 if cpus <= 0 and does(board, ask, 0, nodes) else clipped


@routine
def choose_shared(board: Any, ask: int, row: int, ends: int) -> bool:
    """Leave in CHOSEN and GIVEN what a job gets of ``mask[row]`` after ``ends``; False: nothing.

    All nodes are tried, then those that offer least are left out, one count at a time (spec: slurm
    4.5).
    """
    node = board.node
    least = board.ask[ask, MIN_NODES]
    left = note_offers(board, ask, row, ends)
    if left < least:
        return False
    answer = fill(board, ask)
    if answer == 1:
        return True
    if left <= least:
        return False
    clipped = answer < 0
    most = 0
    for at in range(node.shape[0]):
        most = max(most, node[at, OFFERED])
    for count in range(1, most):
        same = True
        for at in range(node.shape[0]):
            if 0 < node[at, OFFERED] <= count:
                same = False
                node[at, OFFERED] = 0
                left -= 1
                if left <= least:
                    break
        if same and (count != 1 or not clipped):
            continue
        answer = fill(board, ask)
        if answer == 1:
            return True
        clipped = clipped or answer < 0
        if left <= least:
            return False
    return False
