"""The backfill pass over the queue: a plan for every job it can place (spec: slurm 3).

Python starts jobs, knows limits and the tasks of arrays, and is asked where these matter.
"""

from __future__ import annotations

from shadowtime.kernel.jit import routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.ends import note_ends
from shadowtime.kernel.slurm.last import has_prey, last_to_start
from shadowtime.kernel.slurm.limits import about, is_checked, is_over_a_limit
from shadowtime.kernel.slurm.now import VAIN, starts_now
from shadowtime.kernel.slurm.place import GIVEN_UP, JUDGES, PLANNED, STARTS, place
from shadowtime.kernel.slurm.refusal import FITS, REFUSED, UNSURE, try_to_start
from shadowtime.kernel.slurm.spans import has_room, plan_away, widest

DONE, START, CLEAR, JUDGE, LAST_ONE, ENDS_WANTED = range(6)
"""What :func:`go_on` stopped for: the pass is over; the record at AT may start now; Python must
look at it first, or at its plan, or whether the record at LAST is over a limit; the ends of running
jobs are needed."""


@routine
def look_at(board: Board, desk: Desk, at: int) -> int:
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
def is_too_wide(board: Board, desk: Desk, row: int) -> bool:
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
def measure(board: Board) -> None:
    """Count the free nodes of each span, where the map has changed."""
    mark = board.mark
    if mark[b.MEASURED] != mark[b.VERSION]:
        mark[b.MEASURED], mark[b.WIDEST] = mark[b.VERSION], widest(board)


@routine
def may_run_out(board: Board) -> int:
    """1 where more jobs may be tested than a pass may test.

    A job that preempts others gives room to those behind it, so that any of them may matter.
    """
    mark, queue = board.mark, board.queue
    last, tasks = mark[b.LAST], 0
    for one in range(mark[b.RECORDS]):
        if one > last:
            break
        tasks += queue[one, b.TASKS]
        if has_prey(board, queue[one, b.ROW]):
            last = mark[b.RECORDS] - 1
    return 1 if tasks > mark[b.BOUND] or last >= mark[b.BOUND] else 0


@routine
def passes(board: Board, desk: Desk, at: int) -> int:
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
                if not is_checked(board, queue[mark[b.LAST], b.ROW]):
                    mark[b.SEEN] = -1
                    return LAST_ONE
        if mark[b.LAST] < at:
            mark[b.NO_START] = 1 if at == 0 and mark[b.KEEPS_RUNNING] == 0 else 0
            return DONE
    if at == 0:
        mark[b.MAY_RUN_OUT] = may_run_out(board)
    measure(board)
    row = queue[at, b.ROW]
    watched = board.record[row, b.WATCHED] != 0
    if mark[b.PASSES_OVER] != 0 and not watched and is_too_wide(board, desk, row):
        return START
    return CLEAR


@routine
def go_on(board: Board, desk: Desk) -> int:
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
                if is_over_a_limit(board, desk, at, row):
                    mark[b.STAGE] = b.NEXT
                    mark[b.AT] += 1
                    continue
                answer = starts_now(board, desk, at)
                if answer == REFUSED or answer == VAIN:
                    mark[b.STAGE] = b.NEXT
                    mark[b.AT] += 1
                    continue
                if answer == FITS:
                    mark[b.FITS_NOW] = 1
                    return START
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
