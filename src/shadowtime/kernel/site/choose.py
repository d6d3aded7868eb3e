"""Which nodes a shape is given: first fit, best fit, pack, spread, Slurm's sets of neighbours."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.site.fields import (
    BEST,
    BEST_FIT,
    CHOSEN,
    EXCLUSIVE,
    FIRST_FIT,
    FREE,
    GIVEN,
    IN_A_ROW,
    LEAST,
    LEVEL,
    MASK_COUNT,
    MASK_FROM,
    MOST,
    NEXT,
    ORDER,
    PACK,
    PLACE_RULE,
    PLACED,
    ROOM,
    SLURM,
    SPREAD,
    TASKS,
    TIME,
    WANTED,
    WEIGHT,
)
from shadowtime.kernel.site.neighbours import take_row, take_sets
from shadowtime.kernel.site.plain import number
from shadowtime.kernel.site.room import holds, room_at
from shadowtime.kernel.site.steps import current

LARGEST = 9
"""Order: nodes that hold most first, when the bound on nodes makes a rule's own order fail."""


@routine
def choose(g: Any, now: int, shape: int, start: int, length: int) -> bool:
    """Find tasks on named nodes for [start, start + length); False where the shape does not fit."""
    scratch = g.scratch
    first = g.shape[shape, MASK_FROM]
    size = g.shape[shape, MASK_COUNT]
    wanted = g.shape[shape, WANTED]
    count = 0
    total = 0
    for at in range(size):
        node = g.mask[first + at]
        tasks = 0
        if start > now or holds(g, shape, node, g.node, node, FREE) > 0:
            tasks = room_at(g, now, shape, node, start, length)
        scratch[ROOM, at] = tasks
        if tasks > 0:
            count += 1
            total += tasks
        elif at < wanted:
            return False
    if count < g.shape[shape, LEAST] or total < g.shape[shape, TASKS]:
        return False
    if g.shape[shape, IN_A_ROW] != 0:
        return take_row(g, shape)
    return settle(g, now, shape, start)


@kernel
def settle(g: Any, now: int, shape: int, start: int) -> bool:
    """Choose among the nodes whose room is known."""
    rule = g.mark[PLACE_RULE]
    if rule != FIRST_FIT:
        note_steps(g, now, shape, start)
    if rule == BEST_FIT or rule == PACK:
        if alone(g, shape, rule):
            return True
    if rule == SPREAD:
        if deal(g, shape):
            return True
    elif rule == SLURM:
        if take_sets(g, shape):
            return True
    elif walk(g, shape, rule):
        return True
    return walk(g, shape, number(LARGEST))


@kernel
def note_steps(g: Any, now: int, shape: int, start: int) -> None:
    """The step in force at the start on every node with room."""
    first = g.shape[shape, MASK_FROM]
    for place in range(g.shape[shape, MASK_COUNT]):
        if g.scratch[ROOM, place] > 0:
            at = current(g, g.mask[first + place], now)
            following = g.step[at, NEXT]
            while following >= 0 and g.step[following, TIME] <= start:
                at = following
                following = g.step[at, NEXT]
            g.scratch[BEST, place] = at


@kernel
def ahead(g: Any, shape: int, rule: int, a: int, b: int) -> bool:
    """True if place ``a`` of the mask comes before place ``b`` by a rule."""
    scratch = g.scratch
    wanted = g.shape[shape, WANTED]
    if (a < wanted) != (b < wanted):
        return bool(a < wanted)
    if rule != LARGEST:
        first = g.shape[shape, MASK_FROM]
        one = g.node[g.mask[first + a], WEIGHT]
        other = g.node[g.mask[first + b], WEIGHT]
        if one != other:
            return bool(one < other)
    if rule == LARGEST or rule == PACK:
        if scratch[ROOM, a] != scratch[ROOM, b]:
            return bool(scratch[ROOM, a] > scratch[ROOM, b])
    elif g.shape[shape, EXCLUSIVE] == 0:
        one, other = scratch[BEST, a], scratch[BEST, b]
        if rule == SPREAD:
            if g.step[one, LEVEL] != g.step[other, LEVEL]:
                return bool(g.step[one, LEVEL] > g.step[other, LEVEL])
        else:
            for k in range(LEVEL, g.step.shape[1]):
                if g.step[one, k] != g.step[other, k]:
                    return bool(g.step[one, k] < g.step[other, k])
    return a < b


