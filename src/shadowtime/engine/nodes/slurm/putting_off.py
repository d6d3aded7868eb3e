"""Jobs that are planned later, if at all: no job that may start now depends on when they start.

A pass only asks which jobs start now. A plan that begins behind all of those harms none, so all
that is kept of such a job is a time before which it does not start. It is planned when another
plan, which matters, would end after that time: the two might want the same nodes. Mostly a second
look shows that the job starts later still. However long the queue, few jobs have to be planned.
"""

from __future__ import annotations

from shadowtime.engine.nodes.slurm import availability as av
from shadowtime.engine.nodes.slurm import earliest
from shadowtime.engine.nodes.slurm.writing import write
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER


@kernel
def clear_off(b: av.Availability) -> None:
    """No job is put off."""
    b.par["next"][0] = 0
    b.par["bound"][0] = NEVER


@kernel
def pass_over(b: av.Availability, since: int) -> None:
    """Go on to the next place: the job here does not start before ``since``.

    NEVER if it has started or is planned.
    """
    i = b.par["next"][0]
    block = i >> av.BLOCK_BITS
    b.since[i] = since
    b.soon[block] = since if i & (av.BLOCK - 1) == 0 else min(b.soon[block], since)
    b.par["next"][0] = i + 1
    b.par["bound"][0] = min(b.par["bound"][0], since)


@kernel
def pass_over_known(b: av.Availability, stop: int, until: int) -> int:
    """Go on, up to ``stop`` in the same block, over jobs known not to start before ``until``.

    Returns how many there are; gaps between them are passed over as well.
    """
    first = b.par["next"][0]
    block = first >> av.BLOCK_BITS
    soon = NEVER if first & (av.BLOCK - 1) == 0 else b.soon[block]
    passed = 0
    i = first
    while i < stop:
        since = NEVER
        if b.asked[i] != av.GONE:
            since = earliest.earliest_known(b, i)
            if since < until:
                break
            passed += 1
        b.since[i] = since
        soon = min(soon, since)
        i += 1
    if i > first:
        b.soon[block] = soon
        b.par["next"][0] = i
        b.par["bound"][0] = min(b.par["bound"][0], soon)
    return passed


@kernel
def pass_over_block(b: av.Availability, until: int) -> bool:
    """Go on to the next block if none of the jobs in this one starts before ``until``."""
    first = b.par["next"][0]
    block = first >> av.BLOCK_BITS
    since = earliest_in(b, block, until)
    if since < until:
        return False
    for i in range(first, first + av.BLOCK):
        b.since[i] = since
    b.soon[block] = since
    b.par["next"][0] = first + av.BLOCK
    b.par["bound"][0] = min(b.par["bound"][0], since)
    return True


@kernel
def earliest_in(b: av.Availability, block: int, until: int) -> int:
    """No job of a block starts before this; NEVER if there is none in it.

    If it is before ``until`` that is all there is to know: the other kinds are not looked at.
    """
    since = NEVER
    for kind in range(b.par["kinds"][0]):
        procs = b.block["fewest"][block, kind]
        if procs < NEVER:
            at = earliest.with_places(b, kind, procs, b.block["shortest"][block, kind], 0)
            since = min(since, b.when["begin"][at])
            if since < until:
                break
    return since


@routine
def settle(b: av.Availability, until: int) -> None:
    """Plan as many of them as it takes until no other starts before ``until``.

    A job can be planned if none that is put off before it in the queue starts before it would end.
    Those behind it do not matter, nor do plans that were made for jobs behind it: they end before
    it can start, or it would not have been put off any longer.
    """
    i = first_to_start(b, b.par["next"][0], until)
    while i >= 0:
        # None in front of it starts before ``until``, but one may before it would end.
        end = b.since[i] + b.lasts[i]
        before = first_to_start(b, i, end)
        while before >= 0:
            i = before
            end = max(end, b.since[i] + b.lasts[i])
            before = first_to_start(b, i, end)
        job = b.found[i]
        at = earliest.earliest_start(b, job, b.since[i], NEVER)
        write(b, at, av.cut(b, b.since[i] + b.lasts[i]))
        earliest.remember_plan(b, job, b.since[i])
        b.since[i] = NEVER
        i = first_to_start(b, b.par["next"][0], until)
    b.par["bound"][0] = NEVER
    for block in range((b.par["next"][0] + av.BLOCK - 1) >> av.BLOCK_BITS):
        b.par["bound"][0] = min(b.par["bound"][0], b.soon[block])


@routine
def first_to_start(b: av.Availability, last: int, until: int) -> int:
    """Place of the first job put off, in front of ``last``, that starts before ``until``; or -1."""
    for block in range((last + av.BLOCK - 1) >> av.BLOCK_BITS):
        if b.soon[block] < until and not waits_until(b, block, until):
            begin = block << av.BLOCK_BITS
            end = min(b.par["next"][0], begin + av.BLOCK)
            soon = NEVER
            for i in range(begin, min(last, end)):
                if b.since[i] < until and look_for(b, i, b.found[i], until):
                    return i
                soon = min(soon, b.since[i])
            if last >= end:
                b.soon[block] = soon
    return -1


@kernel
def look_for(b: av.Availability, i: int, job: int, until: int) -> bool:
    """True if the job at a place starts before ``until``; it is known when, or not before what."""
    if b.asked[i] == av.GONE:
        b.since[i] = NEVER
        return False
    at = earliest.earliest_start(b, job, max(b.since[i], earliest.earliest_known(b, i)), until)
    b.since[i] = b.par["soonest"][0]
    earliest.remember_earliest(b, job, b.since[i])
    return at >= 0


@kernel
def waits_until(b: av.Availability, block: int, until: int) -> bool:
    """True if none of a block that was put off starts before ``until``."""
    since = earliest_in(b, block, until)
    if since < until:
        return False
    first = block << av.BLOCK_BITS
    for i in range(first, min(b.par["next"][0], first + av.BLOCK)):
        b.since[i] = max(b.since[i], since)
    b.soon[block] = max(b.soon[block], since)
    return True
