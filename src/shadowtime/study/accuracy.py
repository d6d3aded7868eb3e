"""What predictors expected for each job, their errors, and what each does to a schedule.

A schedule contains no predictions, but everything they were computed from: which jobs of a user had
ended by when. So they are recomputed exactly as in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.estimates import known_at_submission
from shadowtime.errors import PolicyError, UsageError
from shadowtime.metrics.accuracy import accuracy, accuracy_by
from shadowtime.metrics.by_class import ClassRow
from shadowtime.metrics.intervals import Interval
from shadowtime.metrics.measure import matched
from shadowtime.policy import Policy, estimate, grammar, values
from shadowtime.policy import estimate as parts
from shadowtime.schedule import Schedule, runs
from shadowtime.study.compare import compare
from shadowtime.study.comparison import Comparison
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload import Workload


def estimate_of(parameters: Mapping[str, Any]) -> parts.Estimate | None:
    """The estimate part that a policy's parameters name; None if they name no known part.

    Examples
    --------
    >>> estimate_of({"estimate": "noisy(x=0.4, seed=2)"})
    Noisy(x=0.4, seed=2)
    >>> estimate_of({}) is None
    True
    """
    try:
        found = values.part_from(
            "estimate", grammar.parse_call(str(parameters.get("estimate", "")))
        )
    except PolicyError:
        return None
    return found if isinstance(found, parts.Estimate) else None


def predictions(schedule: Schedule, workload: Workload, part: parts.Estimate) -> Ints:
    """The run time that an estimate part predicted for every job when it (last) started.

    Rules
    -----
    ``last`` uses its user's jobs that had ended when the job started, ``last-two`` those that had
    ended when it was submitted (without its corrections); the other parts do not learn. Jobs that
    end at an instant count there, the one with the largest id last. A job without a user, or whose
    user has no history, is predicted its request.

    Examples
    --------
    >>> from shadowtime.policy.estimate import Last
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 5, 20], run=[10, 9, 9], request=[20, 50, 50], procs=[1, 1, 1],
    ...     user=[7, 7, 7], recorded_start=[0, 5, 20])
    >>> predictions(Schedule.recorded(w), w, Last()).tolist()
    [20, 50, 9]
    """
    schedule = matched(schedule, workload)
    if isinstance(part, parts.Last):
        return _last(schedule, workload)
    if isinstance(part, parts.LastTwo):
        return _last_two(schedule, workload)
    return known_at_submission(part, workload).estimate


@dataclass(frozen=True, eq=False)
class _History:
    """The finished jobs of every user in the order of their ends, for queries by time."""

    of: Ints
    user: Ints
    """Every job's user, numbered from 0; the unknown one too."""
    known: AnyArray
    key: Ints
    width: int

    @staticmethod
    def build(schedule: Schedule, workload: Workload) -> _History:
        user = np.unique(workload.user, return_inverse=True)[1].astype(np.int64)
        known = workload.user > UNKNOWN
        done = np.flatnonzero(runs.started(schedule))
        of = done[np.lexsort((workload.job_id[done], schedule.end[done], user[done]))]
        latest = max(int(schedule.end.max(initial=0)), int(workload.submit.max(initial=0)))
        width = max(latest, int(schedule.start.max(initial=0))) + 2
        return _History(of, user, known, user[of] * width + schedule.end[of], width)

    def ended_by(self, moment: Ints, *, back: int) -> Ints:
        """For each job the ``back``-th last job of its user that had ended by then, -1 if none."""
        if len(self.of) == 0:
            return np.full(len(moment), UNKNOWN, np.int64)
        asked = self.user * self.width + np.maximum(moment, 0)
        place = np.searchsorted(self.key, asked, side="right") - 1 - back
        found = self.of[np.maximum(place, 0)]
        there = (place >= 0) & (self.user[found] == self.user) & self.known
        return np.where(there, found, UNKNOWN)


