"""The report as one HTML file that needs nothing but a browser.

This file also contains the first and last sections, the comparison with a paper's claims and
tables, and the inputs: where every number comes from and how to reproduce it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shadowtime.private import write_result
from shadowtime.report import contest, payers, verdict
from shadowtime.report.inputs import Claim, PaperTable, PaperValue, ReportInput
from shadowtime.report.machine import machine, memory
from shadowtime.report.numbers import DASH, cell, number, percent
from shadowtime.report.page import data, extra, first, heat, losers, templates
from shadowtime.report.page.difference import difference
from shadowtime.report.page.frontier import frontier
from shadowtime.report.page.markup import json_block, section, text
from shadowtime.report.page.whatif import effects, replayed
from shadowtime.report.page.whatif import first_screen as options_screen
from shadowtime.report.rows import Rows, lay_out
from shadowtime.schedule.runs import started

STYLES = ("base.css", "result.css", "figure.css", "print.css")
FIGURE = (
    "model.js",
    "colours.js",
    "ticks.js",
    "view.js",
    "tiles.js",
    "rows.js",
    "paint.js",
    "series.js",
)
"""What draws the figure, here and on the board."""
USED = ("interaction.js", "page.js", "frames.js")
"""What answers who uses it."""
SCRIPTS = (
    "format.js",
    "decode.js",
    *FIGURE,
    "overview.js",
    "chain.js",
    "tip.js",
    "card.js",
    "scope.js",
    "rescore.js",
    "frontier.js",
    "switches.js",
    "redraw.js",
    "state.js",
    "download.js",
    *USED,
    "main.js",
)
"""Concatenated in this order inside one function, so they share names and nothing leaks."""
TABLE_SCRIPTS = ("format.js", "colours.js", "model.js", "download.js", "page.js", "grid.js")
"""Those of a page of tables."""

CONTENTS = {
    "now": "Now",
    "schedule-live": "Schedule",
    "queue": "Queue",
    "how-good": "How good",
    "result": "Result",
    "replayed": "Groups",
    "effects": "Effects",
    "paper": "Paper",
    "loads": "Loads",
    "curves": "Curves",
    "difference": "Difference",
    "schedule": "Schedule",
    "distributions": "Distributions",
    "heat": "Heat map",
    "classes": "Classes",
    "resources": "Resources",
    "fairness": "Fairness",
    "predictions": "Predictions",
    "preemption": "Preemption",
    "bandwidth": "Bandwidth",
    "board-0": "Leaderboard",
    "policies-about": "Policies",
    "inputs": "Inputs",
    "add": "Add a row",
}
"""The names of the sections in the bar at the top."""


def write_html(report: ReportInput, path: str | Path) -> Path:
    """Write the report to a file and return its path.

    The file contains its style, its script and its data; it makes no request, and its content
    security policy allows none, nor any other script.
    """
    path = Path(path)
    write_result(path, render(report))
    return path


def render(report: ReportInput) -> str:
    """The report as text. The same input gives the same bytes."""
    rows = [lay_out(run.schedule, run.cluster or report.cluster) for run in report.runs]
    report = payers.with_classes(report)
    classes = {run.name: payers.classes_of(report, run) for run in report.runs}
    schedule = schedule_figure(
        report,
        penalties=any(run.schedule.penalised is not None for run in report.runs),
        lead=_lead(report, rows),
    )
    if report.effects:  # of all runs; one run's own numbers would contradict them
        sections = [options_screen(report), effects(report), schedule, inputs(report)]
    else:
        sections = [
            first.first_screen(
                report, losers.who_loses(report, classes), frontier(report, classes)
            ),
            replayed(report),
            paper(report),
            difference(report),
            schedule,
            extra.distributions(report),
            heat.heat_maps(report),
            losers.class_table(report, classes),
            extra.extra_sections(report),
            inputs(report),
        ]
    blocks = [
        json_block("summary", data.summary(report, rows, classes)),
        _packed("jobs", data.job_columns(report)),
        *(
            _packed(f"policy-{i}", data.policy_columns(report, run, rows[i]))
            for i, run in enumerate(report.runs)
        ),
    ]
    return whole_page(
        report.title, sections, blocks, versions=report.versions, scripts=SCRIPTS, shareable=True
    )


def whole_page(
    title: str,
    sections: list[str],
    blocks: list[str],
    *,
    versions: Mapping[str, str],
    scripts: tuple[str, ...],
    shareable: bool = False,
    styles: tuple[str, ...] = (),
    served: bool = False,
    footer: str = "This file works without a network.",
    kind: str = "report",
) -> str:
    """A page that contains its style, its script and its data, with links to its sections.

    One that is ``served`` may ask its own server for more.
    """
    script = _script(scripts)
    there = "".join(sections)
    return (
        templates.fill(
            "page.html",
            digest=script_digest(scripts),
            title=title,
            style=Markup("\n".join(_asset(name) for name in (*STYLES, *styles))),
            served=served,
            footer=footer,
            kind=kind,
            contents=[(n, t) for n, t in CONTENTS.items() if f'<section id="{n}"' in there],
            shareable=shareable,
            sections=[Markup(section) for section in sections],
            versions=", ".join(f"{name} {version}" for name, version in versions.items()),
            blocks=Markup("".join(blocks)),
            script=Markup(script),
        )
        + "\n"
    )


def script_digest(names: tuple[str, ...]) -> str:
    """What a content security policy knows a page's script by."""
    raw = _script(names).encode("utf-8")
    return base64.b64encode(hashlib.sha256(raw).digest()).decode("ascii")


