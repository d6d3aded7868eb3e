"""How many plans class partitioning allows in a pass: in all, or by what each node has."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.site import fields as sf
from shadowtime.kernel.site.steps import amount


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
