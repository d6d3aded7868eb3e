"""Every class under every policy, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shadowtime.report.metadata import describe
from shadowtime.report.numbers import amount
from shadowtime.report.page.losers import TITLES
from shadowtime.report.page.templates import fill

if TYPE_CHECKING:
    from shadowtime.metrics import ClassRow
    from shadowtime.report.inputs import ReportInput


SHOWN = ("wait_mean_s", "bsld_mean")
"""Mean wait first: who pays is judged by it."""


def class_table(report: ReportInput, classes: dict[str, tuple[ClassRow, ...]]) -> str:
    """A table per metric: a row per class, a column per policy."""
    rows = [row for found in classes.values() for row in found]
    metrics = [name for name in SHOWN if any(name in row.metrics for row in rows)]
    if not metrics:
        return ""
    return fill(
        "classes.html",
        names=[run.name for run in report.runs],
        tables=[
            {"title": describe(name).label, "groups": _groups(report, classes, name)}
            for name in metrics
        ],
    )


def _groups(
    report: ReportInput, classes: dict[str, tuple[ClassRow, ...]], metric: str
) -> list[dict[str, Any]]:
    """The classes of each kind that occurs."""
    found = []
    for kind, title in TITLES.items():
        by_run = [
            {row.label: row for row in classes[run.name] if row.kind == kind} for run in report.runs
        ]
        labels = list(dict.fromkeys(label for rows in by_run for label in rows))
        if labels:
            rows = [_row(label, by_run, metric) for label in labels]
            found.append({"title": title, "rows": rows})
    return found


def _row(label: str, by_run: list[dict[str, ClassRow]], metric: str) -> dict[str, Any]:
    info = describe(metric)
    values = [found[label].metrics.get(metric) if label in found else None for found in by_run]
    there = [value for value in values if value is not None]
    best = min(there, default=None) if info.better == "lower" else max(there, default=None)
    alone = len(there) > 1 and there.count(best or 0.0) == 1
    return {
        "label": label,
        "jobs": max(found[label].jobs for found in by_run if label in found),
        "cells": [
            {"shown": amount(value, info.unit), "best": alone and value == best} for value in values
        ],
    }
