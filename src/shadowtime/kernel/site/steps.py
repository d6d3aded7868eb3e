"""What will be free on each node: lists of steps (time, amounts free from then on) in one pool.

A node's first step is in force now or was, once; the last one lasts for ever. Steps in the past
are dropped when a node is looked at. The lists hold running jobs until their expected ends, and
plans while they live.
"""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel
from shadowtime.kernel.site.fields import (
    ALL_MEMORY,
    DIVISOR,
    EXCLUSIVE,
    FIRST_STEP,
    FLOOR,
    FREE,
    LEVEL,
    MEMORY,
    NEGATIVE,
    NEXT,
    PER_TASK,
    STEPS_FREE,
    STEPS_SPARE,
    STEPS_USED,
    TIME,
)


@kernel
def amount(ground: Any, shape: int, node: int, tasks: int, k: int) -> int:
    """What a number of tasks of a shape take of a resource on a node."""
    resources = ground.step.shape[1] - LEVEL
    if ground.shape[shape, EXCLUSIVE] != 0:
        return ground.node[node, FREE + resources + k]
    if ground.shape[shape, ALL_MEMORY] != 0 and k == ground.mark[MEMORY]:
        return ground.node[node, FREE + resources + k]
    taken = tasks * ground.shape[shape, PER_TASK + k]
    divisor = ground.shape[shape, DIVISOR]
    if divisor > 1:
        taken = (taken + divisor - 1) // divisor
    taken += ground.shape[shape, PER_TASK + resources + k]
    if k == 0:
        taken = max(taken, ground.shape[shape, FLOOR])
    return taken


@kernel
def current(ground: Any, node: int, now: int) -> int:
    """The node's step in force now; older ones go back to the pool."""
    at = ground.node[node, FIRST_STEP]
    following = ground.step[at, NEXT]
    while following >= 0 and ground.step[following, TIME] <= now:
        drop(ground, at)
        at = following
        following = ground.step[at, NEXT]
    ground.node[node, FIRST_STEP] = at
    return at


@kernel
def drop(ground: Any, at: int) -> None:
    """Give a step back to the pool."""
    ground.step[at, NEXT] = ground.mark[STEPS_FREE]
    ground.mark[STEPS_FREE] = at
    ground.mark[STEPS_SPARE] += 1


@kernel
def fresh_step(ground: Any) -> int:
    """A step from the pool."""
    at = ground.mark[STEPS_FREE]
    if at >= 0:
        ground.mark[STEPS_FREE] = ground.step[at, NEXT]
    else:
        at = ground.mark[STEPS_USED]
        ground.mark[STEPS_USED] += 1
    ground.mark[STEPS_SPARE] -= 1
    return at


@kernel
def cut(ground: Any, first: int, when: int) -> int:
    """The step before the one that begins at ``when``, which is made if needed.

    -1 where that is the first one itself (``when`` has come).
    """
    if ground.step[first, TIME] >= when:
        return -1
    before = first
    following = ground.step[before, NEXT]
    while following >= 0 and ground.step[following, TIME] < when:
        before = following
        following = ground.step[before, NEXT]
    if following < 0 or ground.step[following, TIME] != when:
        made = fresh_step(ground)
        ground.step[made, TIME] = when
        ground.step[made, NEXT] = following
        for k in range(LEVEL, ground.step.shape[1]):
            ground.step[made, k] = ground.step[before, k]
        ground.step[before, NEXT] = made
    return before


@kernel
def merge(ground: Any, before: int) -> bool:
    """Drop the step after ``before`` if it changes nothing."""
    at = ground.step[before, NEXT]
    if at < 0:
        return False
    for k in range(LEVEL, ground.step.shape[1]):
        if ground.step[at, k] != ground.step[before, k]:
            return False
    ground.step[before, NEXT] = ground.step[at, NEXT]
    drop(ground, at)
    return True


@kernel
def change(
    ground: Any, node: int, now: int, begin: int, end: int, shape: int, tasks: int, sign: int
) -> None:
    """Take (-1) or give back (+1) what tasks of a shape need on a node during [begin, end)."""
    begin = max(begin, now)
    if end <= begin:
        return
    before, at = cut_out(ground, node, now, begin, end)
    inside = at
    last = at
    resources = ground.step.shape[1] - LEVEL
    while inside >= 0 and (inside == at or ground.step[inside, TIME] < end):
        for k in range(resources):
            ground.step[inside, LEVEL + k] += sign * amount(ground, shape, node, tasks, k)
            if ground.step[inside, LEVEL + k] < 0:
                ground.mark[NEGATIVE] = 1
        last = inside
        inside = ground.step[inside, NEXT]
    join(ground, before, last)


@kernel
def change_amount(ground: Any, row: int, now: int, begin: int, end: int, by: int) -> None:
    """Change what is free of a counted amount during [begin, end)."""
    begin = max(begin, now)
    if end <= begin:
        return
    before, at = cut_out(ground, row, now, begin, end)
    inside = at
    last = at
    while inside >= 0 and (inside == at or ground.step[inside, TIME] < end):
        ground.step[inside, LEVEL] += by
        if ground.step[inside, LEVEL] < 0:
            ground.mark[NEGATIVE] = 1
        last = inside
        inside = ground.step[inside, NEXT]
    join(ground, before, last)


@kernel
def cut_out(ground: Any, node: int, now: int, begin: int, end: int) -> tuple[int, int]:
    """Let steps begin at both ends of an interval.

    Returns the step before it, -1 if it begins now, and its first one.
    """
    first = current(ground, node, now)
    before = -1
    at = first
    if begin > now:
        before = cut(ground, first, begin)
        at = ground.step[before, NEXT] if before >= 0 else first
    cut(ground, at, end)
    return before, at


@kernel
def join(ground: Any, before: int, last: int) -> None:
    """Drop the steps at both ends of an interval if they change nothing any more."""
    merge(ground, last)
    if before >= 0:
        merge(ground, before)


__all__ = ["amount", "change", "change_amount", "current"]
