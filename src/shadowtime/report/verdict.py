"""Which policy wins by which metric, by how much, and how certain that is.

If there are copies of the log (shaken or resampled), values are means over the copies, and a win is
clear if the paired differences from every other policy exclude zero. The headline counts only clear
wins.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shadowtime.metrics.intervals import paired
from shadowtime.report.metadata import HEADLINE, describe, ordered
from shadowtime.report.numbers import percent, short, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.metrics import Metric
    from shadowtime.metrics.policy_run import PolicyRun
    from shadowtime.report.inputs import ReportInput

SAME = 1e-9
"""Relative difference below which two values count as equal."""

SHOWN = 10
"""Metrics on the first screen."""

MAIN = ("bsld_mean", "wait_mean_s")
"""A winner over copies wins one of these clearly: slowdown reflects short jobs, wait all jobs."""


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


def metric_names(runs: Sequence[PolicyRun]) -> list[str]:
    """Every metric of any run, headline metrics first."""
    return ordered(list(dict.fromkeys(name for run in runs for name in run.metrics)))


def contest(runs: Sequence[PolicyRun], name: str) -> Contest:
    """The winner of one metric.

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
    values = tuple(_finite(run.point(name)) for run in runs)
    there = [value for value in values if value is not None]
    if info.better == "neither" or len(there) < 2:
        return Contest(info, values, (), None)
    best = min(there) if info.better == "lower" else max(there)
    winners = tuple(
        i
        for i, value in enumerate(values)
        if value is not None and abs(value - best) <= SAME * max(abs(value), abs(best))
    )
    clear = _clear(runs, name, winners[0]) if len(winners) == 1 else None
    return Contest(info, values, winners, clear)


def _clear(runs: Sequence[PolicyRun], name: str, winner: int) -> bool | None:
    """The winner differs from every other run by more than chance, copy by copy."""
    if not all(name in run.copies for run in runs):
        return None

    mine = runs[winner].copies[name]
    gaps = [paired(mine, run.copies[name]) for i, run in enumerate(runs) if i != winner]
    return all(gap is not None and gap.excludes_zero for gap in gaps)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class Verdict:
    """The contests of the first screen, the overall winner and its sentences."""

    contests: tuple[Contest, ...]
    winner: int | None
    headline: str
    detail: str


def verdict_of(report: ReportInput) -> Verdict:
    """The verdict that leads a report: which policy wins, or for a replay how far to trust a
    what-if.

    No policy wins against a record: there the contests have no winners either.
    """
    if not report.replay or report.trust is None:
        return judge(report.runs)
    beside = tuple(replace(c, winners=(), clear=None) for c in judge(report.runs).contests)
    return Verdict(beside, None, report.trust.headline, report.trust.meaning)


def judge(runs: Sequence[PolicyRun]) -> Verdict:
    """The verdict over the headline metrics: most wins; over copies, most clear wins.

    Rules
    -----
    Without copies ties are broken by the first metric. With copies a winner needs more clear wins
    than any other policy, and a clear win by mean bounded slowdown or mean wait where these are
    known; else there is no clear winner.
    """
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
        detail = "All metrics with a direction are equal." if known else "No metrics given."
        return Verdict(contests, None, "No policy wins.", detail)
    if any(c.clear is not None for c in decided):
        return _over_copies(runs, contests, decided)
    wins = Counter(c.winner for c in decided if c.winner is not None)
    most = max(wins.values())
    winner = next(c.winner for c in decided if c.winner is not None and wins[c.winner] == most)
    headline = f"{short(runs[winner].name)} wins {most} of {len(decided)} metrics."
    return Verdict(contests, winner, headline, _detail(runs, decided, winner))


