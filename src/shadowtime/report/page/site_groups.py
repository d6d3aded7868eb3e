"""A site's groups of jobs: recorded beside simulated, and what a change does to each."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from shadowtime.report.numbers import MINUS, span
from shadowtime.report.page.templates import fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.report.inputs import ReportInput

TITLES = {
    "all": "",
    "partition": "By partition",
    "account": "By account",
    "qos": "By QOS",
    "size": "By processors",
    "user": "By user",
    "gpus": "By GPUs",
}


def replayed(report: ReportInput) -> str:
    """The section of a site's replay; empty elsewhere."""
    replay = report.replayed
    if not replay:
        return ""
    groups = [
        {"title": TITLES.get(by, f"By {by}"), "rows": [_row(one) for one in rows]}
        for by, rows in groupby(replay["groups"], key=lambda one: one["by"])
    ]
    return str(
        fill(
            "replayed.html",
            runs=replay["runs"],
            groups=groups,
            backfilled=replay["backfilled"],
            reasons=replay["reasons"],
        )
    )


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """One group; words state whether the recorded value is within the range."""
    recorded, low, high = row["recorded_wait_mean_s"], row["low_s"], row["high_s"]
    where = "below" if recorded < low else "above" if recorded > high else "within"
    name = "all jobs" if row["by"] == "all" else row["name"] or "none"
    return {**row, "name": name, "where": where}


def effects(report: ReportInput) -> str:
    """The section of a what-if: each change alone, then the groups; empty elsewhere."""
    found = report.effects
    if not found:
        return ""
    groups = [
        {"title": TITLES.get(by, f"By {by}"), "rows": [_effect(one) for one in rows]}
        for by, rows in groupby(found["groups"], key=lambda one: one["by"])
    ]
    alone = [{**_effect(one["whole"]), "name": one["label"]} for one in found["alone"]]
    if alone:
        alone.append({**_effect(found["groups"][0]), "name": "all together"})
    return str(fill("effects.html", inputs=found["inputs"], alone=alone, groups=groups))


def effect_sentences(effects: Mapping[str, Any]) -> tuple[str, str]:
    """The headline and the detail of a what-if: what it does to the mean wait of all jobs.

    Examples
    --------
    >>> whole = {"by": "all", "name": "", "jobs": 9, "baseline_wait_mean_s": 600.0,
    ...          "changed_wait_mean_s": 300.0, "difference_s": -300.0,
    ...          "difference_interval_s": [-360.0, -240.0], "effect": "shorter"}
    >>> effects = {"groups": [whole], "inputs": "6 runs", "label": "2 nodes"}
    >>> headline, detail = effect_sentences(effects)
    >>> headline
    'Waits become shorter: 5 min on average.'
    >>> detail.partition("; ")[2]
    '95 % interval of the difference over 6 runs: 4 min to 6 min shorter.'
    """
    whole = effects["groups"][0]
    gap = float(whole["difference_s"])
    clear = whole["effect"] in ("shorter", "longer")
    headline = (
        f"Waits become {whole['effect']}: {span(abs(gap))} on average."
        if clear
        else "No clear effect on the mean wait."
    )
    low, high = sorted((float(at) for at in whole["difference_interval_s"]), key=abs)
    between = (
        f"{span(abs(low))} to {span(abs(high))} {whole['effect']}"
        if clear
        else " to ".join(_signed(at) for at in whole["difference_interval_s"])
    )
    return headline, (
        f"{effects['label']}: mean wait {span(whole['baseline_wait_mean_s'])} before, "
        f"{span(whole['changed_wait_mean_s'])} after; 95 % interval of the difference over "
        f"{effects['inputs']}: {between}."
    )


def _effect(row: Mapping[str, Any]) -> dict[str, Any]:
    low, high = row["difference_interval_s"]
    return {
        "name": "all jobs" if row["by"] == "all" else row["name"] or "none",
        "jobs": row["jobs"],
        "before": span(row["baseline_wait_mean_s"]),
        "after": span(row["changed_wait_mean_s"]),
        "change": _signed(row["difference_s"]),
        "half": span((high - low) / 2),
        "low": low,
        "high": high,
        "value": row["difference_s"],
        "effect": row["effect"],
        "kind": {"shorter": "good", "longer": "poor"}.get(row["effect"], "muted"),
    }


def _signed(seconds: float) -> str:
    shown = span(abs(seconds))
    return f"{'+' if seconds > 0 else MINUS if seconds < 0 else ''}{shown}"
