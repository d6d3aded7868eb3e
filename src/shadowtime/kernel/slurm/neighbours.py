"""Filling a job's need from sets of consecutive nodes of equal weight (spec: slurm 4.2 to 4.6)."""

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
    is_met,
    take,
    take_required,
)
from shadowtime.kernel.slurm.words import has
from shadowtime.types import Ints


@kernel
def begin_set(run: Ints, at: int, weight: int) -> None:
    """An empty set; a weight below 0 is that of none."""
    run[d.RUN_START, at] = run[d.RUN_END, at] = 0
    run[d.RUN_CPUS, at] = run[d.RUN_GPUS, at] = run[d.RUN_NODES, at] = 0
    run[d.RUN_REQUIRED, at] = -1
    run[d.RUN_WEIGHT, at] = weight


@routine
def sets_of(desk: Desk, weight: Ints, ask: int) -> int:
    """Write the sets of neighbours to ``run``; nodes that offer nothing end a set. How many."""
    spot, run, need = desk.spot, desk.run, desk.need
    by_weight = desk.ask[ask, d.IN_A_ROW] == 0
    now = 0
    begin_set(run, now, -1)
    last = -2
    for place in range(need[d.LOW], need[d.HIGH] + 1):
        at = desk.tried[place]
        if spot[at, d.HERE] == 0:
            continue
        required = has(desk.required, ask, at)
        if not required and spot[at, d.LEFT] == 0:
            continue
        if at != last + 1:
            if run[d.RUN_NODES, now] == 0:
                run[d.RUN_REQUIRED, now] = run[d.RUN_WEIGHT, now] = -1
            else:
                run[d.RUN_END, now] = last
                now += 1
                begin_set(run, now, -1)
        before = run[d.RUN_WEIGHT, now]
        if by_weight and before >= 0 and weight[at] != before:
            if run[d.RUN_NODES, now] == 0:
                run[d.RUN_REQUIRED, now] = -1
            else:
                run[d.RUN_END, now] = at - 1
                now += 1
                begin_set(run, now, 0)
        if run[d.RUN_NODES, now] == 0:
            run[d.RUN_START, now] = at
        last = at
        if required:
            if run[d.RUN_REQUIRED, now] == -1:
                run[d.RUN_REQUIRED, now] = at
            continue
        run[d.RUN_CPUS, now] += spot[at, d.LEFT]
        run[d.RUN_NODES, now] += 1
        run[d.RUN_GPUS, now] += spot[at, d.COUNTED]
        run[d.RUN_WEIGHT, now] = weight[at]
    if run[d.RUN_NODES, now] == 0:
        return now
    run[d.RUN_END, now] = last
    return now + 1


@routine
def best_set(desk: Desk, ask: int, sets: int) -> int:
    """The set to take next: lowest weight, then the tightest that suffices; -1: none.

    spec: slurm 4.2; contiguous nodes 4.14.
    """
    run, need = desk.run, desk.need
    in_a_row = desk.ask[ask, d.IN_A_ROW] != 0
    last_required = -1
    for one in range(sets):
        if in_a_row and run[d.RUN_REQUIRED, one] != -1:
            last_required = one
    best = -1
    best_does = False
    for one in range(sets):
        if run[d.RUN_NODES, one] == 0:
            continue
        if last_required >= 0 and one != last_required:
            if run[d.RUN_REQUIRED, one] != -1:
                return -1  # required nodes in several sets
            continue
        cpus = run[d.RUN_CPUS, one]
        does = (
            cpus >= need[d.N_CPUS]
            and enough(desk, ask, run[d.RUN_NODES, one], need[d.N_NODES])
            and run[d.RUN_GPUS, one] >= need[d.N_GPUS]
        )
        if best >= 0:
            weight, lowest = run[d.RUN_WEIGHT, one], run[d.RUN_WEIGHT, best]
            better = run[d.RUN_REQUIRED, best] == -1 and run[d.RUN_REQUIRED, one] != -1
            better = better or weight < lowest
            if not better and weight == lowest:
                size = run[d.RUN_CPUS, best]
                if does:
                    better = not best_does or cpus < size
                else:
                    better = cpus > size
            better = better or (in_a_row and does and not best_does)
            if not better:
                continue
        best, best_does = one, does
    return -1 if in_a_row and not best_does else best


