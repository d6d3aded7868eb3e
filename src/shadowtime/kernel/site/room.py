"""How many tasks of a shape a node holds: now, or throughout a window of time."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.limits import room_in_cap
from shadowtime.kernel.site.steps import current
from shadowtime.types import Ints


@kernel
def holds(ground: sf.Ground, shape: int, node: int, table: Ints, row: int, first: int) -> int:
    """Tasks that fit into the amounts free in a row of a table, from column ``first`` on."""
    resources = ground.step.shape[1] - sf.LEVEL
    cpus = table[row, first]
    if ground.shape[shape, sf.EXCLUSIVE] != 0:
        if cpus != ground.node[node, sf.FREE + resources]:
            return 0
    divisor = ground.shape[shape, sf.DIVISOR]
    if cpus * divisor < ground.shape[shape, sf.PER_TASK] or cpus < ground.shape[shape, sf.FLOOR]:
        return 0
    tasks = ground.shape[shape, sf.PER_NODE]
    for k in range(resources):
        left = (table[row, first + k] - ground.shape[shape, sf.PER_TASK + resources + k]) * divisor
        each = ground.shape[shape, sf.PER_TASK + k]
        if left < each:
            return 0
        if each > 0 and left < each * tasks:
            tasks = left // each
    if ground.shape[shape, sf.ALL_MEMORY] != 0:
        k = ground.mark[sf.MEMORY]
        if table[row, first + k] != ground.node[node, sf.FREE + resources + k]:
            return 0
    return tasks


@kernel
def closed(ground: sf.Ground, now: int, shape: int, node: int, start: int, end: int) -> bool:
    """True if a closing that is known and not the shape's own lies in [start, end)."""
    first = ground.node[node, sf.CLOSE_FROM]
    for at in range(first, first + ground.node[node, sf.CLOSE_COUNT]):
        if (
            ground.close[at, sf.BEGIN] < end
            and start < ground.close[at, sf.END]
            and ground.close[at, sf.KNOWN] <= now
            and (
                ground.close[at, sf.WHOSE] < 0
                or ground.close[at, sf.WHOSE] != ground.shape[shape, sf.RESERVATION]
            )
        ):
            return True
    return False


@kernel
def room_at(ground: sf.Ground, now: int, shape: int, node: int, start: int, length: int) -> int:
    """Tasks that the node holds throughout [start, start + length), and may be planned for."""
    tasks = free_at(ground, now, shape, node, start, length)
    if tasks > 0 and ground.mark[sf.CAPPED] != 0:
        tasks = min(tasks, room_in_cap(ground, shape, node))
    return tasks


@kernel
def free_at(ground: sf.Ground, now: int, shape: int, node: int, start: int, length: int) -> int:
    """Tasks that the node holds throughout [start, start + length)."""
    end = start + length
    if ground.mark[sf.ANY_CLOSING] != 0 and closed(ground, now, shape, node, start, end):
        return 0
    alone = ground.node[node, sf.PLANS] == 0
    if alone and start <= now:
        return holds(ground, shape, node, ground.node, node, sf.FREE)
    at = current(ground, node, now)
    following = ground.step[at, sf.NEXT]
    while following >= 0 and ground.step[following, sf.TIME] <= start:
        at = following
        following = ground.step[at, sf.NEXT]
    tasks = holds(ground, shape, node, ground.step, at, sf.LEVEL)
    while not alone and tasks > 0 and following >= 0 and ground.step[following, sf.TIME] < end:
        tasks = min(tasks, holds(ground, shape, node, ground.step, following, sf.LEVEL))
        following = ground.step[following, sf.NEXT]
    return tasks


@kernel
def look(
    ground: sf.Ground, now: int, shape: int, node: int, start: int, length: int
) -> tuple[int, int]:
    """The same, and the next start at which that may change."""
    tasks, change = look_free(ground, now, shape, node, start, length)
    if tasks > 0 and ground.mark[sf.CAPPED] != 0:
        tasks = min(tasks, room_in_cap(ground, shape, node))
    return tasks, change


