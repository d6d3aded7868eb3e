"""Which jobs may still start in a pass of Slurm's scheduler: none behind the last is planned.

With ten thousand waiting jobs a plan for each would take minutes; the few that could start now are
what a pass is for.
"""

from __future__ import annotations

from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.engine.nodes.slurm.earliest import begin_window, narrow_and_count
from shadowtime.kernel.jit import kernel, routine


@routine
def find_startable(b: av.Availability, first: int, segments: int) -> None:
    """List the blocks with waiting jobs, from the place ``first`` on, that may start now.

    The book has room for them: ``segments`` of it are looked at. As long as running jobs are alone
    in it the first one is enough, since they give back.
    """
    par = b.par
    count_all(b, segments)
    found = 0
    longest = 0
    holder = 0
    for block in range(first >> av.BLOCK_BITS, (par["listed"][0] + av.BLOCK - 1) >> av.BLOCK_BITS):
        most = longest_of(b, block)
        if most > 0:
            b.may[found] = block
            b.most[found] = most
            if most > longest:
                longest = most
                holder = found
            found += 1
    par["newest"][0] = first
    par["may"][0] = found
    par["last"][0] = par["listed"][0] - 1
    par["holder"][0] = holder
    par["horizon"][0] = b.when["begin"][0] + longest
    par["asked"][0] = segments
    narrow_down(b, first)


@routine
def ask_again(b: av.Availability, first: int) -> None:
    """Find ``last`` and ``horizon`` again, of the jobs from the place ``first`` on."""
    if b.par["asked"][0] == 0:
        b.par["asked"][0] = max(1, av.place_of(b, b.par["horizon"][0]))
        count_all(b, b.par["asked"][0])
    narrow_down(b, max(first, b.par["newest"][0]))


@routine
def narrow_down(b: av.Availability, first: int) -> None:
    """Find the last job that may start, and as ``horizon`` the latest end of all that may.

    The book only fills up during a pass: a job it has no room for stays without. So the last one
    is found from where it was, and the longest in the few blocks that once had one as long: mostly
    in the same block.
    """
    par = b.par
    step_back(b, first)
    now = b.when["begin"][0]
    most = par["horizon"][0] - now
    longest = 0
    if par["holder"][0] < par["may"][0]:
        longest = longest_with_room(b, par["holder"][0], first)
    if longest < most:
        for k in range(par["may"][0]):
            if b.most[k] > longest and k != par["holder"][0]:
                some = longest_with_room(b, k, first)
                if some > longest:
                    longest = some
                    par["holder"][0] = k
    par["horizon"][0] = now + longest


@routine
def step_back(b: av.Availability, first: int) -> None:
    """Go back from ``last`` to a job that may start, from the place ``first`` on."""
    par = b.par
    while par["may"][0] > 0:
        begin = b.may[par["may"][0] - 1] << av.BLOCK_BITS
        for i in range(min(par["last"][0], begin + av.BLOCK - 1), max(first, begin) - 1, -1):
            if has_room(b, i):
                par["last"][0] = i
                return
        par["may"][0] -= 1
    par["last"][0] = -1


@kernel
def drop_too_wide(b: av.Availability) -> None:
    """Step back from jobs that are wider than what is left now.

    A job has just been written: of later segments it is not known what they have now.
    """
    if b.par["may"][0] > 0 and b.asked[b.par["last"][0]] >> av.KIND_BITS > b.when["free"][0]:
        step_back(b, b.par["newest"][0])


@kernel
def longest_of(b: av.Availability, block: int) -> int:
    """The longest limit of a kind of which a block has jobs no wider than what is left now."""
    longest = 0
    for kind in range(b.par["kinds"][0]):
        if b.block["fewest"][block, kind] <= b.enough[kind, 0]:
            longest = max(longest, b.block["longest"][block, kind])
    return longest


@kernel
def longest_with_room(b: av.Availability, k: int, first: int) -> int:
    """The longest limit of the jobs in a block on the list that may start."""
    longest = 0
    begin = b.may[k] << av.BLOCK_BITS
    for i in range(max(first, begin), min(b.par["last"][0] + 1, begin + av.BLOCK)):
        if b.lasts[i] > longest and has_room(b, i):
            longest = b.lasts[i]
    b.most[k] = longest
    return longest


@kernel
def has_room(b: av.Availability, i: int) -> bool:
    """True if the job at a place of the queue may start now, and ends by ``horizon`` then."""
    procs = b.asked[i] >> av.KIND_BITS
    kind = b.asked[i] & (av.MOST_KINDS - 1)
    if procs > min(b.enough[kind, 0], b.when["free"][0]):
        return False
    end = b.when["begin"][0] + b.lasts[i]
    if end > b.par["horizon"][0]:
        return False
    low = 1
    high = b.par["asked"][0]
    while low < high:
        middle = (low + high) >> 1
        if b.when["begin"][middle] < end:
            low = middle + 1
        else:
            high = middle
    fits: bool = procs <= b.enough[kind, low - 1]
    return fits


@kernel
def count_all(b: av.Availability, segments: int) -> None:
    """Processes of every kind that could start now, for each segment: until its end."""
    for kind in range(b.par["kinds"][0]):
        count_until(b, kind, segments)


@kernel
def count_until(b: av.Availability, kind: int, segments: int) -> None:
    """For every segment: processes of a kind that could start now and stay until its end.

    Too many of a kind of several demands, which only means that some jobs are asked again.
    """
    when = b.when
    count = b.total[kind, 0]
    b.enough[kind, 0] = count
    begin_window(b, kind, when["row"][0])
    for at in range(1, segments):
        if count > 0:
            count = narrow_and_count(b, kind, when["row"][at])
        b.enough[kind, at] = count
