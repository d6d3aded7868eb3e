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
def amount(g: Any, shape: int, node: int, tasks: int, k: int) -> int:
    """What so many tasks of a shape take of a resource on a node."""
    resources = g.step.shape[1] - LEVEL
    if g.shape[shape, EXCLUSIVE] != 0:
        return g.node[node, FREE + resources + k]
    if g.shape[shape, ALL_MEMORY] != 0 and k == g.mark[MEMORY]:
        return g.node[node, FREE + resources + k]
    taken = tasks * g.shape[shape, PER_TASK + k]
    divisor = g.shape[shape, DIVISOR]
    if divisor > 1:
        taken = (taken + divisor - 1) // divisor
    taken += g.shape[shape, PER_TASK + resources + k]
    if k == 0:
        taken = max(taken, g.shape[shape, FLOOR])
    return taken


@kernel
def current(g: Any, node: int, now: int) -> int:
    """The node's step in force now; older ones go back to the pool."""
    at = g.node[node, FIRST_STEP]
    following = g.step[at, NEXT]
    while following >= 0 and g.step[following, TIME] <= now:
        drop(g, at)
        at = following
        following = g.step[at, NEXT]
    g.node[node, FIRST_STEP] = at
    return at


@kernel
def drop(g: Any, at: int) -> None:
    """Give a step back to the pool."""
    g.step[at, NEXT] = g.mark[STEPS_FREE]
    g.mark[STEPS_FREE] = at
    g.mark[STEPS_SPARE] += 1


@kernel
def fresh_step(g: Any) -> int:
    """A step from the pool."""
    at = g.mark[STEPS_FREE]
    if at >= 0:
        g.mark[STEPS_FREE] = g.step[at, NEXT]
    else:
        at = g.mark[STEPS_USED]
        g.mark[STEPS_USED] += 1
    g.mark[STEPS_SPARE] -= 1
    return at


@kernel
def cut(g: Any, first: int, when: int) -> int:
    """The step before the one that begins at ``when``, which is made if needed.

    -1 where that is the first one itself (``when`` has come).
    """
    if g.step[first, TIME] >= when:
        return -1
    before = first
    following = g.step[before, NEXT]
    while following >= 0 and g.step[following, TIME] < when:
        before = following
        following = g.step[before, NEXT]
    if following < 0 or g.step[following, TIME] != when:
        made = fresh_step(g)
        g.step[made, TIME] = when
        g.step[made, NEXT] = following
        for k in range(LEVEL, g.step.shape[1]):
            g.step[made, k] = g.step[before, k]
        g.step[before, NEXT] = made
    return before


@kernel
def merge(g: Any, before: int) -> bool:
    """Drop the step after ``before`` if it changes nothing."""
    at = g.step[before, NEXT]
    if at < 0:
        return False
    for k in range(LEVEL, g.step.shape[1]):
        if g.step[at, k] != g.step[before, k]:
            return False
    g.step[before, NEXT] = g.step[at, NEXT]
    drop(g, at)
    return True


@kernel
def change(
    g: Any, node: int, now: int, begin: int, end: int, shape: int, tasks: int, sign: int
) -> None:
    """Take (-1) or give back (+1) what tasks of a shape need on a node during [begin, end)."""
    first = current(g, node, now)
    begin = max(begin, now)
    if end <= begin:
        return
    if begin <= now:
        before = -1
        at = first
    else:
        before = cut(g, first, begin)
        at = g.step[before, NEXT] if before >= 0 else first
    cut(g, at, end)
    inside = at
    last = at
    resources = g.step.shape[1] - LEVEL
    while inside >= 0 and (inside == at or g.step[inside, TIME] < end):
        for k in range(resources):
            g.step[inside, LEVEL + k] += sign * amount(g, shape, node, tasks, k)
            if g.step[inside, LEVEL + k] < 0:
                g.mark[NEGATIVE] = 1
        last = inside
        inside = g.step[inside, NEXT]
    merge(g, last)
    if before >= 0:
        merge(g, before)


__all__ = ["amount", "change", "current"]
