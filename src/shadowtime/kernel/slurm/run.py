"""A run of slurmctld from event to event: ends, answers of nodes and both passes.

Python does what is rare, or what it knows more about: submissions, ticks of priorities, arrays,
preemption, reservations. Where that is next, or a pass comes upon it, :func:`run` stops.
"""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.reference import by_reference
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import books as k
from shadowtime.kernel.slurm import clocks
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm import main_walk as main
from shadowtime.kernel.slurm import walk as backfill
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.books import Books
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.limits import WITHIN, too_many
from shadowtime.kernel.slurm.starting import (
    answer,
    end,
    forget_first,
    list_nodes,
    start,
    write_ends,
)
from shadowtime.kernel.slurm.waiting import lay_out, leave
from shadowtime.kernel.slurm.words import NONE

DONE, EVENT, ORDER, HAND_OVER, MAKE_ROOM, LOOK = range(6)
"""What :func:`run` stopped for: nothing is left to happen; the next event is Python's; Python must
put the queue in order; it must go on with the pass; the tables are full; so many events are over.
"""
GOES_ON, ENDED = 6, 7
"""Beside these, of a pass: it is not over, it is."""
FAR = 10 * 365 * 86_400
"""Seconds after which any pass is repeated."""


@kernel
def free_changed(board: Board, desk: Desk) -> None:
    """Something started or ended: what was noted before is void."""
    board.mark[b.STAMP] += 1
    if board.mark[b.BUSY_NODES] != 0:
        for word in range(board.mask.shape[1]):
            desk.mask[d.IDLE_NOW, word] = board.mask[b.IDLE, word]


@kernel
def lacks_room(board: Board, books: Books, hosts: int) -> bool:
    """No room for a start on so many nodes."""
    return books.reg["shares"][0] + hosts > board.share.shape[0] or books.reg["free_places"][0] == 0


@routine
def has_room_for_pass(board: Board, books: Books) -> bool:
    """There is room for all that a pass may do, but for what its starts hold."""
    count = books.size[0] + 2
    reg = books.reg
    return (
        board.queue.shape[0] >= count
        and books.started.shape[0] >= count
        and books.story.shape[0] - reg["story"][0] >= count
        and books.event.shape[0] - reg["events"][0] >= count
        and board.plan.shape[0] >= count
        and board.held.shape[0] > reg["running"][0] + count
        and books.by_end.shape[0] > reg["running"][0] + count
    )


@routine
def begin_pass(board: Board, desk: Desk, books: Books) -> int:
    """Before a pass: the queue is put on the board."""
    reg = books.reg
    if not has_room_for_pass(board, books):
        return MAKE_ROOM
    if not lay_out(board, books):
        return ORDER
    free_changed(board, desk)
    reg["passes"][0] += 1
    if reg["kind"][0] == k.BACKFILL or reg["builtin"][0] != 0:
        reg["tests"][0] += 1
    reg["notes"][0] = board.mark[b.NOTES]
    reg["started"][0], reg["waited"][0] = 0, reg["waiting"][0]
    return GOES_ON


@routine
def main_pass(board: Board, desk: Desk, books: Books) -> int:
    """The main pass, or what is left of it: ENDED, or what Python must do."""
    reg, mark = books.reg, board.mark
    now = int(np.floor(books.clock["time"][0]))
    if reg["stage"][0] == k.BEFORE:
        what = begin_pass(board, desk, books)
        if what != GOES_ON:
            return what
        mark[b.BEGINS] = mark[b.ANSWERS] = 1
        mark[b.BOUND_DEPTH] = -1 if reg["full"][0] != 0 else reg["depth"][0]
        reg["stage"][0] = k.WALKS
    while reg["waiting"][0] > 0:
        if reg["stage"][0] == k.WALKS:
            what = main.go_on(board, desk)
            if what == main.OVER:
                break
            if what == main.TRY:
                reg["asked"][0] = what
                return HAND_OVER
            reg["stage"][0] = k.STARTS
        hosts = list_nodes(board, desk, books, True)
        if lacks_room(board, books, hosts):
            return MAKE_ROOM
        slot = board.queue[mark[b.AT], b.SLOT]
        start(board, desk, books, mark[b.AT], now, books.waiter["limit"][slot], True, hosts)
        free_changed(board, desk)
        mark[b.AT] += 1
        reg["stage"][0] = k.WALKS
    if mark[b.NOTES] != reg["notes"][0] or (reg["started"][0] > 0 and reg["enforced"][0] != 0):
        reg["changed"][0] = 1
    whole = reg["deep"][0] == 0 and reg["waited"][0] <= reg["depth"][0]
    whole = whole or reg["full"][0] != 0
    reg["fresh"][0] = 0 if reg["started"][0] == 0 and whole else 1
    return ENDED


