"""The runs behind the tables and figures: tasks that simulate and measure, and what they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from shadowtime.engine import simulate
from shadowtime.metrics import measure
from shadowtime.metrics.jobs import Jobs, weighted_mean
from shadowtime.policy import parse_policy
from shadowtime.schedule.runs import started
from shadowtime.study.papers.pv_easy import policies as p
from shadowtime.study.papers.pv_easy.outcome import Outcome, outcome
from shadowtime.study.papers.reproduction import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.study.papers.subjects import Subject
    from shadowtime.workload.clean import Overrun

Pair: TypeAlias = tuple[float, float]
"""MBS and MWBS of a run."""

ERRORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""Maximum errors of the virtual predictor; the text names 10 % and 40 %, the others are ours."""

OVERRUN: tuple[Overrun, ...] = ("cut", "extend", "keep")
"""Rules for jobs that ran longer than requested; the first is the default."""

KEPT = ("easy", "easy-last", p.PV)
"""Schedules that are kept for the report and the result folder."""

RECLEANED = ("easy", "easy-last", p.PV)
"""Policies run again under the other rules for overrunning jobs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything measured: by subject and policy, by subject and cleaning rule, along Figure 4."""

    subjects: tuple[Subject, ...]
    seeds: tuple[int, ...]
    outcomes: Mapping[tuple[str, str], Outcome]
    recleaned: Mapping[tuple[str, str, str], Outcome]
    sweep: Mapping[tuple[str, str, float], tuple[Pair, ...]]
    """A pair for every seed by subject, line and maximum error."""

    def of(self, subject: Subject, policy: str) -> Outcome:
        """The outcome of a policy on a subject."""
        return self.outcomes[subject.label, policy]

    def metric(self, subject: Subject, policy: str, name: str) -> float | None:
        """One metric of it, None where it has no value (a mean over no jobs)."""
        return self.of(subject, policy).metrics.get(name)


def all_policies() -> list[str]:
    """Every policy that is run once on every subject."""
    readings = [p.easy(reading) for reading in p.READINGS]
    readings += [p.easy_last(reading) for reading in p.PROMISES]
    named = (p.PREDICTORS, p.ABLATIONS, p.ACCURACY)
    return list(dict.fromkeys([*readings, *(text for names in named for text in names.values())]))


@dataclass(frozen=True, eq=False)
class Runs:
    """The keys of all runs in the order in which they are started: those of large logs first."""

    subjects: tuple[Subject, ...]
    seeds: tuple[int, ...]

    def points(self) -> list[tuple[Subject, str, float, int]]:
        """Figure 4: every subject, line, maximum error and seed (one where it is 0)."""
        return [
            (subject, line, x, seed)
            for subject in self._by_size()
            for line in p.FIGURE_4
            for x in ERRORS
            for seed in (self.seeds if x else self.seeds[:1])
        ]

    def singles(self) -> list[tuple[Subject, str]]:
        """Every subject and policy."""
        return [(subject, policy) for subject in self._by_size() for policy in all_policies()]

    def recleaned(self) -> list[tuple[Subject, Overrun]]:
        """Every real log under the other rules for jobs that overran."""
        logs = (subject for subject in self._by_size() if not subject.generated)
        return [(subject, rule) for subject in logs for rule in OVERRUN[1:]]

    def _by_size(self) -> list[Subject]:
        return sorted(self.subjects, key=lambda subject: -len(subject.workload))

    def tasks(self) -> tuple[Task, ...]:
        """The runs as tasks."""
        return (
            *(_point(*key) for key in self.points()),
            *(_single(*key) for key in self.singles()),
            *(_recleaned(*key) for key in self.recleaned()),
        )

    def collect(self, results: list[Any]) -> Findings:
        """The results of these tasks by their keys."""
        points, singles = self.points(), self.singles()
        sweep: dict[tuple[str, str, float], tuple[Pair, ...]] = {}
        for (subject, line, x, _), pair in zip(points, results, strict=False):
            key = (subject.label, line, x)
            sweep[key] = (*sweep.get(key, ()), pair)
        single = results[len(points) : len(points) + len(singles)]
        again = results[len(points) + len(singles) :]
        return Findings(
            subjects=self.subjects,
            seeds=self.seeds,
            outcomes={
                (subject.label, policy): found
                for (subject, policy), found in zip(singles, single, strict=True)
            },
            recleaned={
                (subject.label, rule, policy): found
                for (subject, rule), several in zip(self.recleaned(), again, strict=True)
                for policy, found in several.items()
            },
            sweep=sweep,
        )


def _point(subject: Subject, line: str, x: float, seed: int) -> Task:
    """A point of Figure 4: MBS and MWBS alone."""

    def work() -> Pair:
        policy = parse_policy(p.with_virtual(line, x, seed))
        schedule = simulate(subject.workload, subject.cluster, policy)
        jobs = Jobs.of(schedule, started(schedule))
        bounded = jobs.bounded_paper()
        return float(bounded.mean()), weighted_mean(bounded, jobs.procs)

    return Task(name=f"{subject.label}: {line} at {x:.0%}", work=work)


def _single(subject: Subject, policy: str) -> Task:
    return Task(
        name=f"{subject.label}: {policy}",
        work=lambda: outcome(subject, policy, keep=policy in KEPT),
    )


def _recleaned(subject: Subject, rule: Overrun) -> Task:
    def work() -> dict[str, Outcome]:
        other = subject.recleaned(rule)
        found = {}
        for policy in RECLEANED:
            schedule = simulate(other.workload, other.cluster, parse_policy(policy))
            found[policy] = Outcome(metrics=measure(schedule, other.workload, other.cluster))
        return found

    return Task(name=f"{subject.label}: overrun={rule}", work=work)
