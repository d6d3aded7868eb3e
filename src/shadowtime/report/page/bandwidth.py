"""Bandwidth: what the running jobs ask for together, beside what the nodes have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import contention_of
from shadowtime.metrics.drawn import drawn_over_time
from shadowtime.report.levels import Level
from shadowtime.report.page.markup import section
from shadowtime.report.page.node_demand import node_demand
from shadowtime.report.page.over_time import BINS, DAY, over_time, quarters, stretches

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput
    from shadowtime.types import Floats

RESOURCE = "bandwidth"


def bandwidth(report: ReportInput, numbers: str) -> str:
    """A line per policy and one for the capacity of all nodes, the strip, and the numbers."""
    known = RESOURCE in report.workload.extra
    if not numbers and not known:
        return ""
    if not known:
        return section("bandwidth", "Bandwidth", numbers)
    strip = '<canvas class="strip" data-series="bandwidth" tabindex="-1"></canvas>'
    lead = "Bandwidth that the running jobs ask for, MB/s, on the time axis of the schedule above."
    lines, days = allocated(report)
    drawing = ""
    if lines:
        top = max(float(np.nanmax(values)) for values in lines.values())
        drawing = over_time(
            lines,
            title="Bandwidth allocated over time",
            name="allocated",
            caption=f"MB/s asked for by the running jobs, means over {BINS} stretches of time",
            days=days,
            ticks=quarters(top),
        )
    body = strip + drawing + node_demand(report) + numbers
    return section("bandwidth", "Bandwidth", body, lead=lead)


def allocated(report: ReportInput) -> tuple[dict[str, Floats], float]:
    """(demand over time by policy, with the capacity where the machine says one; its days)."""
    if len(report.workload) == 0 or RESOURCE not in report.workload.extra:
        return {}, 0.0
    begin = int(report.workload.submit[0])
    last = max(int(run.schedule.end.max(initial=begin)) for run in report.runs)
    edges = stretches(begin, last)
    lines = {
        run.name: Level(*drawn_over_time(run.schedule, report.workload, RESOURCE)).means(edges)
        for run in report.runs
    }
    shared = contention_of(report.cluster) if report.cluster.shape == "nodes" else None
    if shared is not None and RESOURCE in shared.capacity:
        total = shared.capacity[RESOURCE] * len(report.cluster.hosts)
        lines["capacity"] = np.full(BINS, float(total))
    return lines, float(edges[-1] - edges[0]) / DAY
