"""Bounds of QOS and accounts: what a start would add, and whether that is allowed.

A bucket is a group that shares a bound (a QOS, a user in it, an account); its columns are what is
counted: jobs, amounts in use (and nodes), amounts times limits of the running jobs, amounts times
seconds used so far, wall time used so far.

Class partitioning bounds the plans of a pass: in all, or by what each node has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel.fields import REQUEST, START
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.steps import amount

if TYPE_CHECKING:
    from shadowtime.kernel.state import State

ASKED_FOR, IN_PLACE = 0, 1
"""Where the amounts come from: the request, or the job's own place."""


@routine
def charge(state: State, ground: sf.Ground, job: int, alt: int, source: int) -> None:
    """Work out what a run adds to each column."""
    line = ground.scratch[sf.CHARGE]
    shape = ground.alt[alt, sf.ALT_SHAPE]
    resources = ground.step.shape[1] - sf.LEVEL
    if source == ASKED_FOR:
        nodes = ground.shape[shape, sf.LEAST]
        for k in range(resources):
            line[1 + k] = (
                ground.shape[shape, sf.TASKS]
                * ground.shape[shape, sf.PER_TASK + k]
                // ground.shape[shape, sf.DIVISOR]
                + nodes * ground.shape[shape, sf.PER_TASK + resources + k]
            )
    else:
        for k in range(resources):
            line[1 + k] = 0
        nodes = ground.job[job, sf.PLACE_COUNT]
        first = ground.job[job, sf.PLACE_FROM]
        for at in range(first, first + nodes):
            node, tasks = ground.place[at] >> 32, ground.place[at] & 0xFFFFFFFF
            for k in range(resources):
                line[1 + k] += amount(ground, shape, node, tasks, k)
    jobs = ground.alt[alt, sf.ALT_JOBS]
    line[0] = jobs
    line[1 + resources] = nodes
    request = max(1, state.job[job, REQUEST])
    for k in range(resources + 1):
        line[2 + resources + k] = line[1 + k] * request
        line[3 + 2 * resources + k] = line[1 + k] * request
    line[4 + 3 * resources] = jobs * request


@routine
def within(state: State, ground: sf.Ground, job: int, alt: int, source: int) -> bool:
    """True if a start passes no bound."""
    if ground.alt[alt, sf.ALT_COUNT] == 0:
        return True
    charge(state, ground, job, alt, source)
    line = ground.scratch[sf.CHARGE]
    first = ground.alt[alt, sf.ALT_FROM]
    for at in range(first, first + ground.alt[alt, sf.ALT_COUNT]):
        bucket = ground.bucket[at]
        for k in range(ground.limit.shape[2]):
            if ground.limit[sf.USED, bucket, k] + line[k] > ground.limit[sf.BOUND, bucket, k]:
                return False
    return True


@routine
def find_headroom(state: State, ground: sf.Ground, job: int, alt: int, bare: int) -> None:
    """The most of each resource, and of nodes, that a place may take within the bounds.

    ``bare``: as if nothing were in use.
    """
    resources = ground.step.shape[1] - sf.LEVEL
    request = max(1, state.job[job, REQUEST])
    for k in range(resources + 1):
        ground.scratch[sf.HEADROOM, k] = sf.NO_BOUND
    first = ground.alt[alt, sf.ALT_FROM]
    for at in range(first, first + ground.alt[alt, sf.ALT_COUNT]):
        bucket = ground.bucket[at]
        for column in range(1, 4 + 3 * resources):
            bound = ground.limit[sf.BOUND, bucket, column]
            if bound == sf.NO_BOUND:
                continue
            if bare == 0:
                bound -= ground.limit[sf.USED, bucket, column]
            if column > resources + 1:
                bound //= request
            k = (column - 1) % (resources + 1)
            ground.scratch[sf.HEADROOM, k] = min(ground.scratch[sf.HEADROOM, k], bound)


@routine
def account_start(state: State, ground: sf.Ground, job: int) -> None:
    """Count a job that starts in its place."""
    alt = ground.job[job, sf.ALT]
    if ground.alt[alt, sf.ALT_COUNT] == 0:
        return
    charge(state, ground, job, alt, sf.number(IN_PLACE))
    first = ground.alt[alt, sf.ALT_FROM]
    for at in range(first, first + ground.alt[alt, sf.ALT_COUNT]):
        for k in range(ground.limit.shape[2]):
            ground.limit[sf.USED, ground.bucket[at], k] += ground.scratch[sf.CHARGE, k]


@routine
def account_end(state: State, ground: sf.Ground, job: int, now: int) -> None:
    """Count a job out; what it used of its minutes and wall time stays."""
    alt = ground.job[job, sf.ALT]
    if ground.alt[alt, sf.ALT_COUNT] == 0:
        return
    charge(state, ground, job, alt, sf.number(IN_PLACE))
    line = ground.scratch[sf.CHARGE]
    resources = ground.step.shape[1] - sf.LEVEL
    used = now - state.job[job, START]
    first = ground.alt[alt, sf.ALT_FROM]
    for at in range(first, first + ground.alt[alt, sf.ALT_COUNT]):
        bucket = ground.bucket[at]
        for k in range(ground.limit.shape[2]):
            ground.limit[sf.USED, bucket, k] -= line[k]
        for k in range(resources + 1):
            ground.limit[sf.USED, bucket, 3 + 2 * resources + k] += line[1 + k] * used
        ground.limit[sf.USED, bucket, 4 + 3 * resources] += line[0] * used


@kernel
def columns(resources: int) -> int:
    """How many columns a bucket has."""
    return 5 + 3 * resources


@kernel
def may_reserve(ground: sf.Ground, alt: int) -> bool:
    """False if no plan may be made by an alternative in this pass any more."""
    how = ground.alt[alt, sf.ALT_RESERVES]
    if how == sf.RESERVES_COUNTED:
        return bool(ground.mark[sf.COUNTED] < ground.mark[sf.MOST_COUNTED])
    return bool(how != sf.RESERVES_NEVER)


@kernel
def within_cap(ground: sf.Ground, shape: int, node: int, tasks: int) -> bool:
    """True if the pass's plans and ``tasks`` more take no more than TIMES what the node has."""
    resources = ground.step.shape[1] - sf.LEVEL
    for k in range(resources):
        most = ground.mark[sf.TIMES] * ground.node[node, sf.FREE + resources + k]
        if ground.planned[node, k] + amount(ground, shape, node, tasks, k) > most:
            return False
    return True


@routine
def room_in_cap(ground: sf.Ground, shape: int, node: int) -> int:
    """The most tasks that may be planned on a node beside the plans of this pass."""
    low = 0
    high = ground.shape[shape, sf.PER_NODE]
    while low < high:
        middle = (low + high + 1) >> 1
        if within_cap(ground, shape, node, middle):
            low = middle
        else:
            high = middle - 1
    return low


@routine
def count_reservation(ground: sf.Ground, job: int, alt: int, shape: int, sign: int) -> None:
    """Count a plan in (+1) or out (-1)."""
    how = ground.alt[alt, sf.ALT_RESERVES]
    if how == sf.RESERVES_COUNTED:
        ground.mark[sf.COUNTED] += sign
    elif how == sf.RESERVES_BY_NODE:
        first = ground.job[job, sf.PLACE_FROM]
        for at in range(first, first + ground.job[job, sf.PLACE_COUNT]):
            node, tasks = ground.place[at] >> 32, ground.place[at] & 0xFFFFFFFF
            for k in range(ground.step.shape[1] - sf.LEVEL):
                ground.planned[node, k] += sign * amount(ground, shape, node, tasks, k)
