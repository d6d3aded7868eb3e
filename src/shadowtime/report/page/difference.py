"""The difference from the baseline: by size and run time, and over the calendar."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report import inputs, numbers
from shadowtime.report.page import chart, heat, markup, templates
from shadowtime.report.page.over_time import Line, TimeAxis, over_time, quarter, quarters
from shadowtime.types import AnyArray, Floats

STRETCHES = 60
"""Number of time intervals with a mean wait each; fewer if there are few jobs."""
SPAN_STEPS = tuple(
    unit * k
    for unit, ks in (
        (1.0, (0.25, 0.5, 1, 2, 3, 5, 10, 15)),
        (60.0, (0.5, 1, 2, 3, 5, 10, 15, 30)),
        (3_600.0, (1, 2, 3, 4, 6, 12)),
        (86_400.0, (1, 2, 3, 4, 5)),
    )
    for k in ks
)
"""Distances between ticks that are easy to read; longer ones are round numbers of days."""


OUTLIERS = "; a policy far above the others leaves the scale"


def difference(report: inputs.ReportInput) -> str:
    """Which jobs wait longer or shorter than under the baseline, by how much, and when.

    One policy alone has its waits over time.
    """
    maps = heat.difference_maps(report)
    waits = waits_over_time(report)
    if not maps and not waits:
        return ""
    return templates.fill(
        "difference.html",
        baseline=report.baseline.name if len(report.runs) > 1 else "",
        record=report.replay,
        maps=maps,
        waits=Markup(waits),
    )


def waits_over_time(report: inputs.ReportInput) -> str:
    """Mean wait of the jobs submitted in each interval of time, and its difference."""
    jobs = report.workload
    if len(jobs) < 2 or not any(bool(report.shown(run).any()) for run in report.runs):
        return ""
    count = int(min(STRETCHES, max(4, len(jobs) // 10)))
    edges = np.linspace(
        float(jobs.submit[0]), float(max(jobs.submit[-1], jobs.submit[0] + 1)), count + 1
    )
    axis = TimeAxis.of(jobs, edges)
    means = [mean_by_submission(run, report.shown(run), edges) for run in report.runs]
    top = chart.robust_top([float(np.nanmax(values, initial=0.0)) for values in means])
    lines = [
        Line(run.name, markup.mark(i), values)
        for i, (run, values) in enumerate(zip(report.runs, means, strict=True))
    ]
    drawing = over_time(
        lines,
        title="Mean wait over the time of submission",
        name="waits",
        caption="Mean wait of the jobs submitted at that time" + OUTLIERS,
        axis=axis,
        ticks=span_ticks(top),
    )
    if len(lines) == 1:
        return drawing
    gaps = [Line(one.name, one.mark, one.values - means[0]) for one in lines[1:]]
    most = chart.robust_top([float(np.nanmax(np.abs(one.values), initial=0.0)) for one in gaps])
    around = span_ticks(most or 1.0)
    below = [(-at, f"{numbers.MINUS}{label}") for at, label in reversed(around[2::2])]
    above = [(at, f"+{label}") for at, label in around[2::2]]
    return drawing + over_time(
        gaps,
        title=f"Mean wait minus that under {report.baseline.name}, over the time of submission",
        name="gaps",
        caption=f"The same minus that under {report.baseline.name}; below 0 is shorter",
        axis=axis,
        ticks=[*below, (0.0, "0"), *above],
    )


def mean_by_submission(run: PolicyRun, done: AnyArray, edges: Floats) -> Floats:
    """Mean wait of the jobs of ``done`` submitted in each interval, nan if there is none.

    The last interval includes its end.
    """
    place = np.searchsorted(edges, run.schedule.submit[done], side="right") - 1
    place = np.clip(place, 0, len(edges) - 2)
    jobs = np.bincount(place, minlength=len(edges) - 1)
    total = np.bincount(place, weights=run.schedule.wait[done], minlength=len(edges) - 1)
    means: Floats = np.full(len(edges) - 1, np.nan)
    np.divide(total, jobs, out=means, where=jobs > 0)
    return means


def metric_ticks(unit: str, top: float) -> tuple[list[str], float]:
    """The labels of five ticks from 0 for a metric, and the value of the last one."""
    if unit == "s":
        ticks = span_ticks(top)
        return [label for _, label in ticks], ticks[-1][0]
    scale = 100.0 if unit == "share" else 1.0
    ticks = quarters(top * scale)
    return [label for _, label in ticks], ticks[-1][0] / scale


def span_ticks(top: float) -> tuple[tuple[float, str], ...]:
    """Five ticks from 0 to a round number of minutes, hours or days.

    Examples
    --------
    >>> [label for _, label in span_ticks(7 * 3600)]
    ['0', '2 h', '4 h', '6 h', '8 h']
    """
    step = next((size for size in SPAN_STEPS if 4 * size >= top), 0.0)
    if not step:
        step = 86_400.0 * quarter(top / 86_400)
    return tuple((step * k, numbers.span(step * k) if k else "0") for k in range(5))
