"""Predictions: how far they were from the run times, by size and by user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.policy.estimate import Actual, Requested
from shadowtime.report.numbers import number, percent, span
from shadowtime.report.page.markup import named, section, table, tabs, text
from shadowtime.study.accuracy import accuracy_report, estimate_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.metrics.by_class import ClassRow
    from shadowtime.metrics.policy_run import PolicyRun
    from shadowtime.report.inputs import ReportInput
    from shadowtime.study.accuracy import Accuracy

MEASURES = (
    "Median error",
    "Mean error",
    "Accuracy",
    "Under-predicted",
    "by (mean)",
    "Over-predicted",
    "by (mean)",
)
TITLES = {"size": "By size, processors", "user": "By user"}
LEAD = (
    "Error: |prediction - run| / run, for every job that started. Accuracy: the smaller of "
    "prediction and run over the larger, 1 if exact. Under-predicted: ran longer than predicted. "
    "Clamped: predictions below a second or beyond the request, which were set to the nearest "
    "possible value."
)


def predictions(report: ReportInput) -> str:
    """The errors of every policy's estimates, where at least one policy predicts."""
    parts = {i: estimate_of(run.parameters) for i, run in enumerate(report.runs)}
    if all(part is None or isinstance(part, Requested | Actual) for part in parts.values()):
        return ""
    found = {
        i: accuracy_report(report.runs[i].schedule, report.workload, part)
        for i, part in parts.items()
        if part is not None
    }
    rows = [
        [
            named(i, report.runs[i].name),
            text(known.predictor),
            *_measures(known.overall),
            _clamped(report.runs[i]),
        ]
        for i, known in found.items()
    ]
    head = ["Predictions", "Predictor", *map(text, MEASURES), "Clamped"]
    panels = [(i, report.runs[i].name, _classes(known)) for i, known in found.items()]
    body = table(head, rows, kind="numbers") + tabs("predicted", panels)
    return section("predictions", "Predictions", body, lead=LEAD)


def _classes(known: Accuracy) -> str:
    sizes = _class_table("size", known.by_size)
    users = _class_table("user", known.by_user)
    return f"{sizes}{users}"


def _class_table(kind: str, rows: Sequence[ClassRow]) -> str:
    cells = [[text(row.label), number(row.jobs), *_measures(row.metrics)] for row in rows]
    return table([TITLES[kind], "Jobs", *map(text, MEASURES)], cells, kind="numbers")


def _measures(metrics: Mapping[str, float]) -> list[str]:
    return [
        percent(metrics.get("prediction_error_median")),
        percent(metrics.get("prediction_error_mean")),
        number(metrics.get("prediction_accuracy_mean")),
        percent(metrics.get("prediction_under")),
        span(metrics.get("prediction_under_mean_s")),
        percent(metrics.get("prediction_over")),
        span(metrics.get("prediction_over_mean_s")),
    ]


def _clamped(run: PolicyRun) -> str:
    return number(run.metrics.get("clamped_predictions"))
