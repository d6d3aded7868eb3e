"""The machine after running jobs have ended: slurm/ends.py on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm.board import (
    ENDS,
    EXCLUSIVE,
    FIRST,
    FIRST_STAMP,
    FLOOR,
    FOUND,
    IDLE,
    KILL_WAIT,
    LINEAR,
    MIN_CPUS,
    NOW,
    SHARES,
    STAMP,
    TRIED,
    USABLE,
    WHOLE,
)
from shadowtime.kernel.slurm.shared import choose_shared, note_holders, note_when
from shadowtime.kernel.slurm.spans import valid_to
from shadowtime.kernel.slurm.whole import choose_whole, could_do
from shadowtime.kernel.slurm.words import NONE, ONE, bits_in

FIRST_WIDTH = 30
GROUP_MOST = 200
"""As in slurm/ends.py: the first group's width and its most jobs."""
NEVER = -1
"""No end lets the job start."""


@routine
def note_ends(board: Any) -> None:
    """Which nodes are idle after each end: all but those of the jobs that end later."""
    after, held, idle = board.after, board.held, board.here
    count = board.mark[ENDS]
    if board.mark[SHARES] != 0:
        note_holders(board)
    for place in range(count):
        if board.end[place] > board.mark[NOW]:
            valid_to(board, board.end[place])
            break
    for place in range(count):
        first, last = after.shape[1], -1
        for word in range(after.shape[1]):
            if held[place, word] != NONE:
                first, last = min(first, word), word
        board.reach[place, 0], board.reach[place, 1] = first, last
    for word in range(after.shape[1]):
        busy = NONE
        for place in range(count, 0, -1):
            after[place, word] = busy
            busy |= held[place - 1, word]
        after[0, word] = busy
        everything = idle[IDLE, word] | busy
        for place in range(count + 1):
            after[place, word] = everything & ~after[place, word]


@kernel
def idle_after(board: Any, ask: int, section: int, ends: int) -> int:
    """How many suitable nodes of the partition are idle after this number of ends."""
    count = 0
    for word in range(board.after.shape[1]):
        here = board.section[section, word] & board.suits[ask, word]
        count += bits_in(here & board.after[ends, word])
    return count


@routine
def able_after(board: Any, ask: int, section: int, ends: int) -> int:
    """How many of them have enough free for a job that may share nodes; 0: too few cpus."""
    if board.total[ends] < board.ask[ask, MIN_CPUS]:
        return 0
    floor = board.ask[ask, FLOOR]
    note_when(board, floor)
    count = 0
    for word in range(board.suits.shape[1]):
        here = board.section[section, word] & board.suits[ask, word]
        at = 64 * word
        while here != NONE:
            if here & ONE != NONE and board.when[floor, at] <= ends:
                count += 1
            here >>= ONE
            at += 1
    return count


@routine
def first_end(board: Any, ask: int, section: int) -> int:
    """The number of ends before which the job fits nowhere in the partition (Ends.first)."""
    place = ask * board.section.shape[0] + section
    memo, mark = board.memo, board.mark
    if memo[place, FIRST_STAMP] == mark[STAMP]:
        return memo[place, FIRST]
    low, high = 0, mark[ENDS] + 1
    while low < high:
        middle = (low + high) // 2
        if board.ask[ask, EXCLUSIVE] != 0:
            count = idle_after(board, ask, section, middle)
        else:
            count = able_after(board, ask, section, middle)
        if could_do(board, ask, count):
            high = middle
        else:
            low = middle + 1
    memo[place, FIRST_STAMP], memo[place, FIRST] = mark[STAMP], low
    return low


@kernel
def fits_after(board: Any, ask: int, ends: int) -> bool:
    """The job fits on FOUND after this number of ends; its nodes are left in CHOSEN."""
    mask, after = board.mask, board.after
    if board.ask[ask, WHOLE] == 0:
        for word in range(mask.shape[1]):
            mask[TRIED, word] = mask[FOUND, word]
        return choose_after(board, ask, ends)
    count = 0
    for word in range(mask.shape[1]):
        mask[TRIED, word] = mask[FOUND, word] & after[ends, word]
        count += bits_in(mask[TRIED, word])
    return could_do(board, ask, count) and choose_whole(board, ask, TRIED)


