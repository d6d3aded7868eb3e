"""Schedules for people: HTML, figures, tables, explanations, and files for other viewers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.later import later

if TYPE_CHECKING:
    from shadowtime.metrics import ClassRow as ClassRow
    from shadowtime.metrics.policy_run import PolicyRun as PolicyRun
    from shadowtime.report.explanation import Explanation as Explanation
    from shadowtime.report.explanation import explain as explain
    from shadowtime.report.exports import write_batsim as write_batsim
    from shadowtime.report.exports import write_perfetto as write_perfetto
    from shadowtime.report.figures import write_figures as write_figures
    from shadowtime.report.inputs import Claim as Claim
    from shadowtime.report.inputs import PaperTable as PaperTable
    from shadowtime.report.inputs import PaperValue as PaperValue
    from shadowtime.report.inputs import ReportInput as ReportInput
    from shadowtime.report.page.html import write_html as write_html
    from shadowtime.report.paraver import write_job_lines as write_job_lines
    from shadowtime.report.paraver import write_paraver as write_paraver
    from shadowtime.report.terminal import comparison_table as comparison_table
    from shadowtime.report.terminal import sparkline as sparkline
else:
    __getattr__, __all__, __dir__ = later(__name__)
