"""Which jobs may still start in a pass of Slurm's scheduler: none behind the last is planned.

With ten thousand waiting jobs a plan for each would take minutes; the few that could start now are
what a pass is for.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.slurm.availability import (
    BEGIN,
    ENOUGH,
    HORIZON,
    KIND_BITS,
    KINDS,
    LENGTH,
    MOST_KINDS,
    ROW,
    TOTAL,
)
from shadowtime.engine.nodes.slurm.earliest import begin_window, narrow_and_count
from shadowtime.kernel.jit import kernel, routine


@routine
def last_that_may_start(b: Any, first: int, last: int, segments: int, until: int) -> int:
    """Place of the last waiting job from ``first`` to ``last`` that the book has room for now.

    The book only fills up during a pass: a job it has no room for stays without. ``segments`` of
    it are looked at, for jobs that end by ``until``: as long as running jobs are alone in it the
    first one is enough, since they give back. HORIZON becomes the latest end of all that may.
    """
    for kind in range(b.par[KINDS]):
        count_until(b, kind, segments)
    found = first - 1
    longest = 0
    for i in range(first, last + 1):
        procs = b.asked[i] >> KIND_BITS
        enough = ENOUGH + (b.asked[i] & (MOST_KINDS - 1))
        if procs > b.when[enough, 0]:
            continue
        job = b.found[i]
        end = b.when[BEGIN, 0] + b.job[job, LENGTH]
        if end > until:
            continue
        low = 1
        high = segments
        while low < high:
            middle = (low + high) >> 1
            if b.when[BEGIN, middle] < end:
                low = middle + 1
            else:
                high = middle
        if procs <= b.when[enough, low - 1]:
            found = i
            longest = max(longest, b.job[job, LENGTH])
    b.par[HORIZON] = b.when[BEGIN, 0] + longest
    return found


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
