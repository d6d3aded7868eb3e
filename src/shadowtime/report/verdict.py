"""The headline of a comparison: a trade-off, not a count; and three policies to choose from.

One rule decides for the terminal, the page, the JSON object and Python. It is described for users
in docs/reference/headline.md.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from shadowtime.metrics.by_class import ClassRow
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report.contest import Contest, clearly, complete, contest, metric_names, runner_up
from shadowtime.report.inputs import ReportInput
from shadowtime.report.metadata import HEADLINE
from shadowtime.report.numbers import number, short, span, with_unit
from shadowtime.report.page.whatif import headline as effect_headline
from shadowtime.report.payers import KINDS, Payers, class_named, classes_of, payers
from shadowtime.report.tradeoff import (
    COSTS,
    balance,
    equal_sentence,
    is_worse,
    lower,
    rival_sentence,
)
from shadowtime.study.comparison import NEVER
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


SHOWN = 10
"""Metrics on the first screen."""

ONE_RUN = "This is one run: --shake 10 shows which differences may be chance."


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The metrics of the first screen, the leading policy, and the sentences about it."""

    contests: tuple[Contest, ...] = ()
    winner: int | None = None
    """The run that serves most jobs best; None if none does, or if that may be chance."""
    headline: str
    choices: tuple[Choice, ...] = ()
    """What to choose for most jobs, for fairness, for safety: only where they differ."""
    notes: tuple[str, ...] = ()

    @property
    def detail(self) -> str:
        """Everything after the headline in one paragraph."""
        return " ".join([*(choice.sentence for choice in self.choices), *self.notes])

    def as_dict(self, runs: Sequence[PolicyRun]) -> dict[str, object]:
        """For results."""
        return {
            "headline": self.headline,
            "detail": self.detail,
            "winner": None if self.winner is None else runs[self.winner].name,
            "choices": {choice.best_for: runs[choice.run].name for choice in self.choices},
        }


_KNOWN: MutableMapping[ReportInput, Verdict] = WeakKeyDictionary()
"""A page, its figures and the terminal ask for the verdict of the same report several times."""


def verdict_of(report: ReportInput) -> Verdict:
    """The verdict that leads a report: the trade-off, or for a replay how far to trust a what-if.

    No policy wins against a record: there the contests have no winners either.
    """
    found = _KNOWN.get(report)
    if found is None:
        found = judge(report.runs, report)
        if report.effects:  # of all runs; what one of them never starts is no part of it
            first, detail = effect_headline(report.effects)
            found = Verdict(contests=found.contests, headline=first, notes=(detail,))
        elif report.replay and report.trust is not None:
            beside = tuple(replace(c, winners=(), clear=None) for c in found.contests)
            found = Verdict(
                contests=beside, headline=report.trust.headline, notes=(report.trust.meaning,)
            )
        never = [] if report.effects else never_started(report.runs)
        found = _KNOWN[report] = replace(found, notes=(*found.notes, *never))
    return found


def judge(runs: Sequence[PolicyRun], report: ReportInput | None = None) -> Verdict:
    """The verdict over some runs; their ``report`` adds the classes of jobs.

    Rules
    -----
    Policies that start fewer jobs than another are not ranked. The leader has the lowest mean
    bounded slowdown, else mean wait, else the best value of the first metric that differs; over
    copies of the log it must be clear. Another one leads that is as good there and costs less
    (:func:`~shadowtime.report.verdict.leading`). The headline says what it improves against the
    first policy (against the runner-up if it is the first), and what that costs.
    """
    contests = tuple(contest(runs, name) for name in shown_metrics(runs))
    known = [c for c in contests if any(value is not None for value in c.values)]
    if all(run.metrics.get("jobs", 1) == 0 for run in runs):
        return Verdict(headline="No job has finished.", notes=("There is nothing to compare yet.",))
    if len(runs) == 1:
        return Verdict(contests=contests, headline=f"{short(runs[0].name)} on its own.",
                       notes=(_alone(known),))  # fmt: skip
    decided = deciding(known)
    if decided is None or decided.winner is None:
        note = "All metrics with a direction are equal." if known else "No metrics given."
        return Verdict(contests=contests, headline="No policy wins.", notes=(note,))
    leader = leading(runs, known, decided)
    against = 0 if leader else runner_up(decided, leader)
    price = None if report is None else payers(report, leader, against)
    gains = balance(runs, contests, decided, leader, against, price)
    notes = [*rival_sentence(runs, contests, decided, leader), *_fewer(runs)]
    notes += [ONE_RUN] if not any(run.copies for run in runs) else []
    found = choices(runs, contests, decided, leader, report)
    if leader != decided.winner:
        notes.insert(0, equal_sentence(runs, contests, decided, leader))
    if decided.clear is not False or leader != decided.winner:
        headline = f"{short(runs[leader].name)} serves most jobs best: {gains}."
        return Verdict(contests=contests, winner=leader, headline=headline,
                       choices=found, notes=tuple(notes))  # fmt: skip
    next_best = runner_up(decided, leader)
    headline = (
        f"No clear winner: {lower(decided.info.label)} is best under {short(runs[leader].name)} "
        f"({with_unit(decided.values[leader], decided.info.unit)}), but its lead over "
        f"{short(runs[next_best].name)} may be chance."
    )
    notes.insert(0, f"{short(runs[leader].name)}: {gains}.")
    return Verdict(contests=contests, headline=headline, choices=found, notes=tuple(notes))


def shown_metrics(runs: Sequence[PolicyRun]) -> list[str]:
    """The metrics of the first screen: those of ``HEADLINE`` that any run has, unless all are 0."""
    names = metric_names(runs)
    first = [n for n in names if n in HEADLINE and any(run.metrics.get(n) for run in runs)]
    return (first or names)[:SHOWN]


def winner_payers(report: ReportInput) -> Payers | None:
    """Which classes pay for the winner (or the compared policy); None for one run."""
    place = challenger(report.runs, verdict_of(report))
    return None if place is None else payers(report, place)


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


def never_started(runs: Sequence[PolicyRun]) -> list[str]:
    """A sentence for each policy about the jobs that it never starts, with the causes."""
    found = []
    for run in runs:
        count = round(run.metrics.get(NEVER) or 0)
        if not count:
            continue
        whole = count + round(run.metrics.get("jobs", 0))
        causes = "; ".join(
            f"{number(one.jobs)}: {one.why}" if len(run.unstarted) > 1 else one.why
            for one in run.unstarted
        )
        waits = with_unit(run.metrics.get("unstarted_wait_max_s"), "s")
        found.append(
            f"{short(run.name)} never starts {number(count)} of {number(whole)} jobs"
            f"{f': {causes}' if causes else ''}; the longest wait of these was {waits} or more."
        )
    return found


def _fewer(runs: Sequence[PolicyRun]) -> list[str]:
    """The policies that start fewer jobs, which are not ranked."""
    full = complete(runs)
    if len(full) == len(runs):
        return []
    most = max(run.metrics["jobs"] for run in runs)
    missing = [
        f"{short(run.name)} ({most - run.metrics['jobs']:,.0f} fewer)"
        for i, run in enumerate(runs)
        if i not in full
    ]
    return [f"Not ranked, because they start fewer jobs: {', '.join(missing)}."]


def _alone(contests: Sequence[Contest]) -> str:
    facts = [f"{lower(c.info.label)} {with_unit(c.values[0], c.info.unit)}" for c in contests[:3]]
    text = ", ".join(facts)
    return f"{text[:1].upper()}{text[1:]}." if facts else "No metrics given."
