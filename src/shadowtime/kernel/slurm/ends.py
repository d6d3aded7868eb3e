"""The machine after running jobs have ended: slurm/ends.py and slurm/willrun.py on arrays."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm.board import (
    ENDS,
    FIRST,
    FIRST_STAMP,
    FOUND,
    IDLE,
    LINEAR,
    NOW,
    STAMP,
    TRIED,
)
from shadowtime.kernel.slurm.spans import valid_to
from shadowtime.kernel.slurm.whole import choose_whole, could_do
from shadowtime.kernel.slurm.words import NONE, bits_in

FIRST_WIDTH = 30
GROUP_MOST = 200
KILL_WAIT = 30
"""As in slurm/willrun.py: the first group's width, its most jobs, and how long a kill takes."""
NEVER = -1
"""No end lets the job start."""


@routine
def note_ends(board: Any) -> None:
    """Which nodes are idle after each end: all but those of the jobs that end later."""
    after, held, idle = board.after, board.held, board.here
    count = board.mark[ENDS]
    for place in range(count):
        if board.end[place] > board.mark[NOW]:
            valid_to(board, board.end[place])
            break
    for word in range(after.shape[1]):
        busy = NONE
        for place in range(count, 0, -1):
            after[place, word] = busy
            busy |= held[place - 1, word]
        after[0, word] = busy
        everything = idle[IDLE, word] | busy
        for place in range(count + 1):
            after[place, word] = everything & ~after[place, word]


@routine
def first_end(board: Any, ask: int, section: int) -> int:
    """Before so many ends the job fits nowhere in the partition (Ends.first)."""
    place = ask * board.section.shape[0] + section
    memo, mark = board.memo, board.mark
    if memo[place, FIRST_STAMP] == mark[STAMP]:
        return memo[place, FIRST]
    low, high = 0, mark[ENDS] + 1
    while low < high:
        middle = (low + high) // 2
        count = 0
        for word in range(board.after.shape[1]):
            here = board.section[section, word] & board.suits[ask, word]
            count += bits_in(here & board.after[middle, word])
        if could_do(board, ask, count):
            high = middle
        else:
            low = middle + 1
    memo[place, FIRST_STAMP], memo[place, FIRST] = mark[STAMP], low
    return low


@kernel
def fits_after(board: Any, ask: int, ends: int) -> bool:
    """The job fits on FOUND after so many ends; its nodes are left in CHOSEN."""
    mask, after = board.mask, board.after
    count = 0
    for word in range(after.shape[1]):
        mask[TRIED, word] = mask[FOUND, word] & after[ends, word]
        count += bits_in(mask[TRIED, word])
    return could_do(board, ask, count) and choose_whole(board, ask, TRIED)


@kernel
def touches(board: Any, at: int) -> bool:
    """A running job holds some node of FOUND."""
    held, mask = board.held, board.mask
    for word in range(held.shape[1]):
        if held[at, word] & mask[FOUND, word] != NONE:
            return True
    return False


@routine
def will_run(board: Any, ask: int, first: int, now_only: bool) -> int:
    """When the job could start on FOUND, by the ends of running jobs; its nodes are in CHOSEN."""
    now = board.mark[NOW]
    if first == 0 and fits_after(board, ask, 0):
        return now
    if now_only:
        return NEVER
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
            if not touches(board, this):
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
        if last + 1 < first:
            continue
        if fits_after(board, ask, last + 1):
            start = end[last]
            if start > now:
                return start
            valid_to(board, now)  # such a start moves with the clock
            return max(start + KILL_WAIT, now + 1)
    return NEVER
