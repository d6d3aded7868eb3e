"""The page of a what-if: the options side by side, over all runs; nothing of a single run above it.

``ReportInput.effects`` holds what was found: ``options``, each with its ``label``, its ``groups``
(the first of them all jobs), ``never_started``, ``killed`` and ``notes``; ``inputs``, the runs in
words. Folders written before options existed have ``groups`` and ``alone`` instead.

Here, too: the groups of a site's replay, recorded beside simulated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from shadowtime.metrics.groups import COLUMN
from shadowtime.report import inputs, tradeoff
from shadowtime.report.classes import NOUNS, by_kind
from shadowtime.report.numbers import DASH, MINUS, THIN, number, span
from shadowtime.report.page import markup, templates

FIRST_COLOUR = 2
"""The first two colours of policies, blue and orange, mean shorter and longer on this page."""
NAMED = 3
"""Groups that a cell names."""
DRAWN = 14
"""Groups in the chart: those with the most waiting time at stake."""


def options_of(effects: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The options of a what-if, also of a folder that has only ``groups`` and ``alone``."""
    known = effects.get("options")
    if known:
        return [dict(one) for one in known]
    alone = [{"label": one["label"], "groups": [one["whole"]]} for one in effects.get("alone", ())]
    label = "all together" if alone else effects["label"]
    return [*alone, {"label": label, "groups": list(effects["groups"])}]


def headline(effects: Mapping[str, Any]) -> tuple[str, str]:
    """What the options do to the mean wait, who pays, and over how many runs that is known.

    Examples
    --------
    >>> whole = {"by": "all", "name": "", "jobs": 9, "baseline_wait_mean_s": 600.0,
    ...          "changed_wait_mean_s": 300.0, "difference_s": -300.0,
    ...          "difference_interval_s": [-360.0, -240.0], "effect": "shorter"}
    >>> first, detail = headline({"groups": [whole], "inputs": "6 runs", "label": "2 nodes"})
    >>> first.replace(THIN, " ")
    '2 nodes: waits become 50 % shorter (from 10 min to 5 min on average), and no group ... pays.'
    >>> detail
    'From 6 runs with and without the change, pair by pair.'
    """
    options = options_of(effects)
    detail = f"From {effects['inputs']} with and without the change, pair by pair."
    if len(options) == 1:
        return f"{_sentence(options[0])}.", detail
    clear = [one for one in options if one["groups"][0]["effect"] == "shorter"]
    if not clear:
        return "No option clearly shortens the mean wait.", detail
    best = min(clear, key=lambda one: one["groups"][0]["difference_s"])
    return f"{_sentence(best)}; the largest gain of {len(options)} options.", detail


def _sentence(option: Mapping[str, Any]) -> str:
    whole, label = option["groups"][0], option["label"]
    if nothing_moves(option):
        return f"{label}: no effect, not one job starts earlier or later in any run"
    payers = _moved(option, "longer")
    pays = f"but {_who(payers)} pay{'s' if len(payers) == 1 else ''}" if payers else ""
    if whole["effect"] not in ("shorter", "longer"):
        return f"{label}: no clear effect on the mean wait" + (f", {pays}" if pays else "")
    gap, before = abs(float(whole["difference_s"])), float(whole["baseline_wait_mean_s"])
    size = f"{tradeoff.rough(gap / before)} {whole['effect']}" if before >= 1 else whole["effect"]
    none = "and no group clearly pays" if whole["effect"] == "shorter" else "for all jobs"
    means = f"from {span(before)} to {span(before + float(whole['difference_s']))}"
    return f"{label}: waits become {size} ({means} on average), {pays or none}"


def nothing_moves(option: Mapping[str, Any]) -> bool:
    """Every run has the same waits with and without the change."""
    return all(
        row["difference_s"] == 0 and not any(row["difference_interval_s"])
        for row in option["groups"]
    )


