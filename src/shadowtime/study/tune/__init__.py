"""Tuning as an experiment: search on past jobs, select on later ones, report on the next, over
several cuts of a log, beside what needs no tuning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.engine.warm import warm
from shadowtime.engine.watch import Watch
from shadowtime.errors import PolicyError, UsageError, near
from shadowtime.metrics import REGISTRY, intervals, measure
from shadowtime.policy import parse_policy
from shadowtime.study.comparison import NEVER
from shadowtime.study.fan_out import cores, fan_out
from shadowtime.study.replicas import AS_RECORDED, Replicas
from shadowtime.study.sweep.keys import digest
from shadowtime.study.sweep.store import Store, run_key
from shadowtime.study.tune.parts import Parts
from shadowtime.study.tune.rivals import (
    TUNED,
    Kind,
    Rival,
    Verdict,
    advantage,
    gain,
    same_kind,
    verdict,
)
from shadowtime.study.tune.space import Candidate, Method, Space, Values, front, order, search
from shadowtime.workload import Workload

__all__ = ["Parts", "Space", "Tuned", "search", "tune"]


SELECTED, MOST_SELECTED = 8, 20
"""Candidates that go on to the second part: the best eight of the first, with several objectives
its whole front up to twenty."""
COPIES = 10


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A candidate and its metrics on the first two parts."""

    policy: str
    settings: dict[str, str]
    tuned: dict[str, float]
    selected: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Every candidate of a search, whatever became of it."""

    asked: int
    different: int
    """Without those that were drawn again."""
    pruned: int
    """Left out before they had run on all jobs."""
    failed: int
    """Rejected by the engine."""

    def as_dict(self) -> dict[str, int]:
        """For ``--json``."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Period:
    """One cut of the log: what was chosen before it, and on how many jobs."""

    chosen: str
    jobs: tuple[int, int, int]
    """To tune, to select and to report on."""
    trials: Trials
    front: tuple[Entry, ...]
    """Unbeaten on the second part; best first by the first objective."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        jobs = dict(zip(("tune", "select", "report"), self.jobs, strict=True))
        return {"policy": self.chosen, "jobs": jobs, "trials": self.trials.as_dict()}


@dataclass(frozen=True, kw_only=True)
class Report:
    """One objective of the chosen policy and the baseline, in the last period."""

    metric: str
    value: float
    baseline: float
    difference: intervals.Interval | None
    """Chosen - baseline over shaken copies of the last part, pair by pair."""
    gain: tuple[float, float, float]
    """Share by which the baseline is improved on the first, second and last part."""

    @property
    def optimism(self) -> float:
        """How much of the gain on the first part is missing on the last."""
        return self.gain[0] - self.gain[2]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What tuning found, and whether it was worth it."""

    space: Space
    objectives: tuple[str, ...]
    method: str
    periods: tuple[Period, ...]
    """The cuts of the log, the latest last: what it chose is the tuned policy."""
    rivals: tuple[Rival, ...]
    """The tuned policies of all periods as one, the template, the catalogue's and the baseline."""
    verdict: Verdict
    baseline: str
    report: tuple[Report, ...]
    unstarted: tuple[float, float]
    """Jobs of the last part that the chosen policy and the baseline never start."""
    copies: int

    @property
    def chosen(self) -> str:
        """The tuned policy, that of the last period."""
        return self.periods[-1].chosen

    @property
    def front(self) -> tuple[Entry, ...]:
        """The candidates unbeaten on the second part of the last period."""
        return self.periods[-1].front

    @property
    def trials(self) -> Trials:
        """The candidates of the last period."""
        return self.periods[-1].trials

    @property
    def jobs(self) -> tuple[int, int, int]:
        """Of the last period: to tune, to select and to report on."""
        return self.periods[-1].jobs

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "policy": self.chosen,
            "verdict": self.verdict.as_dict(),
            "baseline": self.baseline,
            "objectives": list(self.objectives),
            "method": self.method,
            "trials": self.trials.as_dict(),
            "unstarted": dict(zip(("chosen", "baseline"), self.unstarted, strict=True)),
            "jobs": dict(zip(("tune", "select", "report"), self.jobs, strict=True)),
            "rivals": [one.as_dict() for one in self.rivals],
            "periods": [one.as_dict() for one in self.periods],
            "front": [
                {"policy": one.policy, "settings": one.settings, "tune": one.tuned,
                 "select": one.selected}
                for one in self.front
            ],
            "report": [
                {
                    "metric": one.metric, "value": one.value, "baseline": one.baseline,
                    "difference": one.difference.as_dict() if one.difference else None,
                    "gain": dict(zip(("tune", "select", "report"), one.gain, strict=True)),
                    "optimism": one.optimism,
                }
                for one in self.report
            ],
        }  # fmt: skip


