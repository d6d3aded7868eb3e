"""What will be free on each node: lists of steps (time, amounts free from then on) in one pool.

A node's first step is in force now or was, once; the last one lasts for ever. Steps in the past
are dropped when a node is looked at. The lists hold running jobs until their expected ends, and
plans while they live.
"""

from __future__ import annotations

from shadowtime.kernel.jit import kernel
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.fields import Ground


@kernel
def amount(ground: Ground, shape: int, node: int, tasks: int, k: int) -> int:
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
def current(ground: Ground, node: int, now: int) -> int:
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
def drop(ground: Ground, at: int) -> None:
    """Give a step back to the pool."""
    ground.step[at, sf.NEXT] = ground.mark[sf.STEPS_FREE]
    ground.mark[sf.STEPS_FREE] = at
    ground.mark[sf.STEPS_SPARE] += 1


@kernel
def fresh_step(ground: Ground) -> int:
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
def cut(ground: Ground, first: int, when: int) -> int:
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
def merge(ground: Ground, before: int) -> bool:
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
    ground: Ground, node: int, now: int, begin: int, end: int, shape: int, tasks: int, sign: int
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
def change_amount(ground: Ground, row: int, now: int, begin: int, end: int, by: int) -> None:
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
def cut_out(ground: Ground, node: int, now: int, begin: int, end: int) -> tuple[int, int]:
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
def join(ground: Ground, before: int, last: int) -> None:
    """Drop the steps at both ends of an interval if they change nothing any more."""
    merge(ground, last)
    if before >= 0:
        merge(ground, before)


__all__ = ["amount", "change", "change_amount", "current"]
