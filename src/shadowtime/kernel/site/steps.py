"""What will be free on each node: lists of steps (time, amounts free from then on) in one pool.

A node's first step is in force now or was, once; the last one lasts for ever. Steps in the past
are dropped when a node is looked at. The lists hold running jobs until their expected ends, and
plans while they live. Amounts counted over the whole site, such as licences, are lists of steps
like those of a node, in the rows behind the nodes.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.site import fields as sf


@kernel
def amount(ground: sf.Ground, shape: int, node: int, tasks: int, k: int) -> int:
    """What a number of tasks of a shape take of a resource on a node."""
    resources = ground.step.shape[1] - sf.LEVEL
    if ground.shape[shape, sf.EXCLUSIVE] != 0:
        return ground.node[node, sf.FREE + resources + k]
    if ground.shape[shape, sf.ALL_MEMORY] != 0 and k == ground.mark[sf.MEMORY]:
        return ground.node[node, sf.FREE + resources + k]
    taken = tasks * ground.shape[shape, sf.PER_TASK + k]
    divisor = ground.shape[shape, sf.DIVISOR]
    if divisor > 1:
        taken = (taken + divisor - 1) // divisor
    taken += ground.shape[shape, sf.PER_TASK + resources + k]
    if k == 0:
        taken = max(taken, ground.shape[shape, sf.FLOOR])
    return taken


@kernel
def current(ground: sf.Ground, node: int, now: int) -> int:
    """The node's step in force now; older ones go back to the pool."""
    at = ground.node[node, sf.FIRST_STEP]
    following = ground.step[at, sf.NEXT]
    while following >= 0 and ground.step[following, sf.TIME] <= now:
        drop(ground, at)
        at = following
        following = ground.step[at, sf.NEXT]
    ground.node[node, sf.FIRST_STEP] = at
    return at


@kernel
def drop(ground: sf.Ground, at: int) -> None:
    """Give a step back to the pool."""
    ground.step[at, sf.NEXT] = ground.mark[sf.STEPS_FREE]
    ground.mark[sf.STEPS_FREE] = at
    ground.mark[sf.STEPS_SPARE] += 1


@kernel
def fresh_step(ground: sf.Ground) -> int:
    """A step from the pool."""
    at = ground.mark[sf.STEPS_FREE]
    if at >= 0:
        ground.mark[sf.STEPS_FREE] = ground.step[at, sf.NEXT]
    else:
        at = ground.mark[sf.STEPS_USED]
        ground.mark[sf.STEPS_USED] += 1
    ground.mark[sf.STEPS_SPARE] -= 1
    return at


@kernel
def cut(ground: sf.Ground, first: int, when: int) -> int:
    """The step before the one that begins at ``when``, which is made if needed.

    -1 where that is the first one itself (``when`` has come).
    """
    if ground.step[first, sf.TIME] >= when:
        return -1
    before = first
    following = ground.step[before, sf.NEXT]
    while following >= 0 and ground.step[following, sf.TIME] < when:
        before = following
        following = ground.step[before, sf.NEXT]
    if following < 0 or ground.step[following, sf.TIME] != when:
        made = fresh_step(ground)
        ground.step[made, sf.TIME] = when
        ground.step[made, sf.NEXT] = following
        for k in range(sf.LEVEL, ground.step.shape[1]):
            ground.step[made, k] = ground.step[before, k]
        ground.step[before, sf.NEXT] = made
    return before


@kernel
def merge(ground: sf.Ground, before: int) -> bool:
    """Drop the step after ``before`` if it changes nothing."""
    at = ground.step[before, sf.NEXT]
    if at < 0:
        return False
    for k in range(sf.LEVEL, ground.step.shape[1]):
        if ground.step[at, k] != ground.step[before, k]:
            return False
    ground.step[before, sf.NEXT] = ground.step[at, sf.NEXT]
    drop(ground, at)
    return True


