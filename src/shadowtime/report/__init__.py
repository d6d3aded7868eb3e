"""Schedules for people: HTML, figures, tables, explanations, and files for other viewers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shadowtime.metrics import ClassRow
    from shadowtime.metrics.policy_run import PolicyRun
    from shadowtime.report.explanation import Explanation, explain
    from shadowtime.report.exports import write_batsim, write_perfetto
    from shadowtime.report.figures import write_figures
    from shadowtime.report.inputs import Claim, PaperTable, PaperValue, ReportInput
    from shadowtime.report.page.html import write_html
    from shadowtime.report.paraver import write_job_lines, write_paraver
    from shadowtime.report.terminal import comparison_table, sparkline

_LATER = {
    "ClassRow": "shadowtime.metrics",
    "PolicyRun": "shadowtime.metrics.policy_run",
    "Claim": "shadowtime.report.inputs",
    "PaperTable": "shadowtime.report.inputs",
    "PaperValue": "shadowtime.report.inputs",
    "ReportInput": "shadowtime.report.inputs",
    "write_html": "shadowtime.report.page.html",
    "write_figures": "shadowtime.report.figures",
    "write_job_lines": "shadowtime.report.paraver",
    "write_paraver": "shadowtime.report.paraver",
    "write_perfetto": "shadowtime.report.exports",
    "write_batsim": "shadowtime.report.exports",
    "Explanation": "shadowtime.report.explanation",
    "explain": "shadowtime.report.explanation",
    "comparison_table": "shadowtime.report.terminal",
    "sparkline": "shadowtime.report.terminal",
}
"""Loaded on first use: a table in the terminal does not need the page, nor vice versa."""

__all__ = [
    "Claim",
    "ClassRow",
    "Explanation",
    "PaperTable",
    "PaperValue",
    "PolicyRun",
    "ReportInput",
    "comparison_table",
    "explain",
    "sparkline",
    "write_batsim",
    "write_figures",
    "write_html",
    "write_job_lines",
    "write_paraver",
    "write_perfetto",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