def _moved(option: Mapping[str, Any], effect: str) -> list[Mapping[str, Any]]:
    """The groups with this effect, those with the most waiting time at stake first."""
    rows = [row for row in option["groups"] if row["effect"] == effect and row["by"] != "all"]
    return sorted(rows, key=lambda row: -abs(row["difference_s"]) * row["jobs"])


def _who(rows: Sequence[Mapping[str, Any]]) -> str:
    words = [name_of(row) for row in rows[:NAMED]]
    more = len(rows) - NAMED
    return tradeoff.listed([*words, f"{more} more"] if more > 0 else words)


def name_of(row: Mapping[str, Any]) -> str:
    """A group in words.

    Examples
    --------
    >>> name_of({"by": "qos", "name": "low"}), name_of({"by": "size", "name": "1-4"})
    ('QOS low', '1-4 processors')
    """
    if row["by"] == "all":
        return "all jobs"
    name = row["name"] or "none"
    if row["by"] in COLUMN:
        return f"{NOUNS.get(row['by'], row['by'])} {name}"
    return f"{name} processors" if row["by"] == "size" else name


def _title(by: str) -> str:
    return "" if by == "all" else f"B{by_kind(by)[1:]}"


def share_of(row: Mapping[str, Any]) -> str:
    """The change of a mean wait in per cent with half its interval, in time if nothing waited."""
    low, high = row["difference_interval_s"]
    gap, before = float(row["difference_s"]), float(row["baseline_wait_mean_s"])
    if low is None or high is None or not math.isfinite(high - low):
        return f"{_signed(gap)} (one run)"
    if before < 1:
        return f"{_signed(gap)} ± {span((high - low) / 2)}"
    share, half = 100 * gap / before, 50 * (high - low) / before
    digits = 0 if abs(share) >= 10 or share == 0 else 1
    shown = f"{share:+,.{digits}f}".replace("-", MINUS).replace("+0", "0")
    return f"{shown}{THIN}% ± {half:,.{digits}f}"


def first_screen(report: inputs.ReportInput) -> str:
    """Title, sentence, the options side by side, and their effects by group as a chart."""
    options = options_of(report.effects)
    first, detail = headline(report.effects)
    jobs = report.workload
    return str(
        templates.fill(
            "whatif_result.html",
            first_colour=FIRST_COLOUR,
            title=jobs.name,
            facts=[f"{number(len(jobs))} jobs", report.scored],
            headline=first,
            detail=detail,
            trust=report.trust,
            options=[
                _option(i, one, report.effects.get("baseline_offer"))
                for i, one in enumerate(options)
            ],
            chart=Markup(chart(options)),
            names=[one["label"] for one in options],
            notes=[note for one in options for note in one.get("notes", ())],
        )
    )


def _option(
    place: int, option: Mapping[str, Any], offered: Mapping[str, Any] | None
) -> dict[str, Any]:
    whole = option["groups"][0]
    return {
        "place": place,
        "label": option["label"],
        "nothing": nothing_moves(option),
        "whole": share_of(whole),
        "after": span(whole["changed_wait_mean_s"]),
        "kind": _kind(whole),
        "gains": [(name_of(row), share_of(row)) for row in _moved(option, "shorter")[:NAMED]],
        "pays": [(name_of(row), share_of(row)) for row in _moved(option, "longer")[:NAMED]],
        "cost": _cost(option, offered),
    }


