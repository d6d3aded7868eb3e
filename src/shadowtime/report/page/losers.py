"""Classes of jobs: which pay under each policy, and every class in numbers."""

from __future__ import annotations

from typing import Any

from shadowtime.metrics import REGISTRY, ClassRow
from shadowtime.report import inputs, metadata, verdict
from shadowtime.report.numbers import amount, number, percent, with_unit
from shadowtime.report.page.markup import swatch, text
from shadowtime.report.page.templates import fill
from shadowtime.report.payers import Payers, payers
from shadowtime.study.losers import METRIC, Change

TITLES = {
    "size": "By size, processors",
    "runtime": "By run time",
    "user": "By user",
    "group": "By account",
    "partition": "By partition",
    "queue": "By QOS",
}
HALF = 1.0
"""A bar of full length is this change, or the largest one if that is less."""


def who_loses(report: inputs.ReportInput, classes: dict[str, tuple[ClassRow, ...]]) -> str:
    """The classes under every other policy against the first; the winner is open first."""
    runs = report.runs
    if not any(classes.values()):
        return ""
    shown = verdict.winner_payers(report)
    if shown is None:
        return _alone(classes[report.baseline.name])
    tabs, panels = [], []
    for i, run in enumerate(runs[1:], 1):
        chosen = " checked" if i == shown.run else ""
        tabs.append(
            f'<input type="radio" name="loser" id="loser-{i}"{chosen}>'
            f'<label for="loser-{i}" title="{text(run.name)}">{swatch(i)}'
            f'<span class="name">{text(run.name)}</span></label>'
        )
        panels.append(f'<div class="panel">{_panel(shown if chosen else payers(report, i))}</div>')
    name = report.baseline.name
    title = "Where they differ" if report.replay else "Which classes gain, which pay"
    return (
        f'<div class="losers"><h2>{title}</h2><p class="note">{text(REGISTRY[METRIC].label)} of '
        f'each class against <span class="name" title="{text(name)}">{text(name)}</span>, '
        f'under</p><div class="tabs">{"".join(tabs)}{"".join(panels)}</div></div>'
    )


def _panel(found: Payers) -> str:
    top = max((abs(c.change) for c in found.changes if c.change < float("inf")), default=0.0)
    scale = min(HALF, top) or HALF
    head = '<th scope="col">class</th><th scope="col">jobs</th><th scope="col">better or worse</th>'
    groups = "".join(
        _table(title, head + '<th scope="col">change</th>', rows)
        for kind, title in TITLES.items()
        if (rows := "".join(_bar(c, scale) for c in found.changes if c.kind == kind))
    )
    note = ""
    if any(change.clear is False for change in found.changes):
        note = '<p class="note">Grey may be chance.</p>'
    return f'<div class="groups">{groups}</div><p class="sentence">{text(found.sentence)}</p>{note}'


def _table(title: str, head: str, rows: str) -> str:
    """The classes of one kind."""
    return (
        f'<table class="diverging"><caption>{title}</caption><colgroup><col><col><col><col>'
        f'</colgroup><thead class="sr"><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    )


def _bar(change: Change, scale: float) -> str:
    size = change.change
    share = 50 * min(abs(size), scale) / scale
    side = "worse" if size > 0 else "better"
    over = " over" if abs(size) > scale * 1.0001 else ""
    chance = " chance" if change.clear is False else ""
    title = f"{with_unit(change.before_s, 's')} → {with_unit(change.wait_s, 's')}"
    title += ", which may be chance" if chance else ""
    shown = (
        percent(size, signed=True) if size < float("inf") else f"+{with_unit(change.wait_s, 's')}"
    )
    kinds = f"{side}{over}{chance}"
    return (
        f'<tr title="{text(title)}"><th scope="row">{text(change.label)}</th>'
        f"<td>{number(change.jobs)}</td>"
        f'<td class="axis"><span class="{kinds}" style="width:{share:.1f}%"></span></td>'
        f'<td class="{chance.strip()}">{shown}</td></tr>'
    )


def _alone(rows: tuple[ClassRow, ...]) -> str:
    """One policy: the classes themselves, longest bar for the worst."""
    info = REGISTRY[METRIC]
    top = max((row.metrics.get(METRIC, 0.0) for row in rows), default=0.0) or 1.0
    head = '<th scope="col">class</th><th scope="col">jobs</th><th scope="col">share</th>'
    groups = []
    for kind, title in TITLES.items():
        body = "".join(
            f'<tr><th scope="row">{text(row.label)}</th><td>{number(row.jobs)}</td>'
            f'<td class="axis one"><span class="level" style="width:'
            f'{100 * row.metrics.get(METRIC, 0.0) / top:.1f}%"></span></td>'
            f"<td>{with_unit(row.metrics.get(METRIC), info.unit)}</td></tr>"
            for row in rows
            if row.kind == kind
        )
        if body:
            groups.append(_table(title, head + '<th scope="col">value</th>', body))
    return (
        f'<div class="losers"><h2>Waits by class</h2><p class="note">{text(info.label)} of each '
        f'class.</p><div class="groups">{"".join(groups)}</div></div>'
    )


ALWAYS = ("wait_mean_s", "bsld_mean")
SHOWN = (*ALWAYS, "energy_kwh", "energy_cost", "carbon_kg", "deadlines_missed")
"""Mean wait first: it determines which classes pay."""


def class_table(report: inputs.ReportInput, classes: dict[str, tuple[ClassRow, ...]]) -> str:
    """A table per metric: a row per class, a column per policy."""
    rows = [row for found in classes.values() for row in found]
    metrics = [name for name in SHOWN if any(name in row.metrics for row in rows)]
    metrics = [name for name in metrics if name in ALWAYS or _differs(classes, name)]
    if not metrics:
        return ""
    return fill(
        "classes.html",
        names=[run.name for run in report.runs],
        tables=[
            {"title": metadata.describe(name).label, "groups": _groups(report, classes, name)}
            for name in metrics
        ],
    )


def _differs(classes: dict[str, tuple[ClassRow, ...]], metric: str) -> bool:
    """Whether a class has another value under another policy; of one policy every value is told."""
    by_run = [[(row.label, row.metrics.get(metric)) for row in rows] for rows in classes.values()]
    return len(by_run) == 1 or any(values != by_run[0] for values in by_run)


def _groups(
    report: inputs.ReportInput, classes: dict[str, tuple[ClassRow, ...]], metric: str
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
    info = metadata.describe(metric)
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
