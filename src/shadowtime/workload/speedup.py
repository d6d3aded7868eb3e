"""What the columns of a log say of jobs that change: sizes, speed-up, costs (spec: changing 1).

A job's rate on some processors at some speed is counted in millionths of its progress at its own
size and full speed (spec: changing 2.2).

Of moldable jobs the size is chosen when they start, and their run time follows from it. The column
``extra["serial"]`` holds the share s of each job's work that cannot run in parallel, from 0 (twice
the processors, half the time) to 1 (more processors change nothing). By Amdahl's law a job that
runs R seconds on P processors takes R (s + (1 - s) / p) / (s + (1 - s) / P) on p. A job whose share
is negative or nan is rigid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shadowtime.errors import InputError
from shadowtime.types import (
    AMDAHL,
    DOWNEY,
    FULL_SPEED,
    MILLION,
    NO_LIMIT,
    TABULATED,
    AnyArray,
    Floats,
    Ints,
)
from shadowtime.workload.workload import Workload

if TYPE_CHECKING:
    from shadowtime.schedule import Schedule


COLUMNS = ("speedup", "parallelism", "serial", "min_procs", "max_procs")
"""A job that has one of these may have another size than its own."""
PER_JOB = (*COLUMNS, "sigma", "resize_cost", "checkpoint", "beta")
"""All columns of jobs that change: no amounts that a machine could have."""
PERMITTED = {
    "serial": (0, 1), "parallelism": (1, np.inf), "min_procs": (1, np.inf),
    "max_procs": (1, np.inf), "beta": (0, 1),
}  # fmt: skip
"""Least and greatest known value of a column; below 0 it is unknown."""


def amdahl(serial: Floats, procs: AnyArray) -> Floats:
    """How much faster a job is on so many processors than on one, by the share that is serial.

    Examples
    --------
    >>> amdahl(np.array([0.0, 0.5, 1.0]), np.array([4.0, 4.0, 4.0])).tolist()
    [4.0, 1.6, 1.0]
    """
    found: Floats = 1.0 / (serial + (1.0 - serial) / procs)
    return found


class Changing(NamedTuple):
    """Of each job, in the rows of its workload."""

    own: Ints
    """Its own size."""
    least: Ints
    most: Ints
    kind: Ints
    a: Floats
    """Serial share; or average parallelism; or where its table begins in ``knot``."""
    b: Floats
    """Sigma; or how many points its table has."""
    beta: Floats
    cost: Ints
    checkpoint: Ints
    knot: Floats
    """Points of tables: processors, speed-up, one after the other."""

    def speedup(self, row: Ints, procs: Ints) -> Floats:
        """S(p) of the jobs in these rows on so many processors each (spec: changing 1.2).

        Examples
        --------
        >>> from shadowtime.workload import Workload
        >>> jobs = Workload.build(submit=[0, 0], run=[9, 9], procs=[4, 4], extra={
        ...     "serial": np.array([0.5, -1]), "parallelism": np.array([-1, 8.0]),
        ...     "sigma": np.array([-1, 0.0])})
        >>> changing_of(jobs, 16).speedup(np.array([0, 1, 1]), np.array([2, 8, 16])).tolist()
        [1.3333333333333333, 8.0, 8.0]
        """
        kind, a, b, p = self.kind[row], self.a[row], self.b[row], procs.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = a * p / (a + b * (p - 1.0) / 2.0)
            middle = a * p / (b * (a - 0.5) + p * (1.0 - b / 2.0))
            high = p * a * (b + 1.0) / (b * (p + a - 1.0) + a)
        calm = np.where(p <= a, low, np.where(p <= 2.0 * a - 1.0, middle, a))
        varied = np.where(p <= a + a * b - b, high, a)
        found: Floats = np.where(kind == AMDAHL, amdahl(a, p), np.where(b <= 1.0, calm, varied))
        for at in np.flatnonzero(kind == TABULATED).tolist():
            points = self.knot[int(a[at]) : int(a[at]) + 2 * int(b[at])].reshape(-1, 2)
            inside = np.interp(p[at], points[:, 0], points[:, 1])
            found[at] = points[0, 1] * p[at] / points[0, 0] if p[at] < points[0, 0] else inside
        return found

    def rates(self, row: Ints, procs: Ints, speed: Ints) -> Ints:
        """Millionths of the progress at its own size and full speed (spec: changing 2.2)."""
        shares = MILLION * self.speedup(row, procs) / self.speedup(row, self.own[row])
        clock = MILLION / (self.beta[row] * (FULL_SPEED / speed - 1.0) + 1.0)
        r, d = (np.floor(each + 1e-6).astype(np.int64) for each in (shares, clock))
        found: Ints = np.maximum(1, r * d // MILLION)
        return found


def changing_of(workload: Workload, machine: int) -> Changing:
    """Read the columns; a job may have up to ``machine`` processors."""
    n, own = len(workload), np.maximum(workload.procs, 1)
    share, degree = _known(workload, "serial"), _known(workload, "parallelism")
    table = _known(workload, "speedup")
    kind = np.where(table >= 0, TABULATED, np.where(degree >= 1, DOWNEY, AMDAHL))
    a = np.where(degree >= 1, degree, np.where(share >= 0, share, 0.0))
    b = np.maximum(_known(workload, "sigma"), 0.0)
    knot: list[float] = [0.0]
    names = workload.names.get("speedup", ())
    for number in np.unique(table[table >= 0]).astype(int).tolist():
        points = _points(names[number] if number < len(names) else str(number))
        a[table == number], b[table == number] = len(knot), len(points)
        knot += [value for point in points for value in point]
    curved = (table >= 0) | (degree >= 1) | (share >= 0)
    least, most = _known(workload, "min_procs"), _known(workload, "max_procs")
    curved |= (least >= 1) | (most >= 1)
    low = np.where(least >= 1, least, np.where(curved, 1, own)).astype(np.int64)
    high = np.where(most >= 1, most, np.where(curved, machine, own)).astype(np.int64)
    for wrong, what in ((low > own, "min_procs"), (high < own, "max_procs")):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"job {workload.job_id[row]} of {workload.name} asks for {own[row]} processors, "
                f"which its {what} does not permit",
                hint="Its own size must lie between min_procs and max_procs.",
            )
    beta = _known(workload, "beta")
    return Changing(
        own=own, least=low, most=np.minimum(high, np.maximum(machine, own)), kind=kind, a=a, b=b,
        beta=np.where(beta >= 0, beta, 1.0),
        cost=np.maximum(_known(workload, "resize_cost"), 0).astype(np.int64),
        checkpoint=np.maximum(_known(workload, "checkpoint"), 0).astype(np.int64),
        knot=np.array(knot if n else [0.0]),
    )  # fmt: skip


def _known(workload: Workload, name: str) -> Floats:
    given: AnyArray = np.asarray(workload.extra.get(name, np.full(len(workload), -1.0)))
    if given.dtype.kind in "OU":  # texts that were not numbered
        raise InputError(f"the column {name} of {workload.name} holds texts", hint="Give numbers.")
    found: Floats = np.nan_to_num(given.astype(np.float64), nan=-1.0)
    least, most = PERMITTED.get(name, (0, np.inf))
    wrong = (found >= 0) & ((found < least) | (found > most) | np.isinf(found))
    if wrong.any():
        row = int(np.argmax(wrong))
        upto = f" up to {most}" if most < np.inf else ""
        raise InputError(
            f"job {workload.job_id[row]} of {workload.name} has {name} {found[row]:g}",
            hint=f"Give a number from {least}{upto}, or -1 where it is unknown.",
        )
    return found


def _points(text: str) -> list[tuple[float, float]]:
    """The points of a table such as ``1:1 4:3.1``, processors ascending.

    Examples
    --------
    >>> _points("4:3.1 1:1")
    [(1.0, 1.0), (4.0, 3.1)]
    """
    try:
        pairs = [tuple(float(part) for part in word.split(":")) for word in text.split()]
        points = sorted((procs, gain) for procs, gain in pairs)
        if points and all(procs >= 1 and 0 < gain < 1e9 for procs, gain in points):
            return points
    except ValueError:
        pass
    raise InputError(
        f"{text[:40]!r} is no table of speed-ups", hint="Write processors:speed-up, as 1:1 4:3.1."
    )


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