@routine
def begin_backfill(board: Board, books: Books) -> None:
    """What a backfill pass for starts alone begins with."""
    reg, mark = books.reg, board.mark
    now = int(np.floor(books.clock["time"][0]))
    gpus = mark[b.MOVES] != 0 and reg["with_gpus"][0] > 0
    least = reg["limit_raised"][0] != 0 and reg["with_least_time"][0] > 0
    mark[b.NOW] = mark[b.BEGAN] = now
    mark[b.WINDOW_END] = (now + mark[b.WINDOW]) // mark[b.STEP] * mark[b.STEP]
    mark[b.STARTS_ONLY] = 0 if gpus or least else 1
    mark[b.SHORTCUTS] = 1
    reuse = mark[b.PREEMPTS] == 0 and reg["enforced"][0] == 0 and not gpus
    mark[b.REUSE] = mark[b.PASSES_OVER] = 1 if reuse else 0
    mark[b.CLEARS] = mark[b.VERDICTS] = mark[b.ASKS_LAST] = reg["enforced"][0]
    mark[b.CHECKS_LIMITS], mark[b.PLANS_WANTED] = reg["enforced"][0], 0
    direct = mark[b.PREEMPTS] == 0 and reg["enforced"][0] == 0 and mark[b.MOVES] == 0
    mark[b.DIRECT] = 1 if direct else 0
    mark[b.LAST] = mark[b.RECORDS] - 1
    mark[b.AT] = mark[b.TESTED] = mark[b.OVER] = mark[b.PLANS] = mark[b.VERSION] = 0
    mark[b.NO_START] = mark[b.KEEP_UNTIL] = 0
    mark[b.STAGE] = mark[b.AGAIN] = mark[b.FRESH_ENDS] = mark[b.FITS_NOW] = 0
    mark[b.SEEN] = mark[b.MEASURED] = mark[b.SHRUNK] = mark[b.ENDS] = mark[b.TABLE_ENDS] = -1
    mark[b.MAY_RUN_OUT] = mark[b.MADE] = mark[b.SPANS] = 1
    mark[b.VALID] = now + FAR
    mark[b.PASS] += 1
    board.span[0, b.BEGIN] = now // mark[b.STEP] * mark[b.STEP]
    board.span[0, b.END] = mark[b.WINDOW_END]
    for word in range(board.mask.shape[1]):
        board.free[0, word] = board.mask[b.UP, word]


@routine
def needs_no_test(board: Board, desk: Desk, books: Books) -> bool:
    """What the will-run test chose is what the job gets: no other nodes, no other rules."""
    mark, reg = board.mark, books.reg
    ask = board.record[board.queue[mark[b.AT], b.ROW], b.ASK]
    asks = desk.ask
    if asks[ask, d.ASK_GPUS] > 0 or asks[ask, d.EITHERS] > 0 or asks[ask, d.PARTS] > 0:
        return False
    if asks[ask, d.PER_CPU] != 0 and mark[b.ONE_THREAD] == 0:
        return False
    if asks[ask, d.SHARED] >= 0 or asks[ask, d.ALONE] >= 0:
        return False
    if reg["bounded_will_run"][0] != 0 and reg["running"][0] > 0:
        if books.runner["ends_by"][books.by_end[0]] <= mark[b.NOW]:
            return False  # for will-run tests they are gone
    for word in range(board.mask.shape[1]):
        if board.mask[b.COMPLETING, word] & board.mask[b.FOUND, word] != NONE:
            return False
    return True


