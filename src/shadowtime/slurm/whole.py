"""Whole nodes of a machine of equal nodes: the choice of fill.py on runs of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.slurm.offers import enough

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask


def runs_of(mask: int) -> list[tuple[int, int]]:
    """Places and lengths of the runs of neighbouring bits, lowest first.

    Examples
    --------
    >>> runs_of(0b1101110)
    [(1, 3), (5, 2)]
    """
    found = []
    at = 0
    while mask:
        skip = (mask & -mask).bit_length() - 1
        mask >>= skip
        at += skip
        length = (~mask & (mask + 1)).bit_length() - 1
        found.append((at, length))
        mask >>= length
        at += length
    return found


def whole_nodes(ask: Ask, idle: int, cpus: int) -> int | None:
    """The nodes that an exclusive job gets of these idle ones, each with ``cpus``.

    spec: slurm 4.2, 4.3.

    Examples
    --------
    >>> from shadowtime.slurm.ask import Ask
    >>> ask = Ask(tasks=2, cpus_per_task=1, min_nodes=2, max_nodes=2, wanted_nodes=2,
    ...           min_cpus=2, least_cpus=1, exclusive=True)
    >>> bin(whole_nodes(ask, 0b11011100, 4))
    '0b11000000'
    """
    sets = runs_of(idle)
    nodes = max(ask.min_nodes, ask.wanted_nodes)
    due, most = ask.min_cpus, ask.max_nodes
    taken = 0
    while most > 0 and sets:
        best = 0
        best_does = False
        for place, (_, length) in enumerate(sets):
            does = length * cpus >= due and enough(length, nodes, ask)
            if place:
                size = sets[best][1]
                if does:
                    if best_does and length >= size:
                        continue
                elif length <= size:
                    continue
            best, best_does = place, does
        at, length = sets.pop(best)
        count = min(length, max(nodes, -(-due // cpus)), most)
        if nodes <= 1 and cpus >= due:
            count = min(count, 1)
        elif count == most and due - (most - 1) * cpus > cpus:
            count -= 1
        taken |= ((1 << count) - 1) << at
        nodes -= count
        most -= count
        due -= count * cpus
        if nodes <= 0 and due <= 0:
            return taken
    return taken if due <= 0 and enough(0, nodes, ask) else None
