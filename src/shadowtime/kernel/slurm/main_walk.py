"""The main pass over the queue: which record is tried next (spec: slurm 2).

Python tries a record. Where the answer is certain without that, as for a job over a limit or one
that finds no room, it is given here.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.alone import is_alone, known_reason, note_offer, offer
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.choose import choose, once
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.ends import note_able
from shadowtime.kernel.slurm.last import has_prey
from shadowtime.kernel.slurm.limits import UNKNOWN, WITHIN, note, too_many, too_much, too_much_there
from shadowtime.kernel.slurm.offers import could_do
from shadowtime.kernel.slurm.refusal import (
    fits_now,
    overfills,
    plain_weights,
    set_weights,
    weights_moved,
)
from shadowtime.kernel.slurm.words import NONE, bits_in

OVER, TRY, FITS = range(3)
"""What :func:`go_on` stopped for: the pass is over; Python tries the record at AT, or starts it
on the nodes that the desk has chosen."""
PASSED_OVER, BUSY, UNCERTAIN, STARTS = range(4)


@kernel
def fail(board: Board, section: int) -> None:
    """A record does not fit: nothing more is started in its partition, nor on its nodes."""
    all_of = board.part.shape[0] + section
    board.part[section, b.FAILED] = 1
    board.mark[b.FAILURES] += 1
    board.mark[b.LEFTS] += 1
    for word in range(board.mask.shape[1]):
        board.mask[b.LEFT, word] &= ~board.section[all_of, word]


@routine
def serves(board: Board, desk: Desk, ask: int, section: int) -> bool:
    """The nodes that are left of a partition, empty, serve the job: those the desk has chosen."""
    count = 0
    for word in range(desk.mask.shape[1]):
        here = board.section[section, word] & desk.suits[ask, word]
        desk.mask[d.TRIED, word] = here & board.mask[b.LEFT, word]
        count += bits_in(desk.mask[d.TRIED, word])
    if count < desk.ask[ask, d.MIN_NODES]:
        return False
    plain_weights(board)
    return once(desk, desk.full, board.fresh_weight, ask, False)


@routine
def is_served(board: Board, desk: Desk, ask: int, section: int, whole: bool) -> bool:
    """As :func:`serves`, from memory. ``whole``: all nodes that suit the job are left."""
    memo = board.memo
    about = ask * board.part.shape[0] + section
    column = b.SERVED if whole else b.SERVED_LEFT
    stamp = 2 * (board.mark[b.UPS] if whole else board.mark[b.LEFTS])
    if memo[about, column] < stamp:
        memo[about, column] = stamp + 1 if serves(board, desk, ask, section) else stamp
    return memo[about, column] > stamp


@routine
def finds_room(board: Board, desk: Desk, ask: int, section: int) -> bool:
    """The job fits on the nodes that are left, those that the desk has chosen."""
    mask, asks = board.mask, desk.ask
    exclusive, gpus = asks[ask, d.EXCLUSIVE] != 0, asks[ask, d.ASK_GPUS] > 0
    floor = asks[ask, d.FLOOR]
    if not exclusive:
        if board.mark[b.FREE_CPUS] < asks[ask, d.MIN_CPUS]:
            return False
        note_able(board, desk, ask)
    count = 0
    for word in range(mask.shape[1]):
        here = board.section[section, word] & desk.suits[ask, word]
        here &= mask[b.USABLE, word] & mask[b.LEFT, word]
        able = here & (mask[b.IDLE, word] if exclusive else board.able[floor, word])
        # A test of GPUs counts all cores as free first, so that nodes without free ones matter.
        desk.mask[d.TRIED, word] = here if gpus else able
        count += bits_in(able)
    if not could_do(desk, ask, count):
        return False
    plain_weights(board)
    return choose(desk, board.now, board.fresh_weight, ask)


@routine
def fits_leaving_weights(board: Board, desk: Desk, ask: int, section: int) -> bool:
    """As :func:`finds_room` for a job with GPUs, where its test leaves weights behind."""
    mask = board.mask
    all_of = board.part.shape[0] + section
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] = board.section[all_of, word] & desk.suits[ask, word]
    set_weights(board)
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] &= mask[b.LEFT, word]
    return fits_now(board, desk, ask)


@routine
def answer(board: Board, desk: Desk, at: int, row: int) -> int:
    """What becomes of a record, where a try would find the same."""
    mark, mask = board.mark, board.mask
    record = board.record
    who, ask, section = record[row, b.WHO], record[row, b.ASK], record[row, b.SECTION]
    if mark[b.ANSWERS] == 0 or record[row, b.PLAIN] == 0 or board.who[who, b.SIMPLE] == 0:
        return UNCERTAIN
    reason = too_many(board, who)
    if reason != WITHIN:
        note(board, at, reason)
        return PASSED_OVER
    about = ask * board.part.shape[0] + section
    gpus = desk.ask[ask, d.ASK_GPUS] > 0
    alone = False
    if (
        mark[b.LEFTS] == mark[b.ALL_LEFT]
        and board.memo[about, b.SERVED] == 2 * mark[b.UPS] + 1
        and not (mark[b.MOVES] != 0 and (gpus or mark[b.MOVED] != 0))
    ):
        # Most of a long queue goes here: all nodes of its partition are left, and serve it.
        reason = too_much(board, who, about)
        alone = reason == UNKNOWN and is_alone(desk, ask) and not has_prey(board, row)
        if alone:
            offer(board, desk, ask, b.LEFT, section)
            reason = known_reason(board, who, about, False)
        if reason >= 0:
            note(board, at, reason)
            return PASSED_OVER
    all_of = board.part.shape[0] + section
    left = 0
    whole = True
    for word in range(mask.shape[1]):
        left += bits_in(board.section[all_of, word] & mask[b.LEFT, word])
        here = board.section[section, word] & desk.suits[ask, word]
        whole = whole and here & ~mask[b.LEFT, word] == NONE
    if left < desk.ask[ask, d.MIN_NODES]:
        return BUSY
    if board.memo[about, b.TALLIED] <= 0:
        return UNCERTAIN
    reason = too_much(board, who, about)
    if gpus and mark[b.MOVES] != 0:
        if reason == UNKNOWN or overfills(board, desk, ask):
            return UNCERTAIN
        mark[b.MOVED] = 1
        if not fits_leaving_weights(board, desk, ask, section):
            return UNCERTAIN
        if reason == WITHIN:
            return STARTS
        note(board, at, reason)
        return PASSED_OVER
    fits = False
    if reason < 0:
        fits = finds_room(board, desk, ask, section)
        if overfills(board, desk, ask) if fits else has_prey(board, row):
            return UNCERTAIN
    if reason == UNKNOWN:
        if not fits and not serves(board, desk, ask, section):
            return UNCERTAIN
        reason = too_much_there(board, desk, who, about)
        if alone:
            note_offer(board, about, fits)
    elif not fits and not is_served(board, desk, ask, section, whole):
        return UNCERTAIN
    if mark[b.MOVED] != 0:
        for word in range(mask.shape[1]):
            mask[b.FOUND, word] = board.section[all_of, word] & desk.suits[ask, word]
        set_weights(board)
        mark[b.MOVED] = 1 if weights_moved(board) else 0
    if reason == WITHIN:
        return STARTS if fits else BUSY
    note(board, at, reason)
    return PASSED_OVER


@routine
def begin(board: Board) -> None:
    """Before the first record: all nodes that are up are left, and no partition has failed."""
    mark = board.mark
    mark[b.BEGINS] = mark[b.AT] = mark[b.DEPTH] = mark[b.FAILURES] = 0
    for section in range(board.part.shape[0]):
        board.part[section, b.FAILED] = board.part[section, b.LOOKED_AT] = 0
    for word in range(board.mask.shape[1]):
        board.mask[b.LEFT, word] = board.mask[b.UP, word]
    mark[b.LEFTS] += 1
    mark[b.ALL_LEFT] = mark[b.LEFTS]


@routine
def go_on(board: Board, desk: Desk) -> int:
    """Go on from the record AT."""
    mark, queue, part = board.mark, board.queue, board.part
    if mark[b.BEGINS] != 0:
        begin(board)
    mark[b.MOVED] = 1 if mark[b.MOVES] != 0 and weights_moved(board) else 0
    while mark[b.AT] < mark[b.RECORDS]:
        at = mark[b.AT]
        row = queue[at, b.ROW]
        section = board.record[row, b.SECTION]
        if queue[at, b.GONE] != 0:
            mark[b.AT] += 1
            continue
        if mark[b.BOUND_DEPTH] >= 0 and mark[b.DEPTH] > mark[b.BOUND_DEPTH]:
            return OVER
        mark[b.DEPTH] += 1
        if mark[b.PART_DEPTH] > 0:
            if part[section, b.LOOKED_AT] >= mark[b.PART_DEPTH]:
                mark[b.AT] += 1
                continue
            part[section, b.LOOKED_AT] += 1
        if part[section, b.FAILED] != 0:
            if mark[b.FAILURES] == part.shape[0]:
                return OVER
            mark[b.AT] += 1
            continue
        what = answer(board, desk, at, row)
        if what == UNCERTAIN:
            return TRY
        if what == STARTS:
            return FITS
        if what == BUSY:
            fail(board, section)
        mark[b.AT] += 1
    return OVER
