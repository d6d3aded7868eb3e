"""One run and its measures in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.engine import simulate
from shadowtime.metrics import fairness, measure, reservation_violations
from shadowtime.policy import parse_policy
from shadowtime.schedule.check import check
from shadowtime.study.accuracy import Accuracy, accuracy_report, predictions
from shadowtime.study.papers.pv_easy import policies as p
from shadowtime.study.papers.pv_easy.sizes import BlockedBySize, blocked_by_size
from shadowtime.study.papers.reproduction import SubjectRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.study.papers.subjects import Subject

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
        run=SubjectRun(
            policy=text, schedule=schedule, parameters=policy.parameters, metrics=metrics
        )
        if keep
        else None,
    )