@kernel
def alone(g: Any, shape: int, rule: int) -> bool:
    """One node that holds all tasks: best fit's by what is free, pack's the first."""
    wanted = g.shape[shape, WANTED]
    if g.shape[shape, LEAST] > 1 or wanted > 1:
        return False
    tasks = g.shape[shape, TASKS]
    scratch = g.scratch
    best = -1
    for at in range(1 if wanted == 1 else g.shape[shape, MASK_COUNT]):
        if scratch[ROOM, at] < tasks:
            continue
        if best < 0:
            best = at
        elif ahead(g, shape, rule, at, best):
            best = at  # pack: everybody here holds exactly all tasks, so the lightest is taken
    if best < 0:
        return False
    scratch[CHOSEN, 0] = g.mask[g.shape[shape, MASK_FROM] + best]
    scratch[GIVEN, 0] = tasks
    g.mark[PLACED] = 1
    return True


@routine
def sink(g: Any, shape: int, rule: int, size: int, at: int) -> None:
    """Let a place sink in the heap of places."""
    heap = g.scratch[ORDER]
    place = heap[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and ahead(g, shape, rule, heap[child + 1], heap[child]):
            child += 1
        if ahead(g, shape, rule, place, heap[child]):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = place


@routine
def arrange(g: Any, shape: int, rule: int) -> int:
    """Put the places with room into a heap by a rule; first fit's order is the mask's own."""
    size = 0
    for at in range(g.shape[shape, MASK_COUNT]):
        if g.scratch[ROOM, at] > 0:
            g.scratch[ORDER, size] = at
            size += 1
    if rule != FIRST_FIT:
        for at in range(size // 2 - 1, -1, -1):
            sink(g, shape, rule, size, at)
    return size


@kernel
def taken_out(g: Any, shape: int, rule: int, size: int) -> int:
    """Remove the first place of the heap; returns the new size."""
    size -= 1
    if size > 0:
        g.scratch[ORDER, 0] = g.scratch[ORDER, size]
        sink(g, shape, rule, size, number(0))
    return size


@routine
def walk(g: Any, shape: int, rule: int) -> bool:
    """Give each node all it holds, in order, but keep one task for each node still due."""
    scratch = g.scratch
    first = g.shape[shape, MASK_FROM]
    size = arrange(g, shape, rule)
    left = g.shape[shape, TASKS]
    least, most = g.shape[shape, LEAST], g.shape[shape, MOST]
    count = 0
    at = 0
    while size > at and count < most and (left > 0 or count < least):
        if rule == FIRST_FIT:
            place = scratch[ORDER, at]
            at += 1
        else:
            place = scratch[ORDER, 0]
            size = taken_out(g, shape, rule, size)
        due = max(0, least - count - 1)
        give = min(scratch[ROOM, place], left - due)
        scratch[CHOSEN, count] = g.mask[first + place]
        scratch[GIVEN, count] = give
        left -= give
        count += 1
    g.mark[PLACED] = count
    return left == 0 and count >= least


@routine
def deal(g: Any, shape: int) -> bool:
    """Tasks dealt out evenly to as many nodes as allowed, those with most free cpus first."""
    scratch = g.scratch
    first = g.shape[shape, MASK_FROM]
    tasks = g.shape[shape, TASKS]
    rule = number(SPREAD)
    size = arrange(g, shape, rule)
    most = min(g.shape[shape, MOST], tasks)
    count = 0
    total = 0
    while size > 0 and count < most:
        place = scratch[ORDER, 0]
        size = taken_out(g, shape, rule, size)
        scratch[CHOSEN, count] = place
        scratch[GIVEN, count] = 0
        total += scratch[ROOM, place]
        count += 1
    if count < g.shape[shape, LEAST] or total < tasks:
        return False
    left = tasks
    while left > 0:
        for at in range(count):
            if left > 0 and scratch[GIVEN, at] < scratch[ROOM, scratch[CHOSEN, at]]:
                scratch[GIVEN, at] += 1
                left -= 1
    for at in range(count):
        scratch[CHOSEN, at] = g.mask[first + scratch[CHOSEN, at]]
    g.mark[PLACED] = count
    return True
