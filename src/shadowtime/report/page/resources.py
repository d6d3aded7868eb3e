"""Several resources: how much of each is in use over time, and how evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics.resources import counted, shares_over_time
from shadowtime.report.levels import Level
from shadowtime.report.page.chart import Frame, svg
from shadowtime.report.page.markup import section, swatch, text

if TYPE_CHECKING:
    from shadowtime.metrics.resources import Shares
    from shadowtime.report.inputs import PolicyRun, ReportInput
    from shadowtime.types import Floats

BINS = 240
DAY = 86_400


def resources(report: ReportInput, numbers: str) -> str:
    """A drawing per policy and the ``numbers`` of the group; nothing where one resource counts."""
    names = counted(report.workload, report.cluster)
    if len(names) < 2 or len(report.workload) == 0:
        return ""
    begin = int(report.workload.submit[0])
    end = max(int(report.workload.submit[-1]), begin + 1)
    edges = np.linspace(begin, end, BINS + 1)
    drawings = "".join(_drawing(report, run, edges) for run in report.runs)
    lead = (
        "Part of each resource in use from the first to the last submission, averaged over "
        f"{BINS} stretches of time. A resource is stranded while the first waiting job finds "
        "enough of it but not of another."
    )
    return section(
        "resources", "Resources", f'<div class="pair">{drawings}</div>{numbers}', lead=lead
    )


def _drawing(report: ReportInput, run: PolicyRun, edges: Floats) -> str:
    shares = shares_over_time(run.schedule, report.workload, report.cluster)
    days = (edges[-1] - edges[0]) / DAY
    frame = Frame(low=0.0, high=1.0, height=200)
    lines = "".join(
        f'<polyline class="line p{k % 8}" points="{_points(frame, shares, k, edges)}"/>'
        for k in range(len(shares.names))
    )
    legend = "".join(
        f'<li>{swatch(k)}<span class="name">{text(name)}</span></li>'
        for k, name in enumerate(shares.names)
    )
    title = f"Resources in use under {run.name}"
    drawing = svg(frame, _grid(frame, days) + lines, title=title, name="resources")
    return (
        f'<figure class="shares"><figcaption title="{text(run.name)}">{text(run.name)}'
        f'</figcaption>{drawing}<ul class="legend">{legend}</ul></figure>'
    )


def _points(frame: Frame, shares: Shares, k: int, edges: Floats) -> str:
    mean = Level(shares.at, shares.share[:, k]).means(edges)
    width = frame.width - frame.left - frame.right
    return " ".join(
        f"{frame.left + (i + 0.5) / len(mean) * width:.1f},{frame.y(min(float(y), 1.0)):.1f}"
        for i, y in enumerate(mean)
    )


def _grid(frame: Frame, days: float) -> str:
    """Quarters upwards, the length of the log sideways."""
    right = frame.width - frame.right
    parts = [
        f'<path class="grid" d="M{frame.left} {frame.y(share):.1f}H{right}"/>'
        f'<text x="{frame.left - 8}" y="{frame.y(share) + 4:.1f}" text-anchor="end">'
        f"{share * 100:.0f} %</text>"
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    said = f"{days:,.0f} days" if days >= 2 else f"{days * 24:,.1f} hours"
    parts.append(
        f'<text class="axis-label" x="{right}" y="{frame.height - 12}" text-anchor="end">'
        f"{said}</text>"
    )
    return "".join(parts)
