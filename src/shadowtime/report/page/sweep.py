"""The page of a sweep: every metric by policy, over each ranged parameter, and over pairs of them.

Values are means over copies with their 95 % intervals where the sweep made copies, else those of
the log as it is. One log on one machine at one load is a setting; values of different settings are
never averaged. Figures for papers show the same bars.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shadowtime.metrics.added import Metric
from shadowtime.report import figures, metadata
from shadowtime.report.numbers import amount, number, span
from shadowtime.report.page import chart, difference, html, markup
from shadowtime.report.page.templates import fill
from shadowtime.study.sweep.curves import Point, curve
from shadowtime.study.sweep.shards import SETTING

METRICS = 4
"""Shown by default."""
SETTINGS = 8
"""Logs by loads that have bars and maps of their own; the others are counted."""
BARS = 40
"""Policies in one figure of bars: the best; the table of the sweep holds all."""
LONGEST = 54
"""Characters of a name above its bar; the middle of a longer one is left out."""
STEPS = 9


@dataclass(frozen=True)
class Place:
    """A log on a machine at a load."""

    log: str
    machine: str
    load: str

    @property
    def where(self) -> dict[str, str]:
        return {"log": self.log, "machine": self.machine, "load": self.load}

    def __str__(self) -> str:
        on = f" on {self.machine}" if self.machine else ""
        return f"{self.log}{on}{'' if self.load == 'as recorded' else f', load {self.load}'}"


def sweep_page(
    table: Any,
    *,
    title: str,
    metrics: Sequence[str] = (),
    plan: str = "",
    versions: Mapping[str, str] | None = None,
) -> str:
    """The page of a collected table whose parameters are numbers (``shards.numbered``)."""
    known = [name for name in table.column_names if metadata.describe(name).better != "neither"]
    shown = list(metrics) or metadata.ordered(known)[:METRICS]
    rows = table.select(["log", "machine", "load", "error", "kind"]).to_pylist()
    places = sorted({(r["log"], r["machine"] or "", r["load"]) for r in rows})
    settings = sorted((Place(*one) for one in places), key=lambda one: one.load != "as recorded")
    copies = sum(row["kind"] != "none" for row in rows)
    failed = sum(row["error"] is not None for row in rows)
    first = fill(
        "sweep_result.html",
        title=title,
        facts=[
            f"{number(len(rows))} runs",
            f"{number(copies)} of them on copies" if copies else "no copies, hence no intervals",
            *([f"{number(failed)} failed"] if failed else []),
        ],
        figures=[
            _bars(table, place, metric)
            for place in settings[:SETTINGS]
            for metric in shown
        ],
        left=max(0, len(settings) - SETTINGS),
        plan=plan,
    )  # fmt: skip
    templates = sorted(set(table.column("template").to_pylist()))
    sections = [str(first)]
    curves, maps = [], []
    for template in templates:
        names = _ranged(table, template)
        curves += [
            _curve(table, settings, template, name, metric, others=len(names) > 1)
            for name in names
            for metric in shown
        ]
        maps += [
            _map(table, place, template, pair, metric, others=len(names) > 2)
            for place in settings[:SETTINGS]
            for pair in combinations(names, 2)
            for metric in shown
        ]
    if curves:
        sections.append(fill("sweep_curves.html", figures=[one for one in curves if one]))
    if maps:
        sections.append(fill("sweep_maps.html", figures=[one for one in maps if one]))
    return html.whole_page(title, sections, [], versions=versions or {}, scripts=html.TABLE_SCRIPTS)


def _ranged(table: Any, template: str) -> list[str]:
    """The parameters with more than one value under a text with ranges."""
    columns = [name for name in table.column_names if name.startswith(SETTING)]
    rows = table.select(["template", *columns]).to_pylist()
    mine = [row for row in rows if row["template"] == template]
    return [
        name.removeprefix(SETTING)
        for name in columns
        if len({row[name] for row in mine} - {None}) > 1
    ]


def best_guess(point: Point) -> tuple[float, float, float] | None:
    """Value, lower and upper end: of the copies where there are any, else of the log as it is."""
    if point.interval is not None:
        return point.interval.mean, point.interval.low, point.interval.high
    return None if point.value is None else (point.value, point.value, point.value)


def bars_of(
    table: Any, where: Mapping[str, str], metric: str
) -> list[tuple[str, float, float, float]]:
    """Every policy of a setting with its value and interval, best first."""
    found = []
    for point in curve(table, metric, "policy", where=where):
        known = best_guess(point)
        if known is not None:
            found.append((str(point.at[0]), *known))
    back = metadata.describe(metric).better == "higher"
    return sorted(found, key=lambda one: (-one[1] if back else one[1], one[0]))


def _bars(table: Any, place: Place, metric: str) -> dict[str, Any]:
    info = metadata.describe(metric)
    bars = bars_of(table, place.where, metric)
    return {
        "title": f"{_label(info)}: {place}",
        "csv": f"{metric} by policy",
        "first": "Policy",
        "note": "",
        "several": False,
        "chart": Markup(_bar_chart(info, bars[:BARS], title=f"{info.label} by policy")),
        "rows": [_cells(info, name, *rest) for name, *rest in bars],
    }


def _cells(info: Metric, name: str, value: float, low: float, high: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "shown": amount(value, info.unit),
        "low": low,
        "high": high,
        "between": f"{amount(low, info.unit)} to {amount(high, info.unit)}" if low < high else "",
    }


def _label(info: Metric) -> str:
    return info.label if info.unit == "s" else info.heading


def _bar_chart(info: Metric, bars: Sequence[tuple[str, float, float, float]], *, title: str) -> str:
    """A horizontal bar per policy with a whisker over its interval."""
    high_end = max((high for _, _, _, high in bars), default=0.0)
    labels, top = difference.metric_ticks(info.unit, max(high_end, 0.0))
    left, row = 8, 36
    frame = chart.Frame(low=0.0, high=1.0, height=len(bars) * row + 38, left=left, right=18, top=4)
    wide = frame.width - left - frame.right
    bottom = frame.top + len(bars) * row

    def x(value: float) -> float:
        return left + wide * min(max(value, 0.0), top) / top

    parts = []
    for k, label in enumerate(labels):
        at = left + wide * k / 4
        side = {0: "start", 4: "end"}.get(k, "middle")
        parts.append(f'<path class="grid" d="M{at:.1f} {frame.top}V{bottom}"/>')
        if k % 2 == 0:
            parts.append(frame.below(at, label, side))
    for i, (name, value, low, high) in enumerate(bars):
        above = frame.top + i * row
        y = above + 26
        cut = name if len(name) <= LONGEST else f"{name[:20]}…{name[21 - LONGEST :]}"
        parts.append(
            f'<text class="bar-name" x="{left}" y="{above + 15}">{markup.text(cut)}'
            f"<title>{markup.text(name)}</title></text>"
            f'<rect class="value-bar" x="{left}" y="{y - 6}" width="{x(value) - left:.1f}" '
            f'height="12" rx="2"/>'
        )
        if low < high:
            parts.append(
                f'<path class="whisker" d="M{x(low):.1f} {y}H{x(high):.1f}M{x(low):.1f} {y - 4}v8'
                f'M{x(high):.1f} {y - 4}v8"/>'
            )
    return chart.svg(frame, "".join(parts), title=title, name="bars")


def _axis(values: Sequence[Any]) -> tuple[list[float], list[str]]:
    """Where the values of a parameter lie between 0 and 1, and what they are called.

    Numbers lie by their size, on a logarithmic scale where they span two decades; words evenly.
    """
    names = [_shown(one) for one in values]
    evenly = [k / max(1, len(values) - 1) for k in range(len(values))]
    if any(isinstance(one, str) for one in values) or len(values) < 2:
        return evenly, names
    low, high = values[0], values[-1]
    if low > 0 and high / low >= 100:
        return [math.log(one / low) / math.log(high / low) for one in values], names
    return [(one - low) / (high - low) for one in values], names


def _curve(
    table: Any, settings: list[Place], template: str, name: str, metric: str, *, others: bool
) -> dict[str, Any] | None:
    """A metric over one parameter: a line for each setting, its interval as a band."""
    info = metadata.describe(metric)
    lines = []
    for place in settings:
        found = curve(table, metric, name, where={**place.where, "template": template})
        points = [(one.at[0], *known) for one in found if (known := best_guess(one))]
        if len(points) > 1:
            lines.append((place, points))
    if not lines:
        return None
    values = sorted(
        {at for _, points in lines for at, *_ in points}, key=lambda v: (str(type(v)), v)
    )
    share, names = _axis(values)
    most = max(high for _, points in lines for *_, high in points)
    labels, top = difference.metric_ticks(info.unit, most)
    frame = chart.Frame(low=0.0, high=1.0, height=250, left=76, right=24, bottom=40)
    wide = frame.end - frame.left
    at = {one: frame.left + x * wide for one, x in zip(values, share, strict=True)}
    parts = [frame.upwards((k / 4, label) for k, label in enumerate(labels))]
    last = -math.inf
    for one, shown in zip(values, names, strict=True):
        if at[one] - last >= 14 + 7 * len(shown):
            last = at[one]
            parts.append(frame.below(last, shown))
    for i, (place, points) in enumerate(lines):
        line = [(at[one], frame.y(value / top)) for one, value, _, _ in points]
        band = [(at[one], frame.y(min(1, high / top))) for one, _, _, high in points]
        band += [(at[one], frame.y(max(0, low / top))) for one, _, low, _ in reversed(points)]
        if any(low < high for *_, low, high in points):
            parts.append(f'<polygon class="band {markup.mark(i)}" points="{chart.spots(band)}"/>')
        parts.append(chart.dotted(markup.mark(i), place, line, 3))
    where = "" if len(lines) == 1 else " of each line"
    return {
        "title": f"{_label(info)} over {name}: {template}",
        "note": f"Mean over the other parameters{where}." if others else "",
        "csv": f"{metric} over {name}",
        "first": name,
        "chart": Markup(
            chart.svg(frame, "".join(parts), title=f"{info.label} over {name}", name="curve")
        ),
        "legend": [(markup.mark(i), str(place)) for i, (place, _) in enumerate(lines)],
        "several": len(lines) > 1,
        "rows": [
            {**_cells(info, _shown(one), *rest), "place": str(place)}
            for place, points in lines
            for one, *rest in points
        ],
    }  # fmt: skip


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _map(
    table: Any, place: Place, template: str, pair: tuple[str, str], metric: str, *, others: bool
) -> dict[str, Any] | None:
    """A metric over two parameters: a cell for each pair of values, darker for larger values."""
    info = metadata.describe(metric)
    found = curve(table, metric, list(pair), where={**place.where, "template": template})
    known = {one.at: guess for one in found if (guess := best_guess(one))}
    if not known:
        return None
    rows = sorted({at[0] for at in known}, key=lambda v: (str(type(v)), v))
    columns = sorted({at[1] for at in known}, key=lambda v: (str(type(v)), v))
    values = [value for value, _, _ in known.values()]
    low, high = min(values), max(values)
    best = high if info.better == "higher" else low

    def cell(row: Any, column: Any) -> dict[str, Any] | None:
        if (row, column) not in known:
            return None
        value, least, most = known[row, column]
        step = int((STEPS - 1) * (value - low) / (high - low)) if high > low else 0
        return {
            "kind": f"h{step}",
            "value": value,
            "shown": amount(value, info.unit) if info.unit != "s" else span(value),
            "half": amount((most - least) / 2, info.unit) if most > least else "",
            "best": value == best and high > low,
            "title": f"{pair[0]}={_shown(row)}, {pair[1]}={_shown(column)}: "
            f"{amount(least, info.unit)} to {amount(most, info.unit)}",
        }

    return {
        "title": f"{_label(info)} over {pair[0]} and {pair[1]}: {template}",
        "note": f"{place}. {'Mean over the other parameters. ' if others else ''}".strip(),
        "csv": f"{metric} over {pair[0]} and {pair[1]}",
        "corner": f"{pair[0]} \\ {pair[1]}",
        "columns": [_shown(one) for one in columns],
        "rows": [(_shown(one), [cell(one, other) for other in columns]) for one in rows],
    }


MOST = 20
"""Policies in a figure: the best by the first metric."""


def write_sweep_figures(
    table: Any, folder: str | Path, *, metrics: Sequence[str] = ()
) -> list[Path]:
    """A figure ``bars`` for each log on each machine at each load; returns the files."""
    known = [name for name in table.column_names if metadata.describe(name).better != "neither"]
    shown = list(metrics) or metadata.ordered(known)[:METRICS]
    rows = table.select(["log", "machine", "load"]).to_pylist()
    settings = list({tuple(sorted(row.items())): row for row in rows}.values())
    settings.sort(key=lambda row: (row["log"], row["machine"] or "", row["load"]))
    written: list[Path] = []
    for i, where in enumerate(settings):
        first = [name for name, *_ in bars_of(table, where, shown[0])][:MOST]
        panels = []
        for metric in shown:
            found = {bar[0]: bar for bar in bars_of(table, where, metric)}
            panels.append((metric, [found[name] for name in first if name in found]))
        name = "bars" if len(settings) == 1 else f"bars-{i + 1}"
        title = f"{where['log']} {where['machine'] or ''}".strip()
        load = "" if where["load"] == "as recorded" else f", load {where['load']}"
        drawing = partial(figures.draw_bars, panels=panels, title=title + load)
        written += figures.save_figure(drawing, Path(folder), name)
    return written
