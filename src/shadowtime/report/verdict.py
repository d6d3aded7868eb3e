"""Which policy wins by which metric, by how much, and which jobs pay for it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.report.metadata import HEADLINE, MetricInfo, describe, ordered
from shadowtime.report.numbers import percent, short, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.metrics import ClassRow
    from shadowtime.report.inputs import PolicyRun

SAME = 1e-9
"""Relative difference below which two values count as equal."""

SHOWN = 10
"""Metrics on the first screen."""


@dataclass(frozen=True)
class Contest:
    """One metric over all runs. ``winners`` are places in the runs; several of them are a tie.

    ``clear`` is False where the winner's interval touches another one, None without intervals.
    """

    info: MetricInfo
    values: tuple[float | None, ...]
    winners: tuple[int, ...]
    clear: bool | None

    @property
    def winner(self) -> int | None:
        """The one winner, None for a tie or a metric that has no better side."""
        return self.winners[0] if len(self.winners) == 1 else None

    def change(self, run: int, baseline: int = 0) -> float | None:
        """Relative difference of a run from the baseline, None where it has no meaning."""
        return relative(self.values[run], self.values[baseline])


def relative(value: float | None, base: float | None) -> float | None:
    """(value - base) / |base|; 0 for equal values, None where it has no meaning."""
    if value is None or base is None or not (math.isfinite(value) and math.isfinite(base)):
        return None
    if value == base:
        return 0.0
    return (value - base) / abs(base) if base else None


def metric_names(runs: Sequence[PolicyRun]) -> list[str]:
    """Every metric of any run, headline metrics first."""
    return ordered(list(dict.fromkeys(name for run in runs for name in run.metrics)))


def contest(runs: Sequence[PolicyRun], name: str) -> Contest:
    """Who wins one metric.

    Examples
    --------
    >>> from shadowtime.report.inputs import PolicyRun
    >>> values = {"a": 4.0, "b": 3.0}
    >>> runs = [
    ...     PolicyRun(name=name, schedule=None, metrics={"bsld_mean": value})
    ...     for name, value in values.items()
    ... ]
    >>> result = contest(runs, "bsld_mean")
    >>> result.winner, result.change(1)
    (1, -0.25)
    """
    info = describe(name)
    values = tuple(_finite(run.metrics.get(name)) for run in runs)
    there = [value for value in values if value is not None]
    if info.better == "neither" or len(there) < 2:
        return Contest(info, values, (), None)
    best = min(there) if info.better == "lower" else max(there)
    winners = tuple(
        i
        for i, value in enumerate(values)
        if value is not None and abs(value - best) <= SAME * max(abs(value), abs(best))
    )
    clear = None
    if len(winners) == 1 and all(name in run.intervals for run in runs):
        low, high = runs[winners[0]].intervals[name]
        clear = all(
            other.intervals[name][0] > high or other.intervals[name][1] < low
            for i, other in enumerate(runs)
            if i != winners[0]
        )
    return Contest(info, values, winners, clear)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class Verdict:
    """The contests of the first screen, the overall winner and the sentences that say so."""

    contests: tuple[Contest, ...]
    winner: int | None
    headline: str
    detail: str


def judge(runs: Sequence[PolicyRun]) -> Verdict:
    """The verdict over the headline metrics: most wins, ties broken by the first metric."""
    names = [
        name
        for name in metric_names(runs)
        if name in HEADLINE and any(run.metrics.get(name) for run in runs)
    ][:SHOWN]
    if not names:
        names = metric_names(runs)[:SHOWN]
    contests = tuple(contest(runs, name) for name in names)
    known = [c for c in contests if any(value is not None for value in c.values)]
    if _nothing_ran(runs):
        return Verdict((), None, "No job has finished.", "There is nothing to compare yet.")
    if len(runs) == 1:
        return Verdict(contests, None, *_alone(runs[0], known))
    decided = [c for c in known if c.winner is not None]
    if not decided:
        detail = "All metrics that have a better side are equal." if known else "No metrics given."
        return Verdict(contests, None, "No policy wins.", detail)
    wins = Counter(c.winner for c in decided if c.winner is not None)
    most = max(wins.values())
    winner = next(c.winner for c in decided if c.winner is not None and wins[c.winner] == most)
    name = short(runs[winner].name)
    headline = f"{name} wins {most} of {len(decided)} metrics."
    return Verdict(contests, winner, headline, _detail(runs, decided, winner))


def _nothing_ran(runs: Sequence[PolicyRun]) -> bool:
    """No run has scored a job; runs whose metrics do not say count as if they had."""
    return all(run.metrics.get("jobs", 1) == 0 for run in runs)


def _alone(run: PolicyRun, contests: Sequence[Contest]) -> tuple[str, str]:
    facts = [f"{_lower(c.info.label)} {with_unit(c.values[0], c.info.unit)}" for c in contests[:3]]
    detail = f"{_capital(', '.join(facts))}." if facts else "No metrics given."
    return f"{short(run.name)} on its own.", detail


def _detail(runs: Sequence[PolicyRun], decided: Sequence[Contest], winner: int) -> str:
    """What the winner's first metric says, and who takes the metrics it does not win."""
    first = next(c for c in decided if c.winner == winner)
    rivals = dict.fromkeys([runner_up(first, winner), *([0] if winner else [])])
    against = [
        f"{percent(abs(change))} {_side(change)} {short(runs[rival].name)} "
        f"({with_unit(first.values[rival], first.info.unit)})"
        for rival in rivals
        if (change := first.change(winner, rival)) is not None
    ]
    value = f"{first.info.label} {with_unit(first.values[winner], first.info.unit)}"
    parts = [f"{value}: {', '.join(against)}" if against else value]
    parts += [
        f"{short(runs[c.winner].name)} wins {_lower(c.info.label)}"
        for c in decided
        if c.winner is not None and c.winner != winner
    ][:3]
    unclear = sum(c.clear is False for c in decided if c.winner == winner)
    text = "; ".join(parts) + "."
    if unclear:
        text += f" {unclear} of these wins lie within the intervals."
    return text


