"""The expected error of a mean wait: how far a simulated one may be from that of a further log.

One number for each group of jobs, from what one log and its simulation show. Its constant is
calibrated on recorded runs of real Slurms: what one half of a log states is judged on the other
half (``benchmarks/expected_error.py``, docs/benchmarks/expected-error.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.metrics.groups import groups_of
from shadowtime.types import AnyArray
from shadowtime.workload import Workload

LEVEL = 0.85
"""The share of mean waits that are within their expected error."""
FEW = 0.5
"""Calibrated: a group of n jobs adds sqrt(FEW / n)."""
PARTS = 4
"""Parts of a log whose errors are compared with each other."""
LIKE_NONE = 0.05
"""A mean wait below this share of the mean run time counts as this long: a prologue takes it."""
JUDGED = ("partition", "account", "qos", "user", "size")
"""The kinds of groups that have an expected error."""
LEAST = 10
"""Jobs of a group that is judged."""
MOST = 0.8
"""The error by group holds for groups with this share of the jobs; the others are named."""


@dataclass(frozen=True, kw_only=True)
class GroupError:
    """A group of jobs and the expected error of its mean wait, as a share of that wait."""

    by: str
    name: str
    jobs: int
    error: float

    def __str__(self) -> str:
        return f"{self.by} {self.name or '(none)'} ({within(self.error)})"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The expected error for all jobs, that for most groups, and the groups beyond it."""

    error: float
    by_group: float
    beyond: tuple[GroupError, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "expected_error": self.error,
            "expected_error_by_group": self.by_group,
            "groups_beyond": [dict(vars(one)) for one in self.beyond],
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Expected:
        """What as_dict() wrote."""
        return Expected(
            error=float(stored["expected_error"]),
            by_group=float(stored["expected_error_by_group"]),
            beyond=tuple(GroupError(**one) for one in stored["groups_beyond"]),
        )


def within(error: float) -> str:
    """An error for people, rounded up.

    Examples
    --------
    >>> within(0.081), within(0.0)
    ('9 %', '0 %')
    """
    return f"{math.ceil(round(100 * error, 6)):,} %"


def off_by(simulated: float, recorded: float, run: float) -> float:
    """The difference of two mean waits over the recorded one; ``run`` is the mean run time.

    Examples
    --------
    >>> off_by(90.0, 100.0, 60.0), off_by(3.0, 0.0, 60.0)
    (-0.1, 1.0)
    """
    scale = max(recorded, LIKE_NONE * run)
    return (simulated - recorded) / scale if scale else 0.0


def expected_error(
    recorded: AnyArray, waits: AnyArray, run: AnyArray, *, unknown: float = 0.0
) -> float:
    """The expected error of a mean wait, as a share of it.

    Rules
    -----
    ``recorded`` are the waits of the jobs in the order of submission, ``waits`` the simulated ones,
    a row for each run (nan where a run does not start a job), ``run`` the run times. The error is
    the root of a sum of squares: the difference of the mean waits on this log; the spread of the
    runs, as for one further run; the standard error of the difference over four parts of the log;
    sqrt(FEW / jobs); and ``unknown``, the share of the log that the model does not know.

    Examples
    --------
    >>> waits = np.full(200, 60.0)
    >>> round(expected_error(waits, np.stack([waits, waits]), waits), 3)
    0.05
    >>> round(expected_error(waits, np.stack([0.8 * waits]), waits, unknown=0.1), 3)
    0.229
    """
    jobs = len(recorded)
    length = float(run.mean())
    scale = max(float(recorded.mean()), LIKE_NONE * length) or 1.0
    known = ~np.isnan(waits)
    filled = np.where(known, waits, 0.0)
    runs = known.any(axis=1)
    means = filled[runs].sum(axis=1) / known[runs].sum(axis=1)
    each = filled.sum(axis=0) / np.maximum(known.sum(axis=0), 1) - recorded
    spread = float(means.std(ddof=1)) / scale if len(means) > 1 else 0.0
    parts = np.array([part.sum() for part in np.array_split(each, PARTS)]) / jobs / scale
    moved = PARTS / (PARTS - 1) * float(((parts - parts.mean()) ** 2).sum())
    off = float(each.mean()) / scale
    return math.sqrt(off**2 + spread**2 + moved + FEW / jobs + unknown**2)


def expected(
    workload: Workload,
    recorded: AnyArray,
    waits: AnyArray,
    *,
    which: AnyArray,
    unknown: float = 0.0,
) -> Expected:
    """The expected errors of all jobs among ``which`` and of their groups.

    Groups of fewer than LEAST jobs, and those of all jobs, are not judged. ``unknown`` is the share
    of the log that the model does not know.
    """
    run = workload.effective_run

    def error(members: AnyArray) -> float:
        return expected_error(recorded[members], waits[:, members], run[members], unknown=unknown)

    total = int(which.sum())
    found = []
    for group in groups_of(workload, JUDGED, only=which):
        jobs = int(group.members.sum())
        if LEAST <= jobs < total:
            found.append(
                GroupError(by=group.by, name=group.name, jobs=jobs, error=error(group.members))
            )
    whole = error(which)
    most = _holds_for(found, MOST) if found else whole
    beyond = sorted((one for one in found if one.error > most), key=lambda one: -one.error)
    return Expected(error=whole, by_group=most, beyond=tuple(beyond))


def _holds_for(groups: Sequence[GroupError], share: float) -> float:
    """The smallest error that holds for groups with this share of the jobs."""
    ordered = sorted(groups, key=lambda one: one.error)
    jobs = np.cumsum([one.jobs for one in ordered])
    return ordered[int(np.searchsorted(jobs, share * jobs[-1]))].error
