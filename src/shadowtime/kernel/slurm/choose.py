"""Which nodes a job gets, and how many cpus on each (spec: slurm 4)."""

from __future__ import annotations

import numpy as np

from shadowtime.kernel.jit import entry, kernel, routine
from shadowtime.kernel.reference import by_reference
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.need import cores_for, gpus_added
from shadowtime.kernel.slurm.neighbours import by_sets
from shadowtime.kernel.slurm.offers import (
    could_do,
    is_usable,
    lacks_required,
    note_offers,
    reaches,
)
from shadowtime.kernel.slurm.other_fills import (
    BUSY_ONES,
    FROM_THE_FIRST,
    FROM_THE_LAST,
    by_leaves,
    by_weight,
    least_loaded,
)
from shadowtime.kernel.slurm.words import NONE, ONE, has, put
from shadowtime.types import Ints


@routine
def fill(desk: Desk, state: Ints, weight: Ints, ask: int, count: int, first: bool) -> bool:
    """One try: take some of the ``count`` nodes HERE; what each gives is left in GIVEN."""
    asks, rule = desk.ask, desk.rule
    if count < asks[ask, d.MIN_NODES]:
        return False
    if asks[ask, d.SPREAD] != 0:
        return by_weight(desk, state, weight, ask, first, FROM_THE_FIRST)
    if desk.need[d.BUSY_FIRST] != 0 and asks[ask, d.IN_A_ROW] == 0:
        return by_weight(desk, state, weight, ask, first, BUSY_ONES)
    if asks[ask, d.LEAST_LOADED] != 0:
        return least_loaded(desk, state, weight, ask, first)
    if rule[d.PACK_SERIAL] != 0 and asks[ask, d.MIN_CPUS] == 1 and asks[ask, d.WANTED] == 1:
        return by_weight(desk, state, weight, ask, first, FROM_THE_LAST)
    if rule[d.LEAVES] != 0:
        return by_leaves(desk, state, weight, ask, first)
    return by_sets(desk, state, weight, ask, first)


@kernel
def count_of(desk: Desk, ask: int, at: int) -> int:
    """Cpus plus GPUs of a node."""
    gpus = desk.spot[at, d.COUNTED]
    if desk.ask[ask, d.ASK_GPUS] > 0 and desk.rule[d.CPUS_BESIDE_GPUS] != 0:
        gpus = desk.spot[at, d.ALL_GPUS]
    return desk.spot[at, d.OFFER] + gpus


@routine
def seek(desk: Desk, state: Ints, weight: Ints, ask: int, left: int) -> bool:
    """Try all nodes, then without those that offer least, one count at a time.

    spec: slurm 4.5.
    """
    need, spot = desk.need, desk.spot
    if fill(desk, state, weight, ask, left, True):
        return True
    need[d.AGAIN] = 1
    singly = desk.rule[d.LEFT_OUT_SINGLY] != 0
    gpus = desk.ask[ask, d.ASK_GPUS] > 0
    least = desk.ask[ask, d.MIN_NODES]
    if left <= least:
        return (gpus or singly) and fill(desk, state, weight, ask, left, False)
    low, high = need[d.LOW], need[d.HIGH]
    most = 0
    for place in range(low, high + 1):
        at = desk.tried[place]
        if spot[at, d.HERE] != 0:
            most = max(most, count_of(desk, ask, at))
    count = 1
    while count < most:
        same = True
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.HERE] == 0 or has(desk.required, ask, at):
                continue
            if 0 < count_of(desk, ask, at) <= count:
                same = False
                spot[at, d.HERE] = 0
                left -= 1
                if left <= least:
                    break
        tried = count
        if same or not singly:
            count += 1  # else the same count once more, until it leaves out none
        if same and (tried != 1 or not (gpus or need[d.CLIPPED] != 0 or singly)):
            continue
        if fill(desk, state, weight, ask, left, False):
            return True
        if left <= least:
            return False
    return False


