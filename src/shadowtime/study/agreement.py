"""How close simulated waits are to recorded ones: by group of jobs, relative to run times.

Single starts are never compared: two identical clusters fed the same jobs at once drift apart after
some hundred starts, because a race of milliseconds moves every later job. They agree on which jobs
wait and how long groups of jobs wait. Every number here is a ratio of times of the log itself, so a
log in seconds and the same log in minutes get the same verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.metrics import Classes, classify
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.types import AnyArray, Floats, Ints
    from shadowtime.workload import Workload

LIKE_NONE = 0.05
"""Waits below this share of the mean run time rank as zero: a prologue takes as long."""
ADDED = 0.1
"""Share of the mean run time added to both mean waits before their ratio is taken."""
SHARE, LEAST = 0.02, 10
"""Groups with a smaller share of the jobs, or with fewer of them, are not judged."""
QUARTERS = ("first quarter", "second quarter", "third quarter", "last quarter")
NAMED = ("user", "group", "queue", "partition")
"""Kinds of groups that a log may name; they are compared if there are several of a kind."""


@dataclass(frozen=True, kw_only=True)
class WaitRow:
    """One group of jobs, recorded and simulated; times in seconds."""

    kind: str
    label: str
    jobs: int
    run_mean_s: float
    recorded_mean_s: float
    simulated_mean_s: float
    recorded_median_s: float
    simulated_median_s: float

    @property
    def difference(self) -> float:
        """Simulated minus recorded mean wait, over the smaller of the two mean response times.

        So ten times too long and ten times too short weigh the same.
        """
        response = min(self.recorded_mean_s, self.simulated_mean_s) + self.run_mean_s
        return (self.simulated_mean_s - self.recorded_mean_s) / response if response else 0.0

    def as_dict(self) -> dict[str, Any]:
        """A flat row."""
        row = dict(vars(self))
        head = {"kind": row.pop("kind"), "class": row.pop("label")}
        return {**head, **row, "difference": self.difference}


def wait_row(
    kind: str, label: str, recorded: AnyArray, simulated: AnyArray, run: AnyArray
) -> WaitRow:
    """The row of a group from the waits and run times of its jobs.

    Examples
    --------
    >>> row = wait_row("all", "all jobs", np.array([0, 40]), np.array([0, 80]), np.array([60, 100]))
    >>> row.recorded_mean_s, row.simulated_mean_s, row.difference
    (20.0, 40.0, 0.2)
    """
    return WaitRow(
        kind=kind,
        label=label,
        jobs=len(recorded),
        run_mean_s=float(run.mean()),
        recorded_mean_s=float(recorded.mean()),
        simulated_mean_s=float(simulated.mean()),
        recorded_median_s=float(np.median(recorded)),
        simulated_median_s=float(np.median(simulated)),
    )


def wait_rows(
    groups: Mapping[str, Classes],
    recorded: AnyArray,
    simulated: AnyArray,
    run: AnyArray,
    *,
    which: AnyArray,
) -> tuple[WaitRow, ...]:
    """A row for every group that has jobs among ``which``, in the order of the groups."""
    found = []
    for kind, classes in groups.items():
        for number, label in enumerate(classes.labels):
            members = which & (classes.of == number)
            if bool(members.any()):
                found.append(
                    wait_row(kind, label, recorded[members], simulated[members], run[members])
                )
    return tuple(found)


def judged_groups(workload: Workload) -> dict[str, Classes]:
    """The groups by which a log is judged: none of them depends on the unit of its times.

    Size, quarters of the run times, quarters of the log, and what it names: users, groups,
    queues, partitions, where there are several.
    """
    found = {"size": classify(workload, "size")}
    run = workload.effective_run
    if len(run):
        edges = np.quantile(run, (0.25, 0.5, 0.75))
        found["run-time quarter"] = Classes(np.searchsorted(edges, run, side="left"), QUARTERS)
        part = np.arange(len(run)) * len(QUARTERS) // len(run)
        found["quarter of the log"] = Classes(part, QUARTERS)
    for kind in NAMED:
        column: Ints = getattr(workload, kind)
        if len(np.unique(column[column != UNKNOWN])) > 1:
            found[kind] = classify(workload, kind)
    return found


def agreement(
    recorded: AnyArray,
    simulated: AnyArray,
    run: AnyArray,
    groups: Mapping[str, Classes],
    *,
    which: AnyArray,
) -> dict[str, float]:
    """The measures of the agreement rules of :mod:`shadowtime.study.trust`.

    Rules
    -----
    ``recorded`` and ``simulated`` are waits of the same jobs (of several simulated runs: their
    means), ``which`` the jobs that count. Long waits on the same jobs: Spearman's correlation.
    Waits as a whole: the ratio of the means, a tenth of the mean run time added to both. Groups:
    the absolute difference of their mean waits over the smaller response time, averaged over all
    groups that are large enough, weighted by their jobs, and the largest.

    Examples
    --------
    >>> wait, run = np.array([0, 60, 4000] * 10), np.array([100, 100, 100] * 10)
    >>> one = {"size": Classes(np.zeros(30, np.int64), ("1",))}
    >>> agreement(wait, wait, run, one, which=run > 0)["mean_wait_factor"]
    1.0
    >>> found = agreement(wait, 2 * wait, run, one, which=run > 0)
    >>> round(found["group_wait_error"], 2), found["wait_correlation"]
    (0.93, 1.0)
    """
    a, b, length = recorded[which], simulated[which], run[which]
    if len(a) == 0:
        return {}
    scale = max(float(length.mean()), 1e-9)
    none = LIKE_NONE * scale
    means = float(a.mean()) + ADDED * scale, float(b.mean()) + ADDED * scale
    found = {
        "wait_correlation": spearman(np.where(a < none, 0, a), np.where(b < none, 0, b)),
        "mean_wait_factor": max(means) / min(means),
    }
    rows = wait_rows(groups, recorded, simulated, run, which=which)
    judged = [row for row in rows if row.jobs >= max(LEAST, SHARE * len(a))]
    if judged:
        errors = np.array([abs(row.difference) for row in judged])
        found["group_wait_error"] = float(np.average(errors, weights=[row.jobs for row in judged]))
        found["worst_group_error"] = float(errors.max())
    return found


def spearman(a: AnyArray, b: AnyArray) -> float:
    """Rank correlation, ties sharing their mean rank; nan where one column is constant.

    Examples
    --------
    >>> spearman(np.array([1, 2, 3, 4]), np.array([1, 4, 9, 16]))
    1.0
    >>> spearman(np.array([1, 2, 3]), np.array([7, 7, 7]))
    nan
    """
    x, y = _ranks(a), _ranks(b)
    x, y = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(x @ x) * float(y @ y))
    return round(float(x @ y) / spread, 12) if spread else float("nan")


def _ranks(values: AnyArray) -> Floats:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: Floats = (last - (count - 1) / 2)[place]
    return ranks
