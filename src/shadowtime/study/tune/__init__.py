"""Tune a policy's parameters on past jobs, select on later ones, report on the last ones once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shadowtime.engine import simulate
from shadowtime.engine.warm import warm
from shadowtime.errors import MissingExtra, PolicyError, UsageError, near
from shadowtime.metrics import REGISTRY, measure
from shadowtime.metrics.intervals import Interval, paired
from shadowtime.policy import parse_policy
from shadowtime.study.fan_out import cores, fan_out
from shadowtime.study.loads import AS_RECORDED
from shadowtime.study.ranking import NEVER
from shadowtime.study.replicas import Replicas
from shadowtime.study.tune.parts import Parts
from shadowtime.study.tune.space import Space, front, order

if TYPE_CHECKING:
    from shadowtime.cluster import Cluster
    from shadowtime.study.tune.space import Candidate
    from shadowtime.workload import Workload


__all__ = ["Parts", "Space", "Tuned", "tune"]


MOST_SELECTED = 20
"""Candidates of the first part's front that go on to the second."""
COPIES = 10


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A candidate and its metrics on the first two parts."""

    policy: str
    settings: dict[str, str]
    tuned: dict[str, float]
    selected: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Report:
    """One objective of the chosen policy and the baseline, on the last part."""

    metric: str
    value: float
    baseline: float
    difference: Interval | None
    """Chosen - baseline over shaken copies of the last part, pair by pair."""
    gain: tuple[float, float, float]
    """Share by which the baseline is improved on the first, second and last part."""

    @property
    def optimism(self) -> float:
        """How much of the gain on the first part is missing on the last."""
        return self.gain[0] - self.gain[2]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What tuning found."""

    space: Space
    objectives: tuple[str, ...]
    method: str
    trials: int
    failed: int
    front: tuple[Entry, ...]
    """Unbeaten on the second part; best first by the first objective."""
    chosen: str
    baseline: str
    report: tuple[Report, ...]
    unstarted: tuple[float, float]
    """Jobs of the last part that the chosen policy and the baseline never start."""
    jobs: tuple[int, int, int]
    copies: int

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "policy": self.chosen,
            "baseline": self.baseline,
            "objectives": list(self.objectives),
            "method": self.method,
            "trials": self.trials,
            "failed": self.failed,
            "unstarted": dict(zip(("chosen", "baseline"), self.unstarted, strict=True)),
            "jobs": dict(zip(("tune", "select", "report"), self.jobs, strict=True)),
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
    parts: Parts,
    cluster: Cluster,
    space: Space,
    objectives: Sequence[str],
    *,
    method: Method = "halving",
    trials: int = 50,
    seed: int = 1,
    copies: int = COPIES,
    baseline: str = "easy",
    progress: Callable[[str], None] = lambda what: None,
) -> Tuned:
    """Search, select and report, each on different jobs.

    The candidates unbeaten on the first part are run on the second; the best of these by
    the first objective is chosen. It and the baseline are then run on the last part and on shaken
    copies of it. A candidate that the engine rejects is counted and dropped.
    """
    signs = [_sign(name) for name in objectives]
    if not objectives:
        raise UsageError("there is no objective: name a metric, such as --objective bsld_mean")
    if trials < 2:
        raise UsageError(f"{trials} trial is not a search: give at least 2")
    easy = parse_policy(baseline)
    _load(space, easy, parts.tune, cluster)
    weeks = _sampled(parts.weeks(), seed)
    failed: set[Candidate] = set()
    fewest: dict[int | None, float] = {}
    """Jobs that the baseline never starts: a candidate that starts fewer is no improvement."""

    def values(candidates: Sequence[Candidate], rung: int | None) -> list[Values]:
        inputs = [parts.tune] if rung is None else weeks[:rung]
        tasks = [
            partial(_measured, _policy(space, one), inputs, cluster, objectives)
            for one in candidates
        ]
        found = fan_out(tasks)
        progress(f"{len(candidates)} candidates on {'all jobs' if rung is None else 'weeks'}")
        failed.update(one for one, m in zip(candidates, found, strict=True) if m is None)
        if rung not in fewest:
            fewest[rung] = (_measured(easy, inputs, cluster, objectives) or {}).get(NEVER, 0.0)
        return [_signed(m, objectives, signs, fewest[rung]) for m in found]

    searched = search(space, method, trials=trials, seed=seed, weeks=len(weeks), evaluate=values)
    possible = [one for one, value in searched.items() if all(map(math.isfinite, value))]
    if not possible:
        raise UsageError(
            "no candidate can be run: the engine rejects each of them, or it starts fewer jobs "
            f"than {baseline}"
        )
    first = [searched[one] for one in possible]
    best = [possible[at] for at in order(first) if at in set(front(first))][:MOST_SELECTED]
    progress(f"{len(best)} candidates on the jobs to select on")
    tasks = [partial(_measured, space.policy(one), [parts.select], cluster, objectives)
             for one in best]  # fmt: skip
    chosen_on = [found or {} for found in fan_out(tasks)]
    base = [
        _measured(easy, [part], cluster, objectives) or {} for part in (parts.tune, parts.select)
    ]
    second = [_signed(one, objectives, signs, base[1].get(NEVER, 0.0)) for one in chosen_on]
    entries = []
    for at in sorted(front(second), key=lambda at: second[at]):
        tuned = dict(zip(objectives, _unsigned(searched[best[at]], signs), strict=True))
        entries.append(
            Entry(
                policy=space.policy(best[at]).name, settings=dict(best[at]), tuned=tuned,
                selected=chosen_on[at],
            )
        )  # fmt: skip
    if not entries:
        raise UsageError("no candidate can be run on the jobs to select on")
    winner = space.policy(tuple(entries[0].settings.items()))
    last = parts.report_part()
    progress("the last part, once")
    rows, never = _report(
        winner, easy, entries[0], base, last, cluster, objectives, signs, seed, copies
    )
    return Tuned(
        space=space, objectives=tuple(objectives), method=method, trials=len(searched),
        failed=len(failed), front=tuple(entries), chosen=entries[0].policy, baseline=baseline,
        report=rows, unstarted=never, jobs=(len(parts.tune), len(parts.select), len(last)),
        copies=copies,
    )  # fmt: skip