def tune(
    cuts: Sequence[Parts],
    cluster: Cluster,
    space: Space,
    objectives: Sequence[str],
    *,
    method: Method = "halving",
    trials: int = 50,
    seed: int = 1,
    copies: int = COPIES,
    baseline: str = "easy",
    rivals: Sequence[str] | None = None,
    progress: Callable[[str], None] = lambda what: None,
    store: Store | None = None,
) -> Tuned:
    """Search, select and report in every cut of a log, each on different jobs.

    Rules
    -----
    In each cut, the best candidates of the first part are run on the second; the best of these by
    the first objective is chosen and run on the last part. So are, in every cut, the template as it
    is, the ``rivals`` (by default the catalogue's policies that differ from it only in what is
    tuned) and the baseline. Intervals are over the cuts; on the last one they are also over shaken
    copies. A candidate that the engine rejects is counted and dropped, and so is a rival. The
    numbers of runs that are in ``store`` are taken from there, and those of others kept.
    """
    signs = [_sign(name) for name in objectives]
    if not objectives:
        raise UsageError("there is no objective: name a metric, such as --objective bsld_mean")
    if trials < 2:
        raise UsageError(f"{trials} trial is not a search: give at least 2")
    table = _others(space, baseline, rivals)
    easy = table[baseline][1]
    task = _Task(cluster, space, objectives, signs, easy, method, trials, seed, progress, store)
    task.load([policy for _, policy in table.values()], cuts[-1].tune)
    periods: list[Period] = []
    lasts: list[Workload] = []
    for number, parts in enumerate(cuts, 1):
        progress(f"period {number} of {len(cuts)}")
        repeated = number > 1 and parts.tune is cuts[number - 2].tune
        found = (periods[-1].chosen, periods[-1].trials, periods[-1].front) if repeated else (
            task.choose(parts))  # fmt: skip
        lasts.append(parts.report_part())
        jobs = (len(parts.tune), len(parts.select), len(lasts[-1]))
        periods.append(Period(chosen=found[0], jobs=jobs, trials=found[1], front=found[2]))
    progress("the last parts, once")
    shown = _rivals(task, table, periods, lasts)
    entry = periods[-1].front[0]
    base = [task.measured(easy, [part]) or {} for part in (cuts[-1].tune, cuts[-1].select)]
    rows, never = _report(task, entry, base, lasts[-1], copies)
    return Tuned(
        space=space, objectives=tuple(objectives), method=method, periods=tuple(periods),
        rivals=shown, verdict=verdict(shown, objectives[0]), baseline=baseline, report=rows,
        unstarted=never, copies=copies,
    )  # fmt: skip


def _others(
    space: Space, baseline: str, rivals: Sequence[str] | None
) -> dict[str, tuple[Kind, Any]]:
    """What needs no tuning, by name; a policy with two roles has the first one."""
    named = same_kind(space) if rivals is None else rivals
    found: dict[str, tuple[Kind, Any]] = {baseline: ("baseline", parse_policy(baseline))}
    found.setdefault(space.base, ("template", parse_policy(space.base)))
    for name in named:
        found.setdefault(name, ("catalogue", parse_policy(name)))
    return found


