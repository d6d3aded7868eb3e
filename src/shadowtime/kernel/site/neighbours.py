"""Placements that look at neighbours: nodes in a row, and Slurm's sets of consecutive nodes."""

from __future__ import annotations

from typing import Any

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.site.fields import (
    BEST,
    CHOSEN,
    GIVEN,
    INDEX,
    LEAST,
    LEVEL,
    MASK_COUNT,
    MASK_FROM,
    MOST,
    ORDER,
    PLACED,
    ROOM,
    TASKS,
    WANTED,
    WEIGHT,
)


@kernel
def give(g: Any, shape: int, place: int, count: int, left: int) -> int:
    """Give the node at a place of the mask all it holds but a task for each node still due.

    Returns how many tasks are left.
    """
    due = max(0, g.shape[shape, LEAST] - count - 1)
    given = min(g.scratch[ROOM, place], left - due)
    g.scratch[CHOSEN, count] = g.mask[g.shape[shape, MASK_FROM] + place]
    g.scratch[GIVEN, count] = given
    return left - given


@kernel
def next_to(g: Any, shape: int, place: int) -> bool:
    """True if the node at a place and the one before it are neighbours in the site."""
    at = g.shape[shape, MASK_FROM] + place
    return bool(g.node[g.mask[at], INDEX] == g.node[g.mask[at - 1], INDEX] + 1)


@kernel
def row_from(g: Any, shape: int, place: int) -> int:
    """How many neighbours from a place of the mask on hold all tasks; 0 if they do not."""
    size = min(g.shape[shape, MASK_COUNT], place + g.shape[shape, MOST])
    total = 0
    at = place
    while at < size and g.scratch[ROOM, at] > 0 and (at == place or next_to(g, shape, at)):
        total += g.scratch[ROOM, at]
        at += 1
        if total >= g.shape[shape, TASKS] and at - place >= g.shape[shape, LEAST]:
            return at - place
    return 0


@routine
def has_row(g: Any, shape: int) -> bool:
    """True if neighbours hold all tasks."""
    place = 0
    while place < g.shape[shape, MASK_COUNT] and row_from(g, shape, place) == 0:
        place += 1
    return bool(place < g.shape[shape, MASK_COUNT])


@routine
def take_row(g: Any, shape: int) -> bool:
    """Take the first node from which as few neighbours as possible hold all tasks."""
    for place in range(g.shape[shape, MASK_COUNT]):
        nodes = row_from(g, shape, place)
        if nodes > 0:
            left = g.shape[shape, TASKS]
            for count in range(nodes):
                left = give(g, shape, place + count, count, left)
            g.mark[PLACED] = nodes
            return True
    return False


@kernel
def free_cpus(g: Any, place: int) -> int:
    """Cpus that are free at the start on the node at a place of the mask."""
    return int(g.step[g.scratch[BEST, place], LEVEL])


@routine
def best_set(g: Any, shape: int, count: int, left: int) -> tuple[int, int]:
    """(first place, behind the last) of the best set that has not been used; (-1, -1) if none.

    The lightest; of equals one that holds what is left, with the fewest cpus free; if none does,
    the one with most. Ties: the first.
    """
    scratch = g.scratch
    size = g.shape[shape, MASK_COUNT]
    first = g.shape[shape, MASK_FROM]
    begin, behind = -1, -1
    weight, enough, cpus = 0, False, 0
    at = g.shape[shape, WANTED]
    while at < size:
        if scratch[ROOM, at] == 0 or scratch[ORDER, at] != 0:
            at += 1
            continue
        start = at
        heavy = g.node[g.mask[first + at], WEIGHT]
        held, free = 0, 0
        while (
            at < size
            and scratch[ROOM, at] > 0
            and (
                at == start
                or (next_to(g, shape, at) and g.node[g.mask[first + at], WEIGHT] == heavy)
            )
        ):
            held += scratch[ROOM, at]
            free += free_cpus(g, at)
            at += 1
        does = held >= left and at - start >= g.shape[shape, LEAST] - count
        better = begin < 0
        if not better:
            if heavy != weight:
                better = heavy < weight
            elif does != enough:
                better = does
            else:
                better = free < cpus if does else free > cpus
        if better:
            begin, behind = start, at
            weight, enough, cpus = heavy, does, free
    return begin, behind


@routine
def take_sets(g: Any, shape: int) -> bool:
    """Slurm's choice: the best set of neighbours of equal weight, again and again.

    Within a set one node that holds what is left, with the fewest cpus free; else from its first
    node on.
    """
    scratch = g.scratch
    least, most = g.shape[shape, LEAST], g.shape[shape, MOST]
    left = g.shape[shape, TASKS]
    count = 0
    for at in range(g.shape[shape, MASK_COUNT]):
        scratch[ORDER, at] = 0
    for at in range(g.shape[shape, WANTED]):
        left = give(g, shape, at, count, left)
        count += 1
    while left > 0 or count < least:
        begin, behind = best_set(g, shape, count, left)
        if begin < 0 or count == most:
            return False
        alone = -1
        if least - count <= 1:
            for at in range(begin, behind):
                if scratch[ROOM, at] >= left:
                    if alone < 0 or free_cpus(g, at) < free_cpus(g, alone):
                        alone = at
        for at in range(begin, behind):
            wanted = alone < 0 or at == alone
            if wanted and count < most and (left > 0 or count < least):
                left = give(g, shape, at, count, left)
                count += 1
            scratch[ORDER, at] = 1
    g.mark[PLACED] = count
    return True