@routine
def keep_nodes(board: Board, books: Books, place: int) -> None:
    """A job that started, and that no other can preempt, holds its nodes in the map of plans.

    spec: slurm 3.9.
    """
    mark = board.mark
    if mark[b.KEPT_NODES] == 0 or mark[b.MADE] >= mark[b.MAP_RECORDS]:
        return
    until = books.runner["ends_by"][place]
    if mark[b.ROUNDED_UP] != 0:
        until += mark[b.STEP] - 1
    mark[b.KEEP_UNTIL] = until // mark[b.STEP] * mark[b.STEP]
    for word in range(board.mask.shape[1]):
        board.mask[b.KEEP, word] = books.nodes[place, word]


@routine
def backfill_pass(board: Board, desk: Desk, books: Books) -> int:
    """The backfill pass, or what is left of it: ENDED, or what Python must do."""
    reg, mark, clock = books.reg, board.mark, books.clock
    if reg["stage"][0] == k.BEFORE:
        what = begin_pass(board, desk, books)
        if what != GOES_ON:
            return what
        begin_backfill(board, books)
        reg["stage"][0] = k.WALKS
    while True:
        if reg["stage"][0] == k.WALKS:
            what = backfill.go_on(board, desk)
            if what == backfill.ENDS_WANTED:
                write_ends(board, books)
                continue
            if what == backfill.DONE:
                break
            reg["asked"][0] = what
            if what != backfill.START:
                return HAND_OVER
            direct = mark[b.DIRECT] != 0 and needs_no_test(board, desk, books)
            if mark[b.FITS_NOW] == 0 and not direct:
                return HAND_OVER
            reg["stage"][0] = k.STARTS
        on_desk = mark[b.FITS_NOW] != 0
        hosts = list_nodes(board, desk, books, on_desk)
        if lacks_room(board, books, hosts):
            return MAKE_ROOM
        at = mark[b.AT]
        row = board.queue[at, b.ROW]
        limit = board.record[row, b.LIMIT]
        place = start(board, desk, books, at, mark[b.NOW], limit, on_desk, hosts)
        keep_nodes(board, books, place)
        free_changed(board, desk)
        mark[b.STAGE] = b.NEXT
        mark[b.AT] += 1
        reg["stage"][0] = k.WALKS
    reg["changed"][0] = 0 if mark[b.NO_START] != 0 else 1
    valid = mark[b.REUSE] != 0 and reg["started"][0] == 0
    clock["quiet_until"][0] = float(mark[b.VALID]) if valid else 0.0
    if reg["enforced"][0] != 0 and reg["bounds_jobs"][0] != 0:
        note_waiting(board, books)
    return ENDED


@routine
def note_waiting(board: Board, books: Books) -> None:
    """Record which jobs may not be considered, for a pass that ended before it reached all.

    Those that hit a limit before keep it.
    """
    for at in range(books.size[0]):
        slot = books.queue[at, k.Q_SLOT]
        who = books.waiter["who"][slot]
        if board.met[slot] < 0 and who >= 0:
            reason = too_many(board, who)
            if reason != WITHIN:
                board.met[slot] = reason


@routine
def finish_pass(board: Board, books: Books) -> None:
    """After a pass: the jobs that it has started wait no longer."""
    reg = books.reg
    for one in range(reg["started"][0]):
        slot = books.started[one]
        leave(books.queue, books.size, slot)
        reg["waiting"][0] -= 1
        reg["with_gpus"][0] -= books.waiter["gpus"][slot]
        reg["with_least_time"][0] -= books.waiter["least_time"][slot]
    if reg["started"][0] > 0:
        clocks.started(books.clock, reg, books.clock["time"][0])
    reg["kind"][0], reg["stage"][0] = k.NO_PASS, k.BEFORE


@routine
def choose_pass(books: Books, main_at: float, backfill_at: float) -> None:
    """A pass is due: whether it is made, in ``kind`` (spec: slurm 1.2, 1.5)."""
    reg, clock = books.reg, books.clock
    waiting = reg["waiting"][0] > 0
    if main_at <= backfill_at:
        clock["time"][0] = main_at
        due = clocks.begin_main(clock, reg, main_at)
        if due or (waiting and (reg["fresh"][0] != 0 or reg["steady"][0] == 0)):
            reg["kind"][0] = k.MAIN
        return
    clock["time"][0] = backfill_at
    if not clocks.begin_backfill(clock, reg, backfill_at, waiting):
        return
    idle = clock["main_due"][0] == clocks.NEVER
    reg["idle_passes"][0] = reg["idle_passes"][0] + 1 if reg["running"][0] == 0 and idle else 0
    if reg["builtin"][0] != 0 or not waiting:
        return
    if np.floor(backfill_at) >= clock["quiet_until"][0] and reg["changed"][0] != 0:
        reg["kind"][0] = k.BACKFILL


