"""Three policies to choose from: best for most jobs, fairest, safest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shadowtime.metrics.by_class import ClassRow
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report.contest import Contest, clearly, complete
from shadowtime.report.inputs import ReportInput
from shadowtime.report.numbers import short, span, with_unit
from shadowtime.report.payers import KINDS, class_named, classes_of
from shadowtime.report.tradeoff import COSTS, is_worse, lower
from shadowtime.study.losers import LEAST, METRIC, SHARE, WORSE

MAIN = ("bsld_mean", "wait_mean_s")
"""What decides which policy serves most jobs best: every job counts alike in both."""


@dataclass(frozen=True)
class Choice:
    """A policy, what it is the best choice for, and the reason."""

    best_for: str
    run: int
    sentence: str


def deciding(contests: Sequence[Contest]) -> Contest | None:
    """The first metric with a single winner, those of ``MAIN`` first."""
    first = [c for name in MAIN for c in contests if c.info.name == name]
    return next((c for c in [*first, *contests] if c.winner is not None), None)


def leading(runs: Sequence[PolicyRun], contests: Sequence[Contest], decided: Contest) -> int:
    """The policy that leads: the best of the deciding metric, or an equal that costs less.

    Rules
    -----
    Equal is what is not worse by more than 5 % (over copies: clearly). It leads if it is better by
    more than that in the mean or the longest wait and worse in none of the metrics that may be a
    cost: of several the one with the shortest mean wait.
    """
    first = decided.winner
    assert first is not None
    by_name = {one.info.name: one for one in contests}
    others = [by_name[name] for name in ("wait_mean_s", "wait_max_s") if name in by_name]
    costs = [by_name[name] for name in COSTS if name in by_name]
    found = [
        place
        for place in complete(runs)
        if place != first
        and not any(is_worse(runs, one, place, first) for one in (decided, *costs))
        and any(is_worse(runs, one, first, place) for one in others)
    ]
    wait = by_name.get("wait_mean_s", decided)
    return min(found, key=lambda place: (wait.values[place] or 0.0, place), default=first)


def choices(
    runs: Sequence[PolicyRun],
    contests: Sequence[Contest],
    decided: Contest,
    leader: int,
    report: ReportInput | None,
) -> tuple[Choice, ...]:
    """The choices, the leader first; none if one policy is the best choice in every sense.

    Rules
    -----
    Fairest: the shortest mean wait of the class of jobs (by size, run time, user; at least 30 jobs
    and half a per cent of all) that waits longest under it. Safest: the shortest longest wait.
    Another policy than the leader is named only if it is more than 5 % better there.
    """
    value = with_unit(decided.values[leader], decided.info.unit)
    doubtful = decided.clear is False and leader == decided.winner
    doubt = " (its lead may be chance)" if doubtful else ""
    label = lower(decided.info.label)
    text = f"Most jobs: {short(runs[leader].name)}, {label} {value}{doubt}."
    found = [Choice("most jobs", leader, text)]
    found += _fairest(runs, leader, report) if report is not None else []
    longest = next((c for c in contests if c.info.name == "wait_max_s"), None)
    found += _safest(runs, leader, longest) if longest is not None and longest.winners else []
    return tuple(found) if any(one.run != leader for one in found) else ()


def _fairest(runs: Sequence[PolicyRun], leader: int, report: ReportInput) -> list[Choice]:
    last = {i: _waits_longest(report, runs[i]) for i in complete(runs)}
    known = {i: row for i, row in last.items() if row is not None}
    if leader not in known:
        return []
    place = min(known, key=lambda i: (known[i].metrics[METRIC], i != leader, i))
    if known[leader].metrics[METRIC] <= (1 + WORSE) * known[place].metrics[METRIC]:
        place = leader
    row = known[place]
    text = (
        f"Fairest: {short(runs[place].name)}, where the class that waits longest "
        f"({class_named(row.kind, row.label)}) waits {span(row.metrics[METRIC])} on average"
    )
    if place != leader:
        text += f" (with {short(runs[leader].name)}: {span(known[leader].metrics[METRIC])})"
    return [Choice("fairness", place, f"{text}.")]


def _waits_longest(report: ReportInput, run: PolicyRun) -> ClassRow | None:
    rows = [
        row
        for row in classes_of(report, run)
        if row.kind in KINDS and row.jobs >= LEAST and row.metrics["share_of_jobs"] >= SHARE
    ]
    return max(rows, key=lambda row: row.metrics[METRIC], default=None)


def _safest(runs: Sequence[PolicyRun], leader: int, longest: Contest) -> list[Choice]:
    place = leader if leader in longest.winners else longest.winners[0]
    mine, best = longest.values[leader], longest.values[place]
    if mine is not None and best is not None and mine <= (1 + WORSE) * best:
        place = leader
    text = f"Safest: {short(runs[place].name)}, longest wait {span(longest.values[place])}"
    if place != leader:
        text += f" (with {short(runs[leader].name)}: {span(longest.values[leader])})"
        if clearly(runs, "wait_max_s", place, leader) is False:
            text += ", which may be chance"
    return [Choice("safety", place, f"{text}.")]
