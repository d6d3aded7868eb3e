"""The frontier: metrics against each other, so that a policy is judged by what it trades.

The page's script draws it (assets/frontier.js), because readers choose the axes; this file says
which axes there are and what lies on them.
"""

from __future__ import annotations

from typing import Any

from shadowtime.metrics.by_class import ClassRow
from shadowtime.report import contest, metadata, payers
from shadowtime.report.inputs import ReportInput
from shadowtime.report.page.templates import fill
from shadowtime.study.losers import LEAST

FIRST = ("wait_mean_s", "wait_max_s")
"""The axes that are shown first: what jobs gain on average, and what one job may pay."""

OF_CLASSES = ("bsld_mean", "wait_mean_s")
"""Metrics of the smallest and the widest, the shortest and the longest jobs."""


def frontier(report: ReportInput, classes: dict[str, tuple[ClassRow, ...]]) -> str:
    """The figure with its choices of axes; nothing for one run or a record."""
    if not has_frontier(report):
        return ""
    found = axes(report, classes)
    keys = [axis["key"] for axis in found]
    x, y = FIRST if all(key in keys for key in FIRST) else keys[:2]
    return str(fill("frontier.html", axes=found, x=x, y=y))


def has_frontier(report: ReportInput) -> bool:
    """Two policies at least compete, by two metrics at least that differ."""
    return len(report.runs) > 1 and not report.replay and not report.effects and _differ(report) > 1


def _differ(report: ReportInput) -> int:
    return len([name for name in _metrics(report) if len({r.point(name) for r in report.runs}) > 1])


def _metrics(report: ReportInput) -> list[str]:
    """Those of the first screen that every run has and that have a better side."""
    return [
        name
        for name in contest.metric_names(report.runs)
        if name in metadata.HEADLINE
        and metadata.describe(name).better != "neither"
        and all(run.point(name) is not None for run in report.runs)
    ]


def axes(report: ReportInput, classes: dict[str, tuple[ClassRow, ...]]) -> list[dict[str, Any]]:
    """Every axis: its label and direction, and each policy's value, with its interval if any."""
    found = []
    for name in _metrics(report):
        info, spans = metadata.describe(name), [run.interval(name) for run in report.runs]
        values = [run.point(name) for run in report.runs]
        if len(set(values)) > 1:
            found.append(
                {
                    "key": name,
                    "label": info.label,
                    "unit": info.unit,
                    "better": info.better,
                    "values": values,
                    "low": [one and one.low for one in spans],
                    "high": [one and one.high for one in spans],
                }
            )
    return found + [
        axis
        for kind in ("size", "runtime")
        for metric in OF_CLASSES
        for axis in _of_classes(report, classes, kind, metric)
    ]


def _of_classes(
    report: ReportInput, classes: dict[str, tuple[ClassRow, ...]], kind: str, metric: str
) -> list[dict[str, Any]]:
    """The first and the last class of a kind that has enough jobs under every policy."""
    by_run = [
        {row.label: row for row in classes[run.name] if row.kind == kind and row.jobs >= LEAST}
        for run in report.runs
    ]
    labels = [label for label in by_run[0] if all(label in rows for rows in by_run)]
    info = metadata.describe(metric)
    none = [None] * len(by_run)
    return [
        {
            "key": f"{metric}/{kind}/{label}",
            "label": f"{info.label} of {payers.class_named(kind, label)}",
            "unit": info.unit,
            "better": info.better,
            "values": [rows[label].metrics[metric] for rows in by_run],
            "low": none,
            "high": none,
        }
        for label in dict.fromkeys(labels[:1] + labels[-1:])
    ]
