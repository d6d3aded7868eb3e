"""Run time predictors compared: their errors, and their effect on the schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError
from shadowtime.metrics.accuracy import accuracy
from shadowtime.policy.estimate import Estimate
from shadowtime.policy.grammar import parse_call
from shadowtime.policy.values import part_from
from shadowtime.study.accuracy import predictions
from shadowtime.study.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shadowtime.cluster import Cluster
    from shadowtime.metrics.intervals import Interval
    from shadowtime.policy import Policy
    from shadowtime.study.comparison import Comparison
    from shadowtime.workload import Workload

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
    parts = {name: part_from("estimate", parse_call(name)) for name in names}
    policies = [policy.replace(name=name, estimate=part) for name, part in parts.items()]
    found = run(workload, cluster, policies, shake=shake, seed=seed)
    (setting,) = found.settings
    rows = []
    for name, part in parts.items():
        assert isinstance(part, Estimate)
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