@routine
def choose_after(board: Any, ask: int, ends: int) -> bool:
    """The same on TRIED."""
    mask, after = board.mask, board.after
    whole = board.ask[ask, WHOLE] != 0
    idle = board.ask[ask, EXCLUSIVE] != 0
    floor = board.ask[ask, FLOOR]
    if not whole:
        if not idle and board.total[ends] < board.ask[ask, MIN_CPUS]:
            return False
        note_when(board, floor)
    count = 0
    for word in range(mask.shape[1]):
        left = mask[TRIED, word]
        if idle:
            left &= after[ends, word]
        if not whole:
            rest = left
            at = 64 * word
            while rest != NONE:
                if rest & ONE != NONE and board.when[floor, at] > ends:
                    left ^= ONE << np.uint64(at % 64)
                rest >>= ONE
                at += 1
        mask[TRIED, word] = left
        count += bits_in(left)
    if not could_do(board, ask, count):
        return False
    if whole:
        return choose_whole(board, ask, TRIED)
    return choose_shared(board, ask, TRIED, ends)


@routine
def choose_now(board: Any, ask: int) -> bool:
    """Where the job starts now on FOUND, in CHOSEN: nodes that still complete are left out."""
    mask, here = board.mask, board.here
    free = True
    for word in range(mask.shape[1]):
        mask[TRIED, word] = mask[FOUND, word] & here[USABLE, word]
        if mask[TRIED, word] != mask[FOUND, word]:
            free = False
    if free:  # the choice just made
        return True
    if choose_after(board, ask, 0):
        return True
    fits_after(board, ask, 0)
    return False


@kernel
def touches(board: Any, at: int, first: int, last: int) -> bool:
    """A running job holds some node of FOUND, which has some in these words alone."""
    held, mask, reach = board.held, board.mask, board.reach
    for word in range(max(first, reach[at, 0]), min(last, reach[at, 1]) + 1):
        if held[at, word] & mask[FOUND, word] != NONE:
            return True
    return False


@kernel
def will_run(board: Any, ask: int, first: int, now_only: bool, until: int) -> int:
    """When the job could start on FOUND, by the ends of running jobs; its nodes are in CHOSEN.

    A start after ``until`` is not looked for (0: any is): a later try would take its place.
    """
    now = board.mark[NOW]
    if first == 0 and fits_after(board, ask, 0):
        return now
    if now_only:
        return NEVER
    low, high = board.mask.shape[1], -1
    for word in range(board.mask.shape[1]):
        if board.mask[FOUND, word] != NONE:
            low, high = min(low, word), word
    linear = board.mark[LINEAR]
    end = board.end
    count = board.mark[ENDS]
    width = FIRST_WIDTH
    group_end = 0
    at = 0
    more = True
    while more:
        last = -1
        removed = 0
        overfull = False
        while True:
            if at >= count:
                more = False
                break
            this = at
            at += 1
            if until > 0 and last < 0 and end[this] > until:
                return NEVER
            if not touches(board, this, low, high):
                continue
            if group_end == 0:
                group_end = end[this] + width - end[this] % width
            last = this
            if at >= count:
                more = False
                break
            if end[at] > group_end + width:
                break
            removed += 1
            if removed > GROUP_MOST + 1:
                overfull = True
                break
        if overfull:
            continue
        if last < 0:
            break
        while True:
            width = width + linear if linear > 0 else width * 2
            if at >= count or end[at] <= group_end + width:
                break
        if until > 0 and end[last] > until:
            return NEVER
        if last + 1 < first:
            continue
        if fits_after(board, ask, last + 1):
            start = end[last]
            if start > now:
                return start
            valid_to(board, now)  # such a start moves with the clock
            return max(start + board.mark[KILL_WAIT], now + 1)
    return NEVER
