"""The policies of the study, what is run, the paper's measures of each run, and what is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine import simulate
from shadowtime.metrics import fairness, measure, reservation_violations
from shadowtime.metrics.jobs import Jobs, weighted_mean
from shadowtime.policy import parse_policy
from shadowtime.schedule import Schedule
from shadowtime.schedule.check import check
from shadowtime.schedule.runs import started
from shadowtime.study.accuracy import Accuracy, accuracy_report, predictions
from shadowtime.study.papers.reproduction import Runs, Subject, SubjectRun, Task, of_kind
from shadowtime.types import UNKNOWN, AnyArray
from shadowtime.workload.clean import Overrun

READINGS = {
    "as defined": "",
    "loose": "extra_update=no",
    "fixed": "fixed_reservation=yes",
    "loose and fixed": "fixed_reservation=yes, extra_update=no",
}
"""Readings of EASY and the switches that make them."""

PROMISES = {**READINGS, "fixed until missed": "fixed_reservation=until-missed"}
"""Readings of EASY-Last in Table 2: a promise that was missed may stand, so that no job is
backfilled until the head starts, or be made anew (spec: algorithms 2.7)."""

DEFINED, NEAREST = "as defined", "loose and fixed"
"""The usual EASY, and the reading whose counts are nearest to the paper's (see notes)."""

PV = "pv-easy"
PRUNED = "pv-easy(prune=yes)"

PREDICTORS = {
    "Last Model": PV,
    "last two runs": "pv-easy(estimate=last-two)",
    "user estimates": "pv-easy(estimate=requested)",
    "true run times": "pv-easy(estimate=actual)",
    "virtual, 10 %": "pv-easy(estimate=noisy(x=0.1, seed=1))",
    "virtual, 40 %": "pv-easy(estimate=noisy(x=0.4, seed=1))",
}
"""PV-EASY with every predictor: strict fairness must not depend on any of them."""

ACCURACY = {
    "user estimates": "easy",
    "Last Model, in PV-EASY": PV,
    "Last Model, in EASY": "easy-last",
    "last two runs, in EASY++": "easy++",
    "virtual, 10 %": PREDICTORS["virtual, 10 %"],
    "virtual, 40 %": PREDICTORS["virtual, 40 %"],
}
"""Predictors whose errors are reported, and the policy in which each was at work."""

ABLATIONS = {
    "PV-EASY": PV,
    "PV-EASY, victims pruned": PRUNED,
    "PV-EASY without venture": "pv-easy(venture=no)",
    "PV-EASY without preemption": "pv-easy(preempt=never)",
    "PV-EASY, user estimates": "pv-easy(estimate=requested)",
    "PV-EASY, last two runs": "pv-easy(estimate=last-two)",
    "PV-EASY, true run times": "pv-easy(estimate=actual)",
    "EASY": "easy",
    "EASY, Last Model": "easy-last",
    "EASY, last two runs": "easy(estimate=last-two)",
    "EASY, true run times": "easy(estimate=actual)",
    "EASY-SJBF": "easy-sjbf",
    "EASY-SJBF, Last Model": "easy-sjbf(estimate=last)",
    "EASY-SJBF, last two runs (EASY++)": "easy++",
    "EASY-SJBF, true run times": "easy-sjbf(estimate=actual)",
}
"""What each part of PV-EASY is worth, and what prediction is worth without it."""


def easy(reading: str = DEFINED, *options: str, base: str = "easy") -> str:
    """The policy text of EASY in a reading.

    Examples
    --------
    >>> easy(), easy("loose"), easy("fixed", "estimate=actual", base="easy-sjbf")
    ('easy', 'easy(extra_update=no)', 'easy-sjbf(fixed_reservation=yes, estimate=actual)')
    """
    arguments = ", ".join(option for option in (PROMISES[reading], *options) if option)
    return f"{base}({arguments})" if arguments else base


def easy_last(reading: str = DEFINED) -> str:
    """EASY on Last-Model predictions, in a reading."""
    return easy(reading, base="easy-last")


def virtual(x: float, seed: int) -> str:
    """The paper's virtual predictor as an option."""
    return f"estimate=noisy(x={x:g}, seed={seed})"


