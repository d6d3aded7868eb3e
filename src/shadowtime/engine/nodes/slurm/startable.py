"""Which jobs may still start in a pass of Slurm's scheduler: none behind the last is planned.

With ten thousand waiting jobs a plan for each would take minutes; the few that could start now are
what a pass is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.engine.nodes.slurm.earliest import begin_window, narrow_and_count
from shadowtime.kernel.jit import kernel, routine

if TYPE_CHECKING:
    from shadowtime.engine.nodes.slurm.availability import Availability


@routine
def find_startable(b: Availability, first: int, segments: int) -> None:
    """List the blocks with waiting jobs, from the place ``first`` on, that may start now.

    The book has room for them: ``segments`` of it are looked at. As long as running jobs are alone
    in it the first one is enough, since they give back.
    """
    par = b.par
    count_all(b, segments)
    found = 0
    longest = 0
    holder = 0
    for block in range(first >> av.BLOCK_BITS, (par[av.LISTED] + av.BLOCK - 1) >> av.BLOCK_BITS):
        most = longest_of(b, block)
        if most > 0:
            b.may[found] = block
            b.most[found] = most
            if most > longest:
                longest = most
                holder = found
            found += 1
    par[av.NEWEST] = first
    par[av.MAY] = found
    par[av.LAST] = par[av.LISTED] - 1
    par[av.HOLDER] = holder
    par[av.HORIZON] = b.when[av.BEGIN, 0] + longest
    par[av.ASKED] = segments
    narrow_down(b, first)


@routine
def ask_again(b: Availability, first: int) -> None:
    """Find LAST and HORIZON again, of the jobs from the place ``first`` on."""
    if b.par[av.ASKED] == 0:
        b.par[av.ASKED] = max(1, av.place_of(b, b.par[av.HORIZON]))
        count_all(b, b.par[av.ASKED])
    narrow_down(b, max(first, b.par[av.NEWEST]))


@routine
def narrow_down(b: Availability, first: int) -> None:
    """Find the last job that may start, and as HORIZON the latest end of all that may.

    The book only fills up during a pass: a job it has no room for stays without. So the last one
    is found from where it was, and the longest in the few blocks that once had one as long: mostly
    in the same block.
    """
    par = b.par
    step_back(b, first)
    now = b.when[av.BEGIN, 0]
    most = par[av.HORIZON] - now
    longest = 0
    if par[av.HOLDER] < par[av.MAY]:
        longest = longest_with_room(b, par[av.HOLDER], first)
    if longest < most:
        for k in range(par[av.MAY]):
            if b.most[k] > longest and k != par[av.HOLDER]:
                some = longest_with_room(b, k, first)
                if some > longest:
                    longest = some
                    par[av.HOLDER] = k
    par[av.HORIZON] = now + longest


@routine
def step_back(b: Availability, first: int) -> None:
    """Go back from LAST to a job that may start, from the place ``first`` on."""
    par = b.par
    while par[av.MAY] > 0:
        begin = b.may[par[av.MAY] - 1] << av.BLOCK_BITS
        for i in range(min(par[av.LAST], begin + av.BLOCK - 1), max(first, begin) - 1, -1):
            if has_room(b, i):
                par[av.LAST] = i
                return
        par[av.MAY] -= 1
    par[av.LAST] = -1


@kernel
def drop_too_wide(b: Availability) -> None:
    """Step back from jobs that are wider than what is left now.

    A job has just been written: of later segments it is not known what they have now.
    """
    if b.par[av.MAY] > 0 and b.asked[b.par[av.LAST]] >> av.KIND_BITS > b.when[av.FREE, 0]:
        step_back(b, b.par[av.NEWEST])


@kernel
def longest_of(b: Availability, block: int) -> int:
    """The longest limit of a kind of which a block has jobs no wider than what is left now."""
    longest = 0
    for kind in range(b.par[av.KINDS]):
        if b.block[block, kind, av.FEWEST] <= b.when[av.ENOUGH + kind, 0]:
            longest = max(longest, b.block[block, kind, av.LONGEST])
    return longest


@kernel
def longest_with_room(b: Availability, k: int, first: int) -> int:
    """The longest limit of the jobs in a block on the list that may start."""
    longest = 0
    begin = b.may[k] << av.BLOCK_BITS
    for i in range(max(first, begin), min(b.par[av.LAST] + 1, begin + av.BLOCK)):
        if b.lasts[i] > longest and has_room(b, i):
            longest = b.lasts[i]
    b.most[k] = longest
    return longest


@kernel
def has_room(b: Availability, i: int) -> bool:
    """True if the job at a place of the queue may start now, and ends by HORIZON then."""
    procs = b.asked[i] >> av.KIND_BITS
    enough = av.ENOUGH + (b.asked[i] & (av.MOST_KINDS - 1))
    if procs > min(b.when[enough, 0], b.when[av.FREE, 0]):
        return False
    end = b.when[av.BEGIN, 0] + b.lasts[i]
    if end > b.par[av.HORIZON]:
        return False
    low = 1
    high = b.par[av.ASKED]
    while low < high:
        middle = (low + high) >> 1
        if b.when[av.BEGIN, middle] < end:
            low = middle + 1
        else:
            high = middle
    fits: bool = procs <= b.when[enough, low - 1]
    return fits


@kernel
def count_all(b: Availability, segments: int) -> None:
    """Processes of every kind that could start now, for each segment: until its end."""
    for kind in range(b.par[av.KINDS]):
        count_until(b, kind, segments)


@kernel
def count_until(b: Availability, kind: int, segments: int) -> None:
    """For every segment: processes of a kind that could start now and stay until its end.

    Too many of a kind of several demands, which only means that some jobs are asked again.
    """
    when = b.when
    line = av.ENOUGH + kind
    count = when[av.TOTAL + kind, 0]
    when[line, 0] = count
    begin_window(b, kind, when[av.ROW, 0])
    for at in range(1, segments):
        if count > 0:
            count = narrow_and_count(b, kind, when[av.ROW, at])
        when[line, at] = count