def _lead(report: ReportInput, rows: list[Rows]) -> str:
    real = all(r.real for r in rows)
    where = (
        "Rows are the hosts that the jobs ran on."
        if real
        else "Rows are assigned for drawing only, so that no two jobs overlap; a job may be split."
    )
    unit = rows[0].unit
    each = f" A row is {number(unit)} processors." if unit > 1 else ""
    missing = max(len(run.schedule) - int(started(run.schedule).sum()) for run in report.runs)
    absent = f" {number(missing)} jobs without a start and an end are not drawn." if missing else ""
    example = "One of the runs, as an example. " if report.effects else ""
    return example + where + each + absent


def _packed(name: str, packed: dict[str, Any]) -> str:
    """Columns: their list as JSON, their bytes as base64, which needs no escaping."""
    return (
        json_block(f"{name}-columns", packed["columns"])
        + f'<script type="application/octet-stream" id="{name}-data">{packed["data"]}</script>'
    )


def _asset(name: str) -> str:
    return (files("shadowtime.report") / "assets" / name).read_text(encoding="utf-8")


def _script(names: tuple[str, ...]) -> str:
    body = "\n".join(_asset(name) for name in names)
    return f"(() => {{\n'use strict';\n{body}\n}})();"


MODES = (
    ("reason", "why it started"),
    ("size", "size class"),
    ("user", "user"),
    ("slowdown", "bounded slowdown"),
    ("penalty", "penalty"),
)


def schedule_figure(report: ReportInput, *, penalties: bool, lead: str) -> str:
    """Toolbar, filters, overview, one or two panels of rows, strips, card and metrics in view.

    The baseline and the winner are shown first.
    """
    names = [run.name for run in report.runs]
    winner = verdict.verdict_of(report).winner
    return templates.fill(
        "schedule.html",
        names=names,
        second=min(winner or 1, len(names) - 1),
        modes=[(key, label) for key, label in MODES if key != "penalty" or penalties],
        lead=lead,
    )


HOSTS_SHOWN = 12


def inputs(report: ReportInput) -> str:
    """Trace, cleaning, cluster, policies, seeds, versions and the command."""
    trace = report.workload
    facts = {
        "name": trace.name,
        "jobs": number(len(trace)),
        "resources": ", ".join(trace.resources),
        "scored": report.scored,
    }
    seeds = ", ".join(map(str, report.seeds)) if report.seeds else "no randomness used"
    touched = {rule: f"{number(count)} jobs" for rule, count in report.cleaned.items() if count}
    idle = [rule for rule, count in report.cleaned.items() if not count]
    note = f"No job touched by {', '.join(idle)}." if idle else ""
    return templates.fill(
        "inputs.html",
        blocks=[
            ("Trace", facts, ""),
            ("Cleaning", touched or {"jobs touched": "none"}, note),
            ("Cluster", _cluster(report), ""),
            ("Versions", report.versions or {"versions": "not recorded"}, ""),
            ("Seeds", {"seeds": seeds}, ""),
        ],
        policies=[(run.name, _parameters(run.parameters)) for run in report.runs],
        command=report.command,
        header=trace.header,
    )


