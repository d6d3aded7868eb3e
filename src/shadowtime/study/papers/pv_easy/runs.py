"""What is run, the paper's measures of each run, and what the runs find.

Blocked jobs are grouped by their share of the machine (Figures 2 and 3). The paper names one
border, a quarter of the processors; the groups are ours: halves below it, eighths up to a half
above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shadowtime.engine import simulate
from shadowtime.metrics import fairness, measure, reservation_violations
from shadowtime.metrics.jobs import Jobs, weighted_mean
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.schedule.runs import started
from shadowtime.study.accuracy import Accuracy, accuracy_report, predictions
from shadowtime.study.papers import Runs, Subject, SubjectRun, Task, of_kind
from shadowtime.study.papers.pv_easy import policies as p
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.cluster import Cluster
    from shadowtime.schedule import Schedule
    from shadowtime.types import AnyArray
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


BORDERS = (0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 1.0)
"""A job is in a group if its share of the processors is above one border and up to the next."""

LABELS = ("≤ 1/32", "≤ 1/16", "≤ 1/8", "≤ 1/4", "≤ 3/8", "≤ 1/2", "> 1/2")

BIG = 1 / 4
"""Big jobs take more than this share (section 5.2.1)."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Some blocked jobs: how many, and their MBS and MWBS (None where there are none)."""

    jobs: int
    mbs: float | None
    mwbs: float | None


@dataclass(frozen=True, kw_only=True)
class BlockedBySize:
    """The blocked jobs of a schedule in groups, and the big and the small ones as a whole."""

    groups: tuple[Group, ...]
    small: Group
    big: Group


def blocked_by_size(
    schedule: Schedule, cluster: Cluster, *, blocked: AnyArray | None = None
) -> BlockedBySize:
    """MBS and MWBS of the jobs that a schedule blocked, or of those of another one (``blocked``).

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 0, 0], run=[90, 90, 90], procs=[4, 1, 4])
    >>> found = blocked_by_size(
    ...     simulate(jobs, Cluster.pool(4), parse_policy("easy")), Cluster.pool(4))
    >>> found.small, found.big
    (Group(jobs=1, mbs=2.0, mwbs=2.0), Group(jobs=1, mbs=3.0, mwbs=3.0))
    """
    if blocked is None:
        assert schedule.blocked_at is not None
        blocked = schedule.blocked_at != UNKNOWN
    share = schedule.procs / cluster.procs
    return BlockedBySize(
        groups=tuple(
            _group(schedule, blocked & (share > low) & (share <= high))
            for low, high in pairwise(BORDERS)
        ),
        small=_group(schedule, blocked & (share <= BIG)),
        big=_group(schedule, blocked & (share > BIG)),
    )


def _group(schedule: Schedule, which: AnyArray) -> Group:
    count = int(np.count_nonzero(which))
    if count == 0:
        return Group(jobs=0, mbs=None, mwbs=None)
    jobs = Jobs.of(schedule, which)
    bounded = jobs.bounded_paper()
    return Group(jobs=count, mbs=float(bounded.mean()), mwbs=weighted_mean(bounded, jobs.procs))


FAIR = ("strictly-fair", "sunny-absorbing", "no-reservation-violation", "head-never-idle")
"""What check must prove of PV-EASY."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """The measures of one run; only those that apply to the policy are set."""

    metrics: Mapping[str, float]
    sizes: BlockedBySize | None = None
    unproved: tuple[str, ...] | None = None
    """Claims of strict fairness that check could not prove, as sentences; None if not tried."""
    accuracy: Accuracy | None = None
    run: SubjectRun | None = None


def outcome(subject: Subject, text: str, *, keep: bool) -> Outcome:
    """Simulate a policy and compute the paper's measures; ``keep`` the schedule too."""
    jobs, cluster, policy = subject.workload, subject.cluster, parse_policy(text)
    schedule = simulate(jobs, cluster, policy)
    metrics = measure(schedule, jobs, cluster)
    readings_of_easy = {p.easy(reading) for reading in p.READINGS}
    readings_of_last = {p.easy_last(reading) for reading in p.PROMISES}
    fair = text in p.PREDICTORS.values()
    if text in readings_of_easy or keep:
        metrics |= fairness(schedule, jobs, cluster)
    if text in readings_of_last or fair:
        guess = predictions(schedule, jobs, policy.estimate)
        metrics |= reservation_violations(schedule, jobs, cluster, prediction=guess).summary()
    unproved = None
    if fair:
        report = check(schedule, jobs, cluster, claims=FAIR)
        unproved = tuple(str(report[claim]) for claim in FAIR if report[claim].verdict != "proved")
    sized = text == p.PV or text in readings_of_easy
    return Outcome(
        metrics=metrics,
        sizes=blocked_by_size(schedule, cluster) if sized else None,
        unproved=unproved,
        accuracy=accuracy_report(schedule, jobs, policy.estimate)
        if text in p.ACCURACY.values()
        else None,
        run=SubjectRun.of(text, schedule, jobs, cluster, metrics=metrics) if keep else None,
    )


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


def runs(subjects: tuple[Subject, ...], seeds: tuple[int, ...]) -> Runs:
    """Every run, those of large logs first.

    Figure 4 (every line, maximum error and seed; one seed where the error is 0), every policy, and
    every real log under the other rules for jobs that overran.
    """
    ordered = sorted(subjects, key=lambda subject: -len(subject.workload))
    tasks: dict[Any, Task] = {}
    for one in ordered:
        for line in p.FIGURE_4:
            for x in ERRORS:
                for seed in seeds if x else seeds[:1]:
                    tasks["point", one.label, line, x, seed] = _point(one, line, x, seed)
    for one in ordered:
        for policy in all_policies():
            tasks["single", one.label, policy] = _single(one, policy)
    for one in ordered:
        for rule in OVERRUN[1:] if not one.generated else ():
            tasks["recleaned", one.label, rule] = _recleaned(one, rule)

    def collect(results: Mapping[Any, Any]) -> Findings:
        sweep: dict[tuple[str, str, float], tuple[Pair, ...]] = {}
        for (label, line, x, _), pair in of_kind(results, "point").items():
            sweep[label, line, x] = (*sweep.get((label, line, x), ()), pair)
        return Findings(
            subjects=subjects,
            seeds=seeds,
            outcomes=of_kind(results, "single"),
            recleaned={
                (*key, policy): found
                for key, several in of_kind(results, "recleaned").items()
                for policy, found in several.items()
            },
            sweep=sweep,
        )

    return Runs(tasks=tasks, collect=collect)


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
