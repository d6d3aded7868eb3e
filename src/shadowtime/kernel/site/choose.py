"""Which nodes a shape is given: first fit, best fit, pack, spread, Slurm's sets, a user's score.

A place function of the user's own is asked about all nodes with room in one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.record import NODE_WORDS, OFFERS_FROM
from shadowtime.kernel.registers import FAILED, NOW
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.neighbours import take_row, take_sets
from shadowtime.kernel.site.room import holds, room_at
from shadowtime.kernel.site.steps import current
from shadowtime.kernel.slots import PLACE, SLOT_SHIFT

if TYPE_CHECKING:
    from shadowtime.kernel.state import State


class Scoring(NamedTuple):
    """What place functions work with."""

    pointer: Any
    fact: Any  # int64[n, FACTS]
    memory: Any  # float64[rows, numbers]
    series: Any  # float64[words]: kernel/curve.py
    offers: Any  # int64[OFFERS_FROM + NODE_WORDS * N]: kernel/record.py
    answer: Any  # float64[N]: scores of the nodes that were asked about
    score: Any  # float64[N]: by place of the mask


@routine
def fill_scores(state: State, ground: sf.Ground, job: int, shape: int, start: int) -> None:
    """Ask the function about every node with room; the first failure of a run is noted."""
    if state.reg[FAILED] >= 0:
        return  # what was asked then is still needed, for the message
    own = ground.own
    resources = ground.step.shape[1] - sf.LEVEL
    first = ground.shape[shape, sf.MASK_FROM]
    count = 0
    for place in range(ground.shape[shape, sf.MASK_COUNT]):
        if ground.scratch[sf.ROOM, place] <= 0:
            continue
        node = ground.mask[first + place]
        at = OFFERS_FROM + NODE_WORDS * count
        own.offers[at] = ground.node[node, sf.INDEX]
        own.offers[at + 1] = ground.node[node, sf.WEIGHT]
        own.offers[at + 2] = ground.scratch[sf.ROOM, place]
        own.offers[at + 3] = start
        step = ground.scratch[sf.BEST, place]
        for k in range(3):
            column = 0
            if k > 0:
                column = ground.mark[sf.MEMORY] if k == 1 else ground.mark[sf.GPUS]
            counted = column >= 0
            own.offers[at + 4 + k] = (
                ground.node[node, sf.FREE + resources + column] if counted else -1
            )
            own.offers[at + 7 + k] = ground.step[step, sf.LEVEL + column] if counted else -1
        count += 1
    own.offers[0] = job
    offers = own.offers[: OFFERS_FROM + NODE_WORDS * count]
    now, out = state.reg[NOW], own.answer[:count]
    failed = own.pointer(PLACE, now, state.job, own.fact, offers, own.memory, own.series, out)
    if failed >= 0:
        own.offers[1] = failed
        state.reg[FAILED] = PLACE << SLOT_SHIFT | job
    count = 0
    for place in range(ground.shape[shape, sf.MASK_COUNT]):
        if ground.scratch[sf.ROOM, place] > 0:
            own.score[place] = own.answer[count]
            count += 1


# Features with counts: ``count[row, s]`` is how many nodes a set ``s`` of the counts asks for
# together; ``kind[row, node]`` is which counts a node satisfies, as bits. By Hall's theorem the
# nodes used so far lack the most that any set of counts still asks for beyond the nodes that
# satisfy one of them (``scratch[HITS]``).


@kernel
def use_none(ground: sf.Ground) -> None:
    """No node is used yet."""
    for one in range(sf.SETS):
        ground.scratch[sf.HITS, one] = 0


@kernel
def use(ground: sf.Ground, row: int, node: int) -> None:
    """One more node is used."""
    for one in range(sf.SETS):
        if ground.kind[row, node] & one != 0:
            ground.scratch[sf.HITS, one] += 1


@kernel
def missing(ground: sf.Ground, row: int) -> int:
    """Nodes that are still needed at the least."""
    worst = 0
    for one in range(sf.SETS):
        worst = max(worst, ground.count[row, one] - ground.scratch[sf.HITS, one])
    return worst


@kernel
def missing_with(ground: sf.Ground, row: int, node: int) -> int:
    """Nodes that are still needed at the least, once this one is used too."""
    worst = 0
    for one in range(sf.SETS):
        lack = ground.count[row, one] - ground.scratch[sf.HITS, one]
        if ground.kind[row, node] & one != 0:
            lack -= 1
        worst = max(worst, lack)
    return worst


LARGEST = 9
"""Order: nodes that hold most first, when the bound on nodes makes a rule's own order fail."""


