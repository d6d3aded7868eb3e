"""What a comparison found, as a value, and the order of its policies over the copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.metrics import REGISTRY, Window, intervals, policy_run
from shadowtime.study.losers import Change, changes, clear_changes, losers
from shadowtime.study.replicas import Load, Replicas
from shadowtime.study.trust import Trust
from shadowtime.types import AnyArray, Floats
from shadowtime.workload import Workload

SAME = 1e-9
"""Relative difference below which two values count as equal."""


@dataclass(frozen=True)
class Swap:
    """Two policies whose order changes: in ``times`` inputs the second was better after all."""

    ahead: str
    behind: str
    times: int


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The policies by a metric, best first, by their means over the inputs."""

    metric: str
    order: tuple[str, ...]
    first: Mapping[str, int]
    """In how many inputs a policy was first; ties count for each."""
    swaps: tuple[Swap, ...]
    inputs: int

    @property
    def stable(self) -> bool:
        """The order is the same in every input."""
        return not self.swaps

    @property
    def first_is_stable(self) -> bool:
        """No policy beats the first one in any input."""
        return not any(swap.ahead == self.order[0] for swap in self.swaps)

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "order": list(self.order),
            "stable": self.stable,
            "first_is_stable": self.first_is_stable,
            "first_in": dict(self.first),
            "inputs": self.inputs,
            "swaps": [
                {"ahead": swap.ahead, "behind": swap.behind, "times": swap.times}
                for swap in self.swaps
            ],
        }


def sign_of(metric: str) -> int:
    """1 if less is better, -1 if more is, 0 if neither or unknown.

    Examples
    --------
    >>> sign_of("wait_mean_s"), sign_of("goodput"), sign_of("jobs")
    (1, -1, 0)
    """
    known = REGISTRY.get(metric)
    return {"lower": 1, "higher": -1}.get(known.better, 0) if known else 0


NEVER = "unstarted"
"""The metric that comes before all others: a policy that starts fewer jobs is first by none."""


def winners(
    values: Mapping[str, float | None],
    metric: str,
    unstarted: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """The policies with the best value; several are a tie, none if no policy is better.

    ``unstarted``: jobs that each never starts. Where these differ, the values are about different
    jobs: only policies with the fewest are compared.

    Examples
    --------
    >>> winners({"a": 3.0, "b": 2.0, "c": 2.0}, "bsld_mean")
    ('b', 'c')
    >>> winners({"a": 3.0, "b": 2.0, "c": 4.0}, "bsld_mean", {"a": 0, "b": 7, "c": 0})
    ('a',)
    """
    sign = sign_of(metric)
    known = {
        name: sign * value
        for name, value in values.items()
        if value is not None and np.isfinite(value)
    }
    if not sign or len(known) < 2:
        return ()
    never = unstarted or {}
    fewest = min(never.get(name, 0) for name in known)
    known = {name: value for name, value in known.items() if never.get(name, 0) <= fewest}
    best = min(known.values())
    return tuple(
        name
        for name, value in known.items()
        if abs(value - best) <= SAME * max(abs(value), abs(best))
    )


def rank(
    values: Mapping[str, Floats], metric: str, unstarted: Mapping[str, Floats] | None = None
) -> Ranking | None:
    """The order of policies over common inputs; ``values`` hold a number per input each.

    None for a metric that has no direction or is missing somewhere. In every input a policy is
    behind all that never start fewer jobs (``unstarted``).

    Examples
    --------
    >>> found = rank({"a": np.array([3.0, 3.0]), "b": np.array([2.0, 4.5])}, "bsld_mean")
    >>> found.order, found.stable, found.swaps
    (('a', 'b'), False, (Swap(ahead='a', behind='b', times=1),))
    """
    sign = sign_of(metric)
    columns = {name: sign * np.asarray(column, np.float64) for name, column in values.items()}
    inputs = {len(column) for column in columns.values()}
    if not sign or len(columns) < 2 or len(inputs) != 1 or inputs == {0}:
        return None
    table = np.stack(list(columns.values()))
    if not bool(np.isfinite(table).all()):
        return None
    never = np.zeros_like(table)
    for at, name in enumerate(columns):
        lost = np.asarray((unstarted or {}).get(name, ()), np.float64)
        never[at] = lost if len(lost) == table.shape[1] else 0.0
    mean = dict(zip(columns, never.mean(axis=1).tolist(), strict=True))
    order = sorted(columns, key=lambda name: (mean[name], float(columns[name].mean())))
    behind = never > never.min(axis=0)
    if bool(behind.any()):
        # Behind the last of those that start more: the order among equals stays.
        span = 1.0 + float(table.max() - table.min())
        table = table + span * (never - never.min(axis=0))
        columns = dict(zip(columns, table, strict=True))
    best = table.min(axis=0)
    first = {name: int((columns[name] <= best + SAME * np.abs(best)).sum()) for name in columns}
    return Ranking(
        metric=metric,
        order=tuple(order),
        first=first,
        swaps=_swaps(order, columns),
        inputs=table.shape[1],
    )


def _swaps(order: Sequence[str], columns: Mapping[str, Floats]) -> tuple[Swap, ...]:
    found = []
    for ahead, behind in combinations(order, 2):
        a, b = columns[ahead], columns[behind]
        times = int((b < a - SAME * np.maximum(np.abs(a), np.abs(b))).sum())
        if times:
            found.append(Swap(ahead, behind, times))
    return tuple(found)


RANKED = ("bsld_mean", "wait_mean_s", "bsld_p95", "wait_p95_s", "wait_max_s", "mwbs", "goodput")
"""Metrics whose ranks and differences a result holds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting:
    """All policies at one load."""

    load: Load
    workload: Workload
    offered_load: float
    """Share of the machine that the jobs request; nan if all arrive at once."""
    runs: tuple[policy_run.PolicyRun, ...]
    counted: AnyArray
    """A mask of the jobs that the metrics are about."""

    def run(self, policy: str) -> policy_run.PolicyRun:
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

    def difference(self, policy: str, against: str, metric: str) -> intervals.Interval | None:
        """Mean of policy - against over the copies, pair by pair; None without copies."""
        mine, theirs = self.run(policy).copies, self.run(against).copies
        if metric not in mine or metric not in theirs:
            return None
        return intervals.paired(mine[metric], theirs[metric])

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

    def _policy(self, run: policy_run.PolicyRun, first: str) -> dict[str, Any]:
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