def _report(
    winner: Any, easy: Any, entry: Entry, base: list[dict[str, float]], last: Workload,
    cluster: Cluster, objectives: Sequence[str], signs: Sequence[int], seed: int, copies: int,
) -> tuple[tuple[Report, ...], tuple[float, float]]:  # fmt: skip
    replicas = Replicas.of(shake=copies, seed=seed)
    inputs = [replicas.make(last, cluster, AS_RECORDED, k) for k in range(copies + 1)]
    tasks = [
        partial(_measured, policy, [jobs], cluster, objectives)
        for policy in (winner, easy)
        for jobs in inputs
    ]
    found = [one or {} for one in fan_out(tasks)]
    mine, theirs = found[: copies + 1], found[copies + 1 :]
    rows = []
    for name, sign in zip(objectives, signs, strict=True):
        pairs = [(entry.tuned, base[0]), (entry.selected, base[1]), (mine[0], theirs[0])]
        gains = [_gain(a.get(name, math.nan), b.get(name, math.nan), sign) for a, b in pairs]
        columns = [[one.get(name, math.nan) for one in side[1:]] for side in (mine, theirs)]
        rows.append(
            Report(
                metric=name, value=mine[0].get(name, math.nan),
                baseline=theirs[0].get(name, math.nan), difference=paired(*columns),
                gain=(gains[0], gains[1], gains[2]),
            )
        )  # fmt: skip
    return tuple(rows), (mine[0].get(NEVER, 0.0), theirs[0].get(NEVER, 0.0))


def _gain(value: float, base: float, sign: int) -> float:
    """The share by which a value improves on the baseline's.

    Examples
    --------
    >>> _gain(8.0, 10.0, 1), _gain(0.9, 0.75, -1)
    (0.2, 0.2)
    """
    return round(sign * (base - value) / abs(base), 12) if base else 0.0


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


def _unsigned(values: Values, signs: Sequence[int]) -> list[float]:
    return [sign * value for sign, value in zip(signs, values, strict=True)]


def _policy(space: Space, candidate: Candidate) -> Any:
    try:
        return space.policy(candidate)
    except PolicyError:
        return None


