"""The earliest start of a shape: nodes' next changes in the order of time.

At every start looked at, ``scratch[ROOM]`` is how many tasks each node holds throughout the window
that begins there. A heap knows which node changes next, so time goes from change to change.
"""

from __future__ import annotations

from shadowtime.kernel.heap import pop, push, settle_down
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.choose import LARGEST, walk
from shadowtime.kernel.site.neighbours import has_row
from shadowtime.kernel.site.room import look

PLACES = 24
"""Bits of a place of the mask in the heap's keys."""


@routine
def earliest(ground: sf.Ground, now: int, shape: int, length: int, since: int, before: int) -> int:
    """The first start in [since, before) at which the shape fits for its length; NEVER if none."""
    named = ground.shape[shape, sf.RESERVATION]
    if named >= 0:
        if ground.reservation[named, sf.RES_KNOWN] > now:
            return NEVER
        since = max(since, ground.reservation[named, sf.RES_BEGIN])
        before = min(before, ground.reservation[named, sf.RES_END] - length + 1)
    if since >= before:
        return NEVER
    if ground.shape[shape, sf.MOST] == 1:
        return earliest_on_one(ground, now, shape, length, since, before)
    return earliest_on_several(ground, now, shape, length, since, before)


@routine
def earliest_on_one(
    ground: sf.Ground, now: int, shape: int, length: int, since: int, before: int
) -> int:
    """The same for a shape that takes one node."""
    first = ground.shape[shape, sf.MASK_FROM]
    size = ground.shape[shape, sf.MASK_COUNT]
    if ground.shape[shape, sf.WANTED] == 1:
        size = 1
    tasks = ground.shape[shape, sf.TASKS]
    best = before
    for at in range(first, first + size):
        start = since
        while start < best:
            room, change = look(ground, now, shape, ground.mask[at], start, length)
            if room >= tasks:
                best = start
                break
            start = change
        if best == since:
            break
    return best if best < before else NEVER


@routine
def earliest_on_several(
    ground: sf.Ground, now: int, shape: int, length: int, since: int, before: int
) -> int:
    """The same for a shape that may take several nodes."""
    scratch = ground.scratch
    heap = scratch[sf.UPCOMING]
    first = ground.shape[shape, sf.MASK_FROM]
    size = ground.shape[shape, sf.MASK_COUNT]
    wanted = ground.shape[shape, sf.WANTED]
    least, tasks = ground.shape[shape, sf.LEAST], ground.shape[shape, sf.TASKS]
    bounded = ground.shape[shape, sf.MOST] < size
    if bounded:
        for held in range(ground.shape[shape, sf.PER_NODE] + 1):
            if held < scratch.shape[1]:
                scratch[sf.TALLY, held] = 0
    count = 0
    total = 0
    missing = 0
    entries = 0
    for at in range(size):
        room, change = look(ground, now, shape, ground.mask[first + at], since, length)
        scratch[sf.ROOM, at] = room
        if room > 0:
            count += 1
            total += room
        elif at < wanted:
            missing += 1
        if bounded and at >= wanted:
            scratch[sf.TALLY, room] += 1
        if change < before:
            heap[entries] = change << PLACES | at
            entries += 1
    if missing == 0 and count >= least and total >= tasks and suffices(ground, shape, bounded):
        return since
    for at in range(entries // 2 - 1, -1, -1):
        settle_down(heap, entries, at)
    mask = (1 << PLACES) - 1
    while entries > 0:
        start = heap[0] >> PLACES
        while entries > 0 and heap[0] >> PLACES == start:
            at = heap[0] & mask
            entries = pop(heap, entries)
            room, change = look(ground, now, shape, ground.mask[first + at], start, length)
            old = scratch[sf.ROOM, at]
            if room != old:
                scratch[sf.ROOM, at] = room
                total += room - old
                count += int(room > 0) - int(old > 0)
                if at < wanted:
                    missing += int(room == 0) - int(old == 0)
                elif bounded:
                    scratch[sf.TALLY, old] -= 1
                    scratch[sf.TALLY, room] += 1
            if change < before:
                entries = push(heap, entries, change << PLACES | at)
        if missing == 0 and count >= least and total >= tasks and suffices(ground, shape, bounded):
            return start
    return NEVER


@routine
def suffices(ground: sf.Ground, shape: int, bounded: bool) -> bool:
    """True if nodes that hold all tasks do so within the bound on nodes, in a row, as counted."""
    if ground.shape[shape, sf.IN_A_ROW] != 0:
        return has_row(ground, shape)
    if ground.shape[shape, sf.COUNTS] >= 0:
        return walk(ground, shape, sf.number(LARGEST))
    return not bounded or enough(ground, shape, total_of_wanted(ground, shape))


@kernel
def total_of_wanted(ground: sf.Ground, shape: int) -> int:
    """Tasks that the wanted nodes hold."""
    total = 0
    for at in range(ground.shape[shape, sf.WANTED]):
        total += ground.scratch[sf.ROOM, at]
    return total


@kernel
def enough(ground: sf.Ground, shape: int, total: int) -> bool:
    """True if the nodes that hold most, as many as allowed, hold all tasks."""
    tally = ground.scratch[sf.TALLY]
    tasks = ground.shape[shape, sf.TASKS]
    left = ground.shape[shape, sf.MOST] - ground.shape[shape, sf.WANTED]
    held = ground.shape[shape, sf.PER_NODE]
    while held > 0 and left > 0 and total < tasks:
        nodes = min(left, tally[held])
        total += nodes * held
        left -= nodes
        held -= 1
    return total >= tasks