@routine
def choose(state: State, ground: sf.Ground, job: int, shape: int, start: int, length: int) -> bool:
    """Find tasks on named nodes for [start, start + length); False where the shape does not fit."""
    now = state.reg[NOW]
    scratch = ground.scratch
    first = ground.shape[shape, sf.MASK_FROM]
    size = ground.shape[shape, sf.MASK_COUNT]
    wanted = ground.shape[shape, sf.WANTED]
    count = 0
    total = 0
    for at in range(size):
        node = ground.mask[first + at]
        tasks = 0
        if start > now or holds(ground, shape, node, ground.node, node, sf.FREE) > 0:
            tasks = room_at(ground, now, shape, node, start, length)
        scratch[sf.ROOM, at] = tasks
        if tasks > 0:
            count += 1
            total += tasks
        elif at < wanted:
            return False
    if count < ground.shape[shape, sf.LEAST] or total < ground.shape[shape, sf.TASKS]:
        return False
    return settle(state, ground, job, shape, start)


@routine
def settle(state: State, ground: sf.Ground, job: int, shape: int, start: int) -> bool:
    """Choose among the nodes whose room is known."""
    if ground.shape[shape, sf.IN_A_ROW] != 0:
        return take_row(ground, shape)
    rule = ground.mark[sf.PLACE_RULE]
    if rule == sf.SLURM and ground.shape[shape, sf.COUNTS] >= 0:
        rule = sf.number(sf.FIRST_FIT)
    if rule != sf.FIRST_FIT:
        note_steps(ground, state.reg[NOW], shape, start)
    if rule == sf.SCORE:
        fill_scores(state, ground, job, shape, start)
    if rule == sf.BEST_FIT or rule == sf.PACK:
        if alone(ground, shape, rule):
            return True
    if rule == sf.SPREAD:
        if deal(ground, shape):
            return True
    elif rule == sf.SLURM:
        if take_sets(ground, shape):
            return True
    elif walk(ground, shape, rule):
        return True
    return walk(ground, shape, sf.number(LARGEST))


@kernel
def note_steps(ground: sf.Ground, now: int, shape: int, start: int) -> None:
    """The step in force at the start on every node with room."""
    first = ground.shape[shape, sf.MASK_FROM]
    for place in range(ground.shape[shape, sf.MASK_COUNT]):
        if ground.scratch[sf.ROOM, place] > 0:
            at = current(ground, ground.mask[first + place], now)
            following = ground.step[at, sf.NEXT]
            while following >= 0 and ground.step[following, sf.TIME] <= start:
                at = following
                following = ground.step[at, sf.NEXT]
            ground.scratch[sf.BEST, place] = at


@kernel
def ahead(ground: sf.Ground, shape: int, rule: int, a: int, b: int) -> bool:
    """True if place ``a`` of the mask comes before place ``b`` by a rule."""
    scratch = ground.scratch
    wanted = ground.shape[shape, sf.WANTED]
    if (a < wanted) != (b < wanted):
        return bool(a < wanted)
    if rule == sf.SCORE:
        if ground.own.score[a] != ground.own.score[b]:
            return bool(ground.own.score[a] > ground.own.score[b])
        return a < b
    if rule != LARGEST:
        first = ground.shape[shape, sf.MASK_FROM]
        one = ground.node[ground.mask[first + a], sf.WEIGHT]
        other = ground.node[ground.mask[first + b], sf.WEIGHT]
        if one != other:
            return bool(one < other)
    if rule == LARGEST or rule == sf.PACK:
        if scratch[sf.ROOM, a] != scratch[sf.ROOM, b]:
            return bool(scratch[sf.ROOM, a] > scratch[sf.ROOM, b])
    elif ground.shape[shape, sf.EXCLUSIVE] == 0:
        one, other = scratch[sf.BEST, a], scratch[sf.BEST, b]
        if rule == sf.SPREAD:
            if ground.step[one, sf.LEVEL] != ground.step[other, sf.LEVEL]:
                return bool(ground.step[one, sf.LEVEL] > ground.step[other, sf.LEVEL])
        else:
            for k in range(sf.LEVEL, ground.step.shape[1]):
                if ground.step[one, k] != ground.step[other, k]:
                    return bool(ground.step[one, k] < ground.step[other, k])
    return a < b


@kernel
def alone(ground: sf.Ground, shape: int, rule: int) -> bool:
    """One node that holds all tasks: best fit's by what is free, pack's the first."""
    wanted = ground.shape[shape, sf.WANTED]
    if ground.shape[shape, sf.LEAST] > 1 or wanted > 1:
        return False
    tasks = ground.shape[shape, sf.TASKS]
    scratch = ground.scratch
    best = -1
    counts = ground.shape[shape, sf.COUNTS]
    if counts >= 0:
        use_none(ground)
    for at in range(1 if wanted == 1 else ground.shape[shape, sf.MASK_COUNT]):
        if scratch[sf.ROOM, at] < tasks:
            continue
        if counts >= 0:
            node = ground.mask[ground.shape[shape, sf.MASK_FROM] + at]
            if missing_with(ground, counts, node) > 0:
                continue
        if best < 0:
            best = at
        elif ahead(ground, shape, rule, at, best):
            best = at  # pack: every node here holds exactly all tasks, so the lightest is taken
    if best < 0:
        return False
    scratch[sf.CHOSEN, 0] = ground.mask[ground.shape[shape, sf.MASK_FROM] + best]
    scratch[sf.GIVEN, 0] = tasks
    ground.mark[sf.PLACED] = 1
    return True


