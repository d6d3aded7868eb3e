"""Plans written into the book of nodes: what they take from its cells.

Wide jobs take neighbours, which mostly have as much left as each other. So what is to be written is
a list of runs of nodes with as many processes each, and what fits on them is found once for as many
as are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.engine.nodes.slurm.availability import (
    ALONE,
    ASKED,
    BITS,
    CORES,
    DROP,
    FITS,
    FREE,
    KINDS,
    KNOWN,
    LISTED_RUNS,
    ROW,
    TAKE,
    TOTAL,
    UP_TO,
    WHERE,
    places_in,
)
from shadowtime.kernel.jit import kernel, routine

ONE = np.uint64(1)
"""Unsigned counters make vector code of the loops over nodes (kernel/vector.py)."""


@kernel
def clear_list(b: Any) -> None:
    """Nothing is to be written."""
    b.par[LISTED_RUNS] = 0


@kernel
def list_node(b: Any, row: int, node: int, count: int, wish: int) -> None:
    """Put the next node on the list: ``count`` processes of one demand go there.

    It belongs to the run before it if that ends here and has as much left at the beginning, ``row``
    of the book: then it probably has all the time.
    """
    at = b.par[LISTED_RUNS]
    if at > 0 and b.node[UP_TO, at - 1] == node and b.node[TAKE, at - 1] == count:
        if b.cell[row, node] == b.cell[row, node - 1]:
            b.node[UP_TO, at - 1] = node + 1
            return
    b.node[WHERE, at] = node
    b.node[UP_TO, at] = node + 1
    b.node[TAKE, at] = count
    if wish == ALONE:
        b.node[DROP, at] = b.par[CORES] << b.par[BITS]
    else:
        b.node[DROP, at] = (count << b.par[BITS]) + count * wish
    b.node[KNOWN, at] = -1
    b.par[LISTED_RUNS] = at + 1


@routine
def write(b: Any, first: int, last: int) -> None:
    """Book the listed nodes in the segments from ``first`` up to ``last``.

    From one segment to the next most cells of a node are the same, and so is what fits there.
    """
    when = b.when
    node = b.node
    runs = b.par[LISTED_RUNS]
    kinds = b.par[KINDS]
    cores = 0
    b.par[ASKED] = 0
    for k in range(runs):
        cores += (node[UP_TO, k] - node[WHERE, k]) * (node[DROP, k] >> b.par[BITS])
    for i in range(first, last):
        row = when[ROW, i]
        when[FREE, i] -= cores
        for k in range(runs):
            at = node[WHERE, k]
            if node[UP_TO, k] == at + 1:
                line, one = np.uint64(row), np.uint64(at)
                cell = b.cell[line, one] - node[DROP, k]
                b.cell[line, one] = cell
                find_places(b, k, cell)
                for kind in range(kinds):
                    some = node[FITS + kind, k]
                    which = np.uint64(kind)
                    when[TOTAL + kind, i] += some - b.room[which, line, one]
                    b.room[which, line, one] = some
                continue
            while at < node[UP_TO, k]:
                end = take_from_equal(b, row, at, node[UP_TO, k], node[DROP, k])
                find_places(b, k, b.cell[row, at])
                for kind in range(kinds):
                    some = node[FITS + kind, k]
                    when[TOTAL + kind, i] += more_places(b, kind, row, at, end, some)
                at = end


@kernel
def find_places(b: Any, k: int, cell: int) -> None:
    """How many processes of each kind go on a node of a run, by what is left there."""
    if cell != b.node[KNOWN, k]:
        b.node[KNOWN, k] = cell
        for kind in range(b.par[KINDS]):
            b.node[FITS + kind, k] = places_in(b, cell, b.kinds[kind])


@kernel
def take_from_equal(b: Any, row: int, first: int, last: int, drop: int) -> int:
    """Take an amount from the first cell and from those after it that are equal: where they end."""
    cells = b.cell
    line = np.uint64(row)
    at = np.uint64(first)
    end = np.uint64(last)
    before = cells[line, at]
    after = before - drop
    while at < end and cells[line, at] == before:
        cells[line, at] = after
        at += ONE
    found: Any = np.int64(at)
    return found


@kernel
def more_places(b: Any, kind: int, row: int, first: int, last: int, some: int) -> int:
    """Let ``some`` processes go on each of these nodes; returns how many more that is."""
    room = b.room
    which, line = np.uint64(kind), np.uint64(row)
    at = np.uint64(first)
    end = np.uint64(last)
    before: Any = 0
    while at < end:
        before += np.int64(room[which, line, at])
        room[which, line, at] = some
        at += ONE
    return (last - first) * some - before