FIGURE_4 = {
    "PV-EASY": (PV, ""),
    "FCFS-EASY": ("easy", DEFINED),
    "SJF-EASY": ("easy-sjbf", DEFINED),
    "FCFS-EASY, loose and fixed": ("easy", NEAREST),
    "SJF-EASY, loose and fixed": ("easy-sjbf", NEAREST),
}
"""The lines of Figure 4: base and reading."""


def with_virtual(line: str, x: float, seed: int) -> str:
    """The policy of a line of Figure 4 at a maximum error and a seed."""
    base, reading = FIGURE_4[line]
    if not reading:
        return f"{base}({virtual(x, seed)})"
    return easy(reading, virtual(x, seed), base=base)


Pair: TypeAlias = tuple[float, float]
"""MBS and MWBS of a run."""

ERRORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""Maximum errors of the virtual predictor; the text names 10 % and 40 %, the others are ours."""

OVERRUN: tuple[Overrun, ...] = ("cut", "extend", "keep")
"""Rules for jobs that ran longer than requested; the first is the default."""

KEPT = ("easy", "easy-last", PV)
"""Schedules that are kept for the report and the result folder."""

RECLEANED = ("easy", "easy-last", PV)
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


def blocked_by_size(schedule: Schedule, cluster: Cluster) -> BlockedBySize:
    """MBS and MWBS of the jobs that a schedule blocked.

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
    readings_of_easy = {easy(reading) for reading in READINGS}
    readings_of_last = {easy_last(reading) for reading in PROMISES}
    fair = text in PREDICTORS.values()
    if text in readings_of_easy or keep:
        metrics |= fairness(schedule, jobs, cluster)
    if text in readings_of_last or fair:
        guess = predictions(schedule, jobs, policy.estimate)
        metrics |= reservation_violations(schedule, jobs, cluster, prediction=guess).summary()
    unproved = None
    if fair:
        report = check(schedule, jobs, cluster, claims=FAIR)
        unproved = tuple(str(report[claim]) for claim in FAIR if report[claim].verdict != "proved")
    sized = text == PV or text in readings_of_easy
    return Outcome(
        metrics=metrics,
        sizes=blocked_by_size(schedule, cluster) if sized else None,
        unproved=unproved,
        accuracy=accuracy_report(schedule, jobs, policy.estimate)
        if text in ACCURACY.values()
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
    readings = [easy(reading) for reading in READINGS]
    readings += [easy_last(reading) for reading in PROMISES]
    named = (PREDICTORS, ABLATIONS, ACCURACY)
    return list(dict.fromkeys([*readings, *(text for names in named for text in names.values())]))


def runs(subjects: tuple[Subject, ...], seeds: tuple[int, ...]) -> Runs:
    """Every run, those of large logs first.

    Figure 4 (every line, maximum error and seed; one seed where the error is 0), every policy, and
    every real log under the other rules for jobs that overran.
    """
    ordered = sorted(subjects, key=lambda subject: -len(subject.workload))
    tasks: dict[Any, Task] = {}
    for one in ordered:
        for line in FIGURE_4:
            for x in ERRORS:
                for seed in seeds if x else seeds[:1]:
                    tasks["point", one.label, line, x, seed] = _point(one, line, x, seed)
    for one in ordered:
        for policy in all_policies():
            work = partial(outcome, one, policy, keep=policy in KEPT)
            tasks["single", one.label, policy] = Task(name=f"{one.label}: {policy}", work=work)
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
        policy = parse_policy(with_virtual(line, x, seed))
        schedule = simulate(subject.workload, subject.cluster, policy)
        jobs = Jobs.of(schedule, started(schedule))
        bounded = jobs.bounded_paper()
        return float(bounded.mean()), weighted_mean(bounded, jobs.procs)

    return Task(name=f"{subject.label}: {line} at {x:.0%}", work=work)


def _recleaned(subject: Subject, rule: Overrun) -> Task:
    def work() -> dict[str, Outcome]:
        other = subject.recleaned(rule)
        found = {}
        for policy in RECLEANED:
            schedule = simulate(other.workload, other.cluster, parse_policy(policy))
            found[policy] = Outcome(metrics=measure(schedule, other.workload, other.cluster))
        return found

    return Task(name=f"{subject.label}: overrun={rule}", work=work)
