"""What the running jobs draw over time: bandwidth, in total and by node, and energy.

Energy comes with its cost, its carbon and the deadlines that were missed, and with the series of
the run as curves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.cluster.contention import contention_of
from shadowtime.errors import ClusterError
from shadowtime.metrics.energy import POWER, demand_of, drawn_over_time, watts_of
from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report import clock, places
from shadowtime.report.inputs import ReportInput
from shadowtime.report.levels import Level
from shadowtime.report.page.chart import Frame, svg
from shadowtime.report.page.markup import mark, section, text
from shadowtime.report.page.over_time import (
    BINS,
    Line,
    TimeAxis,
    over_time,
    quarters,
    resource_mark,
    stretches,
)
from shadowtime.types import Floats

if TYPE_CHECKING:
    from shadowtime.workload.series import Series


ACROSS, DOWN = 120, 36
"""The largest number of time intervals and bands of nodes."""
LEVELS = ((0.02, ""), (0.5, "#cfe3f1"), (0.75, "#8fbfdf"), (1.0, "#3f8fc4"), (1e9, "#d55e00"))
"""The share of a node's capacity up to which a colour applies; idle nodes are not drawn."""
LEAD = (
    "The demand of the processes on each band of nodes divided by its capacity, averaged over "
    "intervals of time; pale to dark blue up to the capacity, orange above it, where jobs slow "
    "each other down."
)


def node_demand(report: ReportInput) -> str:
    """The drawings, empty if nodes share nothing or a schedule has no places."""
    if report.cluster.shape != "nodes" or len(report.workload) == 0:
        return ""
    try:
        shared = contention_of(report.cluster)
    except ClusterError:
        return ""
    names = [name for name in (shared.capacity if shared else ()) if name in report.workload.extra]
    if shared is None or not names:
        return ""
    drawings = "".join(
        _drawing(report, run, names[0], shared.capacity[names[0]])
        for run in report.runs
        if run.schedule.place is not None
    )
    return f'<p>{text(LEAD)}</p><div class="pair">{drawings}</div>' if drawings else ""


def _drawing(report: ReportInput, run: PolicyRun, name: str, capacity: int) -> str:
    begin = int(report.workload.submit[0])
    end = max(int(run.schedule.end.max()), begin + 1)
    nodes = [host.name for host in report.cluster.hosts]
    each = np.maximum(np.asarray(report.workload.extra[name], np.int64), 0)
    edges = np.linspace(begin, end, ACROSS + 1)
    share = places.demand_over_time(run.schedule, nodes, each, edges) / capacity
    bands = np.array_split(share, min(DOWN, len(nodes)))
    frame = Frame(low=0.0, high=1.0, height=240)
    body = _cells(frame, np.array([band.mean(axis=0) for band in bands]))
    label = f"{len(nodes):,} nodes down, {(end - begin) / 86_400:,.0f} days across"
    body += (
        f'<text class="axis-label" x="{frame.width - frame.right}" y="{frame.height - 12}" '
        f'text-anchor="end">{text(label)}</text>'
    )
    drawing = svg(frame, body, title=f"{name} demand under {run.name}", name="node-demand")
    return (
        f'<figure class="shares"><figcaption title="{text(run.name)}">{text(run.name)}'
        f"</figcaption>{drawing}</figure>"
    )


def _cells(frame: Frame, share: Floats) -> str:
    """One path per colour: thousands of cells in few bytes."""
    rows, columns = share.shape
    wide = (frame.width - frame.left - frame.right) / columns
    high = (frame.height - frame.top - frame.bottom) / rows
    parts, floor = [], -1.0
    for top, colour in LEVELS:
        cells = np.argwhere((share > floor) & (share <= top)) if colour else ()
        floor = top
        path = "".join(
            f"M{frame.left + x * wide:.1f} {frame.top + y * high:.1f}h{wide:.2f}v{high:.2f}"
            f"h-{wide:.2f}z"
            for y, x in cells
        )
        if path:
            parts.append(f'<path fill="{colour}" d="{path}"/>')
    return "".join(parts)


RESOURCE = "bandwidth"
DAY = 86_400


def bandwidth(report: ReportInput, numbers: str) -> str:
    """A line per policy and one for the capacity of all nodes, the strip, and the numbers."""
    known = RESOURCE in report.workload.extra
    if not numbers and not known:
        return ""
    if not known:
        return section("bandwidth", "Bandwidth", numbers)
    strip = (
        '<canvas class="strip" data-series="bandwidth" role="img" '
        'aria-label="Bandwidth of the running jobs over time, MB/s"></canvas>'
    )
    lead = "Bandwidth demand of the running jobs, MB/s, on the time axis of the schedule above."
    lines, days = allocated(report)
    drawing = ""
    if lines:
        top = max(float(np.nanmax(values)) for values in lines.values())
        begin = int(report.workload.submit[0])
        marks = {run.name: mark(i) for i, run in enumerate(report.runs)}
        drawing = over_time(
            [Line(k, marks.get(k, resource_mark(1)), values) for k, values in lines.items()],
            title="Bandwidth allocated over time",
            name="allocated",
            caption=f"Demand of the running jobs in MB/s, means over {BINS} intervals of time",
            axis=TimeAxis(begin, begin + days * DAY, clock.unix_start(report.workload)),
            ticks=quarters(top),
        )
    body = strip + drawing + node_demand(report) + numbers
    return section("bandwidth", "Bandwidth", body, lead=lead)


def allocated(report: ReportInput) -> tuple[dict[str, Floats], float]:
    """(demand over time by policy, with the capacity if the machine states one; its days)."""
    if len(report.workload) == 0 or RESOURCE not in report.workload.extra:
        return {}, 0.0
    begin = int(report.workload.submit[0])
    last = max(int(run.schedule.end.max(initial=begin)) for run in report.runs)
    edges = stretches(begin, last)
    each = demand_of(report.workload, RESOURCE)
    lines = {
        run.name: Level(*drawn_over_time(run.schedule, each)).means(edges) for run in report.runs
    }
    shared = contention_of(report.cluster) if report.cluster.shape == "nodes" else None
    if shared is not None and RESOURCE in shared.capacity:
        total = shared.capacity[RESOURCE] * len(report.cluster.hosts)
        lines["capacity"] = np.full(BINS, float(total))
    return lines, float(edges[-1] - edges[0]) / DAY


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
