"""What a comparison found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.metrics.intervals import Interval, paired
from shadowtime.study.losers import Change, changes, clear_changes, losers
from shadowtime.study.ranking import NEVER, Ranking, rank, sign_of, winners

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.metrics import Window
    from shadowtime.metrics.policy_run import PolicyRun
    from shadowtime.study.replicas import Load, Replicas
    from shadowtime.study.trust import Trust
    from shadowtime.types import AnyArray
    from shadowtime.workload import Workload

RANKED = ("bsld_mean", "wait_mean_s", "bsld_p95", "wait_p95_s", "wait_max_s", "mwbs", "goodput")
"""Metrics whose ranks and differences a result holds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting:
    """All policies at one load."""

    load: Load
    workload: Workload
    offered_load: float
    """Share of the machine that the jobs request; nan if all arrive at once."""
    runs: tuple[PolicyRun, ...]
    counted: AnyArray
    """A mask of the jobs that the metrics are about."""

    def run(self, policy: str) -> PolicyRun:
        """The run of a policy, by its name."""
        return next(run for run in self.runs if run.name == policy)

    def winners(self, metric: str) -> tuple[str, ...]:
        """The best policies on the unmodified log; several are a tie.

        Only policies that start as many jobs as any other can be among them.
        """
        values = {run.name: run.metrics.get(metric) for run in self.runs}
        return winners(values, metric, {run.name: run.metrics.get(NEVER, 0) for run in self.runs})

    def ranking(self, metric: str) -> Ranking | None:
        """The order over the copies and whether it holds in each; None without copies."""
        columns, never = (
            {run.name: np.asarray(run.copies.get(name, ()), np.float64) for run in self.runs}
            for name in (metric, NEVER)
        )
        return rank(columns, metric, never)

    def difference(self, policy: str, against: str, metric: str) -> Interval | None:
        """Mean of policy - against over the copies, pair by pair; None without copies."""
        mine, theirs = self.run(policy).copies, self.run(against).copies
        if metric not in mine or metric not in theirs:
            return None
        return paired(mine[metric], theirs[metric])

    def losers(self, policy: str, against: str) -> list[Change]:
        """The classes of jobs that wait longer under a policy than under another."""
        mine, theirs = self.run(policy), self.run(against)
        clear = clear_changes(self.workload, mine.schedule, theirs.schedule, only=self.counted)
        return losers(changes(mine.classes or (), theirs.classes or (), clear))

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        first = self.runs[0].name
        names = [metric for metric in self.runs[0].metrics if sign_of(metric)]
        ranks = {name: found.as_dict() for name in RANKED if (found := self.ranking(name))}
        return {
            "load": str(self.load),
            "offered_load": self.offered_load,
            "winners": {name: list(self.winners(name)) for name in names},
            **({"ranks": ranks} if ranks else {}),
            "policies": [self._policy(run, first) for run in self.runs],
        }

    def _policy(self, run: PolicyRun, first: str) -> dict[str, Any]:
        result = run.as_dict()
        if run.copies:
            result["intervals"] = {
                name: found.as_dict() for name in run.copies if (found := run.interval(name))
            }
        if run.name != first:
            differences = {name: self.difference(run.name, first, name) for name in RANKED}
            if run.copies:
                result["against"] = first
                result["differences"] = {
                    name: found.as_dict() for name, found in differences.items() if found
                }
            result["losers"] = [change.as_dict() for change in self.losers(run.name, first)]
        return result


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Policies x loads x copies of the input, over one log on one machine.

    The first policy is the baseline. Winners are those of the unmodified log; the copies show
    whether they are certain.
    """

    workload: Workload
    cluster: Cluster
    window: Window
    replicas: Replicas
    settings: tuple[Setting, ...]
    trust: Trust | None = None
    """How far to trust a what-if on this log, under the first policy; None if it has no starts."""

    @property
    def policies(self) -> tuple[str, ...]:
        """Their names, the reference first."""
        return tuple(run.name for run in self.settings[0].runs)

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` adds to the common object: the copies, and everything by load."""
        return {
            "replicas": {
                "kind": self.replicas.kind,
                "count": self.replicas.count,
                "seed": self.replicas.seed,
            },
            "loads": [setting.as_dict() for setting in self.settings],
            **({"trust": self.trust.as_dict()} if self.trust else {}),
        }