@kernel
def is_over(books: Books) -> bool:
    """Only ticks and passes are left, and nothing runs: jobs that wait will never start."""
    reg, clock = books.reg, books.clock
    if reg["events"][0] > 0 or reg["only_periodic"][0] == 0 or reg["running"][0] > 0:
        return False
    if clock["main_due"][0] != clocks.NEVER:
        return False
    if clock["python"][0] == clocks.NEVER:
        return True
    return reg["idle_passes"][0] > 2 or clock["next_backfill"][0] == clocks.NEVER


@routine
def happen(board: Board, desk: Desk, books: Books) -> None:
    """The first event: a job ends, or nodes answer."""
    reg, clock, event = books.reg, books.clock, books.event
    time, rank = event["time"][0], event["rank"][0]
    number, what = event["number"][0], event["what"][0]
    forget_first(books)
    clock["quiet_until"][0] = 0.0
    if rank == k.END:
        if what >= 0 and books.runner["event"][what] == number:
            end(board, desk, books, what, time)
            clocks.note(clock, reg, time)  # limits and licences are free at once
        return
    answer(board, books, what)
    if rank == k.ANSWER_AT_ONCE:
        clocks.work_at_once(clock, reg, time)
    else:
        clocks.work(clock, reg, time)


@routine
def go_on(board: Board, desk: Desk, books: Books) -> int:
    """Event by event, and pass by pass, until Python must do something."""
    reg, clock = books.reg, books.clock
    while True:
        if reg["kind"][0] != k.NO_PASS:
            if reg["kind"][0] == k.MAIN:
                what = main_pass(board, desk, books)
            else:
                what = backfill_pass(board, desk, books)
            if what != ENDED:
                return what
            finish_pass(board, books)
            continue
        if is_over(books):
            return DONE
        reg["budget"][0] -= 1
        if reg["budget"][0] < 0:
            return LOOK
        main_at, backfill_at = clocks.next_main(clock), clock["next_backfill"][0]
        own = books.event["time"][0] if reg["events"][0] > 0 else clocks.NEVER
        first = min(own, clock["python"][0])
        if first > min(main_at, backfill_at):
            choose_pass(books, main_at, backfill_at)
        elif own > clock["python"][0]:
            return EVENT
        elif reg["story"][0] + 1 >= books.story.shape[0]:
            return MAKE_ROOM
        elif reg["leaving"][0] + 1 >= books.leaving.shape[0]:
            return MAKE_ROOM
        else:
            happen(board, desk, books)


@entry
def run(board: Board, desk: Desk, books: Books) -> int:
    """For Python: what DO asks for, as :func:`go_on` here or that of a pass.

    One entry, as all of them are compiled from the same parts.

    Examples
    --------
    >>> from shadowtime.kernel.slurm.board import empty_board
    >>> from shadowtime.kernel.slurm.books import empty_books
    >>> from shadowtime.kernel.slurm.desk import empty_desk
    >>> board, desk, books = empty_board(8), empty_desk(8), empty_books(8)
    >>> books.reg["only_periodic"], books.clock["main_due"] = 1, clocks.NEVER
    >>> books.clock["python"] = clocks.NEVER
    >>> run(board, desk, books) == DONE
    True
    >>> board.mark[b.DO] = b.BACKFILL_WALK
    >>> run(board, desk, books) == backfill.DONE
    True
    """
    own, other = by_reference(board), by_reference(desk)
    if board.mark[b.DO] == b.MAIN_WALK:
        return main.go_on(own, other)
    if board.mark[b.DO] == b.BACKFILL_WALK:
        return backfill.go_on(own, other)
    return go_on(own, other, by_reference(books))