@dataclass(frozen=True)
class _Task:
    """What is the same in every period."""

    cluster: Cluster
    space: Space
    objectives: Sequence[str]
    signs: Sequence[int]
    easy: Any
    """The baseline: a candidate that starts fewer jobs is no improvement."""
    method: Method
    trials: int
    seed: int
    progress: Callable[[str], None]
    store: Store | None

    def choose(self, parts: Parts) -> tuple[str, Trials, tuple[Entry, ...]]:
        """Search on the first part, select on the second."""
        space, objectives, signs = self.space, self.objectives, self.signs
        weeks = _sampled(parts.weeks(), self.seed)
        tried: dict[Candidate, bool] = {}
        fewest: dict[int | None, float] = {}

        def values(candidates: Sequence[Candidate], rung: int | None) -> list[Values]:
            inputs = [parts.tune] if rung is None else weeks[:rung]
            tasks = [partial(self.measured, _policy(space, one), inputs) for one in candidates]
            found = fan_out(tasks)
            where = "all jobs" if rung is None else "weeks"
            self.progress(f"{len(candidates)} candidates on {where}")
            tried.update((one, m is not None) for one, m in zip(candidates, found, strict=True))
            if rung not in fewest:
                fewest[rung] = self.never(inputs)
            return [_signed(m, objectives, signs, fewest[rung]) for m in found]

        searched = search(
            space, self.method, trials=self.trials, seed=self.seed, weeks=len(weeks),
            evaluate=values,
        )  # fmt: skip
        possible = [one for one, value in searched.items() if all(map(math.isfinite, value))]
        if not possible:
            raise UsageError(
                "no candidate can be run: the engine rejects each of them, or it starts fewer jobs "
                "than the baseline"
            )
        first = [searched[one] for one in possible]
        count = max(SELECTED, min(MOST_SELECTED, len(front(first))))
        best = [possible[at] for at in order(first)[:count]]
        self.progress(f"{len(best)} candidates on the jobs to select on")
        tasks = [partial(self.measured, space.policy(one), [parts.select]) for one in best]
        chosen_on = [found or {} for found in fan_out(tasks)]
        most = self.never([parts.select])
        second = [_signed(found, objectives, signs, most) for found in chosen_on]
        entries = [
            Entry(
                policy=space.policy(best[at]).name, settings=dict(best[at]),
                tuned={
                    name: sign * value
                    for name, sign, value in zip(objectives, signs, searched[best[at]], strict=True)
                },
                selected=chosen_on[at],
            )
            for at in sorted(front(second), key=lambda at: second[at])
        ]  # fmt: skip
        if not entries:
            raise UsageError("no candidate can be run on the jobs to select on")
        failed = sum(not ran for ran in tried.values())
        counted = Trials(
            asked=self.trials, different=len(tried), failed=failed,
            pruned=sum(ran and one not in searched for one, ran in tried.items()),
        )  # fmt: skip
        return entries[0].policy, counted, tuple(entries)

    def never(self, inputs: Sequence[Workload]) -> float:
        """Jobs that the baseline never starts."""
        found = self.measured(self.easy, inputs)
        return (found or {}).get(NEVER, 0.0)

    def measured(self, policy: Any, inputs: Sequence[Workload]) -> dict[str, float] | None:
        """The means of metrics, and of the jobs that never start, over inputs; None if rejected."""
        if policy is None:
            return None
        try:
            found = [self._numbers(policy, jobs) for jobs in inputs]
        except PolicyError:
            return None
        return {
            name: float(np.mean([one[name] for one in found]))
            for name in (*self.objectives, NEVER)
            if all(name in one for one in found)
        }

    def _numbers(self, policy: Any, jobs: Workload) -> dict[str, float]:
        def work(watch: Watch | None) -> dict[str, float]:
            made = simulate(jobs, self.cluster, policy, watch=watch)
            return dict(measure(made, jobs, self.cluster))

        if self.store is None:
            return work(None)
        return self.store.once(digest("numbers", run_key(jobs, self.cluster, policy)), work)

    def load(self, others: Sequence[Any], jobs: Workload) -> None:
        """Compile and load what is needed, before several threads need it at once."""
        rng = np.random.default_rng(0)
        chosen = [*others, *(_policy(self.space, self.space.draw(rng)) for _ in range(4))]
        found = [one for one in chosen if one is not None]
        warm(found, self.cluster, cores=cores())
        for one in found:
            replace(self, store=None).measured(one, [jobs.take(np.arange(1))])

    def policy(self, entry: Entry) -> Any:
        """The policy of a candidate."""
        return self.space.policy(tuple(entry.settings.items()))


