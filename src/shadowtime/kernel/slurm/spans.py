"""The map of plans of one backfill pass: intervals with the nodes that are not planned away.

spec: slurm 3.1, 3.4, 3.10, 3.11.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm.board import Board
from shadowtime.kernel.slurm.words import NONE, bits_in


@kernel
def first_after(board: Board, time: int) -> int:
    """The first span that ends after a time."""
    span = board.span
    low, high = 0, board.mark[b.SPANS]
    if span[0, b.END] > time:  # where every first try lies
        return 0
    while low < high:
        middle = (low + high) // 2
        if span[middle, b.END] > time:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def valid_to(board: Board, time: int) -> None:
    """A pass at or after a time to come may compare differently."""
    if time < board.mark[b.VALID]:
        board.mark[b.VALID] = time


@kernel
def more_later(board: Board, base: int, at: int, row: int) -> bool:
    """The span after this one has nodes of ``mask[base]`` that ``mask[row]`` and this lack."""
    free, mask = board.free, board.mask
    for word in range(free.shape[1]):
        lost = ~(mask[row, word] & free[at, word])
        if mask[base, word] & free[at + 1, word] & lost != NONE:
            return True
    return False


@routine
def search(board: Board, base: int, start: int, end: int) -> int:
    """Leave the nodes of ``mask[base]`` that are free in every span of [start, end] in FOUND.

    Returns when to try again (0: never).
    """
    free, mask, span = board.free, board.mask, board.span
    words = free.shape[1]
    for word in range(words):
        mask[b.FOUND, word] = mask[base, word]
    later = 0
    last = board.mark[b.SPANS] - 1
    for at in range(first_after(board, start), last + 1):
        if later == 0 and at < last and more_later(board, base, at, b.FOUND):
            later = span[at, b.END]
        if span[at, b.BEGIN] > end:
            if start <= board.mark[b.NOW]:
                valid_to(board, start + span[at, b.BEGIN] - end)
            if later == 0 and board.mark[b.GOES_ON] != 0 and at + 2 <= last:
                later = span[at + 1, b.END]
            break
        for word in range(words):
            mask[b.FOUND, word] &= free[at, word]
    return later


@routine
def next_try(board: Board, base: int, start: int, end: int) -> int:
    """The answer of :func:`search` alone."""
    free, mask, span = board.free, board.mask, board.span
    words = free.shape[1]
    for word in range(words):
        mask[b.SEARCHED, word] = mask[base, word]
    last = board.mark[b.SPANS] - 1
    for at in range(first_after(board, start), last):
        if more_later(board, base, at, b.SEARCHED):
            return span[at, b.END]
        if span[at, b.BEGIN] > end:
            if start <= board.mark[b.NOW]:
                valid_to(board, start + span[at, b.BEGIN] - end)
            return span[at + 1, b.END] if board.mark[b.GOES_ON] != 0 and at + 2 <= last else 0
        for word in range(words):
            mask[b.SEARCHED, word] &= free[at, word]
    return 0


@routine
def keep_own(board: Board, own: int, start: int) -> int:
    """Leave the nodes of a job's own reservation in BARRED; when it begins if that is later."""
    mask, window, nodes = board.mask, board.window, board.window_nodes
    bound = opened = False
    later = 0
    for at in range(board.mark[b.WINDOWS]):
        if window[at, b.WINDOW_NAME] != own or window[at, b.BINDS] == 0:
            continue
        bound = True
        begin = window[at, b.BEGIN]
        if begin <= start <= window[at, b.END]:
            opened = True
        elif begin > start and (later == 0 or begin < later):
            later = begin
    if not bound:
        return 0
    for word in range(mask.shape[1]):
        kept = NONE
        for at in range(board.mark[b.WINDOWS]):
            if window[at, b.WINDOW_NAME] == own and window[at, b.BEGIN] <= start:
                if start <= window[at, b.END]:
                    kept |= nodes[at, word]
        mask[b.BARRED, word] &= kept
    return 0 if opened else later


