"""The report as one HTML file that needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.private import write_result
from shadowtime.report.numbers import number
from shadowtime.report.page.classes_table import class_table
from shadowtime.report.page.data import job_columns, policy_columns, summary
from shadowtime.report.page.distributions import distributions
from shadowtime.report.page.extra import extra_sections
from shadowtime.report.page.first import first_screen
from shadowtime.report.page.gantt import schedule_figure
from shadowtime.report.page.heat import heat_maps
from shadowtime.report.page.losers import who_loses
from shadowtime.report.page.markup import json_block, text
from shadowtime.report.page.paper import paper
from shadowtime.report.page.provenance import inputs
from shadowtime.report.payers import classes_of
from shadowtime.report.rows import lay_out
from shadowtime.schedule.runs import started

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput
    from shadowtime.report.rows import Rows

STYLES = ("base.css", "result.css", "figure.css", "print.css")
SCRIPTS = (
    "format.js",
    "inflate.js",
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
    "hands.js",
    "page.js",
    "main.js",
)
"""Concatenated in this order inside one function, so they share names and nothing leaks."""


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
    rows = [lay_out(run.schedule, report.cluster) for run in report.runs]
    runs = tuple(replace(run, classes=classes_of(report, run)) for run in report.runs)
    report = report.replace(runs=runs)
    classes = {run.name: classes_of(report, run) for run in report.runs}
    sections = [
        first_screen(report, who_loses(report, classes)),
        paper(report),
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
    script = _script()
    blocks = [
        json_block("summary", summary(report, rows)),
        _packed("jobs", job_columns(report)),
        *(
            _packed(f"policy-{i}", policy_columns(report, run, rows[i]))
            for i, run in enumerate(report.runs)
        ),
    ]
    return "".join(
        [
            _head(report, script),
            _bar(report, sections),
            f"<main>{''.join(sections)}</main>",
            f"<footer>{text(_footer(report))}</footer>",
            *blocks,
            f"<script>{script}</script></body></html>\n",
        ]
    )


def _lead(report: ReportInput, rows: list[Rows]) -> str:
    real = all(r.real for r in rows)
    where = (
        "Rows are the hosts that the jobs ran on."
        if real
        else "Rows were found after the run, so that no two jobs overlap; a job may be split."
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


def _script() -> str:
    body = "\n".join(_asset(name) for name in SCRIPTS)
    return f"(() => {{\n'use strict';\n{body}\n}})();"


def _head(report: ReportInput, script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    style = "\n".join(_asset(name) for name in STYLES)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{text(report.title)}</title><style>{style}</style></head><body>"
    )


def _bar(report: ReportInput, sections: list[str]) -> str:
    """The bar at the top: the sections that are there, and the switch between light and dark."""
    titles = {
        "result": "Result",
        "paper": "Paper",
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
    there = "".join(sections)
    links = "".join(
        f'<a href="#{name}">{title}</a>'
        for name, title in titles.items()
        if f'<section id="{name}">' in there
    )
    return (
        f'<header class="top"><b class="brand">Shadowtime</b><nav>{links}</nav>'
        '<button type="button" id="theme" aria-label="switch between light and dark">◐</button>'
        "</header>"
    )


def _footer(report: ReportInput) -> str:
    made = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return f"Made by Shadowtime{f' ({made})' if made else ''}. This file works without a network."
