"""One metric over all runs: the best value, whether it is clear, and the runner-up.

If there are copies of the log (shaken or resampled), values are means over the copies, and a win is
clear if the paired differences from every other policy exclude zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shadowtime.metrics import Metric, intervals, policy_run
from shadowtime.report.metadata import describe, ordered

SAME = 1e-9
"""Relative difference below which two values count as equal."""


@dataclass(frozen=True)
class Contest:
    """One metric over all runs. ``winners`` are places in the runs; several of them are a tie.

    ``clear`` is False where the paired differences between the winner and some other run over the
    copies do not exclude zero, None without copies.
    """

    info: Metric
    values: tuple[float | None, ...]
    winners: tuple[int, ...]
    clear: bool | None

    @property
    def winner(self) -> int | None:
        """The one winner, None for a tie or a metric without a direction."""
        return self.winners[0] if len(self.winners) == 1 else None

    @property
    def all_equal(self) -> bool:
        """Every run that has a value has the best one."""
        return len(self.winners) == sum(value is not None for value in self.values)

    @property
    def sure(self) -> int | None:
        """The one winner unless the copies leave it open."""
        return None if self.clear is False else self.winner

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


def metric_names(runs: Sequence[policy_run.PolicyRun]) -> list[str]:
    """Every metric of any run, headline metrics first."""
    return ordered(list(dict.fromkeys(name for run in runs for name in run.metrics)))


def contest(runs: Sequence[policy_run.PolicyRun], name: str) -> Contest:
    """The winner of one metric, among the runs that start the most jobs.

    Examples
    --------
    >>> from shadowtime.metrics.policy_run import PolicyRun
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
    points = (run.point(name) for run in runs)
    values = tuple(one if one is not None and math.isfinite(one) else None for one in points)
    full = complete(runs)
    there = [value for i, value in enumerate(values) if value is not None and i in full]
    if info.better == "neither" or sum(value is not None for value in values) < 2 or not there:
        return Contest(info, values, (), None)
    best = min(there) if info.better == "lower" else max(there)
    winners = tuple(
        i
        for i, value in enumerate(values)
        if i in full
        and value is not None
        and abs(value - best) <= SAME * max(abs(value), abs(best))
    )
    clear = _clear(runs, name, winners[0]) if len(winners) == 1 else None
    return Contest(info, values, winners, clear)


def complete(runs: Sequence[policy_run.PolicyRun]) -> set[int]:
    """The runs that start as many jobs as any: one that starts fewer has an easier task.

    Examples
    --------
    >>> from shadowtime.metrics.policy_run import PolicyRun
    >>> counts = {"a": 9, "b": 7, "c": 9}
    >>> complete([PolicyRun(name=k, schedule=None, metrics={"jobs": n}) for k, n in counts.items()])
    {0, 2}
    """
    counts = [run.metrics.get("jobs", math.inf) for run in runs]
    return {i for i, count in enumerate(counts) if count == max(counts)}


def clearly(runs: Sequence[policy_run.PolicyRun], name: str, run: int, other: int) -> bool | None:
    """Whether two runs differ by more than chance, copy by copy; None without copies."""
    mine, theirs = runs[run].copies, runs[other].copies
    if name not in mine or name not in theirs:
        return None
    gap = intervals.paired(mine[name], theirs[name])
    return gap is not None and gap.excludes_zero


def _clear(runs: Sequence[policy_run.PolicyRun], name: str, winner: int) -> bool | None:
    """The winner differs from every other run by more than chance, copy by copy."""
    others = [clearly(runs, name, winner, i) for i in range(len(runs)) if i != winner]
    return None if None in others else all(others)


def runner_up(result: Contest, winner: int) -> int:
    """The best of the others by one metric."""
    others = [i for i in range(len(result.values)) if i != winner]
    return min(others, key=lambda i: _rank(result, i))


def _rank(result: Contest, run: int) -> float:
    value = result.values[run]
    if value is None:
        return math.inf
    return value if result.info.better == "lower" else -value
