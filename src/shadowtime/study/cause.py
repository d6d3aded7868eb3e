"""Why jobs wait, in a few causes that fit every machine."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from shadowtime.metrics.unstarted import waited_until
from shadowtime.schedule import Schedule
from shadowtime.schedule.runs import Spans, started, waits
from shadowtime.types import AnyArray
from shadowtime.workload import Workload

WIDE = 4
"""A job is wide if it asks for more than one part in so many of the machine's processors."""


class Cause(StrEnum):
    """What keeps a waiting job from starting; at every time exactly one.

    The first that applies, in this order: the job itself may not start, the site's rules, the
    machine, the policy.
    """

    NOT_ELIGIBLE = "not eligible"
    """A begin time, a dependency or a hold."""
    LIMITS = "limits"
    """A limit of a QOS or an account, the throttle of its array, or licences."""
    RESERVATIONS = "reservations"
    """Nodes reserved for others, or its own reservation not begun."""
    OUTAGES = "nodes out of service"
    FRAGMENTATION = "fragmentation"
    """Enough is free in total, but not together on hosts or nodes that it can use."""
    OWN = "own jobs"
    """Too little is free; without the running jobs of its user it would fit."""
    WIDE = "wide jobs"
    """Too little is free; without the running wide jobs it would fit."""
    FULL = "many jobs"
    """Too little is free, and neither own nor wide jobs alone are the reason."""
    PROMISES = "promises"
    """It would fit, but another waiting job was promised a start."""
    PRIORITIES = "priorities"
    """It would fit, but others are ahead of it in the order, without a promise."""
    PASS = "next pass"
    """It would fit, and the scheduler has not looked yet."""
    OTHER = "other"
    """It would fit, and the schedule does not show what the policy waited for; or it never can."""


def wide_jobs(workload: Workload, procs: int) -> AnyArray:
    """Mask of the jobs that are wide on a machine of so many processors."""
    wide: AnyArray = workload.procs * WIDE > procs
    return wide


def every_wait(schedule: Schedule, workload: Workload, runs: Spans) -> Spans:
    """Every interval of waiting, also of jobs that never started, as far as it is known."""
    known = waits(schedule, runs)
    never = np.flatnonzero(~started(schedule) & (schedule.start < 0))
    never = never[~np.isin(never, known.row)]
    until = waited_until(schedule, workload)[never]
    since = schedule.submit[never]
    more = Spans(row=never, since=since, until=until).at(until > since)
    return Spans(
        row=np.concatenate([known.row, more.row]),
        since=np.concatenate([known.since, more.since]),
        until=np.concatenate([known.until, more.until]),
    )
