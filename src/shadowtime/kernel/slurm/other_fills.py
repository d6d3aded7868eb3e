"""Filling a job's need by weight alone, from the least loaded nodes, or from leaf switches."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.desk import Desk
from shadowtime.kernel.slurm.need import (
    FAILS,
    SUFFICES,
    add,
    begin_need,
    cores_for,
    enough,
    is_due,
    is_met,
    next_weight,
    take,
    take_required,
)
from shadowtime.kernel.slurm.words import has
from shadowtime.types import Ints


@kernel
def rests(desk: Desk, ask: int, at: int) -> bool:
    """The node is tried, and not one of the required."""
    return desk.spot[at, d.HERE] != 0 and not has(desk.required, ask, at)


FROM_THE_LAST, FROM_THE_FIRST, BUSY_ONES = range(3)
"""Ways through the nodes of a weight: pack_serial_at_end, --spread-job, bf_busy_nodes."""


@routine
def by_weight(desk: Desk, state: Ints, weight: Ints, ask: int, first: bool, way: int) -> bool:
    """By weight: from the last node down, from the first up, or busy nodes, then idle ones.

    With BUSY_ONES Slurm's loop goes on to the idle nodes after the need is met and takes one more.
    """
    spot, need = desk.spot, desk.need
    busy = way == BUSY_ONES
    begin_need(desk, ask, True)
    over = take_required(desk, state, ask, first)
    if over == SUFFICES:
        return True
    if over == FAILS:
        return False
    low, high = need[d.LOW], need[d.HIGH]
    met = done = False
    last = next_weight(desk, weight, -1)
    while last >= 0 and not done:
        for part in range(2 if busy else 1):
            for step in range(high - low + 1):
                at = desk.tried[high - step if way == FROM_THE_LAST else low + step]
                if not rests(desk, ask, at) or weight[at] != last or spot[at, d.OFFER] == 0:
                    continue
                if busy and has(desk.mask, d.IDLE_NOW, at) != (part == 1):
                    continue
                if spot[at, d.TAKEN] != 0 or (not busy and need[d.N_MOST] <= 0):
                    continue
                cpus = cores_for(desk, state, ask, at, first)
                if cpus == 0:
                    continue
                add(desk, at, take(desk, ask, at, cpus, need[d.N_DUE]))
                if is_met(need):
                    met = done = True
                    break
                if need[d.N_MOST] == 0:
                    done = True
                    break
        last = next_weight(desk, weight, last)
    return met or not is_due(need)


@routine
def least_loaded(desk: Desk, state: Ints, weight: Ints, ask: int, first: bool) -> bool:
    """CR_LLN: within a weight, the node with the largest share of free cpus, the first of equals.

    Cpus count as free even where the job cannot use them because memory is short. As in Slurm the
    search stops early at a new largest share whose node has as many free cpus as the one taken
    last, even if a later node of another size has a larger share. Since 25.11 the node counts with
    the cpus that the node looked at last has (LAST_COUNTS): jobs get more nodes than they need.
    """
    spot, need, node = desk.spot, desk.need, desk.node
    begin_need(desk, ask, True)
    over = take_required(desk, state, ask, first)
    if over == SUFFICES:
        return True
    if over == FAILS:
        return False
    now = next_weight(desk, weight, -1)
    while now >= 0:
        last = -1
        while need[d.N_MOST] > 0:
            best = -1
            seen = 0
            for place in range(need[d.LOW], need[d.HIGH] + 1):
                at = desk.tried[place]
                if not rests(desk, ask, at) or weight[at] != now or spot[at, d.TAKEN] != 0:
                    continue
                cpus = cores_for(desk, state, ask, at, first)
                if cpus == 0:
                    continue
                seen = cpus
                if (
                    best < 0
                    or spot[best, d.UNUSED] * node[at, d.CPUS]
                    < spot[at, d.UNUSED] * node[best, d.CPUS]
                ):
                    best = at
                    if spot[at, d.UNUSED] == last:
                        break
            if best < 0:
                break
            last = spot[best, d.UNUSED]
            own = cores_for(desk, state, ask, best, first)
            counted = seen if desk.rule[d.LAST_COUNTS] != 0 else own
            cpus = take(desk, ask, best, counted, need[d.N_DUE])
            if cpus == counted:
                spot[best, d.GIVEN] = own
            add(desk, best, cpus)
            if is_met(need):
                return True
        now = next_weight(desk, weight, now)
    return not is_due(need)


BEST, MUST = 1, 2
"""Marks of nodes: considered, and taken in any case."""


@kernel
def in_reach(desk: Desk, at: int) -> bool:
    """The node is tried, and below some leaf."""
    return desk.spot[at, d.HERE] != 0 and desk.node[at, d.IN_LEAF] != 0


@routine
def leaf_cpus(desk: Desk, leaf: int) -> int:
    """What the nodes of a leaf offer; of all leaves where it is below 0."""
    total = 0
    for place in range(desk.need[d.LOW], desk.need[d.HIGH] + 1):
        at = desk.tried[place]
        if in_reach(desk, at) and (leaf < 0 or has(desk.leaf, leaf, at)):
            total += desk.spot[at, d.OFFER]
    return total


@kernel
def leaf_is_better(count: int, best: int, fits: bool, best_fits: bool) -> bool:
    """A leaf that covers what is still wanted, the smaller; else the one with most nodes."""
    if fits != best_fits:
        return fits
    return count < best if fits else count > best


@routine
def by_leaves(desk: Desk, state: Ints, weight: Ints, ask: int, first: bool) -> bool:
    """topology/tree with one level of leaves below the top (spec: slurm 4.11)."""
    spot, need, run = desk.spot, desk.need, desk.run
    begin_need(desk, ask, False)
    over = take_required(desk, state, ask, first)
    if over == SUFFICES:
        return True
    if over == FAILS:
        return False
    low, high, leaves = need[d.LOW], need[d.HIGH], desk.rule[d.LEAVES]
    count = 0
    for place in range(low, high + 1):
        at = desk.tried[place]
        spot[at, d.LEFT] = spot[at, d.MARK] = 0
        if in_reach(desk, at):
            count += 1
    if not enough(desk, ask, count, need[d.N_NODES]):
        return False
    counts_cpus = desk.rule[d.LEAF_NEEDS_CPUS] != 0
    for leaf in range(leaves):
        run[d.RUN_CPUS, leaf] = leaf_cpus(desk, leaf)
        run[d.RUN_REQUIRED, leaf] = run[d.RUN_NODES, leaf] = 0
    if counts_cpus and need[d.N_CPUS] > leaf_cpus(desk, -1):
        return False
    best = cpus_in = gpus_in = 0
    does = musts = False
    now = -1
    while True:
        # The lowest weight above the last, of all nodes in reach.
        lowest = -1
        for place in range(low, high + 1):
            at = desk.tried[place]
            if in_reach(desk, at) and weight[at] > now and (lowest < 0 or weight[at] < lowest):
                lowest = weight[at]
        if lowest < 0:
            break
        now = lowest
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.MARK] == BEST:
                spot[at, d.MARK] = MUST
                musts = True
        for place in range(low, high + 1):
            at = desk.tried[place]
            if not in_reach(desk, at) or spot[at, d.TAKEN] != 0 or weight[at] != now:
                continue
            cpus = cores_for(desk, state, ask, at, first)
            if cpus > 0:
                spot[at, d.LEFT] = cpus
                spot[at, d.MARK] = BEST
                best += 1
                cpus_in += cpus
                gpus_in += spot[at, d.COUNTED]
        suffices = cpus_in >= need[d.N_CPUS] and gpus_in >= need[d.N_GPUS]
        does = does or (suffices and enough(desk, ask, best, need[d.N_NODES]))
        if counts_cpus:  # weights are added up to the wanted number of nodes
            if suffices and best >= need[d.N_NODES]:
                break
        elif does:
            break
    if not does:
        return False
    for place in range(low, high + 1):
        at = desk.tried[place]
        if spot[at, d.MARK] != MUST:
            continue
        if need[d.N_MOST] <= 0:
            break
        add(desk, at, take(desk, ask, at, spot[at, d.LEFT], need[d.N_DUE] - 1))
    if musts and is_met(need):
        return True
    if musts and need[d.N_MOST] <= 0:
        return False
    for leaf in range(leaves):
        touched = False
        for place in range(low, high + 1):
            at = desk.tried[place]
            if has(desk.leaf, leaf, at) and (
                spot[at, d.MARK] == MUST or has(desk.required, ask, at)
            ):
                touched = True
                break
        if not touched:
            continue
        run[d.RUN_REQUIRED, leaf] = 1
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.LEFT] > 0 and has(desk.leaf, leaf, at) and spot[at, d.TAKEN] == 0:
                add(desk, at, take(desk, ask, at, spot[at, d.LEFT], need[d.N_DUE]))
                if is_met(need):
                    return True
    for leaf in range(leaves):
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.LEFT] > 0 and has(desk.leaf, leaf, at):
                run[d.RUN_NODES, leaf] += 1
    before = need[d.N_NODES] + 1
    while before != need[d.N_NODES]:
        before = need[d.N_NODES]
        pick = -1
        pick_fits = False
        for leaf in range(leaves):
            count = run[d.RUN_NODES, leaf]
            if run[d.RUN_REQUIRED, leaf] != 0 or count == 0:
                continue
            fits = count >= need[d.N_NODES] and (
                not counts_cpus or run[d.RUN_CPUS, leaf] >= need[d.N_CPUS]
            )
            if pick < 0 or leaf_is_better(count, run[d.RUN_NODES, pick], fits, pick_fits):
                pick, pick_fits = leaf, fits
        if pick < 0:
            break
        for place in range(low, high + 1):
            at = desk.tried[place]
            if spot[at, d.LEFT] == 0 or spot[at, d.TAKEN] != 0 or not has(desk.leaf, pick, at):
                continue
            if need[d.N_MOST] <= 0:
                break
            add(desk, at, take(desk, ask, at, spot[at, d.LEFT], need[d.N_DUE] - 1))
            if is_met(need):
                return True
        run[d.RUN_NODES, pick] = 0
    return not is_due(need)
