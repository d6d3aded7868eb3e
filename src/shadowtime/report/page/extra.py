"""Sections that appear where the data is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.report.page.bandwidth import bandwidth
from shadowtime.report.page.fairness import fairness
from shadowtime.report.page.first import group_scores
from shadowtime.report.page.predictions import predictions
from shadowtime.report.page.preemption import preemption
from shadowtime.report.page.resources import resources

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput


def extra_sections(report: ReportInput) -> str:
    """Resources, fairness, predictions, preemption, bandwidth: what there is something of."""
    several = resources(report, group_scores(report, "resources"))
    return (
        several
        + fairness(report)
        + predictions(report)
        + preemption(report)
        + bandwidth(report, group_scores(report, "bandwidth"))
    )
