"""A place under the limits: whole nodes, or nodes in number, may be charged differently.

The rule's own choice is used if the limits allow it. If not, no node counts for more than the
limits leave, and the rule chooses again. If the nodes are still too many together, the first set
in the rule's order that is allowed is searched for, node by node. ``place=slurm`` searches for
nothing: Slurm chooses, and then rejects. The rules are in docs/decisions/site.md, "Limits and
places".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.choose import (
    arrange,
    choose,
    missing_with,
    settle,
    taken_out,
    use,
    use_none,
)
from shadowtime.kernel.site.limits import find_headroom
from shadowtime.kernel.site.neighbours import take_row_at
from shadowtime.kernel.site.room import holds
from shadowtime.kernel.site.steps import amount, current

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

TRIALS = 100_000
"""Nodes that a search tries to use before it is given up."""


@kernel
def varies(ground: sf.Ground, alt: int) -> bool:
    """True if limits may allow one place and forbid another."""
    return bool(ground.mark[sf.HAS_LIMITS] != 0 and ground.alt[alt, sf.ALT_VARIES] != 0)


@routine
def place_at(
    state: State, ground: sf.Ground, job: int, alt: int, start: int, length: int, bare: int
) -> bool:
    """Find tasks on named nodes for [start, start + length) under the limits; False if none.

    ``bare``: limits as if nothing were in use.
    """
    shape = ground.alt[alt, sf.ALT_SHAPE]
    if not choose(state, ground, job, shape, start, length):
        return False
    if not varies(ground, alt):
        return True
    find_headroom(state, ground, job, alt, bare)
    if allowed(ground, shape):
        return True
    ground.mark[sf.TRIED] = 1
    if ground.mark[sf.PLACE_RULE] == sf.SLURM or not narrow(ground, shape):
        return False
    if ground.shape[shape, sf.IN_A_ROW] != 0:
        return take_row_allowed(ground, shape)
    if settle(state, ground, job, shape, start) and allowed(ground, shape):
        return True
    return search(ground, shape, ground.mark[sf.PLACE_RULE])


@routine
def ever_allowed(state: State, ground: sf.Ground, job: int, alt: int, bare: int) -> bool:
    """True if the limits allow some place on the empty nodes that are not gone."""
    shape = ground.alt[alt, sf.ALT_SHAPE]
    if not varies(ground, alt) or ground.mark[sf.PLACE_RULE] == sf.SLURM:
        return True
    find_headroom(state, ground, job, alt, bare)
    resources = ground.step.shape[1] - sf.LEVEL
    first = ground.shape[shape, sf.MASK_FROM]
    for at in range(ground.shape[shape, sf.MASK_COUNT]):
        node = ground.mask[first + at]
        ground.scratch[sf.ROOM, at] = 0
        if ground.node[node, sf.GONE] == 0:
            ground.scratch[sf.ROOM, at] = holds(
                ground, shape, node, ground.node, node, sf.FREE + resources
            )
    if not narrow(ground, shape):
        return False
    if ground.shape[shape, sf.IN_A_ROW] != 0:
        return take_row_allowed(ground, shape)
    return search(ground, shape, sf.number(sf.FIRST_FIT))


@routine
def next_release(ground: sf.Ground, now: int, shape: int, start: int) -> int:
    """The first instant behind a start at which a node of the shape has more free or opens."""
    first = ground.shape[shape, sf.MASK_FROM]
    soonest = NEVER
    for place in range(first, first + ground.shape[shape, sf.MASK_COUNT]):
        node = ground.mask[place]
        at = current(ground, node, now)
        following = ground.step[at, sf.NEXT]
        while following >= 0 and ground.step[following, sf.TIME] < soonest:
            if ground.step[following, sf.TIME] > start and grows(ground, at, following):
                soonest = ground.step[following, sf.TIME]
            at = following
            following = ground.step[at, sf.NEXT]
        begin = ground.node[node, sf.CLOSE_FROM]
        for at in range(begin, begin + ground.node[node, sf.CLOSE_COUNT]):
            if ground.close[at, sf.KNOWN] <= now and ground.close[at, sf.END] > start:
                soonest = min(soonest, ground.close[at, sf.END])
    return soonest


@kernel
def grows(ground: sf.Ground, before: int, at: int) -> bool:
    """True if a step has more of something than the one before it."""
    for k in range(sf.LEVEL, ground.step.shape[1]):
        if ground.step[at, k] > ground.step[before, k]:
            return True
    return False


@kernel
def allowed(ground: sf.Ground, shape: int) -> bool:
    """True if the placement found last takes no more than the limits leave."""
    resources = ground.step.shape[1] - sf.LEVEL
    if ground.mark[sf.PLACED] > ground.scratch[sf.HEADROOM, resources]:
        return False
    for k in range(resources):
        total = 0
        for at in range(ground.mark[sf.PLACED]):
            total += amount(
                ground, shape, ground.scratch[sf.CHOSEN, at], ground.scratch[sf.GIVEN, at], k
            )
        if total > ground.scratch[sf.HEADROOM, k]:
            return False
    return True


@kernel
def affords(ground: sf.Ground, shape: int, node: int, tasks: int) -> bool:
    """True if the limits leave what tasks take on a node."""
    resources = ground.step.shape[1] - sf.LEVEL
    if ground.scratch[sf.HEADROOM, resources] < 1:
        return False
    for k in range(resources):
        if amount(ground, shape, node, tasks, k) > ground.scratch[sf.HEADROOM, k]:
            return False
    return True


@routine
def narrow(ground: sf.Ground, shape: int) -> bool:
    """Let no node hold more tasks than the limits leave; False if too few nodes or tasks remain."""
    scratch = ground.scratch
    first = ground.shape[shape, sf.MASK_FROM]
    count = 0
    total = 0
    for at in range(ground.shape[shape, sf.MASK_COUNT]):
        low = 0
        high = scratch[sf.ROOM, at]
        while low < high:
            middle = (low + high + 1) >> 1
            if affords(ground, shape, ground.mask[first + at], middle):
                low = middle
            else:
                high = middle - 1
        scratch[sf.ROOM, at] = low
        if low > 0:
            count += 1
            total += low
        elif at < ground.shape[shape, sf.WANTED]:
            return False
    return bool(count >= ground.shape[shape, sf.LEAST] and total >= ground.shape[shape, sf.TASKS])


@routine
def take_row_allowed(ground: sf.Ground, shape: int) -> bool:
    """Take the first row of neighbours that the limits allow."""
    for place in range(ground.shape[shape, sf.MASK_COUNT]):
        if take_row_at(ground, shape, place) and allowed(ground, shape):
            return True
    return False


@routine
def search(ground: sf.Ground, shape: int, rule: int) -> bool:
    """The first set of nodes in a rule's order that holds all tasks and that the limits allow.

    Each node is used if the limits leave its part, and given up again if no nodes behind it
    complete the job; nodes like one that was given up are passed over with it.
    """
    scratch = ground.scratch
    least, most = ground.shape[shape, sf.LEAST], ground.shape[shape, sf.MOST]
    wanted = ground.shape[shape, sf.WANTED]
    counts = ground.shape[shape, sf.COUNTS]
    size = in_line(ground, shape, sf.number(sf.FIRST_FIT) if rule == sf.SLURM else rule)
    left = ground.shape[shape, sf.TASKS]
    depth = 0
    at = 0
    trials = 0
    while left > 0 or depth < least:
        used = False
        while not used and at < size and depth < most and scratch[sf.TALLY, at] >= left:
            trials += 1
            place = scratch[sf.UPCOMING, at]
            node = ground.mask[ground.shape[shape, sf.MASK_FROM] + place]
            due = max(0, least - depth - 1)
            if counts >= 0:
                still = missing_by(ground, shape, depth, node)
                due = max(due, still)
                if depth + 1 + still > most or due >= left:
                    due = left  # this one cannot be used
            tasks = min(scratch[sf.ROOM, place], left - due)
            if tasks > 0 and affords(ground, shape, node, tasks):
                scratch[sf.ORDER, depth] = at
                scratch[sf.CHOSEN, depth] = node
                scratch[sf.GIVEN, depth] = tasks
                charge_headroom(ground, shape, node, tasks, sf.number(-1))
                left -= tasks
                depth += 1
                at += 1
                used = True
            elif place < wanted:
                return False
            else:
                at = behind_alike(ground, shape, at, size)
        if used:
            continue
        if trials > TRIALS:
            ground.mark[sf.GIVEN_UP] += 1
            return False
        if depth == 0:
            return False
        depth -= 1
        at = scratch[sf.ORDER, depth]
        if scratch[sf.UPCOMING, at] < wanted:
            return False
        left += scratch[sf.GIVEN, depth]
        charge_headroom(
            ground, shape, scratch[sf.CHOSEN, depth], scratch[sf.GIVEN, depth], sf.number(1)
        )
        at = behind_alike(ground, shape, at, size)
    ground.mark[sf.PLACED] = depth
    return True


@routine
def in_line(ground: sf.Ground, shape: int, rule: int) -> int:
    """Write the places with room in a rule's order, and what they hold from each on."""
    scratch = ground.scratch
    count = arrange(ground, shape, rule)
    size = count
    for at in range(count):
        if rule == sf.FIRST_FIT:
            scratch[sf.UPCOMING, at] = scratch[sf.ORDER, at]
        else:
            scratch[sf.UPCOMING, at] = scratch[sf.ORDER, 0]
            size = taken_out(ground, shape, rule, size)
    scratch[sf.TALLY, count] = 0
    for at in range(count - 1, -1, -1):
        scratch[sf.TALLY, at] = (
            scratch[sf.TALLY, at + 1] + scratch[sf.ROOM, scratch[sf.UPCOMING, at]]
        )
    return count


