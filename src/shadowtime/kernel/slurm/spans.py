"""The map of plans on arrays: slurm/planmap.py, span by span."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm.board import (
    ALL_FREE,
    BEGIN,
    END,
    FIRST_SPAN,
    FOUND,
    IDLE,
    MADE,
    NOW,
    SEARCHED,
    SHRUNK,
    SHRUNK_STAMP,
    SPANS,
    STAMP,
    STEP,
    USABLE,
    VALID,
    VERSION,
    WINDOW,
)
from shadowtime.kernel.slurm.words import NONE, bits_in


@kernel
def first_after(board: Any, time: int) -> int:
    """The first span that ends after a time."""
    span = board.span
    low, high = 0, board.mark[SPANS]
    if span[0, END] > time:  # where every first try lies
        return 0
    while low < high:
        middle = (low + high) // 2
        if span[middle, END] > time:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def valid_to(board: Any, time: int) -> None:
    """A pass at or after a time to come may compare differently."""
    if time < board.mark[VALID]:
        board.mark[VALID] = time


@kernel
def more_later(board: Any, section: int, at: int, row: int) -> bool:
    """The span after this one has nodes of the partition that ``mask[row]`` and this lack."""
    base, free, mask = board.section, board.free, board.mask
    for word in range(free.shape[1]):
        lost = ~(mask[row, word] & free[at, word])
        if base[section, word] & free[at + 1, word] & lost != NONE:
            return True
    return False


@kernel
def search(board: Any, section: int, start: int, end: int) -> int:
    """Leave the nodes free in every span of [start, end] in FOUND; when to try again (0: never)."""
    base, free, mask, span = board.section, board.free, board.mask, board.span
    words = free.shape[1]
    for word in range(words):
        mask[FOUND, word] = base[section, word]
    later = 0
    last = board.mark[SPANS] - 1
    for at in range(first_after(board, start), last + 1):
        if later == 0 and at < last and more_later(board, section, at, FOUND):
            later = span[at, END]
        if span[at, BEGIN] > end:
            if start <= board.mark[NOW]:
                valid_to(board, start + span[at, BEGIN] - end)
            break
        for word in range(words):
            mask[FOUND, word] &= free[at, word]
    return later


@kernel
def next_try(board: Any, section: int, start: int, end: int) -> int:
    """The answer of :func:`search` alone."""
    base, free, mask, span = board.section, board.free, board.mask, board.span
    words = free.shape[1]
    for word in range(words):
        mask[SEARCHED, word] = base[section, word]
    last = board.mark[SPANS] - 1
    for at in range(first_after(board, start), last):
        if more_later(board, section, at, SEARCHED):
            return span[at, END]
        if span[at, BEGIN] > end:
            if start <= board.mark[NOW]:
                valid_to(board, start + span[at, BEGIN] - end)
            break
        for word in range(words):
            mask[SEARCHED, word] &= free[at, word]
    return 0


@routine
def free_until(board: Any, end: int, row: int) -> None:
    """Take away from ``mask[row]`` what is planned away between now and an end."""
    free, mask, span = board.free, board.mask, board.span
    for at in range(first_after(board, board.mark[NOW]), board.mark[SPANS]):
        if span[at, BEGIN] > end:
            valid_to(board, board.mark[NOW] + span[at, BEGIN] - end)
            break
        for word in range(free.shape[1]):
            mask[row, word] &= free[at, word]


@routine
def count_idle(board: Any) -> None:
    """Leave in ``shrink`` how many whole nodes stay free from now to the end of each span."""
    mark, free, mask, shrink = board.mark, board.free, board.mask, board.shrink
    words = free.shape[1]
    mark[SHRUNK], mark[SHRUNK_STAMP] = mark[VERSION], mark[STAMP]
    for word in range(words):
        mask[ALL_FREE, word] = board.here[IDLE, word] & board.here[USABLE, word]
    mark[FIRST_SPAN] = first_after(board, mark[NOW])
    for at in range(mark[FIRST_SPAN], mark[SPANS]):
        found = 0
        for word in range(words):
            mask[ALL_FREE, word] &= free[at, word]
            found += bits_in(mask[ALL_FREE, word])
        shrink[at] = found


@kernel
def idle_until(board: Any, end: int) -> int:
    """The most whole nodes that are free from now to an end, by :func:`count_idle`."""
    mark, shrink, span = board.mark, board.shrink, board.span
    first, count = mark[FIRST_SPAN], mark[SPANS]
    low, high = first, count
    while low < high:  # the first span that begins after the end
        middle = (low + high) // 2
        if span[middle, BEGIN] > end:
            high = middle
        else:
            low = middle + 1
    if low < count:
        valid_to(board, mark[NOW] + span[low, BEGIN] - end)
    return shrink[low - 1] if low > first else 1 << 40


@kernel
def is_narrow(board: Any, start: int, end: int, nodes: int) -> bool:
    """Some span of [start, end] has fewer nodes free: :func:`search` would find too few."""
    span, room = board.span, board.room
    for at in range(first_after(board, start), board.mark[SPANS]):
        if span[at, BEGIN] > end:
            if start <= board.mark[NOW]:
                valid_to(board, start + span[at, BEGIN] - end)
            return False
        if room[at] < nodes:
            return True
    return False


@routine
def widest(board: Any) -> int:
    """The most nodes that any span has free; those of each span are left in ``room``."""
    free = board.free
    best = 0
    for at in range(board.mark[SPANS]):
        found = 0
        for word in range(free.shape[1]):
            found += bits_in(free[at, word])
        board.room[at] = found
        best = max(best, found)
    return best


@routine
def has_room(board: Any, nodes: int, limit: int) -> bool:
    """False where no stretch of ``limit`` seconds has ``nodes`` free in each of its spans.

    Plans only take nodes away, so that it is False for the rest of the pass. It stays so while
    no span begins or ends: a stretch that begins now reaches no fewer spans later.
    """
    mark, span, room = board.mark, board.span, board.room
    count = mark[SPANS]
    start = -1
    for at in range(count):
        if room[at] < nodes:
            start = -1
            continue
        if start < 0:
            start = max(mark[NOW], span[at, BEGIN])
        if at + 1 == count or span[at + 1, BEGIN] > start + limit:
            return True
    return False


@kernel
def conflicts(board: Any, begin: int, end: int, row: int) -> bool:
    """True where a node of ``mask[row]`` is planned away somewhere in [begin, end)."""
    free, mask, span = board.free, board.mask, board.span
    for at in range(first_after(board, begin), board.mark[SPANS]):
        if span[at, BEGIN] >= end:
            break
        for word in range(free.shape[1]):
            if mask[row, word] & ~free[at, word] != NONE:
                return True
    return False


@routine
def split(board: Any, at: int, time: int) -> None:
    """Make two spans of one."""
    mark, free, span = board.mark, board.free, board.span
    words = free.shape[1]
    for place in range(mark[SPANS], at + 1, -1):
        span[place, BEGIN] = span[place - 1, BEGIN]
        span[place, END] = span[place - 1, END]
        for word in range(words):
            free[place, word] = free[place - 1, word]
    span[at + 1, BEGIN] = time
    span[at + 1, END] = span[at, END]
    for word in range(words):
        free[at + 1, word] = free[at, word]
    span[at, END] = time
    mark[SPANS] += 1
    mark[MADE] += 1


@routine
def plan_away(board: Any, begin: int, end: int, row: int) -> None:
    """Plan the nodes of ``mask[row]`` away during [begin, end), then merge one pair of spans."""
    mark, free, mask, span = board.mark, board.free, board.mask, board.span
    words = free.shape[1]
    mark[VERSION] += 1
    begin = max(begin, span[0, BEGIN])
    end = max(end, begin + mark[STEP])
    if begin > mark[NOW]:
        valid_to(board, begin)
    if end > mark[NOW]:
        valid_to(board, end)
    if begin >= span[mark[SPANS] - 1, END]:
        valid_to(board, begin - mark[WINDOW])
    elif end >= span[mark[SPANS] - 1, END]:
        valid_to(board, end - mark[WINDOW])
    before = 0
    at = -1
    for place in range(mark[SPANS]):
        if span[place, END] > begin:
            split(board, place, begin)
            at = place
            break
        if span[place, END] == begin:
            at = place
            break
        before = place
    after = -1
    if at >= 0:
        place = at + 1
        while place < mark[SPANS]:
            if end < span[place, END]:
                split(board, place, end)
            for word in range(words):
                free[place, word] &= ~mask[row, word]
            if end == span[place, END]:
                if place + 1 < mark[SPANS]:
                    after = place + 1
                break
            place += 1
    place = before
    while place != after and place + 1 < mark[SPANS]:
        if equal(board, place):
            span[place, END] = span[place + 1, END]
            mark[SPANS] -= 1
            for behind in range(place + 1, mark[SPANS]):
                span[behind, BEGIN] = span[behind + 1, BEGIN]
                span[behind, END] = span[behind + 1, END]
                for word in range(words):
                    free[behind, word] = free[behind + 1, word]
            break
        place += 1


@kernel
def equal(board: Any, at: int) -> bool:
    """A span and the next one have the same nodes free."""
    free = board.free
    for word in range(free.shape[1]):
        if free[at, word] != free[at + 1, word]:
            return False
    return True