@kernel
def look_free(
    ground: sf.Ground, now: int, shape: int, node: int, start: int, length: int
) -> tuple[int, int]:
    """Tasks held throughout [start, start + length), and the next start at which that may change.

    Where nothing is held the next start is behind the last step or closing in the way.
    """
    end = start + length
    change = NEVER
    if ground.mark[sf.ANY_CLOSING] != 0:
        first = ground.node[node, sf.CLOSE_FROM]
        shut = -1
        for at in range(first, first + ground.node[node, sf.CLOSE_COUNT]):
            if ground.close[at, sf.KNOWN] > now or ground.close[at, sf.END] <= start:
                continue
            if (
                ground.close[at, sf.WHOSE] >= 0
                and ground.close[at, sf.WHOSE] == ground.shape[shape, sf.RESERVATION]
            ):
                continue
            if ground.close[at, sf.BEGIN] < end:
                shut = max(shut, ground.close[at, sf.END])
            else:
                change = min(change, ground.close[at, sf.BEGIN] - length + 1)
        if shut >= 0:
            return 0, min(shut, NEVER)
    at = current(ground, node, now)
    following = ground.step[at, sf.NEXT]
    while following >= 0 and ground.step[following, sf.TIME] <= start:
        at = following
        following = ground.step[at, sf.NEXT]
    if ground.node[node, sf.PLANS] == 0:  # what is free only grows
        least = holds(ground, shape, node, ground.step, at, sf.LEVEL)
        if least > 0:
            if following >= 0:
                change = min(change, ground.step[following, sf.TIME])
            return least, change
        while following >= 0 and holds(ground, shape, node, ground.step, following, sf.LEVEL) == 0:
            following = ground.step[following, sf.NEXT]
        return 0, ground.step[following, sf.TIME] if following >= 0 else NEVER
    if following >= 0:
        change = min(change, ground.step[following, sf.TIME])
    least = NEVER
    behind = -1
    while True:
        tasks = holds(ground, shape, node, ground.step, at, sf.LEVEL)
        if tasks < least:
            least = tasks
        if tasks == 0:
            behind = ground.step[following, sf.TIME] if following >= 0 else NEVER
        if following < 0:
            break
        if ground.step[following, sf.TIME] >= end:
            change = min(change, ground.step[following, sf.TIME] - length + 1)
            break
        at = following
        following = ground.step[at, sf.NEXT]
    if least == 0:
        return 0, behind
    return least, change


@routine
def bring_up_to_date(ground: sf.Ground, shape: int) -> None:
    """Bring a shape's total and count of what the nodes hold now up to date."""
    ring = ground.ring
    stamp = ground.shape[shape, sf.NOW_STAMP]
    newest = ground.mark[sf.CHANGES]
    resources = ground.step.shape[1] - sf.LEVEL
    nodes = ground.shape[shape, sf.MASK_COUNT]
    if stamp < 0 or newest - stamp > min(sf.RING, nodes):
        first = ground.shape[shape, sf.MASK_FROM]
        total = 0
        count = 0
        for at in range(first, first + nodes):
            tasks = holds(ground, shape, ground.mask[at], ground.node, ground.mask[at], sf.FREE)
            if tasks > 0:
                total += tasks
                count += 1
        ground.shape[shape, sf.NOW_TOTAL] = total
        ground.shape[shape, sf.NOW_COUNT] = count
    else:
        for number in range(stamp, newest):
            row = number & (sf.RING - 1)
            node = ring[row, 0]
            if not in_mask(ground, shape, node):
                continue
            before = holds(ground, shape, node, ring, row, 1)
            after = holds(ground, shape, node, ring, row, 1 + resources)
            ground.shape[shape, sf.NOW_TOTAL] += after - before
            ground.shape[shape, sf.NOW_COUNT] += int(after > 0) - int(before > 0)
    ground.shape[shape, sf.NOW_STAMP] = newest


@kernel
def in_mask(ground: sf.Ground, shape: int, node: int) -> bool:
    """True if a shape may use a node."""
    return bool(ground.bits[ground.shape[shape, sf.MASK], node] != 0)


@kernel
def may_hold_now(ground: sf.Ground, shape: int) -> bool:
    """A test that fails only if the shape cannot start now, whatever is planned."""
    if ground.shape[shape, sf.NOW_STAMP] != ground.mark[sf.CHANGES]:
        bring_up_to_date(ground, shape)
    return (
        ground.shape[shape, sf.NOW_COUNT] >= ground.shape[shape, sf.LEAST]
        and ground.shape[shape, sf.NOW_TOTAL] >= ground.shape[shape, sf.TASKS]
    )
