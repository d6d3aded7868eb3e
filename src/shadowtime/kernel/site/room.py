"""How many tasks of a shape a node holds: now, or throughout a window of time."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.site.fields import (
    ALL_MEMORY,
    ANY_CLOSING,
    BEGIN,
    CHANGES,
    CLOSE_COUNT,
    CLOSE_FROM,
    DIVISOR,
    END,
    EXCLUSIVE,
    FLOOR,
    FREE,
    KNOWN,
    LEAST,
    LEVEL,
    MASK,
    MASK_COUNT,
    MASK_FROM,
    MEMORY,
    NEXT,
    NOW_COUNT,
    NOW_STAMP,
    NOW_TOTAL,
    PER_NODE,
    PER_TASK,
    PLANS,
    RESERVATION,
    RING,
    TASKS,
    TIME,
    WHOSE,
)
from shadowtime.kernel.site.steps import current


@kernel
def holds(g: Any, shape: int, node: int, table: Any, row: int, first: int) -> int:
    """Tasks that fit into the amounts free in a row of a table, from column ``first`` on."""
    resources = g.step.shape[1] - LEVEL
    cpus = table[row, first]
    if g.shape[shape, EXCLUSIVE] != 0:
        if cpus != g.node[node, FREE + resources]:
            return 0
    divisor = g.shape[shape, DIVISOR]
    if cpus * divisor < g.shape[shape, PER_TASK] or cpus < g.shape[shape, FLOOR]:
        return 0
    tasks = g.shape[shape, PER_NODE]
    for k in range(resources):
        left = (table[row, first + k] - g.shape[shape, PER_TASK + resources + k]) * divisor
        each = g.shape[shape, PER_TASK + k]
        if left < each:
            return 0
        if each > 0 and left < each * tasks:
            tasks = left // each
    if g.shape[shape, ALL_MEMORY] != 0:
        k = g.mark[MEMORY]
        if table[row, first + k] != g.node[node, FREE + resources + k]:
            return 0
    return tasks


@kernel
def closed(g: Any, now: int, shape: int, node: int, start: int, end: int) -> bool:
    """True if a closing that is known and not the shape's own lies in [start, end)."""
    first = g.node[node, CLOSE_FROM]
    for at in range(first, first + g.node[node, CLOSE_COUNT]):
        if (
            g.close[at, BEGIN] < end
            and start < g.close[at, END]
            and g.close[at, KNOWN] <= now
            and (g.close[at, WHOSE] < 0 or g.close[at, WHOSE] != g.shape[shape, RESERVATION])
        ):
            return True
    return False


@kernel
def room_at(g: Any, now: int, shape: int, node: int, start: int, length: int) -> int:
    """Tasks that the node holds throughout [start, start + length)."""
    end = start + length
    if g.mark[ANY_CLOSING] != 0 and closed(g, now, shape, node, start, end):
        return 0
    alone = g.node[node, PLANS] == 0
    if alone and start <= now:
        return holds(g, shape, node, g.node, node, FREE)
    at = current(g, node, now)
    following = g.step[at, NEXT]
    while following >= 0 and g.step[following, TIME] <= start:
        at = following
        following = g.step[at, NEXT]
    tasks = holds(g, shape, node, g.step, at, LEVEL)
    while not alone and tasks > 0 and following >= 0 and g.step[following, TIME] < end:
        tasks = min(tasks, holds(g, shape, node, g.step, following, LEVEL))
        following = g.step[following, NEXT]
    return tasks


@kernel
def look(g: Any, now: int, shape: int, node: int, start: int, length: int) -> tuple[int, int]:
    """Tasks held throughout [start, start + length), and the next start at which that may change.

    Where nothing is held the next start is behind the last step or closing in the way.
    """
    end = start + length
    change = NEVER
    if g.mark[ANY_CLOSING] != 0:
        first = g.node[node, CLOSE_FROM]
        shut = -1
        for at in range(first, first + g.node[node, CLOSE_COUNT]):
            if g.close[at, KNOWN] > now or g.close[at, END] <= start:
                continue
            if g.close[at, WHOSE] >= 0 and g.close[at, WHOSE] == g.shape[shape, RESERVATION]:
                continue
            if g.close[at, BEGIN] < end:
                shut = max(shut, g.close[at, END])
            else:
                change = min(change, g.close[at, BEGIN] - length + 1)
        if shut >= 0:
            return 0, min(shut, NEVER)
    at = current(g, node, now)
    following = g.step[at, NEXT]
    while following >= 0 and g.step[following, TIME] <= start:
        at = following
        following = g.step[at, NEXT]
    if g.node[node, PLANS] == 0:  # what is free only grows
        least = holds(g, shape, node, g.step, at, LEVEL)
        if least > 0:
            if following >= 0:
                change = min(change, g.step[following, TIME])
            return least, change
        while following >= 0 and holds(g, shape, node, g.step, following, LEVEL) == 0:
            following = g.step[following, NEXT]
        return 0, g.step[following, TIME] if following >= 0 else NEVER
    if following >= 0:
        change = min(change, g.step[following, TIME])
    least = NEVER
    behind = -1
    while True:
        tasks = holds(g, shape, node, g.step, at, LEVEL)
        if tasks < least:
            least = tasks
        if tasks == 0:
            behind = g.step[following, TIME] if following >= 0 else NEVER
        if following < 0:
            break
        if g.step[following, TIME] >= end:
            change = min(change, g.step[following, TIME] - length + 1)
            break
        at = following
        following = g.step[at, NEXT]
    if least == 0:
        return 0, behind
    return least, change


@routine
def bring_up_to_date(g: Any, shape: int) -> None:
    """Bring a shape's total and count of what the nodes hold now up to date."""
    ring = g.ring
    stamp = g.shape[shape, NOW_STAMP]
    newest = g.mark[CHANGES]
    resources = g.step.shape[1] - LEVEL
    nodes = g.shape[shape, MASK_COUNT]
    if stamp < 0 or newest - stamp > min(RING, nodes):
        first = g.shape[shape, MASK_FROM]
        total = 0
        count = 0
        for at in range(first, first + nodes):
            tasks = holds(g, shape, g.mask[at], g.node, g.mask[at], FREE)
            if tasks > 0:
                total += tasks
                count += 1
        g.shape[shape, NOW_TOTAL] = total
        g.shape[shape, NOW_COUNT] = count
    else:
        for number in range(stamp, newest):
            row = number & (RING - 1)
            node = ring[row, 0]
            if not in_mask(g, shape, node):
                continue
            before = holds(g, shape, node, ring, row, 1)
            after = holds(g, shape, node, ring, row, 1 + resources)
            g.shape[shape, NOW_TOTAL] += after - before
            g.shape[shape, NOW_COUNT] += int(after > 0) - int(before > 0)
    g.shape[shape, NOW_STAMP] = newest


@kernel
def in_mask(g: Any, shape: int, node: int) -> bool:
    """True if a shape may use a node."""
    return bool(g.bits[g.shape[shape, MASK], node] != 0)


@kernel
def may_hold_now(g: Any, shape: int) -> bool:
    """A test that fails only if the shape cannot start now, whatever is planned."""
    if g.shape[shape, NOW_STAMP] != g.mark[CHANGES]:
        bring_up_to_date(g, shape)
    return (
        g.shape[shape, NOW_COUNT] >= g.shape[shape, LEAST]
        and g.shape[shape, NOW_TOTAL] >= g.shape[shape, TASKS]
    )
