"""The list of waiting jobs that a pass of Slurm's scheduler goes through, in blocks.

It is kept from pass to pass: arrivals are added to it, and a job that starts leaves a gap. A block
knows the fewest processes and the shortest and longest limit of its jobs of each kind. If a job of
so few and so short has no room none of them has, so a pass need not look at most jobs of a long
queue.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.slurm.availability import (
    ALIKE,
    ARRIVED,
    BLOCK,
    BLOCK_BITS,
    FEWEST,
    GONE,
    KIND,
    KIND_BITS,
    KINDS,
    LATE,
    LENGTH,
    LISTED,
    LONGEST,
    MOST_KINDS,
    PROCS,
    SHORTEST,
    WISH,
    kind_of,
    look_up,
)
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import ARRIVED as JOBS_ARRIVED
from shadowtime.kernel.registers import NEVER, WAITING


@kernel
def bring_up_to_date(state: Any, b: Any) -> None:
    """List all waiting jobs, each with its kind."""
    par = b.par
    few_gaps = par[LISTED] * 4 <= state.reg[WAITING] * 5  # of a short queue a new list is cheap
    if par[LATE] != 0 or not few_gaps or not add_arrivals(state, b, MOST_KINDS):
        list_again(state, b)


@kernel
def add_arrivals(state: Any, b: Any, most_kinds: int) -> bool:
    """Add the jobs that came since the last pass; False if one is of a kind too many."""
    par = b.par
    if par[LISTED] == 0:
        return False
    for job in range(par[ARRIVED], state.reg[JOBS_ARRIVED]):
        kind = kind_of(b, b.job[job, WISH])
        if kind == par[KINDS]:
            if kind >= most_kinds:
                return False
            b.kinds[kind] = b.job[job, WISH]
            par[KINDS] = kind + 1
            for block in range((par[LISTED] >> BLOCK_BITS) + 1):
                clear_block(b, block, kind)
        b.found[par[LISTED]] = job
        enter(b, par[LISTED], kind)
        par[LISTED] += 1
        par[ARRIVED] = job + 1
    return True


@routine
def list_again(state: Any, b: Any) -> None:
    """Make the list anew, without gaps."""
    par = b.par
    par[LISTED] = gather(state, b.found)
    par[ARRIVED] = state.reg[JOBS_ARRIVED]
    if par[LATE] != 0:
        for i in range(par[LISTED]):
            look_up(b, b.found[i])
    par[KINDS] = 0
    for i in range(par[LISTED]):
        wish = b.job[b.found[i], WISH]
        kind = kind_of(b, wish)
        if kind == MOST_KINDS:
            # With the least that one of them is counted with, none has more places than that.
            kind = MOST_KINDS - 1
            b.kinds[kind] = min(max(0, b.kinds[kind]), max(0, wish))
        elif kind == par[KINDS]:
            b.kinds[kind] = wish
            par[KINDS] = kind + 1
            for block in range((i >> BLOCK_BITS) + 1):
                clear_block(b, block, kind)
        enter(b, i, kind)


@kernel
def enter(b: Any, i: int, kind: int) -> None:
    """Give the job at a place of the list, the last so far, its kind."""
    job = b.found[i]
    b.job[job, KIND] = kind
    b.asked[i] = b.job[job, PROCS] << KIND_BITS | kind
    b.lasts[i] = b.job[job, LENGTH]
    b.same[i] = b.job[job, ALIKE] << KIND_BITS | kind
    block = i >> BLOCK_BITS
    if i & (BLOCK - 1) == 0:
        for each in range(b.par[KINDS]):
            clear_block(b, block, each)
    narrow_block(b, block, i)


@kernel
def strike(b: Any, i: int) -> None:
    """The job at a place of the list waits no longer."""
    block = i >> BLOCK_BITS
    b.asked[i] = GONE
    for kind in range(b.par[KINDS]):
        clear_block(b, block, kind)
    for other in range(block << BLOCK_BITS, min(b.par[LISTED], (block + 1) << BLOCK_BITS)):
        if b.asked[other] != GONE:
            narrow_block(b, block, other)


@kernel
def clear_block(b: Any, block: int, kind: int) -> None:
    """No job of a kind is in a block."""
    b.block[block, kind, FEWEST] = NEVER
    b.block[block, kind, SHORTEST] = NEVER
    b.block[block, kind, LONGEST] = 0


@kernel
def narrow_block(b: Any, block: int, i: int) -> None:
    """Count a job in its block."""
    kind = b.asked[i] & (MOST_KINDS - 1)
    procs = b.asked[i] >> KIND_BITS
    b.block[block, kind, FEWEST] = min(b.block[block, kind, FEWEST], procs)
    b.block[block, kind, SHORTEST] = min(b.block[block, kind, SHORTEST], b.lasts[i])
    b.block[block, kind, LONGEST] = max(b.block[block, kind, LONGEST], b.lasts[i])