def _rivals(
    task: _Task,
    table: dict[str, tuple[Kind, Any]],
    periods: Sequence[Period],
    lasts: Sequence[Workload],
) -> tuple[Rival, ...]:
    """The tuned policies and all others, on the last part of every period; best first."""
    runs = [[task.policy(one.front[0]) for one in periods]]
    runs += [[policy] * len(periods) for _, policy in table.values()]
    tasks = [
        partial(task.measured, policy, [jobs])
        for row in runs
        for policy, jobs in zip(row, lasts, strict=True)
    ]
    found = iter(fan_out(tasks))
    rows = [[next(found) for _ in periods] for _ in runs]
    kinds: list[tuple[str, Kind]] = [(TUNED, "tuned")]
    kinds += [(name, kind) for name, (kind, _) in table.items()]
    shown = []
    for (name, kind), row in zip(kinds, rows, strict=True):
        values = {
            metric: tuple((one or {}).get(metric, math.nan) for one in row)
            for metric in task.objectives
        }
        if kind == "catalogue" and not all(map(math.isfinite, values[task.objectives[0]])):
            continue  # not defined on this machine
        gains = {
            metric: tuple(
                advantage((mine or {}).get(metric, math.nan), value, sign)
                for mine, value in zip(rows[0], values[metric], strict=True)
            )
            for metric, sign in zip(task.objectives, task.signs, strict=True)
        }
        never = tuple((one or {}).get(NEVER, 0.0) for one in row)
        shown.append(Rival(name=name, kind=kind, values=values, gains=gains, unstarted=never))
    by = task.objectives[0]
    return tuple(sorted(shown, key=lambda one: task.signs[0] * one.mean(by)))


def _report(
    task: _Task, entry: Entry, base: list[dict[str, float]], last: Workload, copies: int
) -> tuple[tuple[Report, ...], tuple[float, float]]:
    replicas = Replicas.of(shake=copies, seed=task.seed)
    inputs = [replicas.make(last, task.cluster, AS_RECORDED, k) for k in range(copies + 1)]
    tasks = [
        partial(task.measured, policy, [jobs])
        for policy in (task.policy(entry), task.easy)
        for jobs in inputs
    ]
    found = [one or {} for one in fan_out(tasks)]
    mine, theirs = found[: copies + 1], found[copies + 1 :]
    rows = []
    for name, sign in zip(task.objectives, task.signs, strict=True):
        pairs = [(entry.tuned, base[0]), (entry.selected, base[1]), (mine[0], theirs[0])]
        gains = [gain(a.get(name, math.nan), b.get(name, math.nan), sign) for a, b in pairs]
        columns = [[one.get(name, math.nan) for one in side[1:]] for side in (mine, theirs)]
        rows.append(
            Report(
                metric=name, value=mine[0].get(name, math.nan),
                baseline=theirs[0].get(name, math.nan), difference=intervals.paired(*columns),
                gain=(gains[0], gains[1], gains[2]),
            )
        )  # fmt: skip
    return tuple(rows), (mine[0].get(NEVER, 0.0), theirs[0].get(NEVER, 0.0))


def _sign(metric: str) -> int:
    if metric not in REGISTRY:
        raise UsageError(f"there is no metric {metric!r}{near(metric, REGISTRY)}")
    better = REGISTRY[metric].better
    if better not in ("lower", "higher"):
        raise UsageError(f"{metric} has no direction of improvement: it cannot be an objective")
    return 1 if better == "lower" else -1


def _signed(
    found: dict[str, float] | None, names: Sequence[str], signs: Sequence[int], most: float
) -> Values:
    """Objectives, smaller is better; infinite if more than ``most`` jobs never start."""
    if not found or found.get(NEVER, 0.0) > most:
        return tuple(math.inf for _ in names)
    pairs = zip(names, signs, strict=True)
    return tuple(sign * found.get(name, math.inf * sign) for name, sign in pairs)


def _policy(space: Space, candidate: Candidate) -> Any:
    try:
        return space.policy(candidate)
    except PolicyError:
        return None


def _sampled(weeks: list[Workload], seed: int) -> list[Workload]:
    """The weeks in a random order, the same for all candidates."""
    places = np.random.default_rng([seed, 2]).permutation(len(weeks))
    return [weeks[at] for at in places.tolist()]
