"""Plans written into the book of nodes: what they take from its cells.

Wide jobs take neighbours, which mostly have as much left as each other. So what is to be written is
a list of runs of nodes with as many processes each, and what fits on them is found once for as many
as are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.kernel.jit import kernel, routine

if TYPE_CHECKING:
    from shadowtime.engine.nodes.slurm.availability import Availability

ONE = np.uint64(1)
"""Unsigned counters make vector code of the loops over nodes (kernel/vector.py)."""


@kernel
def clear_list(b: Availability) -> None:
    """Nothing is to be written."""
    b.par[av.LISTED_RUNS] = 0


@kernel
def list_node(b: Availability, row: int, node: int, count: int, wish: int) -> None:
    """Put the next node on the list: ``count`` processes of one demand go there.

    It belongs to the run before it if that ends here and has as much left at the beginning, ``row``
    of the book: then it probably has all the time.
    """
    at = b.par[av.LISTED_RUNS]
    if at > 0 and b.node[av.UP_TO, at - 1] == node and b.node[av.TAKE, at - 1] == count:
        if b.cell[row, node] == b.cell[row, node - 1]:
            b.node[av.UP_TO, at - 1] = node + 1
            return
    b.node[av.WHERE, at] = node
    b.node[av.UP_TO, at] = node + 1
    b.node[av.TAKE, at] = count
    if wish == av.ALONE:
        b.node[av.DROP, at] = b.par[av.CORES] << b.par[av.BITS]
    else:
        b.node[av.DROP, at] = (count << b.par[av.BITS]) + count * wish
    b.node[av.KNOWN, at] = -1
    b.par[av.LISTED_RUNS] = at + 1


@routine
def write(b: Availability, first: int, last: int) -> None:
    """Book the listed nodes in the segments from ``first`` up to ``last``.

    From one segment to the next most cells of a node are the same, and so is what fits there.
    """
    when = b.when
    node = b.node
    runs = b.par[av.LISTED_RUNS]
    kinds = b.par[av.KINDS]
    cores = 0
    b.par[av.ASKED] = 0
    for k in range(runs):
        cores += (node[av.UP_TO, k] - node[av.WHERE, k]) * (node[av.DROP, k] >> b.par[av.BITS])
    for i in range(first, last):
        row = when[av.ROW, i]
        when[av.FREE, i] -= cores
        for k in range(runs):
            at = node[av.WHERE, k]
            if node[av.UP_TO, k] == at + 1:
                line, one = np.uint64(row), np.uint64(at)
                cell = b.cell[line, one] - node[av.DROP, k]
                b.cell[line, one] = cell
                find_places(b, k, cell)
                for kind in range(kinds):
                    some = node[av.FITS + kind, k]
                    which = np.uint64(kind)
                    when[av.TOTAL + kind, i] += some - b.room[which, line, one]
                    b.room[which, line, one] = some
                continue
            while at < node[av.UP_TO, k]:
                end = take_from_equal(b, row, at, node[av.UP_TO, k], node[av.DROP, k])
                find_places(b, k, b.cell[row, at])
                for kind in range(kinds):
                    some = node[av.FITS + kind, k]
                    when[av.TOTAL + kind, i] += more_places(b, kind, row, at, end, some)
                at = end


@kernel
def find_places(b: Availability, k: int, cell: int) -> None:
    """How many processes of each kind go on a node of a run, by what is left there."""
    if cell != b.node[av.KNOWN, k]:
        b.node[av.KNOWN, k] = cell
        for kind in range(b.par[av.KINDS]):
            b.node[av.FITS + kind, k] = av.places_in(b, cell, b.kinds[kind])


@kernel
def take_from_equal(b: Availability, row: int, first: int, last: int, drop: int) -> int:
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
def more_places(b: Availability, kind: int, row: int, first: int, last: int, some: int) -> int:
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
