"""One record of a backfill pass: tried until it starts, gets a plan or is given up (spec: slurm 3).

Where Python has tried to start it, or judged its plan, this goes on from there.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.ends import first_end, note_candidates
from shadowtime.kernel.slurm.limits import (
    UNKNOWN,
    WITHIN,
    about,
    is_checked,
    is_still_over,
    leaves_weights,
    note,
    too_much,
)
from shadowtime.kernel.slurm.owners import leave_out_others
from shadowtime.kernel.slurm.spans import (
    bar,
    conflicts,
    is_narrow,
    next_try,
    plan_away,
    search,
    valid_to,
)
from shadowtime.kernel.slurm.will_run import NEVER, soonest
from shadowtime.kernel.slurm.words import NONE, bits_in

GIVEN_UP, PLANNED, STARTS, JUDGES = range(4)
"""The answers of :func:`place`; JUDGES: Python must judge the plan."""
TRIES = 10_000


@kernel
def slot_end(board: Board, end: int) -> int:
    """An end as the map of plans has it."""
    step = board.mark[b.STEP]
    if board.mark[b.ROUNDED_UP] != 0:
        end += step - 1
    return end // step * step


@routine
def find_room(board: Board, row: int, begin: int, end: int) -> int:
    """Leave in FOUND the nodes that no plan and no reservation takes meanwhile; the next try.

    spec: slurm 3.4.
    """
    mark = board.mark
    if mark[b.WINDOWS] == 0:
        return search(board, b.BASE, begin, end)
    own, section = board.record[row, b.RESERVATION], board.record[row, b.SECTION]
    free_from = bar(board, own, section, begin, end)
    later = search(board, b.BARRED, begin, end)
    if free_from > 0 and free_from + 1 < mark[b.WINDOW_END]:
        if later == 0 or free_from + 1 < later:
            return free_from + 1
    return later


@kernel
def all_nodes(board: Board, desk: Desk, row: int) -> None:
    """Leave in BASE the nodes of a record's partition that its tries look at."""
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    for word in range(board.mask.shape[1]):
        board.mask[b.BASE, word] = board.section[section, word]
        if board.mark[b.GOES_ON] != 0:
            board.mask[b.BASE, word] &= ~desk.excluded[ask, word]