def more_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What an option offers and costs more or less than the site as it is.

    Examples
    --------
    >>> site = {"node_hours": 100.0, "cost": 40.0, "utilisation": 0.9}
    >>> more_of(site, {"node_hours": 150.0, "cost": 60.0, "utilisation": 0.6})
    ['50 more node-hours', '20 more to pay', '60 % in use instead of 90 %']
    """
    parts = []
    for name, words in (("node_hours", "node-hours"), ("cost", "to pay")):
        if before[name] is not None and after[name] is not None:
            gap = after[name] - before[name]
            if abs(gap) > 0.001 * before[name]:
                parts.append(f"{number(abs(gap))} {'more' if gap > 0 else 'less'} {words}")
    shares = [f"{100 * one['utilisation']:.0f} %" for one in (after, before)]
    if shares[0] != shares[1]:
        parts.append(f"{shares[0]} in use instead of {shares[1]}")
    return parts


def _cost(option: Mapping[str, Any], offered: Mapping[str, Any] | None) -> str:
    parts = []
    if offered and option.get("offer"):
        parts += more_of(offered, option["offer"])
    if option.get("never_started"):
        parts.append(f"{number(option['never_started'])} jobs would never start")
    if option.get("killed"):
        parts.append(f"{number(option['killed'])} jobs end at the limit before they are done")
    return "; ".join(parts)


def _kind(row: Mapping[str, Any]) -> str:
    return {"shorter": "good", "longer": "poor"}.get(row["effect"], "unclear")


def effects(report: inputs.ReportInput) -> str:
    """Every group under every option; empty elsewhere."""
    if not report.effects:
        return ""
    options = options_of(report.effects)
    by_key = [{(row["by"], row["name"]): row for row in one["groups"]} for one in options]
    keys = list(dict.fromkeys(key for rows in by_key for key in rows))
    order = list(dict.fromkeys(by for by, _ in keys))
    keys.sort(key=lambda key: order.index(key[0]))
    groups = [
        {"title": _title(by), "rows": [_group(key, by_key) for key in mine]}
        for by, mine in groupby(keys, key=lambda key: key[0])
    ]
    return str(
        templates.fill(
            "effects.html",
            first_colour=FIRST_COLOUR,
            inputs=report.effects["inputs"],
            names=[one["label"] for one in options],
            groups=groups,
        )
    )


def _group(key: tuple[str, str], by_key: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    known = next(rows[key] for rows in by_key if key in rows)
    return {
        "name": "all jobs" if key[0] == "all" else key[1] or "none",
        "jobs": known["jobs"],
        "before": span(known["baseline_wait_mean_s"]),
        "cells": [_cell(rows.get(key)) for rows in by_key],
    }


def _cell(row: Mapping[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return {"shown": DASH, "half": "", "kind": "muted", "value": "", "low": "", "high": "",
                "after": ""}  # fmt: skip
    low, high = row["difference_interval_s"]
    known = low is not None and high is not None and math.isfinite(high - low)
    return {
        "shown": _signed(row["difference_s"]),
        "half": span((high - low) / 2) if known else "unknown",
        "kind": _kind(row),
        "value": row["difference_s"],
        "low": low,
        "high": high,
        "after": span(row["changed_wait_mean_s"]),
    }


def chart(options: Sequence[Mapping[str, Any]]) -> str:
    """Effects by group with their intervals, options as colours; what may be chance is hollow."""
    keys = _drawn(options)
    rows = [
        (key, i, row)
        for key in keys
        for i, option in enumerate(options)
        for row in option["groups"]
        if (row["by"], row["name"]) == key and row["baseline_wait_mean_s"] >= 1
    ]
    if not rows:
        return ""
    shares = {(key, i): _ends(row) for key, i, row in rows}
    top = 1.15 * max(abs(ends[0]) for ends in shares.values()) or 1.0
    step = 9 if len(options) > 1 else 12
    tall = max(20, 8 + step * len(options))
    height = 34 + tall * len(keys)
    left, right, middle = 190, 12, (190 + 588) / 2
    half = (600 - left - right) / 2

    def x(share: float) -> float:
        return middle + half * min(1.0, max(-1.0, share / top))

    parts = []
    for at in _ticks(top):
        shown = "0" if not at else f"{100 * at:+.0f}".replace("-", MINUS)
        parts.append(
            f'<path class="grid" d="M{x(at):.1f} 8V{height - 22}"/>'
            f'<text x="{x(at):.1f}" y="{height - 8}" text-anchor="middle">{shown} %</text>'
        )
    for place, key in enumerate(keys):
        y = 10 + tall * place
        named = name_of({"by": key[0], "name": key[1]})
        label = named if len(named) <= 30 else f"{named[:29]}…"
        parts.append(
            f'<text class="bar-name" x="{left - 8}" y="{y + tall / 2 + 1:.1f}" text-anchor="end">'
            f"{markup.text(label)}</text>"
        )
        for mine, i, row in rows:
            if mine == key:
                parts.append(_dot(x, shares[key, i], y + 4 + step * (i + 0.5), i, row))
    body = "".join(parts)
    return (
        f'<figure class="effects-chart"><svg class="chart" viewBox="0 0 600 {height}" role="img" '
        'aria-label="Change of the mean wait by group, with 95 % intervals">'
        f"{body}</svg></figure>"
    )


def _ticks(top: float) -> list[float]:
    """Round shares on both sides of zero, two or so on each.

    Examples
    --------
    >>> _ticks(1.79), _ticks(0.06)
    ([-1.0, 0.0, 1.0], [-0.05, 0.0, 0.05])
    """
    power = 10.0 ** math.floor(math.log10(top / 2))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= top / 2.5)
    count = int(top / step)
    return [round(at * step, 6) for at in range(-count, count + 1)]


def _drawn(options: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """All jobs, then the groups that any option moves clearly, most waiting time first."""
    stake: dict[tuple[str, str], tuple[bool, float]] = {}
    for option in options:
        for row in option["groups"]:
            key = row["by"], row["name"]
            clear = row["effect"] in ("shorter", "longer")
            moved = abs(row["difference_s"]) * row["jobs"]
            was = stake.get(key, (False, 0.0))
            stake[key] = (was[0] or clear, max(was[1], moved))
    order = sorted(stake, key=lambda k: (k[0] != "all", not stake[k][0], -stake[k][1], k))
    return order[:DRAWN]


def _ends(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """The change and its interval as shares of the wait before."""
    before, gap = float(row["baseline_wait_mean_s"]), float(row["difference_s"])
    low, high = row["difference_interval_s"]
    known = low is not None and high is not None and math.isfinite(high - low)
    ends = (low, high) if known else (gap, gap)
    return gap / before, ends[0] / before, ends[1] / before


def _dot(
    x: Any, ends: tuple[float, float, float], y: float, place: int, row: Mapping[str, Any]
) -> str:
    unclear = "" if row["effect"] in ("shorter", "longer") else " beaten"
    title = f"{name_of(row)}: {share_of(row)}{', may be chance' if unclear else ''}"
    return (
        f'<g class="point {markup.mark(place + FIRST_COLOUR)}{unclear}"><path class="whisker" '
        f'd="M{x(ends[1]):.1f} {y:.1f}H{x(ends[2]):.1f}"/>'
        f'<circle cx="{x(ends[0]):.1f}" cy="{y:.1f}" r="4"/><title>{markup.text(title)}</title></g>'
    )


def _signed(seconds: float) -> str:
    shown = span(abs(seconds))
    return f"{'+' if seconds > 0 else MINUS if seconds < 0 else ''}{shown}"


def replayed(report: inputs.ReportInput) -> str:
    """The section of a site's replay; empty elsewhere."""
    replay = report.replayed
    if not replay:
        return ""
    groups = [
        {"title": _title(by), "rows": [_beside_recorded(one) for one in rows]}
        for by, rows in groupby(replay["groups"], key=lambda one: one["by"])
    ]
    return str(
        templates.fill(
            "replayed.html",
            runs=replay["runs"],
            groups=groups,
            backfilled=replay["backfilled"],
            reasons=replay["reasons"],
        )
    )


def _beside_recorded(row: Mapping[str, Any]) -> dict[str, Any]:
    """One group; words state whether the recorded value is within the range."""
    recorded, low, high = row["recorded_wait_mean_s"], row["low_s"], row["high_s"]
    where = "below" if recorded < low else "above" if recorded > high else "within"
    name = "all jobs" if row["by"] == "all" else row["name"] or "none"
    return {**row, "name": name, "where": where}
