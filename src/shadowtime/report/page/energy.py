"""Energy, cost, carbon and deadlines, and the series of the run as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics.drawn import drawn_over_time
from shadowtime.metrics.energy import POWER, watts_of
from shadowtime.report.levels import Level
from shadowtime.report.page.markup import mark, section
from shadowtime.report.page.over_time import (
    BINS,
    Line,
    TimeAxis,
    over_time,
    quarters,
    resource_mark,
    stretches,
)

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput
    from shadowtime.types import Floats
    from shadowtime.workload.series import Series


def energy(report: ReportInput, numbers: str) -> str:
    """The section, if the run has a series or a metric of this group."""
    if len(report.workload) == 0 or not (numbers or report.workload.series):
        return ""
    begin = int(report.workload.submit[0])
    end = max([int(report.workload.submit[-1]), *(int(r.schedule.end.max()) for r in report.runs)])
    edges = stretches(begin, end)
    axis = TimeAxis.of(report.workload, edges)
    watts = watts_of(report.workload)
    cap = report.workload.series.get(POWER) if watts is not None else None
    curves = [one for one in report.workload.series.values() if one is not cap]
    drawings = [_curve(one, k, edges, axis) for k, one in enumerate(curves)]
    if watts is not None:
        lines = [
            Line(
                run.name, mark(i), Level(*drawn_over_time(run.schedule, watts)).means(edges) / 1000
            )
            for i, run in enumerate(report.runs)
        ]
        if cap is not None:  # beside what is drawn under it
            allowed = cap.integral(edges[:-1], edges[1:]) / np.diff(edges) / 1000
            lines.append(Line("allowed", resource_mark(len(curves)), allowed))
        top = max(float(line.values.max()) for line in lines)
        drawings.append(
            over_time(
                lines,
                title="Power drawn by the jobs",
                name="power",
                caption="Power drawn by the jobs, kW",
                axis=axis,
                ticks=quarters(top),
            )
        )
    lead = (
        f"Averages over {BINS} intervals of time. A job draws its watts in every run, lost ones "
        "too; cost and carbon count every second at the value of its series."
    )
    body = f'<div class="pair">{"".join(drawings)}</div>{numbers}'
    return section("energy", "Energy and deadlines", body, lead=lead)


def _curve(one: Series, place: int, edges: Floats, axis: TimeAxis) -> str:
    """A series as a line: its mean in each interval."""
    mean = one.integral(edges[:-1], edges[1:]) / np.diff(edges)
    name = f"{one.name}, {one.unit}" if one.unit else one.name
    low = min(0.0, float(mean.min()))
    steps = quarters(float(mean.max()) - low)
    ticks = [(low + value, f"{low + value:,.6g}") for value, _ in steps]
    line = [Line(name, resource_mark(place), mean)]
    return over_time(line, title=name, name="series", caption=name, axis=axis, ticks=ticks)