def _measured(
    policy: Any, inputs: Sequence[Workload], cluster: Cluster, names: Sequence[str]
) -> dict[str, float] | None:
    """The means of metrics, and of the jobs that never start, over inputs; None if rejected."""
    if policy is None:
        return None
    found = []
    for jobs in inputs:
        try:
            found.append(measure(simulate(jobs, cluster, policy), jobs, cluster))
        except PolicyError:
            return None
    return {
        name: float(np.mean([one[name] for one in found]))
        for name in (*names, NEVER)
        if all(name in one for one in found)
    }


def _sampled(weeks: list[Workload], seed: int) -> list[Workload]:
    """The weeks in a random order, the same for all candidates."""
    places = np.random.default_rng([seed, 2]).permutation(len(weeks))
    return [weeks[at] for at in places.tolist()]


def _load(space: Space, easy: Any, jobs: Workload, cluster: Cluster) -> None:
    """Compile and load what the search needs, before several threads need it at once."""
    rng = np.random.default_rng(0)
    chosen = [easy, *(_policy(space, space.draw(rng)) for _ in range(4))]
    found = [one for one in chosen if one is not None]
    warm(found, cluster, cores=cores())
    for one in found:
        _measured(one, [jobs.take(np.arange(1))], cluster, ())


Method = Literal["random", "halving", "optuna"]
Values = tuple[float, ...]
Evaluate = Callable[[Sequence["Candidate"], int | None], list[Values]]
"""Objectives (smaller is better) of candidates, on a number of sampled weeks or all jobs (None)."""
BATCH = 8
"""Candidates requested from Optuna at a time."""


def search(
    space: Space, method: Method, *, trials: int, seed: int, weeks: int, evaluate: Evaluate
) -> dict[Candidate, Values]:
    """Candidates with their objectives on all of the first part.

    Rules
    -----
    random: ``trials`` draws, each on all jobs. halving: ``trials`` draws on one week, the better
    half on two, and so on; the remaining ones run on all jobs (with several objectives, front by
    front). optuna: its default sampler, in batches of eight. The same seed gives the same
    candidates.
    """
    rng = np.random.default_rng([seed, 1])
    if method == "optuna":
        return _optuna(space, trials, seed, evaluate)
    drawn = list(dict.fromkeys(space.draw(rng) for _ in range(trials)))
    if method == "halving":
        rung = 1
        while len(drawn) > 4 and rung <= weeks:
            values = evaluate(drawn, rung)
            keep = max(4, math.ceil(len(drawn) / 2))
            drawn = [drawn[at] for at in sorted(order(values)[:keep])]
            rung *= 2
    return dict(zip(drawn, evaluate(drawn, None), strict=True))


def _optuna(space: Space, trials: int, seed: int, evaluate: Evaluate) -> dict[Candidate, Values]:
    try:
        import optuna
    except ImportError:
        purpose = "search with --method optuna"
        raise MissingExtra("optuna", extra="tune", purpose=purpose) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    found: dict[Candidate, Values] = {}
    study: Any = None
    asked = 0
    while asked < trials:
        count = min(BATCH, trials - asked)
        if study is None:  # the number of objectives is known from the first answer
            rng = np.random.default_rng([seed, 1])
            first = space.draw(rng)
            found[first] = evaluate([first], None)[0]
            asked += 1
            study = optuna.create_study(
                sampler=optuna.samplers.TPESampler(seed=seed),
                directions=["minimize"] * len(found[first]),
            )
            continue
        batch = [study.ask() for _ in range(count)]
        candidates = [_suggest(space, trial) for trial in batch]
        new = [one for one in dict.fromkeys(candidates) if one not in found]
        found.update(zip(new, evaluate(new, None), strict=True))
        for trial, candidate in zip(batch, candidates, strict=True):
            values = found[candidate]
            if all(map(math.isfinite, values)):
                study.tell(trial, values)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        asked += count
    return found


def _suggest(space: Space, trial: Any) -> Candidate:
    values = []
    for axis in space.axes:
        if axis.kind == "choice":
            values.append(trial.suggest_categorical(axis.name, list(axis.choices)))
        elif axis.kind == "whole":
            values.append(str(trial.suggest_int(axis.name, int(axis.low), int(axis.high))))
        else:
            drawn = trial.suggest_float(axis.name, axis.low, axis.high, log=axis.log)
            values.append(f"{drawn:.6g}")
    return tuple((axis.name, value) for axis, value in zip(space.axes, values, strict=True))