def _cluster(report: ReportInput) -> dict[str, str]:
    cluster = report.cluster
    facts: dict[str, str] = {"shape": cluster.shape}
    if cluster.name:
        facts["name"] = cluster.name
    facts |= {
        resource: memory(amount) if resource == "memory" else number(amount)
        for resource, amount in cluster.total.items()
    }
    if cluster.shape == "site":
        facts["nodes"] = machine(cluster)
    if cluster.shape != "pool":
        names = [host.name for host in cluster.hosts]
        rest = len(names) - HOSTS_SHOWN
        facts[f"{number(len(names))} hosts"] = ", ".join(names[:HOSTS_SHOWN]) + (
            f" and {number(rest)} more" if rest > 0 else ""
        )
    return facts | {str(key): str(value) for key, value in cluster.options.items()}


def _parameters(parameters: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Every parameter on a line of its own, nested ones by their path.

    Examples
    --------
    >>> _parameters({"order": "fcfs", "backfill": {"extra": True}})
    {'order': 'fcfs', 'backfill.extra': 'True'}
    """
    flat: dict[str, str] = {}
    for key, value in parameters.items():
        if isinstance(value, Mapping):
            flat |= _parameters(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = str(value)
    return flat or ({} if prefix else {"parameters": "none"})


MARKS = {
    True: ("holds", "✓", "holds"),
    False: ("fails", "✗", "does not hold"),
    None: ("open", DASH, "not judged"),
}


def paper(report: ReportInput) -> str:
    """Claims first, then the tables; nothing outside paper mode."""
    if not report.paper:
        return ""
    parts = []
    if report.claims:
        held = sum(claim.holds is True for claim in report.claims)
        judged = sum(claim.holds is not None for claim in report.claims)
        parts.append(
            f'<p class="verdict small">{held} of {judged} judged claims hold.</p>'
            f'<ul class="claims">{"".join(map(_claim, report.claims))}</ul>'
        )
    parts += [_table(table) for table in report.tables]
    return section("paper", "Beside the paper", "".join(parts))


def _claim(claim: Claim) -> str:
    kind, mark, words = MARKS[claim.holds]
    numbers = [("paper", claim.paper), ("ours", claim.ours), ("where", claim.where)]
    facts = "".join(
        f"<span><small>{name}</small> {text(value)}</span>" for name, value in numbers if value
    )
    return (
        f'<li class="{kind}"><span class="mark" aria-hidden="true">{mark}</span>'
        f'<span class="words">{words}</span><div><p>{text(claim.text)}</p>'
        f'<p class="numbers">{facts}</p></div></li>'
    )


def _table(table: PaperTable) -> str:
    """Values side by side: a hollow bar for the paper's, a full one for ours."""
    tops: dict[str, float] = {}
    for value in table.values:
        tops[value.unit] = max(
            tops.get(value.unit, 0.0),
            *(abs(x) for x in (value.ours, value.paper) if x is not None),
            0.0,
        )
    rows = "".join(_row(value, tops[value.unit] or 1.0) for value in table.values)
    where = f'<span class="where">{text(table.where)}</span>' if table.where else ""
    note = f'<p class="note">{text(table.note)}</p>' if table.note else ""
    return (
        f'<figure class="beside"><figcaption>{text(table.title)}{where}</figcaption>'
        '<div class="scroll"><table class="numbers"><thead><tr>'
        '<th scope="col"></th><th scope="col">Ours</th>'
        '<th scope="col">Paper</th><th scope="col">Difference</th><th scope="col" class="bars">'
        '<i class="key ours"></i>ours <i class="key theirs"></i>paper</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{note}</figure>"
    )


def _row(value: PaperValue, top: float) -> str:
    change = contest.relative(value.ours, value.paper)
    if change is not None:
        difference = percent(change, signed=True)
    elif value.ours is not None and value.paper is not None:
        difference = number(value.ours - value.paper)
    else:
        difference = DASH
    unit = {"share": "%"}.get(value.unit, value.unit)
    label = f"{value.label}, {unit}" if unit else value.label
    bars = "".join(
        f'<span class="{kind}" style="width:{100 * abs(x) / top:.1f}%"></span>'
        for kind, x in (("ours", value.ours), ("theirs", value.paper))
        if x is not None
    )
    return (
        f'<tr><th scope="row">{text(label)}</th><td>{cell(value.ours, value.unit)}</td>'
        f"<td>{cell(value.paper, value.unit)}</td><td>{difference}</td>"
        f'<td class="bars">{bars}</td></tr>'
    )
