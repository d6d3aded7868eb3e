"""Who loses: classes of jobs under each policy against the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.metadata import describe
from shadowtime.report.numbers import number, percent, with_unit
from shadowtime.report.page.markup import swatch, text
from shadowtime.report.verdict import ClassChange, class_changes, class_metric, judge, runner_up

if TYPE_CHECKING:
    from shadowtime.metrics import ClassRow
    from shadowtime.report.inputs import ReportInput

TITLES = {"size": "By size, processors", "runtime": "By run time", "user": "By user"}
HALF = 100.0
"""A bar of full length is a change of this many per cent, or the largest one if that is less."""


def who_loses(report: ReportInput, classes: dict[str, tuple[ClassRow, ...]]) -> str:
    """The classes under the winner, against each other policy; the closest one is open first."""
    runs = report.runs
    metric = class_metric(classes[report.baseline.name])
    if metric is None:
        return ""
    if len(runs) == 1:
        return _alone(classes[report.baseline.name], metric)
    verdict = judge(runs)
    winner = len(runs) - 1 if verdict.winner is None else verdict.winner
    won = [result for result in verdict.contests if result.winner == winner]
    closest = runner_up(won[0], winner) if won else 0
    tabs, panels = [], []
    for i, run in enumerate(runs):
        if i == winner:
            continue
        chosen = " checked" if i == closest else ""
        tabs.append(
            f'<input type="radio" name="loser" id="loser-{i}"{chosen}>'
            f'<label for="loser-{i}" title="{text(run.name)}">{swatch(i)}'
            f'<span class="name">{text(run.name)}</span></label>'
        )
        changes = class_changes(classes[runs[winner].name], classes[run.name], metric)
        panels.append(f'<div class="panel">{_panel(changes, metric)}</div>')
    label, name = describe(metric).label, runs[winner].name
    return (
        f'<div class="losers"><h2>Who gains, who loses</h2><p class="note">{text(label)} of each '
        f'class under <span class="name" title="{text(name)}">{text(name)}</span> instead of</p>'
        f'<div class="tabs">{"".join(tabs)}{"".join(panels)}</div></div>'
    )


def _panel(changes: list[ClassChange], metric: str) -> str:
    known = [c for c in changes if c.change is not None]
    top = max((abs(c.change or 0.0) for c in known), default=0.0)
    scale = min(HALF / 100, top) or 1.0
    groups = []
    for kind, title in TITLES.items():
        rows = "".join(_bar(c, metric, scale) for c in changes if c.row.kind == kind)
        if rows:
            groups.append(
                f'<tbody><tr class="group"><th colspan="4">{title}</th></tr>{rows}</tbody>'
            )
    return (
        f'<p class="sentence">{text(_sentence(known))}</p>'
        f'<table class="diverging"><thead><tr><th scope="col">class</th><th scope="col">jobs</th>'
        f'<th scope="col"><span>better</span><span>worse</span></th><th scope="col">change</th>'
        f"</tr></thead>{''.join(groups)}</table>"
    )


def _sentence(changes: list[ClassChange]) -> str:
    worse = sorted(
        (c for c in changes if (c.change or 0.0) > 0.0005), key=lambda c: -(c.change or 0.0)
    )
    if not changes:
        return "No class can be compared."
    if not worse:
        return f"Nobody loses: none of {len(changes)} classes is worse off."
    names = ", ".join(f"{_name(c)} ({percent(c.change, signed=True)})" for c in worse[:2])
    return f"{len(worse)} of {len(changes)} classes are worse off, most of all {names}."


def _name(change: ClassChange) -> str:
    label = change.row.label
    if change.row.kind == "size":
        return f"jobs of {label} processor{'' if label == '1' else 's'}"
    return f"jobs of {label}" if change.row.kind == "runtime" else label


def _bar(change: ClassChange, metric: str, scale: float) -> str:
    info, size = describe(metric), change.change
    share = 0.0 if size is None else 50 * min(abs(size), scale) / scale
    side = "worse" if (size or 0.0) > 0 else "better"
    over = " over" if size is not None and abs(size) > scale * 1.0001 else ""
    title = f"{with_unit(change.base, info.unit)} → {with_unit(change.value, info.unit)}"
    return (
        f'<tr title="{text(title)}"><th scope="row">{text(change.row.label)}</th>'
        f"<td>{number(change.row.jobs)}</td>"
        f'<td class="axis"><span class="{side}{over}" style="width:{share:.1f}%"></span></td>'
        f"<td>{percent(size, signed=True)}</td></tr>"
    )


def _alone(rows: tuple[ClassRow, ...], metric: str) -> str:
    """One policy: the classes themselves, longest bar for the worst."""
    info = describe(metric)
    top = max((row.metrics.get(metric, 0.0) for row in rows), default=0.0) or 1.0
    groups = []
    for kind, title in TITLES.items():
        body = "".join(
            f'<tr><th scope="row">{text(row.label)}</th><td>{number(row.jobs)}</td>'
            f'<td class="axis one"><span class="level" style="width:'
            f'{100 * row.metrics.get(metric, 0.0) / top:.1f}%"></span></td>'
            f"<td>{with_unit(row.metrics.get(metric), info.unit)}</td></tr>"
            for row in rows
            if row.kind == kind
        )
        if body:
            groups.append(
                f'<tbody><tr class="group"><th colspan="4">{title}</th></tr>{body}</tbody>'
            )
    return (
        f'<div class="losers"><h2>Who waits</h2><p class="note">{text(info.label)} of each class.'
        f'</p><table class="diverging"><thead><tr><th scope="col">class</th><th scope="col">jobs'
        f'</th><th scope="col"></th><th scope="col">value</th></tr></thead>{"".join(groups)}'
        "</table></div>"
    )