@routine
def keep_single(desk: Desk, first: int, last: int) -> None:
    """Where one node does, leave the one with the fewest cpus, the first of equals."""
    spot, need = desk.spot, desk.need
    best = -1
    for at in range(first, last + 1):
        have = spot[at, d.LEFT]
        if spot[at, d.TAKEN] != 0 or have == 0 or have < need[d.N_CPUS]:
            continue
        if need[d.N_GPUS] > 0 and spot[at, d.COUNTED] < need[d.N_GPUS]:
            continue
        if best < 0 or have < spot[best, d.LEFT]:
            best = at
            if have == need[d.N_CPUS]:
                break
    if best >= 0:
        for at in range(first, last + 1):
            if at != best:
                spot[at, d.LEFT] = 0


@kernel
def add_one(desk: Desk, ask: int, at: int) -> None:
    """Take a node with what it offers in this try."""
    add(desk, at, take(desk, ask, at, desk.spot[at, d.LEFT], desk.need[d.N_DUE]))


@routine
def by_sets(desk: Desk, state: Ints, weight: Ints, ask: int, first: bool) -> bool:
    """The default: sets of consecutive nodes, best fit."""
    spot, run, need = desk.spot, desk.run, desk.need
    begin_need(desk, ask, False)
    required = 0
    for place in range(need[d.LOW], need[d.HIGH] + 1):
        at = desk.tried[place]
        spot[at, d.LEFT] = 0
        if has(desk.required, ask, at):
            required += 1
    if required > need[d.N_MOST]:
        return False
    over = take_required(desk, state, ask, first)
    if over == SUFFICES:
        return True
    if over == FAILS:
        return False
    for place in range(need[d.LOW], need[d.HIGH] + 1):
        at = desk.tried[place]
        if spot[at, d.HERE] != 0 and not has(desk.required, ask, at):
            spot[at, d.LEFT] = cores_for(desk, state, ask, at, first)
    sets = sets_of(desk, weight, ask)
    while need[d.N_MOST] > 0:
        best = best_set(desk, ask, sets)
        if best < 0:
            break
        start, end, from_ = run[d.RUN_START, best], run[d.RUN_END, best], run[d.RUN_REQUIRED, best]
        if from_ != -1:
            for at in range(from_, end + 1):
                if need[d.N_MOST] <= 0 or is_met(need):
                    break
                if spot[at, d.TAKEN] == 0 and spot[at, d.LEFT] > 0:
                    add_one(desk, ask, at)
            for at in range(from_ - 1, start - 1, -1):
                if need[d.N_MOST] <= 0 or is_met(need):
                    break
                if spot[at, d.TAKEN] == 0 and spot[at, d.LEFT] > 0:
                    add_one(desk, ask, at)
        else:
            if need[d.N_NODES] <= 1:
                keep_single(desk, start, end)
            for at in range(start, end + 1):
                if need[d.N_MOST] <= 0 or is_met(need):
                    break
                if spot[at, d.TAKEN] != 0 or spot[at, d.LEFT] == 0:
                    continue
                if need[d.N_MOST] == 1 and spot[at, d.LEFT] < need[d.N_CPUS]:
                    continue
                add_one(desk, ask, at)
        if is_met(need):
            return True
        run[d.RUN_CPUS, best] = run[d.RUN_NODES, best] = 0
    if need[d.N_CPUS] > 0 or need[d.N_GPUS] > 0:
        return False
    return enough(desk, ask, 0, need[d.N_NODES])
