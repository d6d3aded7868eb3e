"""Plans written into the book of nodes: what they take from its cells.

Wide jobs take neighbours, which mostly have as much left as each other. So what is to be written is
a list of runs of nodes with as many processes each, and what fits on them is found once for as many
as are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.kernel.jit import kernel, routine

ONE = np.uint64(1)
"""Unsigned counters make vector code of the loops over nodes (kernel/vector.py)."""


@kernel
def clear_list(b: av.Availability) -> None:
    """Nothing is to be written."""
    b.par["listed_runs"][0] = 0


@kernel
def list_node(b: av.Availability, row: int, node: int, count: int, wish: int) -> None:
    """Put the next node on the list: ``count`` processes of one demand go there.

    It belongs to the run before it if that ends here and has as much left at the beginning, ``row``
    of the book: then it probably has all the time.
    """
    at = b.par["listed_runs"][0]
    if at > 0 and b.node["up_to"][at - 1] == node and b.node["take"][at - 1] == count:
        if b.cell[row, node] == b.cell[row, node - 1]:
            b.node["up_to"][at - 1] = node + 1
            return
    b.node["where"][at] = node
    b.node["up_to"][at] = node + 1
    b.node["take"][at] = count
    if wish == av.ALONE:
        b.node["drop"][at] = b.par["cores"][0] << b.par["bits"][0]
    else:
        b.node["drop"][at] = (count << b.par["bits"][0]) + count * wish
    b.node["known"][at] = -1
    b.par["listed_runs"][0] = at + 1


@routine
def write(b: av.Availability, first: int, last: int) -> None:
    """Book the listed nodes in the segments from ``first`` up to ``last``.

    From one segment to the next most cells of a node are the same, and so is what fits there.
    """
    when = b.when
    node = b.node
    runs = b.par["listed_runs"][0]
    kinds = b.par["kinds"][0]
    cores = 0
    b.par["asked"][0] = 0
    for k in range(runs):
        cores += (node["up_to"][k] - node["where"][k]) * (node["drop"][k] >> b.par["bits"][0])
    for i in range(first, last):
        row = when["row"][i]
        when["free"][i] -= cores
        for k in range(runs):
            at = node["where"][k]
            if node["up_to"][k] == at + 1:
                line, one = np.uint64(row), np.uint64(at)
                cell = b.cell[line, one] - node["drop"][k]
                b.cell[line, one] = cell
                find_places(b, k, cell)
                for kind in range(kinds):
                    some = b.fits[kind, k]
                    which = np.uint64(kind)
                    b.total[kind, i] += some - b.room[which, line, one]
                    b.room[which, line, one] = some
                continue
            while at < node["up_to"][k]:
                end = take_from_equal(b, row, at, node["up_to"][k], node["drop"][k])
                find_places(b, k, b.cell[row, at])
                for kind in range(kinds):
                    some = b.fits[kind, k]
                    b.total[kind, i] += more_places(b, kind, row, at, end, some)
                at = end


@kernel
def find_places(b: av.Availability, k: int, cell: int) -> None:
    """How many processes of each kind go on a node of a run, by what is left there."""
    if cell != b.node["known"][k]:
        b.node["known"][k] = cell
        for kind in range(b.par["kinds"][0]):
            b.fits[kind, k] = av.places_in(b, cell, b.kinds[kind])


@kernel
def take_from_equal(b: av.Availability, row: int, first: int, last: int, drop: int) -> int:
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
def more_places(b: av.Availability, kind: int, row: int, first: int, last: int, some: int) -> int:
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
