"""Every class under every policy, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.metadata import describe
from shadowtime.report.numbers import cell, number
from shadowtime.report.page.losers import TITLES
from shadowtime.report.page.markup import section, swatch, text

if TYPE_CHECKING:
    from shadowtime.metrics import ClassRow
    from shadowtime.report.inputs import ReportInput


SHOWN = ("wait_mean_s", "bsld_mean")
"""Mean wait first: it is what is said of who pays."""


def class_table(report: ReportInput, classes: dict[str, tuple[ClassRow, ...]]) -> str:
    """A row per class, a block of columns per metric."""
    rows = [row for found in classes.values() for row in found]
    metrics = [name for name in SHOWN if any(name in row.metrics for row in rows)]
    if not metrics:
        return ""
    groups = "".join(
        f'<th scope="colgroup" colspan="{len(report.runs)}">{text(describe(name).heading)}</th>'
        for name in metrics
    )
    names = "".join(
        f'<th scope="col" title="{text(run.name)}">{swatch(i)}<span class="name">{text(run.name)}'
        "</span></th>"
        for i, run in enumerate(report.runs)
    )
    body = "".join(_group(report, classes, kind, metrics) for kind in TITLES)
    lead = "The same jobs in each class under every policy; the best value of each row is marked."
    return section(
        "classes",
        "Classes",
        '<div class="scroll"><table class="numbers classes"><thead><tr><th scope="col" rowspan="2">'
        f'Class</th><th scope="col" rowspan="2">Jobs</th>{groups}</tr>'
        f"<tr>{names * len(metrics)}</tr></thead>{body}</table></div>",
        lead=lead,
    )


def _group(
    report: ReportInput, classes: dict[str, tuple[ClassRow, ...]], kind: str, metrics: list[str]
) -> str:
    by_run = [
        {row.label: row for row in classes[run.name] if row.kind == kind} for run in report.runs
    ]
    labels = list(dict.fromkeys(label for found in by_run for label in found))
    if not labels:
        return ""
    wide = 2 + len(by_run) * len(metrics)
    rows = "".join(_row(label, by_run, metrics) for label in labels)
    return f'<tbody><tr class="group"><th colspan="{wide}">{TITLES[kind]}</th></tr>{rows}</tbody>'


def _row(label: str, by_run: list[dict[str, ClassRow]], metrics: list[str]) -> str:
    jobs = max(found[label].jobs for found in by_run if label in found)
    cells = []
    for name in metrics:
        info = describe(name)
        values = [found[label].metrics.get(name) if label in found else None for found in by_run]
        there = [value for value in values if value is not None]
        best = min(there, default=None) if info.better == "lower" else max(there, default=None)
        alone = len(there) > 1 and there.count(best or 0.0) == 1
        cells += [
            f'<td class="{"best" if alone and value == best else ""}">'
            f"<b>{cell(value, info.unit)}</b></td>"
            for value in values
        ]
    return f'<tr><th scope="row">{text(label)}</th><td>{number(jobs)}</td>{"".join(cells)}</tr>'