@kernel
def missing_by(ground: sf.Ground, shape: int, depth: int, node: int) -> int:
    """Nodes that counts of features still need beside those used so far and one more."""
    counts = ground.shape[shape, sf.COUNTS]
    use_none(ground)
    for at in range(depth):
        use(ground, counts, ground.scratch[sf.CHOSEN, at])
    return missing_with(ground, counts, node)


@kernel
def charge_headroom(ground: sf.Ground, shape: int, node: int, tasks: int, sign: int) -> None:
    """Take (-1) or give back (+1) a node's part of what the limits leave."""
    resources = ground.step.shape[1] - sf.LEVEL
    for k in range(resources):
        ground.scratch[sf.HEADROOM, k] += sign * amount(ground, shape, node, tasks, k)
    ground.scratch[sf.HEADROOM, resources] += sign


@kernel
def behind_alike(ground: sf.Ground, shape: int, at: int, size: int) -> int:
    """The next place in line that is not like this one in what it holds and takes."""
    scratch = ground.scratch
    first = ground.shape[shape, sf.MASK_FROM]
    resources = ground.step.shape[1] - sf.LEVEL
    counts = ground.shape[shape, sf.COUNTS]
    place = scratch[sf.UPCOMING, at]
    room, node = scratch[sf.ROOM, place], ground.mask[first + place]
    at += 1
    while at < size:
        other = ground.mask[first + scratch[sf.UPCOMING, at]]
        if scratch[sf.ROOM, scratch[sf.UPCOMING, at]] != room:
            return at
        if counts >= 0 and ground.kind[counts, other] != ground.kind[counts, node]:
            return at
        for k in range(resources):
            if amount(ground, shape, node, room, k) != amount(ground, shape, other, room, k):
                return at
        at += 1
    return at
