"""The backfill pass over the queue: a plan for every job it can place (spec: slurm 3).

Python starts jobs, knows limits and the tasks of arrays, and is asked where these matter.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.reference import by_reference
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.ends import first_end, note_candidates, note_ends
from shadowtime.kernel.slurm.last import last_to_start
from shadowtime.kernel.slurm.limits import (
    UNKNOWN,
    WITHIN,
    about,
    is_checked,
    is_over_a_limit,
    note,
    too_much,
)
from shadowtime.kernel.slurm.refusal import FITS, UNSURE, try_to_start
from shadowtime.kernel.slurm.spans import (
    bar,
    conflicts,
    has_room,
    is_narrow,
    next_try,
    plan_away,
    search,
    valid_to,
    widest,
)
from shadowtime.kernel.slurm.will_run import NEVER, soonest
from shadowtime.kernel.slurm.words import NONE, bits_in

DONE, START, CLEAR, JUDGE, LAST_ONE, ENDS_WANTED = range(6)
"""What :func:`walk` stopped for: the pass is over; the record at AT may start now; Python must
look at it first, or at its plan, or whether the record at LAST is over a limit; the ends of running
jobs are needed."""
GIVEN_UP, PLANNED, STARTS, JUDGES = range(4)
TRIES = 10_000


@kernel
def slot_end(board: Any, end: int) -> int:
    """An end as the map of plans has it."""
    step = board.mark[b.STEP]
    if board.mark[b.ROUNDED_UP] != 0:
        end += step - 1
    return end // step * step


@routine
def find_room(board: Any, row: int, begin: int, end: int) -> int:
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


@routine
def place(board: Any, desk: Any, at: int) -> int:
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
    for word in range(words):
        mask[b.BASE, word] = board.section[section, word]
        if mark[b.GOES_ON] != 0:
            mask[b.BASE, word] &= ~desk.excluded[ask, word]
    rank = board.record[row, b.RANK]
    candidates = False
    if rank >= 0 or mark[b.CANDIDATES] != 0:
        candidates = note_candidates(board, rank, section) > 0
    first = earliest = 0
    moves = desk.ask[ask, d.ASK_GPUS] > 0 and mark[b.FRESH] == 0
    if mark[b.SHORTCUTS] != 0 and not candidates and not moves:
        first = first_end(board, desk, ask, section)
        if first > mark[b.ENDS]:
            if mark[b.MAY_RUN_OUT] == 0:
                return GIVEN_UP
        elif first > 0:
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
            later = find_room(board, row, try_at, end)
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
def make_plan(board: Any, at: int, start: int, limit: int) -> int:
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


@routine
def look_at(board: Any, desk: Any, at: int) -> int:
    """As :func:`place`; a request given up before is so again while nothing has changed."""
    mark, memo = board.mark, board.memo
    if mark[b.REUSE] == 0 or mark[b.STAGE] >= b.TRIED_TO_START:
        return place(board, desk, at)
    row = board.queue[at, b.ROW]
    known = about(board, row)
    limit = board.record[row, b.LIMIT]
    licences = board.record[row, b.LICENCES] if mark[b.HOLDERS_END] != 0 else 0
    if (
        memo[known, b.VAIN_STAMP] == mark[b.STAMP]
        and memo[known, b.VAIN_VERSION] == mark[b.VERSION]
        and memo[known, b.VAIN_LIMIT] == limit
        and memo[known, b.VAIN_NOW_ONLY] == board.queue[at, b.NOW_ONLY]
        and memo[known, b.VAIN_LICENCES] == licences
    ):
        mark[b.TESTED] += memo[known, b.VAIN_COUNTED]
        return GIVEN_UP
    tested, plans = mark[b.TESTED], mark[b.PLANS]
    what = place(board, desk, at)
    if what == GIVEN_UP and mark[b.PLANS] == plans:
        memo[known, b.VAIN_STAMP], memo[known, b.VAIN_VERSION] = (
            mark[b.STAMP],
            mark[b.VERSION],
        )
        memo[known, b.VAIN_LIMIT], memo[known, b.VAIN_LICENCES] = limit, licences
        memo[known, b.VAIN_NOW_ONLY] = board.queue[at, b.NOW_ONLY]
        memo[known, b.VAIN_COUNTED] = mark[b.TESTED] - tested
    return what


@routine
def is_too_wide(board: Any, desk: Any, row: int) -> bool:
    """True if its nodes are never free for that long: the record is given up without a test."""
    mark, narrow = board.mark, board.narrow
    kind = board.record[row, b.KIND]
    nodes = desk.ask[board.record[row, b.ASK], d.MIN_NODES]
    known = narrow[kind, b.NARROW_PASS] == mark[b.PASS]
    if known and nodes >= narrow[kind, b.NARROW_NODES]:
        return True
    if nodes <= mark[b.WIDEST] and has_room(board, nodes, board.record[row, b.LIMIT]):
        return False
    narrow[kind, b.NARROW_PASS], narrow[kind, b.NARROW_NODES] = mark[b.PASS], nodes
    return True


@routine
def measure(board: Any) -> None:
    """Count the free nodes of each span, where the map has changed."""
    mark = board.mark
    if mark[b.MEASURED] != mark[b.VERSION]:
        mark[b.MEASURED], mark[b.WIDEST] = mark[b.VERSION], widest(board)


@routine
def passes(board: Any, desk: Any, at: int) -> int:
    """What becomes of a record before it is looked at: CLEAR where it is to be."""
    mark, queue = board.mark, board.queue
    if mark[b.TESTED] >= mark[b.BOUND] or mark[b.OVER] != 0:
        return DONE
    if queue[at, b.GONE] != 0:
        return START
    if mark[b.STARTS_ONLY] != 0:
        if (
            mark[b.SEEN] != mark[b.VERSION]
            or mark[b.SEEN_STAMP] != mark[b.STAMP]
            or mark[b.LAST] < at
        ):
            last_to_start(board, desk, at)
            if mark[b.LAST] >= at and mark[b.ASKS_LAST] != 0:
                mark[b.SEEN] = -1
                return LAST_ONE
        if mark[b.LAST] < at:
            mark[b.NO_START] = 1 if at == 0 and mark[b.KEEPS_RUNNING] == 0 else 0
            return DONE
    if at == 0:
        tasks = 0
        for one in range(mark[b.LAST] + 1):
            tasks += queue[one, b.TASKS]
        mark[b.MAY_RUN_OUT] = 1 if mark[b.LAST] >= mark[b.BOUND] or mark[b.BOUND] < tasks else 0
    measure(board)
    row = queue[at, b.ROW]
    watched = board.record[row, b.WATCHED] != 0
    if mark[b.PASSES_OVER] != 0 and not watched and is_too_wide(board, desk, row):
        return START
    return CLEAR


@routine
def go_on(board: Any, desk: Any) -> int:
    """Look at the records from AT on, until Python must do something."""
    mark, queue = board.mark, board.queue
    if mark[b.FRESH_ENDS] != 0:
        mark[b.FRESH_ENDS] = 0
        note_ends(board, desk)
    if mark[b.KEEP_UNTIL] != 0:
        plan_away(board, 0, mark[b.KEEP_UNTIL], b.KEEP)
        mark[b.KEEP_UNTIL] = 0
    while mark[b.AT] < mark[b.RECORDS]:
        at = mark[b.AT]
        if mark[b.STAGE] == b.NEXT:
            if mark[b.AGAIN] == 0:
                what = passes(board, desk, at)
                if what == DONE or what == LAST_ONE:
                    return what
                if what == START:
                    mark[b.AT] += 1
                    continue
            mark[b.AGAIN] = 0
            mark[b.STAGE] = b.CLEARED
            mark[b.COUNTED], mark[b.LATER] = 0, mark[b.NOW]
            row = queue[at, b.ROW]
            if is_checked(board, row):
                if is_over_a_limit(board, at, row):
                    mark[b.STAGE] = b.NEXT
                    mark[b.AT] += 1
                    continue
            elif mark[b.CLEARS] != 0 or board.record[row, b.WATCHED] != 0:
                return CLEAR
        if mark[b.ENDS] < 0:
            return ENDS_WANTED
        measure(board)
        what = look_at(board, desk, at)
        if what == STARTS:
            answer = try_to_start(board, desk, at)
            mark[b.FITS_NOW] = 1 if answer == FITS else 0
            if answer == FITS or answer == UNSURE:
                return START
            what = GIVEN_UP
        if what == JUDGES:
            return JUDGE
        mark[b.STAGE] = b.NEXT
        if what != PLANNED or mark[b.AGAIN] == 0:
            mark[b.AGAIN] = 0
            mark[b.AT] += 1
    return DONE


@entry
def walk(board: Any, desk: Any) -> int:
    """For Python: as :func:`go_on`.

    Examples
    --------
    >>> from shadowtime.kernel.slurm.board import empty_board
    >>> from shadowtime.kernel.slurm.desk import empty_desk
    >>> walk(empty_board(8), empty_desk(8)) == DONE
    True
    """
    return go_on(by_reference(board), by_reference(desk))
