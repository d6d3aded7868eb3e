"""Which jobs may still start in a pass of Slurm's scheduler: none behind the last is planned.

With ten thousand waiting jobs a plan for each would take minutes; the few that could start now are
what a pass is for.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.slurm.availability import (
    BEGIN,
    BLOCK,
    BLOCK_BITS,
    ENOUGH,
    FEWEST,
    FREE,
    HORIZON,
    KIND_BITS,
    KINDS,
    LISTED,
    MAY,
    MOST_KINDS,
    ROW,
    TOTAL,
    place_of,
)
from shadowtime.engine.nodes.slurm.earliest import begin_window, narrow_and_count
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER


@routine
def find_startable(b: Any, first: int, segments: int) -> None:
    """List the places from ``first`` on whose waiting jobs the book has room for now.

    ``segments`` of it are looked at: as long as running jobs are alone in it the first one is
    enough, since they give back. HORIZON becomes the latest end of all that may start.
    """
    count_all(b, segments)
    found = 0
    longest = 0
    for block in range(first >> BLOCK_BITS, (b.par[LISTED] + BLOCK - 1) >> BLOCK_BITS):
        if too_wide(b, block):
            continue
        begin = max(first, block << BLOCK_BITS)
        for i in range(begin, min(b.par[LISTED], (block + 1) << BLOCK_BITS)):
            if has_room(b, i, segments, NEVER):
                b.may[found] = i
                found += 1
                longest = max(longest, b.lasts[i])
    b.par[MAY] = found
    b.par[HORIZON] = b.when[BEGIN, 0] + longest


@routine
def ask_again(b: Any, first: int) -> None:
    """Keep those on the list that may still start, from the place ``first`` on.

    The book only fills up during a pass: a job it has no room for stays without.
    """
    until = b.par[HORIZON]
    segments = max(1, place_of(b, until))
    count_all(b, segments)
    kept = 0
    longest = 0
    for k in range(b.par[MAY]):
        i = b.may[k]
        if i >= first and has_room(b, i, segments, until):
            b.may[kept] = i
            kept += 1
            longest = max(longest, b.lasts[i])
    b.par[MAY] = kept
    b.par[HORIZON] = b.when[BEGIN, 0] + longest


@kernel
def last_startable(b: Any) -> int:
    """Place of the last job on the list; -1 if there is none."""
    if b.par[MAY] == 0:
        return -1
    last: int = b.may[b.par[MAY] - 1]
    return last


@kernel
def drop_too_wide(b: Any) -> None:
    """Take jobs off the end of the list that are wider than what is left now."""
    while b.par[MAY] > 0 and b.asked[b.may[b.par[MAY] - 1]] >> KIND_BITS > b.when[FREE, 0]:
        b.par[MAY] -= 1


@kernel
def too_wide(b: Any, block: int) -> bool:
    """True if all jobs of a block are wider than what is left now."""
    for kind in range(b.par[KINDS]):
        if b.block[block, kind, FEWEST] <= b.when[ENOUGH + kind, 0]:
            return False
    return True


@kernel
def has_room(b: Any, i: int, segments: int, until: int) -> bool:
    """True if the job at a place of the queue may start now, and ends by ``until`` then."""
    procs = b.asked[i] >> KIND_BITS
    enough = ENOUGH + (b.asked[i] & (MOST_KINDS - 1))
    if procs > b.when[enough, 0]:
        return False
    end = b.when[BEGIN, 0] + b.lasts[i]
    if end > until:
        return False
    low = 1
    high = segments
    while low < high:
        middle = (low + high) >> 1
        if b.when[BEGIN, middle] < end:
            low = middle + 1
        else:
            high = middle
    fits: bool = procs <= b.when[enough, low - 1]
    return fits


@kernel
def count_all(b: Any, segments: int) -> None:
    """Processes of every kind that could start now, for each segment: until its end."""
    for kind in range(b.par[KINDS]):
        count_until(b, kind, segments)


@kernel
def count_until(b: Any, kind: int, segments: int) -> None:
    """For every segment: processes of a kind that could start now and stay until its end.

    Too many of a kind of several demands, which only means that some jobs are asked again.
    """
    when = b.when
    line = ENOUGH + kind
    count = when[TOTAL + kind, 0]
    when[line, 0] = count
    begin_window(b, kind, when[ROW, 0])
    for at in range(1, segments):
        if count > 0:
            count = narrow_and_count(b, kind, when[ROW, at])
        when[line, at] = count
