"""What a comparison found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.study.intervals import Interval, interval, paired
from shadowtime.study.losers import Change, losers
from shadowtime.study.ranking import Ranking, rank, sign_of, winners

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.cluster import Cluster
    from shadowtime.metrics import ClassRow, Window
    from shadowtime.schedule import Schedule
    from shadowtime.study.loads import Load
    from shadowtime.study.replicas import Replicas
    from shadowtime.study.trust import Trust
    from shadowtime.types import Floats
    from shadowtime.workload import Workload

RANKED = ("bsld_mean", "wait_mean_s", "bsld_p95", "wait_p95_s", "wait_max_s", "mwbs", "goodput")
"""Metrics whose ranks and differences a result holds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Cell:
    """One policy at one load: the schedule and numbers of the log as it is, and the copies'.

    ``replicas`` has a number per copy for each metric that every copy has.
    """

    policy: str
    parameters: Mapping[str, Any]
    schedule: Schedule
    metrics: Mapping[str, float]
    classes: tuple[ClassRow, ...]
    replicas: Mapping[str, Floats]

    def interval(self, metric: str) -> Interval | None:
        """The mean over the copies; None where there are none."""
        return interval(self.replicas[metric]) if metric in self.replicas else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting:
    """All policies at one load."""

    load: Load
    workload: Workload
    offered_load: float
    """Share of the machine that the jobs ask for; nan where all arrive at once."""
    cells: tuple[Cell, ...]

    def cell(self, policy: str) -> Cell:
        """The policy's cell."""
        return next(cell for cell in self.cells if cell.policy == policy)

    def winners(self, metric: str) -> tuple[str, ...]:
        """Who is best on the log as it is; several are a tie."""
        return winners({cell.policy: cell.metrics.get(metric) for cell in self.cells}, metric)

    def ranking(self, metric: str) -> Ranking | None:
        """The order over the copies and whether it holds in each; None without copies."""
        columns = {cell.policy: cell.replicas.get(metric, np.empty(0)) for cell in self.cells}
        return rank(columns, metric)

    def difference(self, policy: str, against: str, metric: str) -> Interval | None:
        """Mean of policy - against over the copies, pair by pair; None without copies."""
        mine, theirs = self.cell(policy).replicas, self.cell(against).replicas
        if metric not in mine or metric not in theirs:
            return None
        return paired(mine[metric], theirs[metric])

    def losers(self, policy: str, against: str) -> list[Change]:
        """The classes of jobs that wait longer under a policy than under another."""
        return losers(self.cell(policy).classes, self.cell(against).classes)

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        first = self.cells[0].policy
        names = [metric for metric in self.cells[0].metrics if sign_of(metric)]
        ranks = {name: found.as_dict() for name in RANKED if (found := self.ranking(name))}
        return {
            "load": str(self.load),
            "offered_load": self.offered_load,
            "winners": {name: list(self.winners(name)) for name in names},
            **({"ranks": ranks} if ranks else {}),
            "policies": [self._policy(cell, first) for cell in self.cells],
        }

    def _policy(self, cell: Cell, first: str) -> dict[str, Any]:
        result: dict[str, Any] = {
            "name": cell.policy,
            "parameters": dict(cell.parameters),
            "metrics": dict(cell.metrics),
        }
        if cell.replicas:
            result["intervals"] = {
                name: found.as_dict() for name in cell.replicas if (found := cell.interval(name))
            }
        if cell.policy != first:
            differences = {name: self.difference(cell.policy, first, name) for name in RANKED}
            if cell.replicas:
                result["against"] = first
                result["differences"] = {
                    name: found.as_dict() for name, found in differences.items() if found
                }
            result["losers"] = [change.as_dict() for change in self.losers(cell.policy, first)]
        return result


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Policies x loads x copies of the input, over one log on one machine.

    The first policy is the one that the others are measured against. Winners are those of the
    log as it is; the copies say whether to believe it.
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
        return tuple(cell.policy for cell in self.settings[0].cells)

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