@routine
def seek_by_product(desk: Desk, state: Ints, weight: Ints, ask: int, left: int) -> bool:
    """Try all nodes twice, then without those of least cpus x GPUs, one after another."""
    need, spot = desk.need, desk.spot
    if fill(desk, state, weight, ask, left, True):
        return True
    need[d.AGAIN] = 1
    gpus = desk.ask[ask, d.ASK_GPUS] > 0 and desk.rule[d.CPUS_BESIDE_GPUS] != 0
    low, high = need[d.LOW], need[d.HIGH]
    for place in range(low, high + 1):  # by what they offered before any later try
        at = desk.tried[place]
        spot[at, d.BEFORE] = spot[at, d.OFFER] * (spot[at, d.ALL_GPUS] if gpus else 1)
    while True:
        if fill(desk, state, weight, ask, left, False):
            return True
        if left <= desk.ask[ask, d.MIN_NODES]:
            return False
        worst = -1
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.HERE] == 0 or has(desk.required, ask, at):
                continue
            if worst < 0 or spot[at, d.BEFORE] < spot[worst, d.BEFORE]:
                worst = at
        if worst < 0:
            return False
        spot[worst, d.HERE] = 0
        left -= 1


@routine
def single_fit(desk: Desk, state: Ints, weight: Ints, ask: int, required: int) -> int:
    """The first node that does alone in one try; -1: none.

    Slurm counts GPUs that a job asks for as a whole on from node to node (spec: slurm 4.9).
    """
    need, spot = desk.need, desk.spot
    low, high = need[d.LOW], need[d.HIGH]
    first = need[d.AGAIN] == 0
    need[d.CARRIED] = 0
    last = -1
    while True:
        now = -1  # the next weight; nodes of one weight in their order
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.HERE] != 0 and spot[at, d.BEFORE] > last:
                now = spot[at, d.BEFORE] if now < 0 else min(now, spot[at, d.BEFORE])
        if now < 0:
            return -1
        last = now
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.HERE] == 0 or spot[at, d.BEFORE] != now:
                continue
            if required > 1 or (required == 1 and not has(desk.required, ask, at)):
                continue
            counted = 0
            if desk.ask[ask, d.JOB_GPUS] > 0 and cores_for(desk, state, ask, at, first) > 0:
                counted = spot[at, d.COUNTED]
            need[d.LOW] = need[d.HIGH] = place
            found = fill(desk, state, weight, ask, 1, first)
            need[d.LOW], need[d.HIGH] = low, high
            if found:
                need[d.CARRIED] = 0
                return at
            if counted > 0:
                left = desk.ask[ask, d.JOB_GPUS] - need[d.CARRIED]
                need[d.CARRIED] += gpus_added(counted, left)


@routine
def first_fit(desk: Desk, state: Ints, weight: Ints, ask: int) -> bool:
    """The first node that does alone, by the weights BEFORE this test, then by place."""
    need, spot = desk.need, desk.spot
    required = 0
    for place in range(need[d.LOW], need[d.HIGH] + 1):
        at = desk.tried[place]
        if has(desk.required, ask, at):
            required += 1
    for again in range(2):
        need[d.AGAIN] = again
        found = single_fit(desk, state, weight, ask, required)
        if found >= 0:
            for place in range(need[d.LOW], need[d.HIGH] + 1):
                at = desk.tried[place]
                spot[at, d.TAKEN] = 1 if at == found else 0
            return True
    return False


@routine
def list_tried(desk: Desk) -> int:
    """Write the nodes TRIED, which are mostly few of many, to ``tried``; how many there are."""
    mask, tried, spot = desk.mask, desk.tried, desk.spot
    count = 0
    for word in range(mask.shape[1]):
        rest = mask[d.TRIED, word]
        at = 64 * word
        while rest != NONE:
            if rest & ONE != NONE:
                tried[count] = at
                spot[at, d.HERE] = 1
                count += 1
            rest >>= ONE
            at += 1
    return count