def _last(schedule: Schedule, workload: Workload) -> Ints:
    before = _History.build(schedule, workload).ended_by(schedule.start, back=0)
    request = workload.request
    asked = np.maximum(request[before], 1)
    # The engine's whole numbers: run / request of the last job times this request, rounded.
    guess = (schedule.worked[before] * request + asked // 2) // asked
    found: Ints = np.where(before == UNKNOWN, request, np.minimum(guess, request))
    return np.maximum(found, 1)


def _last_two(schedule: Schedule, workload: Workload) -> Ints:
    history = _History.build(schedule, workload)
    last = history.ended_by(workload.submit, back=0)
    second = history.ended_by(workload.submit, back=1)
    run, request = schedule.worked, workload.request
    guess = np.minimum((run[last] + run[second]) // 2, request)
    found: Ints = np.where((last == UNKNOWN) | (second == UNKNOWN), request, guess)
    return np.maximum(found, 1)


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """A predictor's errors on one schedule: over all jobs, by size and by user."""

    predictor: str
    policy: str
    jobs: int
    overall: Mapping[str, float]
    by_size: tuple[ClassRow, ...]
    by_user: tuple[ClassRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "predictor": self.predictor,
            "policy": self.policy,
            "jobs": self.jobs,
            "overall": dict(self.overall),
            "by_size": [row.as_dict() for row in self.by_size],
            "by_user": [row.as_dict() for row in self.by_user],
        }


def accuracy_report(schedule: Schedule, workload: Workload, part: parts.Estimate) -> Accuracy:
    """The errors of a predictor on a schedule, whichever policy produced it.

    Examples
    --------
    >>> from shadowtime.policy.estimate import Requested
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(
    ...     submit=[0, 5], run=[10, 10], request=[20, 30], procs=[1, 1], recorded_start=[0, 5])
    >>> accuracy_report(Schedule.recorded(w), w, Requested()).overall["prediction_error_mean"]
    1.5
    """
    guess = predictions(schedule, workload, part)
    ran = runs.started(matched(schedule, workload))
    return Accuracy(
        predictor=str(part),
        policy=schedule.policy,
        jobs=int(ran.sum()),
        overall=accuracy(guess[ran], workload.effective_run[ran]),
        by_size=tuple(accuracy_by(guess, workload, "size", only=ran)),
        by_user=tuple(accuracy_by(guess, workload, "user", only=ran)),
    )


USUAL = ("requested", "last", "last-two", "max-of-last", "user-quantile", "nearest", "actual")
"""What is compared by default: the request first, the bound last."""
EFFECTS = ("wait_mean_s", "bsld_mean")
"""Metrics of the schedule that a row holds."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One predictor: its errors on the log, and the schedule made with it."""

    predictor: str
    errors: Mapping[str, float]
    effects: Mapping[str, float]
    differences: Mapping[str, Interval]
    """Against the first predictor over copies of the log, pair by pair; empty without copies."""

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "predictor": self.predictor,
            **self.errors,
            **self.effects,
            "differences": {name: found.as_dict() for name, found in self.differences.items()},
        }


def compare_predictors(
    workload: Workload,
    cluster: Cluster,
    policy: Policy,
    names: Sequence[str] = USUAL,
    *,
    shake: int = 0,
    seed: int = 1,
    run: Callable[..., Comparison] = compare,
) -> list[Row]:
    """A row for each estimate part, the policy otherwise unchanged.

    Rules
    -----
    Errors are those of the prediction at a job's submission (``last``: at its start) against its
    run time cut at the limit. Differences are taken over ``shake`` copies of the log.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[9, 5, 4], request=[18, 10, 8], procs=[3, 4, 1])
    >>> rows = compare_predictors(
    ...     jobs, Cluster.pool(4), parse_policy("easy"), ["requested", "actual"])
    >>> [(row.predictor, row.errors["prediction_error_mean"]) for row in rows]
    [('requested', 1.0), ('actual', 0.0)]
    """
    if len(set(names)) != len(names) or not names:
        raise UsageError("give each predictor once")
    parts = {name: values.part_from("estimate", grammar.parse_call(name)) for name in names}
    policies = [policy.replace(name=name, estimate=part) for name, part in parts.items()]
    found = run(workload, cluster, policies, shake=shake, seed=seed)
    (setting,) = found.settings
    rows = []
    for name, part in parts.items():
        assert isinstance(part, estimate.Estimate)
        record = setting.run(name)
        guess = predictions(record.schedule, setting.workload, part)
        differences = {
            metric: made
            for metric in EFFECTS
            if name != names[0] and (made := setting.difference(name, names[0], metric))
        }
        rows.append(
            Row(
                predictor=name,
                errors=accuracy(guess, setting.workload.effective_run),
                effects={metric: record.metrics[metric] for metric in EFFECTS},
                differences=differences,
            )
        )
    return rows
