"""Schedules for people: HTML, figures, tables, explanations, and files for other viewers."""

from shadowtime.report.inputs import (
    Claim,
    ClassRow,
    PaperTable,
    PaperValue,
    PolicyRun,
    ReportInput,
)

__all__ = ["Claim", "ClassRow", "PaperTable", "PaperValue", "PolicyRun", "ReportInput"]
