"""The list of waiting jobs that a pass of Slurm's scheduler goes through, in blocks.

It is kept from pass to pass: arrivals are added to it, and a job that starts leaves a gap. A block
knows the fewest processes and the shortest and longest limit of its jobs of each kind. If a job of
so few and so short has no room none of them has, so a pass need not look at most jobs of a long
queue.
"""

from __future__ import annotations

from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.queue import gather
from shadowtime.kernel.registers import ARRIVED as JOBS_ARRIVED
from shadowtime.kernel.registers import NEVER, WAITING
from shadowtime.kernel.state import State


@kernel
def bring_up_to_date(state: State, b: av.Availability) -> None:
    """List all waiting jobs, each with its kind."""
    par = b.par
    # Of a short queue a new list is cheap.
    few_gaps = par["listed"][0] * 4 <= state.reg[WAITING] * 5
    if par["late"][0] != 0 or not few_gaps or not add_arrivals(state, b, av.MOST_KINDS):
        list_again(state, b)


@kernel
def add_arrivals(state: State, b: av.Availability, most_kinds: int) -> bool:
    """Add the jobs that came since the last pass; False if one is of a kind too many."""
    par = b.par
    if par["listed"][0] == 0:
        return False
    for job in range(par["arrived"][0], state.reg[JOBS_ARRIVED]):
        kind = av.kind_of(b, b.job["wish"][job])
        if kind == par["kinds"][0]:
            if kind >= most_kinds:
                return False
            b.kinds[kind] = b.job["wish"][job]
            par["kinds"][0] = kind + 1
            for block in range((par["listed"][0] >> av.BLOCK_BITS) + 1):
                clear_block(b, block, kind)
        b.found[par["listed"][0]] = job
        enter(b, par["listed"][0], kind)
        par["listed"][0] += 1
        par["arrived"][0] = job + 1
    return True


@routine
def list_again(state: State, b: av.Availability) -> None:
    """Make the list anew, without gaps."""
    par = b.par
    par["listed"][0] = gather(state, b.found)
    par["arrived"][0] = state.reg[JOBS_ARRIVED]
    if par["late"][0] != 0:
        for i in range(par["listed"][0]):
            av.look_up(b, b.found[i])
    par["kinds"][0] = 0
    for i in range(par["listed"][0]):
        wish = b.job["wish"][b.found[i]]
        kind = av.kind_of(b, wish)
        if kind == av.MOST_KINDS:
            # With the least that one of them is counted with, none has more places than that.
            kind = av.MOST_KINDS - 1
            b.kinds[kind] = min(max(0, b.kinds[kind]), max(0, wish))
        elif kind == par["kinds"][0]:
            b.kinds[kind] = wish
            par["kinds"][0] = kind + 1
            for block in range((i >> av.BLOCK_BITS) + 1):
                clear_block(b, block, kind)
        enter(b, i, kind)


@kernel
def enter(b: av.Availability, i: int, kind: int) -> None:
    """Give the job at a place of the list, the last so far, its kind."""
    job = b.found[i]
    b.job["kind"][job] = kind
    b.asked[i] = b.job["procs"][job] << av.KIND_BITS | kind
    b.lasts[i] = b.job["length"][job]
    b.same[i] = b.job["alike"][job] << av.KIND_BITS | kind
    block = i >> av.BLOCK_BITS
    if i & (av.BLOCK - 1) == 0:
        for each in range(b.par["kinds"][0]):
            clear_block(b, block, each)
    narrow_block(b, block, i)


@kernel
def strike(b: av.Availability, i: int) -> None:
    """The job at a place of the list waits no longer."""
    block = i >> av.BLOCK_BITS
    b.asked[i] = av.GONE
    for kind in range(b.par["kinds"][0]):
        clear_block(b, block, kind)
    beyond = min(b.par["listed"][0], (block + 1) << av.BLOCK_BITS)
    for other in range(block << av.BLOCK_BITS, beyond):
        if b.asked[other] != av.GONE:
            narrow_block(b, block, other)


@kernel
def clear_block(b: av.Availability, block: int, kind: int) -> None:
    """No job of a kind is in a block."""
    b.block["fewest"][block, kind] = NEVER
    b.block["shortest"][block, kind] = NEVER
    b.block["longest"][block, kind] = 0


@kernel
def narrow_block(b: av.Availability, block: int, i: int) -> None:
    """Count a job in its block."""
    kind = b.asked[i] & (av.MOST_KINDS - 1)
    procs = b.asked[i] >> av.KIND_BITS
    b.block["fewest"][block, kind] = min(b.block["fewest"][block, kind], procs)
    b.block["shortest"][block, kind] = min(b.block["shortest"][block, kind], b.lasts[i])
    b.block["longest"][block, kind] = max(b.block["longest"][block, kind], b.lasts[i])