@routine
def bar(board: Board, own: int, section: int, start: int, end: int) -> int:
    """Leave BASE without the nodes of reservations in the way of [start, end] in BARRED.

    A job's ``own`` one is not in its way, but all other nodes are, and all before it begins. When
    it begins, or when the first of the others ends; 0 where they have no node of its partition.
    """
    mask, window, nodes = board.mask, board.window, board.window_nodes
    words = mask.shape[1]
    for word in range(words):
        mask[b.BARRED, word] = mask[b.BASE, word]
    first = keep_own(board, own, start)
    here = first > 0
    for at in range(board.mark[b.WINDOWS]):
        if window[at, b.WINDOW_NAME] == own:
            continue
        if window[at, b.BEGIN] >= end or window[at, b.END] <= start:
            continue
        for word in range(words):
            mask[b.BARRED, word] &= ~nodes[at, word]
            here = (
                here or nodes[at, word] & board.section[board.part.shape[0] + section, word] != NONE
            )
        if first == 0 or window[at, b.END] < first:
            first = window[at, b.END]
    return first if here else 0


@routine
def free_until(board: Board, end: int, row: int) -> None:
    """Take away from ``mask[row]`` what is planned away between now and an end."""
    free, mask, span = board.free, board.mask, board.span
    for at in range(first_after(board, board.mark[b.NOW]), board.mark[b.SPANS]):
        if span[at, b.BEGIN] > end:
            valid_to(board, board.mark[b.NOW] + span[at, b.BEGIN] - end)
            break
        for word in range(free.shape[1]):
            mask[row, word] &= free[at, word]


@routine
def count_idle(board: Board) -> None:
    """Leave in ``span`` how many whole nodes stay free from now to the end of each span."""
    mark, free, mask, span = board.mark, board.free, board.mask, board.span
    words = free.shape[1]
    mark[b.SHRUNK], mark[b.SHRUNK_STAMP] = mark[b.VERSION], mark[b.STAMP]
    for word in range(words):
        mask[b.ALL_FREE, word] = board.mask[b.IDLE, word] & board.mask[b.USABLE, word]
    mark[b.FIRST_SPAN] = first_after(board, mark[b.NOW])
    for at in range(mark[b.FIRST_SPAN], mark[b.SPANS]):
        found = 0
        for word in range(words):
            mask[b.ALL_FREE, word] &= free[at, word]
            found += bits_in(mask[b.ALL_FREE, word])
        span[at, b.IDLE_NODES] = found


@kernel
def idle_until(board: Board, end: int) -> int:
    """The most whole nodes that are free from now to an end, by :func:`count_idle`."""
    mark, span = board.mark, board.span
    first, count = mark[b.FIRST_SPAN], mark[b.SPANS]
    low, high = first, count
    while low < high:  # the first span that begins after the end
        middle = (low + high) // 2
        if span[middle, b.BEGIN] > end:
            high = middle
        else:
            low = middle + 1
    if low < count:
        valid_to(board, mark[b.NOW] + span[low, b.BEGIN] - end)
    return span[low - 1, b.IDLE_NODES] if low > first else 1 << 40


@kernel
def is_narrow(board: Board, start: int, end: int, nodes: int) -> bool:
    """Some span of [start, end] has fewer nodes free: :func:`search` would find too few."""
    span = board.span
    for at in range(first_after(board, start), board.mark[b.SPANS]):
        if span[at, b.BEGIN] > end:
            if start <= board.mark[b.NOW]:
                valid_to(board, start + span[at, b.BEGIN] - end)
            return False
        if span[at, b.FREE_NODES] < nodes:
            return True
    return False


@routine
def widest(board: Board) -> int:
    """The most nodes that any span has free; those of each span are left in ``span``."""
    free = board.free
    best = 0
    for at in range(board.mark[b.SPANS]):
        found = 0
        for word in range(free.shape[1]):
            found += bits_in(free[at, word])
        board.span[at, b.FREE_NODES] = found
        best = max(best, found)
    return best


