"""The report as one HTML file that needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from shadowtime.private import write_result
from shadowtime.report.numbers import number
from shadowtime.report.page.data import job_columns, policy_columns, summary
from shadowtime.report.page.difference import difference
from shadowtime.report.page.extra import distributions, extra_sections
from shadowtime.report.page.first import first_screen
from shadowtime.report.page.heat import heat_maps
from shadowtime.report.page.losers import class_table, who_loses
from shadowtime.report.page.markup import json_block
from shadowtime.report.page.paper import paper
from shadowtime.report.page.provenance import inputs
from shadowtime.report.page.site_groups import effects, replayed
from shadowtime.report.page.templates import fill
from shadowtime.report.payers import classes_of
from shadowtime.report.rows import lay_out
from shadowtime.report.verdict import verdict_of
from shadowtime.schedule.runs import started

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shadowtime.report.inputs import ReportInput
    from shadowtime.report.rows import Rows


STYLES = ("base.css", "result.css", "figure.css", "print.css")
SCRIPTS = (
    "format.js",
    "decode.js",
    "model.js",
    "colours.js",
    "ticks.js",
    "view.js",
    "tiles.js",
    "rows.js",
    "paint.js",
    "series.js",
    "overview.js",
    "card.js",
    "scope.js",
    "rescore.js",
    "redraw.js",
    "state.js",
    "download.js",
    "interaction.js",
    "page.js",
    "main.js",
)
"""Concatenated in this order inside one function, so they share names and nothing leaks."""

CONTENTS = {
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
    "inputs": "Inputs",
}
"""What the bar at the top calls the sections that are there."""


def write_html(report: ReportInput, path: str | Path) -> Path:
    """Write the report to a file and return its path.

    The file carries its style, its script and its data; it makes no request and its policy for
    content allows none, nor any script but its own.
    """
    path = Path(path)
    write_result(path, render(report))
    return path


def render(report: ReportInput) -> str:
    """The report as text. The same input gives the same bytes."""
    rows = [lay_out(run.schedule, run.cluster or report.cluster) for run in report.runs]
    runs = tuple(replace(run, classes=classes_of(report, run)) for run in report.runs)
    report = report.replace(runs=runs)
    classes = {run.name: classes_of(report, run) for run in report.runs}
    sections = [
        first_screen(report, who_loses(report, classes)),
        replayed(report),
        effects(report),
        paper(report),
        difference(report),
        schedule_figure(
            report,
            penalties=any(run.schedule.penalised is not None for run in report.runs),
            lead=_lead(report, rows),
        ),
        distributions(report),
        heat_maps(report),
        class_table(report, classes),
        extra_sections(report),
        inputs(report),
    ]
    blocks = [
        json_block("summary", summary(report, rows)),
        _packed("jobs", job_columns(report)),
        *(
            _packed(f"policy-{i}", policy_columns(report, run, rows[i]))
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
) -> str:
    """A page that carries its style, its script and its data, with links to its sections."""
    script = _script(scripts)
    there = "".join(sections)
    return (
        fill(
            "page.html",
            digest=base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode(
                "ascii"
            ),
            title=title,
            style=Markup("\n".join(_asset(name) for name in STYLES)),
            contents=[(n, t) for n, t in CONTENTS.items() if f'<section id="{n}"' in there],
            shareable=shareable,
            sections=[Markup(section) for section in sections],
            versions=", ".join(f"{name} {version}" for name, version in versions.items()),
            blocks=Markup("".join(blocks)),
            script=Markup(script),
        )
        + "\n"
    )


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
    return where + each + absent


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
    winner = verdict_of(report).winner
    return fill(
        "schedule.html",
        names=names,
        second=min(winner or 1, len(names) - 1),
        modes=[(key, label) for key, label in MODES if key != "penalty" or penalties],
        lead=lead,
    )
