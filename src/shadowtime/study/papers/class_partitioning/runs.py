"""The runs behind the figures: every month and seed a task, what they find, claims judged by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.metrics.intervals import paired
from shadowtime.study.papers.class_partitioning import policies as p
from shadowtime.study.papers.class_partitioning.outcome import ALL, Outcome, outcome
from shadowtime.study.papers.class_partitioning.worlds import (
    SHARED_JOBS,
    SPACE_SHARED,
    WHOLE,
    draw_month,
)
from shadowtime.study.papers.reproduction import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shadowtime.study.papers.claims import Published
    from shadowtime.study.papers.subjects import Subject
    from shadowtime.workload.o2k_check import O2kCheck


QUICK_DEPTHS = (1, 10, 25)


@dataclass(frozen=True, eq=False)
class MonthRuns:
    """What one draw of a month gave: outcomes by world and policy, and the month beside Table 4."""

    outcomes: Mapping[tuple[str, str], Outcome]
    check: O2kCheck


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything measured, by month and seed."""

    subjects: tuple[Subject, ...]
    seeds: tuple[int, ...]
    depths: tuple[int, ...]
    months: Mapping[tuple[str, int], MonthRuns]

    def values(
        self,
        month: str,
        policy: str,
        metric: str,
        group: str = ALL,
        *,
        kind: str = "width",
        world: str = WHOLE,
    ) -> list[float]:
        """A metric of a class of jobs for every seed; nan where a draw has no such job."""
        key = (ALL if group == ALL else kind, group)
        found = []
        for seed in self.seeds:
            groups = self.months[month, seed].outcomes[world, policy].groups
            found.append(groups.get(key, {}).get(metric, math.nan))
        return found

    def hours(self, month: str, policy: str, metric: str, group: str = ALL, **of: str) -> float:
        """Its mean over the seeds, from seconds to hours."""
        return self.mean(month, policy, metric, group, **of) / 3600

    def mean(self, month: str, policy: str, metric: str, group: str = ALL, **of: str) -> float:
        """Its mean over the seeds that have such jobs."""
        known = [x for x in self.values(month, policy, metric, group, **of) if not math.isnan(x)]
        return sum(known) / len(known) if known else math.nan

    def checks(self, month: str) -> list[O2kCheck]:
        """The month's draws beside the paper's tables."""
        return [self.months[month, seed].check for seed in self.seeds]

    def labels(self, kind: str) -> list[str]:
        """The classes of a kind, in their order."""
        found: dict[str, None] = {}
        for runs in self.months.values():
            groups = next(iter(runs.outcomes.values())).groups
            found |= dict.fromkeys(label for of, label in groups if of == kind)
        return list(found)


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of the study: four months, ``seeds`` draws of each."""

    subjects: tuple[Subject, ...]
    seeds: tuple[int, ...]
    depths: tuple[int, ...] = p.DEPTHS

    def keys(self) -> list[tuple[str, int]]:
        """Month and seed of every task."""
        return [(month, seed) for seed in self.seeds for month in p.MONTH_NAMES]

    def tasks(self) -> tuple[Task, ...]:
        """A task for each."""
        return tuple(
            Task(name=f"{month}, draw {seed}", work=self._work(month, seed))
            for month, seed in self.keys()
        )

    def _work(self, month: str, seed: int) -> Any:
        return lambda: month_runs(month, seed, self.depths)

    def collect(self, results: list[Any]) -> Findings:
        """The results of these tasks by their keys."""
        return Findings(
            subjects=self.subjects,
            seeds=self.seeds,
            depths=self.depths,
            months=dict(zip(self.keys(), results, strict=True)),
        )


def policies_of(depths: tuple[int, ...]) -> list[tuple[str, str]]:
    """World and policy of every run on a draw of a month."""
    single = [p.with_depth(order, depth) for order in p.ORDERS for depth in depths]
    plain = [p.with_depth("LXF&W", depth) for depth in depths]
    few = [p.with_depth("LXF&W", depth) for depth in QUICK_DEPTHS]
    parted = list(p.PARTITIONED.values())
    return [
        *((WHOLE, policy) for policy in (*single, *parted, p.ONCE)),
        *((SPACE_SHARED, policy) for policy in (*few, *parted)),
        *((SHARED_JOBS, policy) for policy in plain),
    ]


def month_runs(month: str, seed: int, depths: tuple[int, ...]) -> MonthRuns:
    """All runs on one draw of a month; of the first draw the main schedules are kept."""
    drawn = draw_month(month, seed)
    named = [p.policy_of(p.SINGLE, month), *p.PARTITIONED.values()]
    found = {
        (world, policy): outcome(
            drawn.worlds[world],
            policy,
            starts=world == WHOLE and policy in (p.ONCE, p.PARTITIONED[p.L_SM_50]),
            keep=world == WHOLE and seed == 1 and policy in named,
        )
        for world, policy in policies_of(depths)
    }
    return MonthRuns(found, drawn.check)


SAME = 0.10
"""Up to this share above is 'the same'; within it is 'about equal'."""
MUCH = 0.25
"""At least this share lower is 'greatly lower', higher is 'poor'."""

READINGS = {"dedicated jobs take a whole host": WHOLE, "dedicated jobs share hosts": SPACE_SHARED}


def excess(ours: float, theirs: float) -> float:
    """How much more one is than the other, as a share of the other.

    Examples
    --------
    >>> excess(3.0, 2.0), excess(0.0, 0.0), excess(1.0, 0.0)
    (0.5, 0.0, inf)
    """
    if theirs == 0:
        return math.inf if ours > 0 else 0.0
    return ours / theirs - 1


@dataclass(frozen=True)
class Judge:
    """The findings and the published claims."""

    found: Findings
    published: dict[str, Published]

    def change(
        self, month: str, name: str, base: str, metric: str, group: str = ALL, world: str = WHOLE
    ) -> float:
        """How much higher a metric's mean is under a policy than under another, as a share."""
        ours = self.found.mean(month, p.policy_of(name, month), metric, group, world=world)
        theirs = self.found.mean(month, p.policy_of(base, month), metric, group, world=world)
        return excess(ours, theirs)

    def described(
        self, month: str, name: str, base: str, metric: str, group: str = ALL, world: str = WHOLE
    ) -> str:
        """The same in words, with the 95 % interval of the difference draw by draw."""
        ours = self.found.values(month, p.policy_of(name, month), metric, group, world=world)
        theirs = self.found.values(month, p.policy_of(base, month), metric, group, world=world)
        scale, unit = (1 / 3600, " h") if metric.endswith("_s") else (1.0, "")
        means = [scale * sum(column) / len(column) for column in (ours, theirs)]
        text = f"{month} {means[0]:.2f} against {means[1]:.2f}{unit}"
        between = paired(ours, theirs)
        if between is None:
            return text
        low, high = scale * between.low, scale * between.high
        return f"{text} (difference {low:+.2f} to {high:+.2f})"

    def each(self, values: Callable[[str], float], form: str, months: Iterable[str] = ()) -> str:
        """A value for every month."""
        return ", ".join(
            f"{month} {format(values(month), form)}" for month in (tuple(months) or p.MONTH_NAMES)
        )