@routine
def has_room(board: Board, nodes: int, limit: int) -> bool:
    """False where no stretch of ``limit`` seconds has ``nodes`` free in each of its spans.

    Plans only take nodes away, so that it is False for the rest of the pass. It stays so while
    no span begins or ends: a stretch that begins now reaches no fewer spans later.
    """
    mark, span = board.mark, board.span
    count = mark[b.SPANS]
    start = -1
    for at in range(count):
        if span[at, b.FREE_NODES] < nodes:
            start = -1
            continue
        if start < 0:
            start = max(mark[b.NOW], span[at, b.BEGIN])
        if at + 1 == count or span[at + 1, b.BEGIN] > start + limit:
            return True
    return False


@kernel
def conflicts(board: Board, begin: int, end: int, row: int) -> bool:
    """True where a node of ``mask[row]`` is planned away somewhere in [begin, end)."""
    free, mask, span = board.free, board.mask, board.span
    for at in range(first_after(board, begin), board.mark[b.SPANS]):
        if span[at, b.BEGIN] >= end:
            break
        for word in range(free.shape[1]):
            if mask[row, word] & ~free[at, word] != NONE:
                return True
    return False


@routine
def split(board: Board, at: int, time: int) -> None:
    """Make two spans of one."""
    mark, free, span = board.mark, board.free, board.span
    words = free.shape[1]
    for place in range(mark[b.SPANS], at + 1, -1):
        span[place, b.BEGIN] = span[place - 1, b.BEGIN]
        span[place, b.END] = span[place - 1, b.END]
        for word in range(words):
            free[place, word] = free[place - 1, word]
    span[at + 1, b.BEGIN] = time
    span[at + 1, b.END] = span[at, b.END]
    for word in range(words):
        free[at + 1, word] = free[at, word]
    span[at, b.END] = time
    mark[b.SPANS] += 1
    mark[b.MADE] += 1


@routine
def plan_away(board: Board, begin: int, end: int, row: int) -> None:
    """Plan the nodes of ``mask[row]`` away during [begin, end), then merge one pair of spans."""
    mark, free, mask, span = board.mark, board.free, board.mask, board.span
    words = free.shape[1]
    mark[b.VERSION] += 1
    begin = max(begin, span[0, b.BEGIN])
    end = max(end, begin + mark[b.STEP])
    if begin > mark[b.NOW]:
        valid_to(board, begin)
    if end > mark[b.NOW]:
        valid_to(board, end)
    if begin >= span[mark[b.SPANS] - 1, b.END]:
        valid_to(board, begin - mark[b.WINDOW])
    elif end >= span[mark[b.SPANS] - 1, b.END]:
        valid_to(board, end - mark[b.WINDOW])
    before = 0
    at = -1
    for place in range(mark[b.SPANS]):
        if span[place, b.END] > begin:
            split(board, place, begin)
            at = place
            break
        if span[place, b.END] == begin:
            at = place
            break
        before = place
    after = -1
    if at >= 0:
        place = at + 1
        while place < mark[b.SPANS]:
            if end < span[place, b.END]:
                split(board, place, end)
            for word in range(words):
                free[place, word] &= ~mask[row, word]
            if end == span[place, b.END]:
                if place + 1 < mark[b.SPANS]:
                    after = place + 1
                break
            place += 1
    place = before
    while place != after and place + 1 < mark[b.SPANS]:
        if equal(board, place):
            span[place, b.END] = span[place + 1, b.END]
            mark[b.SPANS] -= 1
            for behind in range(place + 1, mark[b.SPANS]):
                span[behind, b.BEGIN] = span[behind + 1, b.BEGIN]
                span[behind, b.END] = span[behind + 1, b.END]
                for word in range(words):
                    free[behind, word] = free[behind + 1, word]
            break
        place += 1


@kernel
def equal(board: Board, at: int) -> bool:
    """A span and the next one have the same nodes free."""
    free = board.free
    for word in range(free.shape[1]):
        if free[at, word] != free[at + 1, word]:
            return False
    return True
