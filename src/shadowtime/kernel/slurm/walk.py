"""The backfill pass over the queue: slurm/backfill.py on arrays."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.slurm.board import (
    ASK,
    AT,
    BOUND,
    CHOSEN,
    COMPLETING,
    ENDS,
    EXCLUSIVE,
    FLOOR,
    FOUND,
    FREE_CPUS,
    FRESH_ENDS,
    GONE,
    IDLE,
    KEEP_UNTIL,
    KEEPS_RUNNING,
    KIND,
    LAST,
    LIMIT,
    MADE,
    MAP_RECORDS,
    MAY_RUN_OUT,
    MEASURED,
    MIN_CPUS,
    MIN_NODES,
    NARROW_NODES,
    NARROW_PASS,
    NO_START,
    NOW,
    NOW_ONLY,
    OVER,
    PASS,
    PLAIN,
    PLAN_AT,
    PLAN_END,
    PLAN_START,
    PLANS,
    RECORDS,
    ROW,
    SECTION,
    SEEN,
    SEEN_STAMP,
    SHRUNK,
    SHRUNK_STAMP,
    STAMP,
    STARTS_ONLY,
    STEP,
    TASKS,
    TESTED,
    TRIED,
    USABLE,
    VAIN_COUNTED,
    VAIN_LIMIT,
    VAIN_NOW_ONLY,
    VAIN_STAMP,
    VAIN_VERSION,
    VERSION,
    WIDEST,
    WINDOW,
    WINDOW_END,
)
from shadowtime.kernel.slurm.ends import NEVER, choose_now, first_end, note_ends, will_run
from shadowtime.kernel.slurm.shared import note_able
from shadowtime.kernel.slurm.spans import (
    conflicts,
    count_idle,
    free_until,
    has_room,
    idle_until,
    is_narrow,
    next_try,
    plan_away,
    search,
    valid_to,
    widest,
)
from shadowtime.kernel.slurm.whole import could_do
from shadowtime.kernel.slurm.words import NONE, bits_in

DONE, START, BY_THE_RULES, ENDS_WANTED = range(4)
"""What :func:`walk` stopped for: the pass is over; the record at AT starts on CHOSEN; it is
not for this code; the ends of running jobs are needed."""
GIVEN_UP, PLANNED, STARTS = range(3)
TRIES = 10_000


@routine
def could_start(board: Any, at: int) -> bool:
    """False where nothing that this pass may still do lets the record start now.

    How many whole nodes there are for it is known.
    """
    if board.queue[at, GONE] != 0:
        return False
    row = board.queue[at, ROW]
    ask, section = board.record[row, ASK], board.record[row, SECTION]
    end = board.mark[NOW] + board.record[row, LIMIT]
    whole = board.ask[ask, EXCLUSIVE] != 0
    if not whole and board.mark[FREE_CPUS] < board.ask[ask, MIN_CPUS]:
        return False
    mask = board.mask
    floor = board.ask[ask, FLOOR]
    if not whole:
        note_able(board, floor)
    for word in range(mask.shape[1]):
        able = board.here[IDLE, word] if whole else board.able[floor, word]
        here = board.section[section, word] & board.suits[ask, word]
        mask[TRIED, word] = here & board.here[USABLE, word] & able
    free_until(board, end, TRIED)
    count = 0
    for word in range(mask.shape[1]):
        if board.required[ask, word] & ~mask[TRIED, word] != NONE:
            return False
        count += bits_in(mask[TRIED, word])
    return could_do(board, ask, count)


@routine
def place(board: Any, at: int) -> int:
    """TRY until the record starts, gets a plan, or is given up."""
    mark, mask = board.mark, board.mask
    row = board.queue[at, ROW]
    ask, section = board.record[row, ASK], board.record[row, SECTION]
    limit = board.record[row, LIMIT]
    now_only = board.queue[at, NOW_ONLY] != 0
    now = mark[NOW]
    words = mask.shape[1]
    first = first_end(board, ask, section)
    earliest = 0
    if first > mark[ENDS]:
        if mark[MAY_RUN_OUT] == 0:
            return GIVEN_UP
    elif first > 0:
        earliest = board.end[first - 1]
    counted = False
    later = now
    for _ in range(TRIES):
        try_at = later
        later = 0
        if try_at > mark[WINDOW_END]:
            valid_to(board, try_at - mark[WINDOW])
            return GIVEN_UP
        end = max(try_at, now) + limit
        if not now_only and try_at < earliest and (counted or mark[MAY_RUN_OUT] == 0):
            # Any plan would lie after the next try: go there at once.
            later = next_try(board, section, try_at, end)
            if later > 0 and later < earliest:
                continue
        elif is_narrow(board, try_at, end, board.ask[ask, MIN_NODES]):
            later = next_try(board, section, try_at, end)
            if later > 0 and not now_only:
                continue
            return GIVEN_UP
        later = search(board, section, try_at, end)
        count = 0
        for word in range(words):
            mask[FOUND, word] &= board.suits[ask, word]
            count += bits_in(mask[FOUND, word])
        if count < board.ask[ask, MIN_NODES]:
            if later > 0 and not now_only:
                continue
            return GIVEN_UP
        if not counted:
            counted = True
            mark[TESTED] += 1
        if later > 0 and later < earliest and not now_only:
            continue
        start = will_run(board, ask, first, now_only, later)
        if start == NEVER:
            if later > 0 and not now_only:
                continue
            return GIVEN_UP
        start = max(start, try_at)
        if start <= now:
            for word in range(words):
                if mask[CHOSEN, word] & board.here[COMPLETING, word] != NONE:
                    start = now + 1
                    later = 0
                    valid_to(board, now)
        if start <= now:
            if choose_now(board, ask):
                return STARTS
            later = 0
        if start > now and now_only:
            return GIVEN_UP
        if later > 0 and start > later:
            continue
        beyond = start > now + mark[WINDOW]
        valid_to(board, start - mark[WINDOW] if beyond else max(start, now))
        begin_at = start // mark[STEP] * mark[STEP]
        end_at = (start + limit) // mark[STEP] * mark[STEP]
        if not beyond and conflicts(board, begin_at, end_at, CHOSEN):
            later = start
            continue
        plan = mark[PLANS]
        mark[PLANS] += 1
        board.plan[plan, PLAN_AT] = at
        board.plan[plan, PLAN_START] = start
        board.plan[plan, PLAN_END] = start + limit if beyond else end_at
        for word in range(words):
            board.planned[plan, word] = mask[CHOSEN, word]
        if beyond:
            return GIVEN_UP
        if mark[MADE] >= mark[MAP_RECORDS]:
            mark[OVER] = 1
            return GIVEN_UP
        plan_away(board, begin_at, end_at, CHOSEN)
        return PLANNED
    return GIVEN_UP


@kernel
def look_at(board: Any, at: int) -> int:
    """As :func:`place`; a request given up before is so again while nothing has changed."""
    mark, memo = board.mark, board.memo
    row = board.queue[at, ROW]
    about = board.record[row, ASK] * board.section.shape[0] + board.record[row, SECTION]
    if (
        memo[about, VAIN_STAMP] == mark[STAMP]
        and memo[about, VAIN_VERSION] == mark[VERSION]
        and memo[about, VAIN_LIMIT] == board.record[row, LIMIT]
        and memo[about, VAIN_NOW_ONLY] == board.queue[at, NOW_ONLY]
    ):
        mark[TESTED] += memo[about, VAIN_COUNTED]
        return GIVEN_UP
    tested, plans = mark[TESTED], mark[PLANS]
    what = place(board, at)
    if what == GIVEN_UP and mark[PLANS] == plans:
        memo[about, VAIN_STAMP], memo[about, VAIN_VERSION] = mark[STAMP], mark[VERSION]
        memo[about, VAIN_LIMIT] = board.record[row, LIMIT]
        memo[about, VAIN_NOW_ONLY] = board.queue[at, NOW_ONLY]
        memo[about, VAIN_COUNTED] = mark[TESTED] - tested
    return what


@kernel
def is_too_wide(board: Any, row: int) -> bool:
    """True if its nodes are never free for that long: the record is given up without a test."""
    mark, narrow = board.mark, board.narrow
    kind = board.record[row, KIND]
    nodes = board.ask[board.record[row, ASK], MIN_NODES]
    known = narrow[kind, NARROW_PASS] == mark[PASS]
    if known and nodes >= narrow[kind, NARROW_NODES]:
        return True
    if nodes <= mark[WIDEST] and has_room(board, nodes, board.record[row, LIMIT]):
        return False
    narrow[kind, NARROW_PASS], narrow[kind, NARROW_NODES] = mark[PASS], nodes
    return True


@routine
def last_to_start(board: Any, at: int) -> None:
    """Move LAST down to the last record from ``at`` on that could start."""
    mark, queue, record, asks = board.mark, board.queue, board.record, board.ask
    mark[SEEN], mark[SEEN_STAMP] = mark[VERSION], mark[STAMP]
    if mark[SHRUNK] != mark[VERSION] or mark[SHRUNK_STAMP] != mark[STAMP]:
        count_idle(board)
    most = idle_until(board, mark[NOW])
    last = mark[LAST]
    while last >= at:
        row = queue[last, ROW]
        ask = record[row, ASK]
        if asks[ask, EXCLUSIVE] != 0:
            # Most of a long queue goes here, where no function is called.
            nodes = asks[ask, MIN_NODES]
            if nodes > most or idle_until(board, mark[NOW] + record[row, LIMIT]) < nodes:
                last -= 1
                continue
        if could_start(board, last):
            break
        last -= 1
    mark[LAST] = last


@entry
def walk(board: Any) -> int:
    """Look at the records from AT on, until one needs more than these arrays.

    Examples
    --------
    >>> from shadowtime.kernel.slurm.board import empty_board
    >>> walk(empty_board(8)) == DONE
    True
    """
    mark, queue = board.mark, board.queue
    if mark[FRESH_ENDS] != 0:
        mark[FRESH_ENDS] = 0
        note_ends(board)
    if mark[KEEP_UNTIL] != 0:
        plan_away(board, 0, mark[KEEP_UNTIL], CHOSEN)
        mark[KEEP_UNTIL] = 0
    while mark[AT] < mark[RECORDS]:
        at = mark[AT]
        if mark[TESTED] >= mark[BOUND] or mark[OVER] != 0:
            return DONE
        if queue[at, GONE] != 0:
            mark[AT] += 1
            continue
        if mark[STARTS_ONLY] != 0:
            if mark[SEEN] != mark[VERSION] or mark[SEEN_STAMP] != mark[STAMP] or mark[LAST] < at:
                last_to_start(board, at)
            if mark[LAST] < at:
                mark[NO_START] = 1 if at == 0 and mark[KEEPS_RUNNING] == 0 else 0
                return DONE
        if at == 0:
            tasks = 0
            for one in range(mark[LAST] + 1):
                tasks += queue[one, TASKS]
            mark[MAY_RUN_OUT] = 1 if mark[LAST] >= mark[BOUND] or mark[BOUND] < tasks else 0
        if mark[MEASURED] != mark[VERSION]:
            mark[MEASURED], mark[WIDEST] = mark[VERSION], widest(board)
        row = queue[at, ROW]
        plain = board.record[row, PLAIN] != 0
        if plain and is_too_wide(board, row):
            mark[AT] += 1
            continue
        if not plain:
            return BY_THE_RULES
        if mark[ENDS] < 0:
            return ENDS_WANTED
        what = look_at(board, at)
        if what == STARTS:
            return START
        mark[AT] += 1
    return DONE