@routine
def once(desk: Desk, state: Ints, weight: Ints, ask: int, all_free: bool) -> bool:
    """One selection among TRIED; ``all_free``: as if all cores were free (memory and GPUs not).

    The nodes are left in CHOSEN, what they give in GIVEN.
    """
    need, spot, mask = desk.need, desk.spot, desk.mask
    need[d.ALL_FREE] = 1 if all_free else 0
    need[d.AGAIN] = need[d.CLIPPED] = need[d.CARRIED] = 0
    low, high = 0, list_tried(desk) - 1
    need[d.LOW], need[d.HIGH] = low, high
    single = desk.rule[d.FIRST_SINGLE] != 0 and desk.ask[ask, d.SINGLE] != 0
    if single:
        for place in range(low, high + 1):
            at = desk.tried[place]
            spot[at, d.BEFORE] = weight[at]
    left = note_offers(desk, state, weight, ask)
    if left < desk.ask[ask, d.MIN_NODES]:
        return False
    for place in range(low, high + 1):
        at = desk.tried[place]
        if has(desk.required, ask, at) and spot[at, d.HERE] == 0:
            return False
    need[d.TASK_BOUND] = desk.ask[ask, d.MOST_TASKS]
    if need[d.TASK_BOUND] < 0 and desk.rule[d.CPUS_OF_GPU_TASKS] != 0:
        need[d.TASK_BOUND] = desk.ask[ask, d.TASKS] if desk.ask[ask, d.TASKS] > 0 else -1
    if single:
        found = first_fit(desk, state, weight, ask)
    elif desk.rule[d.LEFT_OUT_BY_PRODUCT] != 0:
        found = seek_by_product(desk, state, weight, ask, left)
    else:
        found = seek(desk, state, weight, ask, left)
    if not found:
        return False
    for word in range(mask.shape[1]):
        mask[d.CHOSEN, word] = NONE
    for place in range(low, high + 1):
        at = desk.tried[place]
        if spot[at, d.TAKEN] != 0:
            put(mask, d.CHOSEN, at)
    return True


@routine
def choose(desk: Desk, state: Ints, weight: Ints, ask: int) -> bool:
    """Leave in CHOSEN the nodes the job would get of TRIED in this state; False: none."""
    mask, rule = desk.mask, desk.rule
    gpus = desk.ask[ask, d.ASK_GPUS] > 0
    counts = not gpus and rule[d.SHORTCUTS] != 0
    count = able = 0
    for word in range(mask.shape[1]):
        rest = left = mask[d.TRIED, word]
        at = 64 * word
        while rest != NONE:
            if rest & ONE != NONE:
                if counts and reaches(desk, state, ask, at):
                    able += 1
                if is_usable(desk, state, ask, at):
                    count += 1
                else:
                    left ^= ONE << np.uint64(at % 64)
            rest >>= ONE
            at += 1
        mask[d.TRIED, word] = left
    if counts and not could_do(desk, ask, able):
        return False
    if count < desk.ask[ask, d.MIN_NODES] or lacks_required(desk, ask):
        return False
    if gpus and rule[d.ONE_GPU_TEST] == 0:
        # Slurm tests twice, with all cores free and as they are; both leave weights behind.
        if not once(desk, state, weight, ask, True):
            return False
    return once(desk, state, weight, ask, False)


@entry
def choose_now(desk: Desk, state: Ints, weight: Ints, ask: int, empty: bool) -> bool:
    """For Python: as :func:`choose`; ``empty``: one selection, whatever memory and jobs there are.

    Examples
    --------
    >>> from shadowtime.kernel.slurm.desk import MIN_NODES, empty_desk
    >>> desk = empty_desk(2)
    >>> desk.ask[0, MIN_NODES] = 1  # and no node suits it
    >>> choose_now(desk, desk.full, desk.full[:, 0].copy(), 0, False)
    False
    """
    own = by_reference(desk)
    if empty:
        return not lacks_required(own, ask) and once(own, state, weight, ask, False)
    return choose(own, state, weight, ask)