@routine
def sink(ground: sf.Ground, shape: int, rule: int, size: int, at: int) -> None:
    """Let a place sink in the heap of places."""
    heap = ground.scratch[sf.ORDER]
    place = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and ahead(ground, shape, rule, heap[child + 1], heap[child]):
            child += 1
        if ahead(ground, shape, rule, place, heap[child]):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = place


@routine
def arrange(ground: sf.Ground, shape: int, rule: int) -> int:
    """Put the places with room into a heap by a rule; first fit's order is the mask's own."""
    size = 0
    for at in range(ground.shape[shape, sf.MASK_COUNT]):
        if ground.scratch[sf.ROOM, at] > 0:
            ground.scratch[sf.ORDER, size] = at
            size += 1
    if rule != sf.FIRST_FIT:
        for at in range(size // 2 - 1, -1, -1):
            sink(ground, shape, rule, size, at)
    return size


@kernel
def taken_out(ground: sf.Ground, shape: int, rule: int, size: int) -> int:
    """Remove the first place of the heap; returns the new size."""
    size -= 1
    if size > 0:
        ground.scratch[sf.ORDER, 0] = ground.scratch[sf.ORDER, size]
        sink(ground, shape, rule, size, sf.number(0))
    return size


@routine
def walk(ground: sf.Ground, shape: int, rule: int) -> bool:
    """Give each node all it holds, in order, but keep one task for each node still due.

    A node is skipped if the nodes or tasks left could not satisfy the counts of features.
    """
    scratch = ground.scratch
    first = ground.shape[shape, sf.MASK_FROM]
    size = arrange(ground, shape, rule)
    left = ground.shape[shape, sf.TASKS]
    least, most = ground.shape[shape, sf.LEAST], ground.shape[shape, sf.MOST]
    counts = ground.shape[shape, sf.COUNTS]
    if counts >= 0:
        use_none(ground)
    count = 0
    at = 0
    while size > at and count < most and (left > 0 or count < least):
        if rule == sf.FIRST_FIT:
            place = scratch[sf.ORDER, at]
            at += 1
        else:
            place = scratch[sf.ORDER, 0]
            size = taken_out(ground, shape, rule, size)
        due = max(0, least - count - 1)
        if counts >= 0:
            still = missing_with(ground, counts, ground.mask[first + place])
            due = max(due, still)
            if count + 1 + still > most or due >= left:
                continue
            use(ground, counts, ground.mask[first + place])
        give = min(scratch[sf.ROOM, place], left - due)
        scratch[sf.CHOSEN, count] = ground.mask[first + place]
        scratch[sf.GIVEN, count] = give
        left -= give
        count += 1
    ground.mark[sf.PLACED] = count
    return left == 0 and count >= least


@routine
def deal(ground: sf.Ground, shape: int) -> bool:
    """Tasks dealt out evenly to as many nodes as allowed, those with most free cpus first."""
    scratch = ground.scratch
    first = ground.shape[shape, sf.MASK_FROM]
    tasks = ground.shape[shape, sf.TASKS]
    rule = sf.number(sf.SPREAD)
    size = arrange(ground, shape, rule)
    most = min(ground.shape[shape, sf.MOST], tasks)
    counts = ground.shape[shape, sf.COUNTS]
    if counts >= 0:
        use_none(ground)
    count = 0
    total = 0
    while size > 0 and count < most:
        place = scratch[sf.ORDER, 0]
        size = taken_out(ground, shape, rule, size)
        if counts >= 0:
            if count + 1 + missing_with(ground, counts, ground.mask[first + place]) > most:
                continue
            use(ground, counts, ground.mask[first + place])
        scratch[sf.CHOSEN, count] = place
        scratch[sf.GIVEN, count] = 0
        total += scratch[sf.ROOM, place]
        count += 1
    if count < ground.shape[shape, sf.LEAST] or total < tasks:
        return False
    if counts >= 0 and missing(ground, counts) > 0:
        return False
    left = tasks
    while left > 0:
        for at in range(count):
            if left > 0 and scratch[sf.GIVEN, at] < scratch[sf.ROOM, scratch[sf.CHOSEN, at]]:
                scratch[sf.GIVEN, at] += 1
                left -= 1
    for at in range(count):
        scratch[sf.CHOSEN, at] = ground.mask[first + scratch[sf.CHOSEN, at]]
    ground.mark[sf.PLACED] = count
    return True