def runner_up(result: Contest, winner: int) -> int:
    """The best of the others by one metric."""
    others = [i for i in range(len(result.values)) if i != winner]
    return min(others, key=lambda i: _rank(result, i))


def _rank(result: Contest, run: int) -> float:
    value = result.values[run]
    if value is None:
        return math.inf
    return value if result.info.better == "lower" else -value


def _side(change: float) -> str:
    return "below" if change < 0 else "above"


def _lower(label: str) -> str:
    return label[:1].lower() + label[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class ClassChange:
    """How one class fares under a run against the baseline; positive is worse."""

    row: ClassRow
    value: float
    base: float
    change: float | None


def class_metric(rows: Sequence[ClassRow]) -> str | None:
    """The metric by which classes are compared: the first headline metric they have."""
    names = ordered(list(dict.fromkeys(name for row in rows for name in row.metrics)))
    return next((name for name in names if describe(name).better != "neither"), None)


def class_changes(
    rows: Sequence[ClassRow], base: Sequence[ClassRow], metric: str
) -> list[ClassChange]:
    """Every class that both runs have, with its change for the worse (+) or the better (-)."""
    before = {(row.kind, row.label): row for row in base}
    sign = 1 if describe(metric).better == "lower" else -1
    found = []
    for row in rows:
        other = before.get((row.kind, row.label))
        if other is None or metric not in row.metrics or metric not in other.metrics:
            continue
        change = relative(row.metrics[metric], other.metrics[metric])
        found.append(
            ClassChange(
                row,
                row.metrics[metric],
                other.metrics[metric],
                None if change is None else sign * change,
            )
        )
    return found
