"""Tables that the paper does not have: what its parts are worth, predictors' errors, cleaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers import published
from shadowtime.study.papers.pv_easy import policies as p
from shadowtime.study.papers.pv_easy.runs import OVERRUN
from shadowtime.study.papers.pv_easy.tables import PERCENT, printed
from shadowtime.study.papers.tables import Cell, PaperTable, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shadowtime.study.accuracy import Accuracy
    from shadowtime.study.papers.pv_easy.outcome import Outcome
    from shadowtime.study.papers.pv_easy.runs import Findings
    from shadowtime.study.papers.subjects import Subject

USERS = 5
"""Users whose predictions are shown: those with the most processor time."""

PARTS = {
    "MBS": ("mbs", 1.0),
    "MWBS": ("mwbs", 1.0),
    "blocked": ("blocked", 1.0),
    "preempted, %": ("preempted_share", PERCENT),
    "wasted load, %": ("wasted_load", PERCENT),
}

ERROR = {
    "median error, %": ("prediction_error_median", PERCENT),
    "mean error, %": ("prediction_error_mean", PERCENT),
    "mean error, min": ("prediction_error_mean_s", 1 / 60),
    "accuracy": ("prediction_accuracy_mean", 1.0),
    "under, %": ("prediction_under", PERCENT),
    "over, %": ("prediction_over", PERCENT),
}

RULES = {
    "cut": "runs cut at the request",
    "extend": "request raised to the run",
    "keep": "no limits at all",
}


def more_tables(found: Findings) -> tuple[PaperTable, ...]:
    """All of them."""
    parts = (_parts(found, subject) for subject in found.subjects)
    errors = (_errors(found, subject) for subject in found.subjects)
    cleaning = (_cleaning(found),) if found.recleaned else ()
    return (*parts, *errors, *cleaning)


def _picked(
    metrics: Mapping[str, float], columns: Mapping[str, tuple[str, float]]
) -> Iterator[Cell]:
    for name, scale in columns.values():
        value = metrics.get(name)
        yield Cell(ours=None if value is None else value * scale)


def _parts(found: Findings, subject: Subject) -> PaperTable:
    rows = tuple(
        Row(label=label, cells=tuple(_picked(found.of(subject, policy).metrics, PARTS)))
        for label, policy in p.ABLATIONS.items()
    )
    return PaperTable(
        name=f"Parts, {subject.label}",
        title="PV-EASY with and without its parts, and EASY with the same predictors",
        columns=tuple(PARTS),
        rows=rows,
    )


def _errors(found: Findings, subject: Subject) -> PaperTable:
    def rows() -> Iterator[Row]:
        for label, policy in p.ACCURACY.items():
            known = _accuracy(found, subject, policy)
            yield Row(label=label, cells=tuple(_picked(known.overall, ERROR)))
        last = _accuracy(found, subject, p.PV)
        for group, classes in (("processors", last.by_size), ("user", last.by_user[:USERS])):
            for row in classes:
                yield Row(
                    label=f"{row.label} ({row.jobs:,} jobs)",
                    group=f"Last Model by {group}",
                    cells=tuple(_picked(row.metrics, ERROR)),
                )

    return PaperTable(
        name=f"Predictors, {subject.label}",
        title="How far predictions are from run times",
        columns=tuple(ERROR),
        rows=tuple(rows()),
        note="Error: |prediction - run| / run; accuracy: the smaller of the two over the larger; "
        f"under: ran longer than predicted. The {USERS} users with the most processor time.",
    )


def _accuracy(found: Findings, subject: Subject, policy: str) -> Accuracy:
    known = found.of(subject, policy).accuracy
    assert known is not None
    return known


def _overran(found: Findings) -> str:
    return ", ".join(
        f"{one.workload.cleaning.get('overrun_cut', 0) / len(one.workload):.0%} of {one.label}"
        for one in found.subjects
    )


def _cleaning(found: Findings) -> PaperTable:
    names = {"CTC": "ctc", "SDSC-BLUE": "sdsc_blue", "SDSC-DS": "sdsc_ds"}
    counts = {
        row["measure"]: {key: float(row[of]) for key, of in names.items()}
        for row in published.rows("pv_easy_table4")
        if row["scheduler"] == "PV-EASY"
    }
    measures: tuple[tuple[str, str, float, str, dict[str, float]], ...] = (
        ("PV-EASY blocked", "blocked", 1.0, "", counts["blocked"]),
        ("PV-EASY backfilled", "backfilled", 1.0, "", counts["backfilled"]),
        ("PV-EASY preempted", "preempted_jobs", 1.0, "", printed(6, "jobs_preempted")),
        ("PV-EASY wasted load", "wasted_load", PERCENT, "%", printed(5, "wasted_load_pct")),
        ("PV-EASY total load", "total_load", PERCENT, "%", printed(5, "total_load_pct")),
    )
    slowdowns = [
        (f"{label} {metric.upper()}", policy, metric)
        for metric in ("mbs", "mwbs")
        for label, policy in (("PV-EASY", p.PV), ("EASY", p.easy()), ("EASY-Last", p.easy_last()))
    ]

    def outcome(subject: Subject, rule: str, policy: str) -> Outcome:
        if rule == OVERRUN[0]:
            return found.of(subject, policy)
        return found.recleaned[subject.label, rule, policy]

    def rows() -> Iterator[Row]:
        for rule in OVERRUN:
            for label, name, scale, unit, paper in measures:
                cells = tuple(
                    Cell(
                        ours=outcome(subject, rule, p.PV).metrics[name] * scale,
                        paper=paper.get(subject.label),
                    )
                    for subject in found.subjects
                )
                yield Row(label=label, unit=unit, group=RULES[rule], cells=cells)
            for label, policy, metric in slowdowns:
                cells = tuple(
                    Cell(ours=outcome(subject, rule, policy).metrics[metric])
                    for subject in found.subjects
                )
                yield Row(label=label, group=RULES[rule], cells=cells)

    return PaperTable(
        name="Cleaning",
        title=f"Jobs that ran longer than requested ({_overran(found)}), by three rules",
        columns=tuple(subject.label for subject in found.subjects),
        rows=tuple(rows()),
        note="The paper says both that a job is killed at its request (section 2.1) and that it "
        "finishes after its real run time (section 5.1.1).",
    )