@kernel
def change(
    ground: sf.Ground, node: int, now: int, begin: int, end: int, shape: int, tasks: int, sign: int
) -> None:
    """Take (-1) or give back (+1) what tasks of a shape need on a node during [begin, end)."""
    begin = max(begin, now)
    if end <= begin:
        return
    before, at = cut_out(ground, node, now, begin, end)
    inside = at
    last = at
    resources = ground.step.shape[1] - sf.LEVEL
    while inside >= 0 and (inside == at or ground.step[inside, sf.TIME] < end):
        for k in range(resources):
            ground.step[inside, sf.LEVEL + k] += sign * amount(ground, shape, node, tasks, k)
            if ground.step[inside, sf.LEVEL + k] < 0:
                ground.mark[sf.NEGATIVE] = 1
        last = inside
        inside = ground.step[inside, sf.NEXT]
    join(ground, before, last)


@kernel
def change_amount(ground: sf.Ground, row: int, now: int, begin: int, end: int, by: int) -> None:
    """Change what is free of a counted amount during [begin, end)."""
    begin = max(begin, now)
    if end <= begin:
        return
    before, at = cut_out(ground, row, now, begin, end)
    inside = at
    last = at
    while inside >= 0 and (inside == at or ground.step[inside, sf.TIME] < end):
        ground.step[inside, sf.LEVEL] += by
        if ground.step[inside, sf.LEVEL] < 0:
            ground.mark[sf.NEGATIVE] = 1
        last = inside
        inside = ground.step[inside, sf.NEXT]
    join(ground, before, last)


@kernel
def cut_out(ground: sf.Ground, node: int, now: int, begin: int, end: int) -> tuple[int, int]:
    """Let steps begin at both ends of an interval.

    Returns the step before it, -1 if it begins now, and its first one.
    """
    first = current(ground, node, now)
    before = -1
    at = first
    if begin > now:
        before = cut(ground, first, begin)
        at = ground.step[before, sf.NEXT] if before >= 0 else first
    cut(ground, at, end)
    return before, at


@kernel
def join(ground: sf.Ground, before: int, last: int) -> None:
    """Drop the steps at both ends of an interval if they change nothing any more."""
    merge(ground, last)
    if before >= 0:
        merge(ground, before)


@routine
def hold_amounts(ground: sf.Ground, alt: int, now: int, begin: int, end: int, sign: int) -> None:
    """Take (-1) or give back (+1) what an alternative takes during [begin, end)."""
    first = ground.node.shape[0] - ground.mark[sf.AMOUNTS]
    for k in range(ground.mark[sf.AMOUNTS]):
        taken = ground.alt[alt, sf.ALT_AMOUNTS + k]
        if taken > 0:
            change_amount(ground, first + k, now, begin, end, sign * taken)


@kernel
def takes_amounts(ground: sf.Ground, alt: int) -> bool:
    """True if an alternative takes anything that is counted."""
    for k in range(ground.mark[sf.AMOUNTS]):
        if ground.alt[alt, sf.ALT_AMOUNTS + k] > 0:
            return True
    return False


@routine
def amounts_from(ground: sf.Ground, alt: int, now: int, start: int, length: int) -> int:
    """The first start from one on at which all that an alternative takes is free throughout."""
    first = ground.node.shape[0] - ground.mark[sf.AMOUNTS]
    k = 0
    while k < ground.mark[sf.AMOUNTS]:
        later = start
        if ground.alt[alt, sf.ALT_AMOUNTS + k] > 0:
            later = amount_from(
                ground, first + k, ground.alt[alt, sf.ALT_AMOUNTS + k], now, start, length
            )
        if later >= NEVER:
            return NEVER
        k = k + 1 if later == start else 0  # the others are asked again from there on
        start = later
    return start


@kernel
def amount_from(ground: sf.Ground, row: int, taken: int, now: int, start: int, length: int) -> int:
    """The same for one amount."""
    at = current(ground, row, now)
    following = ground.step[at, sf.NEXT]
    while following >= 0 and ground.step[following, sf.TIME] <= start:
        at = following
        following = ground.step[at, sf.NEXT]
    end = start + length
    while True:
        if ground.step[at, sf.LEVEL] < taken:
            if following < 0:
                return NEVER
            start = ground.step[following, sf.TIME]
            end = start + length
        if following < 0 or ground.step[following, sf.TIME] >= end:
            return start
        at = following
        following = ground.step[at, sf.NEXT]