@routine
def place(board: Board, desk: Desk, at: int) -> int:
    """TRY until the record starts, gets a plan, or is given up (spec: slurm 3.3 to 3.10).

    Where Python has tried to start it, or judged its plan, this goes on from there.
    """
    mark, mask = board.mark, board.mask
    row = board.queue[at, b.ROW]
    ask, section = board.record[row, b.ASK], board.record[row, b.SECTION]
    limit = board.record[row, b.LIMIT]
    now_only = board.queue[at, b.NOW_ONLY] != 0
    now = mark[b.NOW]
    words = mask.shape[1]
    least = desk.ask[ask, d.MIN_NODES]
    all_nodes(board, desk, row)
    rank = board.record[row, b.RANK]
    candidates = False
    if rank >= 0 or mark[b.CANDIDATES] != 0:
        candidates = note_candidates(board, rank, section) > 0
    first = earliest = 0
    counts_only = False
    if mark[b.PLANS_WANTED] == 0 and is_checked(board, row):
        counts_only = is_still_over(board, desk, at, row)
    if mark[b.SHORTCUTS] != 0 and not candidates and not counts_only:
        first = first_end(board, desk, ask, section)
        moves = leaves_weights(board, desk, ask)  # then each of its tries has effects
        if not moves and first > mark[b.ENDS]:
            if mark[b.MAY_RUN_OUT] == 0:
                return GIVEN_UP
        elif not moves and first > 0:
            earliest = board.job[first - 1, b.JOB_END]
    quick = mark[b.WINDOWS] == 0 and mark[b.SHORTCUTS] != 0
    later = mark[b.LATER]
    start = mark[b.START]
    for _ in range(TRIES):
        if mark[b.STAGE] < b.TRIED_TO_START:
            try_at, later = later, 0
            if try_at > mark[b.WINDOW_END]:
                valid_to(board, try_at - mark[b.WINDOW])
                return GIVEN_UP
            end = max(try_at, now) + limit
            certain = mark[b.COUNTED] != 0 or mark[b.MAY_RUN_OUT] == 0
            if quick and not now_only and try_at < earliest and certain:
                # Any plan would lie after the next try: go there at once.
                later = next_try(board, b.BASE, try_at, end)
                if later > 0 and later < earliest:
                    continue
            elif quick and is_narrow(board, try_at, end, least):
                later = next_try(board, b.BASE, try_at, end)
                if later > 0 and not now_only:
                    continue
                return GIVEN_UP
            if mark[b.OWNED_NODES] > 0:
                all_nodes(board, desk, row)
                if not leave_out_others(board, desk, at, ask, try_at):
                    if now_only:
                        return GIVEN_UP
                    later = mark[b.OWNED_UNTIL]
                    continue
            later = find_room(board, row, try_at, end)
            if later == 0 and mark[b.OWNED_NODES] > 0:
                later = mark[b.OWNED_UNTIL]
            count = 0
            lacks = False
            for word in range(words):
                mask[b.FOUND, word] &= desk.suits[ask, word]
                count += bits_in(mask[b.FOUND, word])
                lacks = lacks or desk.required[ask, word] & ~mask[b.FOUND, word] != NONE
            if count < least or lacks:
                if later > 0 and not now_only:
                    continue
                return GIVEN_UP
            if mark[b.COUNTED] == 0:
                mark[b.COUNTED] = 1
                mark[b.TESTED] += 1
            if counts_only:
                return GIVEN_UP
            if later > 0 and later < earliest and not now_only:
                continue
            start = soonest(board, desk, row, first, now_only, try_at, later)
            if start == NEVER:
                if later > 0 and not now_only:
                    continue
                return GIVEN_UP
            start = max(start, try_at)
            if mark[b.MAP_FIRST] != 0 and start > now:
                valid_to(board, start)
                slot = start // mark[b.STEP] * mark[b.STEP]
                if conflicts(board, slot, slot_end(board, start + limit), b.CHOSEN):
                    later = start
                    if mark[b.MOVES_ON] != 0 and start == try_at:
                        later += mark[b.STEP]
                    continue
            if start <= now:
                for word in range(words):
                    if mask[b.CHOSEN, word] & board.mask[b.COMPLETING, word] != NONE:
                        start = now + 1
                        later = 0
                        valid_to(board, now)
            if start <= now:
                mark[b.LATER], mark[b.START] = later, start
                return STARTS
        if mark[b.STAGE] != b.JUDGED:
            mark[b.STAGE] = b.CLEARED
            if start > now and now_only:
                return GIVEN_UP
            if later > 0 and start > later:
                continue
        answer = make_plan(board, at, start, limit)
        if answer == JUDGES:
            mark[b.LATER], mark[b.START] = later, start
        if answer != NEVER:
            return answer
        later = start
    return GIVEN_UP


@routine
def make_plan(board: Board, at: int, start: int, limit: int) -> int:
    """Write a plan for CHOSEN into the map; NEVER: it is in conflict with another.

    spec: slurm 3.10.
    """
    mark = board.mark
    row = board.queue[at, b.ROW]
    beyond = start > mark[b.BEGAN] + mark[b.WINDOW]
    begin_at = start // mark[b.STEP] * mark[b.STEP]
    end_at = start + limit if beyond else slot_end(board, start + limit)
    if mark[b.STAGE] != b.JUDGED:
        valid_to(board, start - mark[b.WINDOW] if beyond else max(start, mark[b.NOW]))
        if not beyond and conflicts(board, begin_at, end_at, b.CHOSEN):
            return NEVER
        mark[b.VERDICT] = b.KEPT
        watched = board.record[row, b.WATCHED] != 0
        if not beyond and (mark[b.VERDICTS] != 0 or watched):
            reason = UNKNOWN
            if is_checked(board, row):
                reason = too_much(board, board.record[row, b.WHO], about(board, row))
            if reason == UNKNOWN:
                return JUDGES
            if reason != WITHIN:
                note(board, at, reason)
                mark[b.VERDICT] = b.REFUSED
    mark[b.STAGE] = b.CLEARED
    if mark[b.VERDICT] == b.REFUSED:
        return GIVEN_UP
    plan = mark[b.PLANS]
    mark[b.PLANS] += 1
    board.plan[plan, b.PLAN_AT] = at
    board.plan[plan, b.PLAN_START] = start
    board.plan[plan, b.PLAN_END] = end_at
    for word in range(board.mask.shape[1]):
        board.planned[plan, word] = board.mask[b.CHOSEN, word]
    if beyond or mark[b.VERDICT] == b.LISTED:
        return GIVEN_UP
    if mark[b.VERDICT] == b.KEPT:
        if mark[b.MADE] >= mark[b.MAP_RECORDS]:
            mark[b.OVER] = 1
            return GIVEN_UP
        plan_away(board, begin_at, end_at, b.CHOSEN)
    return PLANNED
