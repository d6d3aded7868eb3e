"""Placements that look at neighbours: nodes in a row, and Slurm's sets of consecutive nodes."""

from __future__ import annotations

from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.site import fields as sf


@kernel
def give(ground: sf.Ground, shape: int, place: int, count: int, left: int) -> int:
    """Give the node at a place of the mask all it holds but a task for each node still due.

    Returns how many tasks are left.
    """
    due = max(0, ground.shape[shape, sf.LEAST] - count - 1)
    given = min(ground.scratch[sf.ROOM, place], left - due)
    ground.scratch[sf.CHOSEN, count] = ground.mask[ground.shape[shape, sf.MASK_FROM] + place]
    ground.scratch[sf.GIVEN, count] = given
    return left - given


@kernel
def next_to(ground: sf.Ground, shape: int, place: int) -> bool:
    """True if the node at a place and the one before it are neighbours in the site."""
    at = ground.shape[shape, sf.MASK_FROM] + place
    return bool(
        ground.node[ground.mask[at], sf.INDEX] == ground.node[ground.mask[at - 1], sf.INDEX] + 1
    )


@kernel
def row_from(ground: sf.Ground, shape: int, place: int) -> int:
    """How many neighbours from a place of the mask on hold all tasks; 0 if they do not."""
    size = min(ground.shape[shape, sf.MASK_COUNT], place + ground.shape[shape, sf.MOST])
    total = 0
    at = place
    while (
        at < size
        and ground.scratch[sf.ROOM, at] > 0
        and (at == place or next_to(ground, shape, at))
    ):
        total += ground.scratch[sf.ROOM, at]
        at += 1
        if total >= ground.shape[shape, sf.TASKS] and at - place >= ground.shape[shape, sf.LEAST]:
            return at - place
    return 0


@routine
def has_row(ground: sf.Ground, shape: int) -> bool:
    """True if neighbours hold all tasks."""
    place = 0
    while place < ground.shape[shape, sf.MASK_COUNT] and row_from(ground, shape, place) == 0:
        place += 1
    return bool(place < ground.shape[shape, sf.MASK_COUNT])


@routine
def take_row(ground: sf.Ground, shape: int) -> bool:
    """Take the first node from which as few neighbours as possible hold all tasks."""
    for place in range(ground.shape[shape, sf.MASK_COUNT]):
        if take_row_at(ground, shape, place):
            return True
    return False


@routine
def take_row_at(ground: sf.Ground, shape: int, place: int) -> bool:
    """Take as few neighbours as possible from a place on; False if they do not hold all tasks."""
    nodes = row_from(ground, shape, place)
    left = ground.shape[shape, sf.TASKS]
    for count in range(nodes):
        left = give(ground, shape, place + count, count, left)
    if nodes > 0:
        ground.mark[sf.PLACED] = nodes
    return bool(nodes > 0)


@kernel
def free_cpus(ground: sf.Ground, place: int) -> int:
    """Cpus that are free at the start on the node at a place of the mask."""
    return int(ground.step[ground.scratch[sf.BEST, place], sf.LEVEL])


@routine
def best_set(ground: sf.Ground, shape: int, count: int, left: int) -> tuple[int, int]:
    """(first place, behind the last) of the best set that has not been used; (-1, -1) if none.

    The lightest; of equals one that holds what is left, with the fewest cpus free; if none does,
    the one with most. Ties: the first.
    """
    scratch = ground.scratch
    size = ground.shape[shape, sf.MASK_COUNT]
    first = ground.shape[shape, sf.MASK_FROM]
    begin, behind = -1, -1
    weight, enough, cpus = 0, False, 0
    at = ground.shape[shape, sf.WANTED]
    while at < size:
        if scratch[sf.ROOM, at] == 0 or scratch[sf.ORDER, at] != 0:
            at += 1
            continue
        start = at
        heavy = ground.node[ground.mask[first + at], sf.WEIGHT]
        held, free = 0, 0
        while (
            at < size
            and scratch[sf.ROOM, at] > 0
            and (
                at == start
                or (
                    next_to(ground, shape, at)
                    and ground.node[ground.mask[first + at], sf.WEIGHT] == heavy
                )
            )
        ):
            held += scratch[sf.ROOM, at]
            free += free_cpus(ground, at)
            at += 1
        does = held >= left and at - start >= ground.shape[shape, sf.LEAST] - count
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
def take_sets(ground: sf.Ground, shape: int) -> bool:
    """Slurm's choice: the best set of neighbours of equal weight, again and again.

    Within a set one node that holds what is left, with the fewest cpus free; else from its first
    node on.
    """
    scratch = ground.scratch
    least, most = ground.shape[shape, sf.LEAST], ground.shape[shape, sf.MOST]
    left = ground.shape[shape, sf.TASKS]
    count = 0
    for at in range(ground.shape[shape, sf.MASK_COUNT]):
        scratch[sf.ORDER, at] = 0
    for at in range(ground.shape[shape, sf.WANTED]):
        left = give(ground, shape, at, count, left)
        count += 1
    while left > 0 or count < least:
        begin, behind = best_set(ground, shape, count, left)
        if begin < 0 or count == most:
            return False
        alone = -1
        if least - count <= 1:
            for at in range(begin, behind):
                if scratch[sf.ROOM, at] >= left:
                    if alone < 0 or free_cpus(ground, at) < free_cpus(ground, alone):
                        alone = at
        for at in range(begin, behind):
            wanted = alone < 0 or at == alone
            if wanted and count < most and (left > 0 or count < least):
                left = give(ground, shape, at, count, left)
                count += 1
            scratch[sf.ORDER, at] = 1
    ground.mark[sf.PLACED] = count
    return True
