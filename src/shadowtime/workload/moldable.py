"""Moldable jobs: their size is chosen when they start, and their run time follows from it.

The column ``extra["serial"]`` holds the share s of each job's work that cannot run in parallel,
from 0 (twice the processors, half the time) to 1 (more processors change nothing). By Amdahl's law
a job that runs R seconds on P processors takes R (s + (1 - s) / p) / (s + (1 - s) / P) on p. A job
whose share is negative or nan is rigid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shadowtime.types import NO_LIMIT, Floats, Ints
from shadowtime.workload.speedup import amdahl
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule

COLUMN = "serial"
RIGID = -1.0


def serial_of(workload: Workload) -> Floats:
    """The serial share of each job, RIGID where its size is fixed."""
    given = workload.extra.get(COLUMN)
    if given is None:
        return np.full(len(workload), RIGID)
    share = np.asarray(given, np.float64)
    return np.where((share >= 0) & (share <= 1), share, RIGID)


def seconds_at(seconds: ArrayLike, serial: ArrayLike, *, of: ArrayLike, to: ArrayLike) -> Ints:
    """The seconds that a job of ``seconds`` on ``of`` processors takes on ``to``, rounded up.

    Examples
    --------
    >>> seconds_at(np.array([100, 100, 100]), np.array([0.0, 0.5, 1.0]), of=8, to=4).tolist()
    [200, 112, 100]
    """
    share, whole = np.asarray(serial, np.float64), np.asarray(seconds, np.int64)
    before, after = np.asarray(of, np.int64), np.asarray(to, np.int64)
    alone = np.where(share < 0, 1.0, share)
    factor = amdahl(alone, before) / amdahl(alone, after)
    made = np.maximum(np.ceil(whole * factor - 1e-9), np.minimum(whole, 1))
    kept = (after == before) | (whole >= NO_LIMIT) | (share < 0)
    found: Ints = np.where(kept, whole, np.minimum(made, NO_LIMIT)).astype(np.int64)
    return found


def at_sizes(workload: Workload, procs: Ints) -> Workload:
    """The workload as if every moldable job had asked for these processors.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 1], run=[9, 5], procs=[4, 4], extra={"serial": np.array([0.0, -1.0])}
    ... )
    >>> small = at_sizes(jobs, np.array([2, 2]))
    >>> small.procs.tolist(), small.run.tolist()
    ([2, 4], [18, 5])
    """
    serial = serial_of(workload)
    size = np.where(serial >= 0, procs, workload.procs)
    if (size == workload.procs).all():
        return workload
    demand = workload.demand.copy()
    demand[:, 0] = size
    columns = {
        name: seconds_at(getattr(workload, name), serial, of=workload.procs, to=size)
        for name in ("run", "request", "limit")
    }
    return workload.replace(demand=demand, **columns)


def as_started(workload: Workload, schedule: Schedule) -> Workload:
    """The workload at the sizes at which a schedule, row by row the same jobs, started it."""
    if COLUMN not in workload.extra or (schedule.procs < 1).any():
        return workload
    return at_sizes(workload, schedule.procs)
