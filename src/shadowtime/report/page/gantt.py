"""The frame of the schedule figure; the page's script fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.page.templates import fill
from shadowtime.report.verdict import verdict_of

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput

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
