"""A page for a grid: the same policies at several loads, or over several logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shadowtime.private import write_result
from shadowtime.report.contest import Contest, contest, metric_names
from shadowtime.report.inputs import ReportInput
from shadowtime.report.metadata import describe
from shadowtime.report.numbers import amount, number, span
from shadowtime.report.page import chart, difference, html, markup, templates
from shadowtime.report.verdict import verdict_of

MOST_COLUMNS = 4
"""With more columns of values a metric takes the whole width of the page."""
SHOWN = 10
"""Metrics with a chart and a table of their own."""


def write_grid(
    results: Sequence[tuple[str, ReportInput]],
    path: str | Path,
    *,
    title: str,
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write the page of several results by name, and return its path.

    ``links`` are the pages of the single results, by their name and relative to this one.
    """
    path = Path(path)
    write_result(path, render_grid(results, title=title, links=links or {}))
    return path


def render_grid(
    results: Sequence[tuple[str, ReportInput]], *, title: str, links: Mapping[str, str]
) -> str:
    """Which policy wins where, then every metric over the grid."""
    policies = list(dict.fromkeys(run.name for _, result in results for run in result.runs))
    first = templates.fill(
        "grid_result.html",
        title=title,
        headline=_headline(results),
        rows=[_setting(name, result, policies, links) for name, result in results],
    )
    metrics = [name for name in _metrics(results) if describe(name).better != "neither"][:SHOWN]
    figures = [_figure(results, policies, name) for name in metrics]
    loads = templates.fill("grid_metrics.html", figures=figures)
    versions = results[0][1].versions
    return html.whole_page(title, [first, loads], [], versions=versions, scripts=html.TABLE_SCRIPTS)


def _metrics(results: Sequence[tuple[str, ReportInput]]) -> list[str]:
    """Those of the verdicts first, each once."""
    judged = [c.info.name for _, result in results for c in verdict_of(result).contests]
    rest = [name for _, result in results for name in metric_names(result.runs)]
    return list(dict.fromkeys([*judged, *rest])) if judged else list(dict.fromkeys(rest))


def _headline(results: Sequence[tuple[str, ReportInput]]) -> str:
    """One winner everywhere, or how often each wins."""
    winners = [_winner(result) for _, result in results]
    known = dict.fromkeys(name for name in winners if name is not None)
    if len(known) == 1 and None not in winners:
        return f"{next(iter(known))} wins at each of {number(len(results))} settings."
    parts = [f"{name} wins {winners.count(name)}" for name in known]
    if None in winners:
        parts.append(f"{winners.count(None)} without a clear winner")
    return f"Of {number(len(results))} settings: {', '.join(parts)}."


def _winner(result: ReportInput) -> str | None:
    place = verdict_of(result).winner
    return None if place is None else result.runs[place].name


def _setting(
    name: str, result: ReportInput, policies: list[str], links: Mapping[str, str]
) -> dict[str, Any]:
    jobs = result.workload
    winner = _winner(result)
    return {
        "name": name,
        "link": links.get(name, ""),
        "jobs": number(len(jobs)),
        "length": span(int(jobs.submit[-1] - jobs.submit[0])) if len(jobs) else "",
        "winner": winner,
        "place": None if winner is None else policies.index(winner),
        "headline": verdict_of(result).headline,
    }


def _figure(
    results: Sequence[tuple[str, ReportInput]], policies: list[str], metric: str
) -> dict[str, Any]:
    """One metric: a line per policy over the settings, and the same in a table."""
    info = describe(metric)
    rows: list[dict[str, Any]] = []
    lines: list[tuple[str, str, list[float | None]]] = []
    for name, result in results:
        found = contest(result.runs, metric)
        cells = [_cell(result, found, policy, info.unit) for policy in policies]
        rows.append({"name": name, "cells": cells})
    for i, policy in enumerate(policies):
        lines.append((policy, markup.mark(i), [row["cells"][i]["number"] for row in rows]))
    label = info.label if info.unit == "s" else info.heading
    settings = [name for name, _ in results]
    across = len(policies) <= len(settings)
    return {
        "title": label,
        "chart": Markup(_chart(label, info.unit, settings, lines)),
        "policies": policies,
        "settings": settings,
        # the fewer of the two are the columns: no column is cut off, however many policies
        "policies_across": across,
        "wide": min(len(policies), len(settings)) > MOST_COLUMNS,
        "rows": rows if across else _turned(policies, rows),
    }


def _turned(policies: list[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row per policy instead of one per setting."""
    return [
        {"name": name, "cells": [row["cells"][i] for row in rows]}
        for i, name in enumerate(policies)
    ]


def _cell(result: ReportInput, found: Contest, policy: str, unit: str) -> dict[str, Any]:
    names = [run.name for run in result.runs]
    value = found.values[names.index(policy)] if policy in names else None
    best = policy in names and found.winner == names.index(policy)
    kind = "" if not best else "perhaps" if found.clear is False else "best"
    return {"number": value, "shown": amount(value, unit), "kind": kind}


def _chart(
    title: str,
    unit: str,
    settings: list[str],
    lines: list[tuple[str, str, list[float | None]]],
) -> str:
    frame = chart.Frame(low=0.0, high=1.0, height=240, left=76, right=24, bottom=40)
    top = max((v for _, _, values in lines for v in values if v is not None), default=0.0)
    labels, high = difference.metric_ticks(unit, top)
    parts = [frame.upwards((k / 4, label) for k, label in enumerate(labels))]
    step = (frame.end - frame.left) / max(1, len(settings) - 1)
    for k, name in enumerate(settings):
        last = k == len(settings) - 1 and k > 0
        parts.append(frame.below(frame.left + k * step, name, "end" if last else "middle"))
    for name, kind, values in lines:
        found = [
            (frame.left + k * step, frame.y(value / (high or 1.0)))
            for k, value in enumerate(values)
            if value is not None
        ]
        parts.append(chart.dotted(kind, name, found, 3.5))
    return chart.svg(frame, "".join(parts), title=title, name="grid")
