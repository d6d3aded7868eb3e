"""The will-run test: a start now, with preemptable jobs gone, or after groups of running jobs.

spec: slurm 3.6, 3.7.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.choose import choose
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.ends import able_after, end_of, state_after, touches
from shadowtime.kernel.slurm.limits import leaves_weights
from shadowtime.kernel.slurm.offers import could_do, lacks_required
from shadowtime.kernel.slurm.rows import fits_in_rows
from shadowtime.kernel.slurm.spans import valid_to
from shadowtime.kernel.slurm.whole import choose_whole
from shadowtime.kernel.slurm.words import NONE, bits_in, has

FIRST_WIDTH = 30
"""Seconds: the width of the first group."""
GROUP_MOST = 200
"""Jobs removed in a group before Slurm skips its test."""
COMPLETING_WEIGHT = 256
"""By this much later come nodes that still complete an end."""
NO_BOUND = 1 << 60
NEVER = -1
"""No end lets the job start."""


@kernel
def is_fresh(board: Board, completing: bool) -> bool:
    """A test sets scheduling weights anew, in ``fresh_weight``; else those left by others count."""
    mark = board.mark
    return mark[b.FRESH] != 0 and (mark[b.GPUS] != 0 or completing)  # else weights never move


@routine
def set_fresh_weights(board: Board, completing: bool) -> None:
    """What scheduling weights are set to before the tests for now, and before those for later.

    ``completing``: nodes of FOUND that still complete come last of equal Weight.
    """
    if not is_fresh(board, completing):
        return
    for at in range(board.node.shape[0]):
        weight = board.node[at, b.BASE_WEIGHT]
        if completing and has(board.mask, b.COMPLETING, at) and has(board.mask, b.FOUND, at):
            weight += COMPLETING_WEIGHT
        board.fresh_weight[at] = weight


@routine
def fits_after(
    board: Board, desk: Desk, ask: int, section: int, ends: int, now: bool, completing: bool
) -> bool:
    """The job fits on FOUND after this number of ends; its nodes are left in the desk's CHOSEN.

    Those that would be preempted are gone, but where the test is for ``now``.
    """
    mark, mask = board.mark, board.mask
    for word in range(mask.shape[1]):
        desk.mask[d.TRIED, word] = mask[b.FOUND, word]
    weight = board.weight
    if is_fresh(board, completing):
        weight = board.fresh_weight
    if mark[b.GANG] != 0:
        return fits_in_rows(board, desk, weight, ask, section, ends, not now)
    if (
        mark[b.SHORTCUTS] != 0
        and not leaves_weights(board, desk, ask)
        and (now or mark[b.CANDIDATES] == 0)
    ):
        count = able_after(board, desk, ask, ends)
        if not could_do(desk, ask, count) or lacks_required(desk, ask):
            return False
        if desk.ask[ask, d.WHOLE] != 0 and not completing:
            return choose_whole(desk, ask)
    if now or (ends == 0 and mark[b.CANDIDATES] == 0):
        return choose(desk, board.now, weight, ask)
    state_after(board, desk, ends)
    return choose(desk, board.table, weight, ask)


@routine
def will_run(
    board: Board, desk: Desk, row: int, ask: int, first: int, now_only: bool, start: int, until: int
) -> int:
    """When the job could start on FOUND, by the ends of running jobs; NEVER: it could not.

    It is known not to fit before ``first`` ends. The try is at ``start``, the next one at
    ``until`` (0: none). Where tests leave weights behind, one that fails is made all the same if no
    later one is: each sets those of all nodes that the tests before it could, as more is free. The
    order in which single nodes are tried is that of the weights before a test: all are made.
    """
    mark = board.mark
    if desk.rule[d.FIRST_SINGLE] != 0 and desk.ask[ask, d.SINGLE] != 0:
        first = 0 if desk.ask[ask, d.ASK_GPUS] > 0 else first
    now, count = mark[b.NOW], mark[b.COUNT]
    section = board.record[row, b.SECTION]
    completing = False
    if mark[b.FRESH] != 0:
        for word in range(board.mask.shape[1]):
            if board.mask[b.COMPLETING, word] & board.mask[b.FOUND, word] != NONE:
                completing = True
    at_now, before = True, 0
    if mark[b.BOUNDED] != 0:
        at_now = start <= now
        last_second = start if mark[b.AT_TRY] != 0 else start - 1
        while before < count and end_of(board, before) <= last_second:
            before += 1
    set_fresh_weights(board, completing)
    if at_now and first == 0 and fits_after(board, desk, ask, section, 0, True, completing):
        return now
    if completing:
        set_fresh_weights(board, False)
    if mark[b.CANDIDATES] != 0 or before > 0 or completing or not at_now:
        if before >= first and fits_after(board, desk, ask, section, before, False, False):
            return now
    if now_only:
        if first > before and leaves_weights(board, desk, ask):
            fits_after(board, desk, ask, section, before, False, False)
        return NEVER
    return after_groups(board, desk, row, ask, first, before, until)


@kernel
def some_end(board: Board, place: int, by: int, licences: int) -> bool:
    """From a place on, some job ends by then on nodes of FOUND, or with one of these licences."""
    job = board.job
    for at in range(place, board.mark[b.COUNT]):
        one = job[at, b.ORDER]
        if job[one, b.JOB_END] > by:
            return False
        if touches(board, one, b.FOUND) or job[one, b.JOB_LICENCES] & licences != 0:
            return True
    return False


@kernel
def last_within(board: Board, time: int) -> int:
    """The last place whose job ends by a time; -1: none."""
    low, high = 0, board.mark[b.COUNT]
    while low < high:
        middle = (low + high) // 2
        if end_of(board, middle) > time:
            high = middle
        else:
            low = middle + 1
    return low - 1


@routine
def after_groups(
    board: Board, desk: Desk, row: int, ask: int, first: int, before: int, until: int
) -> int:
    """When the job could start after some group of running jobs that end together."""
    mark, job = board.mark, board.job
    now, count, linear = mark[b.NOW], mark[b.COUNT], mark[b.LINEAR]
    licences = board.record[row, b.LICENCES] if mark[b.HOLDERS_END] != 0 else 0
    bounded = mark[b.BOUNDED] != 0 and until > 0
    moves = leaves_weights(board, desk, ask)
    # A start after the next try is not looked for: that try would take its place.
    pruned = mark[b.BOUNDED] == 0 and until > 0 and mark[b.SHORTCUTS] != 0 and not moves
    by = until if bounded or pruned else NO_BOUND
    since = before if moves else max(first - 1, before)
    skipped = before if moves and first > before else -1
    if mark[b.SHORTCUTS] != 0 and skipped < 0 and not some_end(board, since, by, licences):
        return NEVER
    width = FIRST_WIDTH
    group_end = 0
    at = before
    more = True
    while more:
        last = -1
        removed = 0
        overfull = False
        if mark[b.SHORTCUTS] != 0 and group_end > 0:
            # The group ends with the first job on FOUND from ``beyond`` on, if there is one.
            beyond = last_within(board, group_end + width)
            if beyond + 1 < count:
                if pruned and end_of(board, beyond) > until:
                    if some_end(board, beyond, NO_BOUND, licences):
                        return NEVER
                elif beyond - at <= GROUP_MOST and some_end(board, beyond, by, licences):
                    at = beyond
        while True:
            if at >= count or (bounded and end_of(board, at) > until):
                more = False
                break
            this = at
            place = job[this, b.ORDER]
            at += 1
            if pruned and last < 0 and job[place, b.JOB_END] > until:
                return NEVER
            if not touches(board, place, b.FOUND) and (job[place, b.JOB_LICENCES] & licences == 0):
                continue
            if group_end == 0:
                group_end = job[place, b.JOB_END] + width - job[place, b.JOB_END] % width
            last = this
            if at >= count:
                more = False
                break
            if end_of(board, at) > group_end + width:
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
            if at >= count or end_of(board, at) <= group_end + width:
                break
        if pruned and end_of(board, last) > until:
            return NEVER
        if last + 1 < first:
            skipped = last + 1
            continue
        desk.need[d.BUSY_FIRST] = mark[b.BUSY_NODES]
        skipped = -1
        found = fits_after(board, desk, ask, board.record[row, b.SECTION], last + 1, False, False)
        desk.need[d.BUSY_FIRST] = 0
        if found:
            start = end_before(board, desk, last, before)
            if start > now:
                return start
            valid_to(board, now)  # such a start moves with the clock
            return max(start + mark[b.KILL_WAIT], now + 1)
    if moves and skipped >= 0:
        fits_after(board, desk, ask, board.record[row, b.SECTION], skipped, False, False)
    return NEVER


@routine
def end_before(board: Board, desk: Desk, last: int, before: int) -> int:
    """When the plan starts: with the end of the group, or of the last job on its nodes."""
    if board.mark[b.RELEVANT] != 0:
        for word in range(board.mask.shape[1]):
            board.mask[b.SEARCHED, word] = desk.mask[d.CHOSEN, word]
        for at in range(last, before - 1, -1):
            if touches(board, board.job[at, b.ORDER], b.SEARCHED):
                return end_of(board, at)
    return end_of(board, last)


@kernel
def tested_as(desk: Desk, ask: int) -> int:
    """The row that will-run tests take: some releases count no whole nodes (spec: slurm 4.15)."""
    shared = desk.ask[ask, d.SHARED]
    return shared if shared >= 0 else ask


@routine
def will_run_somehow(
    board: Board, desk: Desk, row: int, first: int, now_only: bool, start: int, until: int
) -> int:
    """As :func:`will_run`, but for jobs without -C first on nodes of their own (spec: slurm 3.15).

    Where the tasks of a node are not bounded; that answer is taken if it is for now.
    """
    ask = tested_as(desk, board.record[row, b.ASK])
    alone = desk.ask[ask, d.ALONE]
    if alone >= 0:
        found = will_run(board, desk, row, alone, first, now_only, start, until)
        if found != NEVER and found <= board.mark[b.NOW]:
            return found
    return will_run(board, desk, row, ask, first, now_only, start, until)


@routine
def keep_choice(board: Board, desk: Desk, ask: int) -> None:
    """What the desk has chosen is the choice."""
    for word in range(board.mask.shape[1]):
        board.mask[b.CHOSEN, word] = desk.mask[d.CHOSEN, word]
    if desk.ask[ask, d.WHOLE] != 0:
        return
    for at in range(board.node.shape[0]):
        board.node[at, b.GIVEN] = desk.spot[at, d.GIVEN]


@routine
def part_runs(
    board: Board, desk: Desk, row: int, ask: int, now_only: bool, start: int, until: int
) -> int:
    """As :func:`will_run` for a part of a job, whose nodes are TAKEN then."""
    nodes = 0
    for word in range(board.mask.shape[1]):
        nodes += bits_in(board.mask[b.FOUND, word])
    if nodes < desk.ask[ask, d.MIN_NODES]:
        return NEVER
    found = will_run(board, desk, row, ask, 0, now_only, start, until)
    if found != NEVER:
        keep_choice(board, desk, ask)
        for word in range(board.mask.shape[1]):
            board.mask[b.TAKEN, word] |= desk.mask[d.CHOSEN, word]
    return found


@routine
def in_parts(
    board: Board, desk: Desk, row: int, ask: int, now_only: bool, start: int, until: int
) -> int:
    """When a job with counts of features could start: the last of its parts decides.

    Each part is tested by itself, on nodes that no earlier one has (spec: slurm 12.7).
    """
    mask, asks = board.mask, desk.ask
    if board.mark[b.BOUNDED] == 0:
        until = 0  # whether a part finds nodes at all decides what the others are asked
    for word in range(mask.shape[1]):
        mask[b.ROOM, word] = mask[b.FOUND, word]
        mask[b.TAKEN, word] = NONE
    first = asks[ask, d.FIRST_EITHER]
    last = found = 0
    for one in range(first, first + asks[ask, d.PARTS]):
        for word in range(mask.shape[1]):
            left = mask[b.ROOM, word] & ~mask[b.TAKEN, word]
            mask[b.FOUND, word] = left & desk.either[one, word]
        found = part_runs(board, desk, row, desk.part[one], now_only, start, until)
        if found == NEVER:
            break
        last = max(last, found)
    taken = 0
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] = mask[b.ROOM, word] & ~mask[b.TAKEN, word]
        taken += bits_in(mask[b.TAKEN, word])
    if 0 < taken < asks[ask, d.WANTED]:  # whether all parts have some or not
        rest = asks[ask, d.REST]
        for column in (d.MIN_NODES, d.MAX_NODES, d.WANTED):
            asks[rest, column] = max(1, asks[ask, column] - taken)
        found = part_runs(board, desk, row, rest, now_only, start, until)
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] = mask[b.ROOM, word]
        mask[b.CHOSEN, word] = mask[b.TAKEN, word]
    return NEVER if found == NEVER else last


@routine
def soonest(
    board: Board, desk: Desk, row: int, first: int, now_only: bool, start: int, until: int
) -> int:
    """When the job could start on FOUND, in the best of its alternatives, and where: in CHOSEN."""
    mask = board.mask
    ask = tested_as(desk, board.record[row, b.ASK])
    if desk.ask[ask, d.PARTS] != 0:
        return in_parts(board, desk, row, ask, now_only, start, until)
    count = desk.ask[ask, d.EITHERS]
    if count == 0:
        found = will_run_somehow(board, desk, row, first, now_only, start, until)
        if found != NEVER:
            keep_choice(board, desk, ask)
        return found
    best = NEVER
    for word in range(mask.shape[1]):
        mask[b.ROOM, word] = mask[b.FOUND, word]
    for one in range(desk.ask[ask, d.FIRST_EITHER], desk.ask[ask, d.FIRST_EITHER] + count):
        nodes = 0
        for word in range(mask.shape[1]):
            mask[b.FOUND, word] = mask[b.ROOM, word] & desk.either[one, word]
            nodes += bits_in(mask[b.FOUND, word])
        if nodes < desk.ask[ask, d.MIN_NODES]:
            continue
        found = will_run_somehow(board, desk, row, first, now_only, start, until)
        if found != NEVER and (best == NEVER or found < best):
            best = found
            keep_choice(board, desk, ask)
    for word in range(mask.shape[1]):
        mask[b.FOUND, word] = mask[b.ROOM, word]
    return best
