"""Jobs that are planned later, if at all: no job that may start now depends on when they start.

A pass only asks which jobs start now. A plan that begins behind all of those harms none, so all
that is kept of such a job is a time before which it does not start. It is planned when another
plan, which matters, would end after that time: the two might want the same nodes. Mostly a second
look shows that the job starts later still. However long the queue, few jobs have to be planned.
"""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes.slurm.availability import BOUND, LENGTH, OFF, SOONEST, cut
from shadowtime.engine.nodes.slurm.earliest import (
    earliest_known,
    earliest_start,
    remember_earliest,
    remember_plan,
)
from shadowtime.engine.nodes.slurm.writing import write
from shadowtime.kernel.jit import kernel, routine
from shadowtime.kernel.registers import NEVER

WHO, SINCE = 0, 1
"""Rows of ``off``: a job, and when it starts at the earliest; NEVER once it is planned."""


@kernel
def clear_off(b: Any) -> None:
    """No job is put off."""
    b.par[OFF] = 0
    b.par[BOUND] = NEVER


@kernel
def put_off(b: Any, job: int, since: int) -> None:
    """Plan a job later, if at all: it does not start before ``since``."""
    at = b.par[OFF]
    b.off[WHO, at] = job
    b.off[SINCE, at] = since
    b.par[OFF] = at + 1
    b.par[BOUND] = min(b.par[BOUND], since)


@routine
def settle(b: Any, until: int) -> None:
    """Plan as many of them as it takes until no other starts before ``until``.

    A job can be planned if none that is put off before it in the queue starts before it would end.
    Those behind it do not matter, nor do plans that were made for jobs behind it: they end before
    it can start, or it would not have been put off any longer.
    """
    off = b.off
    first = 0
    while first >= 0:
        first = -1
        need = until
        bound = NEVER
        for k in range(b.par[OFF] - 1, -1, -1):
            if off[SINCE, k] < need:
                job = off[WHO, k]
                at = earliest_start(b, job, max(off[SINCE, k], earliest_known(b, job)), need)
                start = b.par[SOONEST]
                remember_earliest(b, job, start)
                off[SINCE, k] = start
                if at >= 0:
                    first = k
                    need = max(need, start + b.job[job, LENGTH])
            bound = min(bound, off[SINCE, k])
        if first >= 0:
            job = off[WHO, first]
            at = earliest_start(b, job, off[SINCE, first], NEVER)
            write(b, at, cut(b, off[SINCE, first] + b.job[job, LENGTH]))
            remember_plan(b, job, off[SINCE, first])
            off[SINCE, first] = NEVER
    b.par[BOUND] = bound