def _over_copies(
    runs: Sequence[PolicyRun], contests: tuple[Contest, ...], decided: Sequence[Contest]
) -> Verdict:
    """Only a certain paired difference counts as a win."""
    wins = Counter(c.sure for c in decided if c.sure is not None)
    main = [c for c in decided if c.info.name in MAIN]
    ranked = wins.most_common()
    leader = ranked[0][0] if ranked else None
    tied = len(ranked) > 1 and ranked[0][1] == ranked[1][1]
    if leader is None or tied or (main and all(c.sure != leader for c in main)):
        return Verdict(contests, None, "No clear winner.", _open(runs, decided, wins))
    headline = f"{short(runs[leader].name)} clearly wins {wins[leader]} of {len(decided)} metrics."
    return Verdict(contests, leader, headline, _detail(runs, decided, leader))


def _open(runs: Sequence[PolicyRun], decided: Sequence[Contest], wins: Counter[int]) -> str:
    """The sentences where no policy wins: which one leads, and which wins are clear after all."""
    first = decided[0]
    assert first.winner is not None
    leader = first.winner
    rival = runner_up(first, leader)
    change = first.change(leader, rival)
    gap = "" if change is None else f", {percent(abs(change))} {_side(change)} "
    doubt = "which may be chance" if first.clear is False else "which is clear"
    text = (
        f"{first.info.label} is best under {short(runs[leader].name)} "
        f"({with_unit(first.values[leader], first.info.unit)})"
        f"{f'{gap}{short(runs[rival].name)}, {doubt}' if gap else ''}."
    )
    clear = [f"{short(runs[place].name)} {count}" for place, count in wins.most_common()]
    summary = f"Clear wins: {', '.join(clear)}" if clear else "No win is clear"
    return f"{text} {summary} of {len(decided)} metrics, by the differences over the same copies."


def challenger(runs: Sequence[PolicyRun], verdict: Verdict) -> int | None:
    """The run whose price is shown against the first: the winner, else the best of the others."""
    if len(runs) < 2:
        return None
    if verdict.winner:
        return verdict.winner
    for result in verdict.contests:
        if result.info.better != "neither" and any(v is not None for v in result.values[1:]):
            return runner_up(result, 0)
    return len(runs) - 1


def _nothing_ran(runs: Sequence[PolicyRun]) -> bool:
    """No run has scored a job; runs without that metric count as if they had."""
    return all(run.metrics.get("jobs", 1) == 0 for run in runs)


def _alone(run: PolicyRun, contests: Sequence[Contest]) -> tuple[str, str]:
    facts = [f"{_lower(c.info.label)} {with_unit(c.values[0], c.info.unit)}" for c in contests[:3]]
    detail = f"{_capital(', '.join(facts))}." if facts else "No metrics given."
    return f"{short(run.name)} on its own.", detail


def _detail(runs: Sequence[PolicyRun], decided: Sequence[Contest], winner: int) -> str:
    """What the winner's first metric shows, and which policies win the other metrics."""
    first = next(c for c in decided if c.sure == winner)
    rivals = dict.fromkeys([runner_up(first, winner), *([0] if winner else [])])
    against = [
        f"{percent(abs(change))} {_side(change)} {short(runs[rival].name)} "
        f"({with_unit(first.values[rival], first.info.unit)})"
        for rival in rivals
        if (change := first.change(winner, rival)) is not None
    ]
    value = f"{first.info.label} {with_unit(first.values[winner], first.info.unit)}"
    parts = [f"{value}: {', '.join(against)}" if against else value]
    parts += _others(runs, decided, winner)
    unclear = sum(c.clear is False for c in decided)
    text = "; ".join(parts) + "."
    if unclear:
        text += (
            f" {unclear} of {len(decided)} metrics are undecided: the differences may be chance."
        )
    return text


def _others(runs: Sequence[PolicyRun], decided: Sequence[Contest], winner: int) -> list[str]:
    """The other policies that win something, each with its metrics."""
    won: dict[int, list[str]] = {}
    for result in decided:
        if result.sure is not None and result.sure != winner:
            won.setdefault(result.sure, []).append(_lower(result.info.label))
    return [f"{short(runs[place].name)} wins {_listed(labels)}" for place, labels in won.items()]


def _listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    Examples
    --------
    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


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
