"""Distributions, and the sections that appear if their data exists.

Those are resources, predictions and preemption; fairness and bandwidth have separate files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shadowtime.metrics import Jobs, lost_work
from shadowtime.metrics.by_class import ClassRow
from shadowtime.metrics.resources import Shares, counted, shares_over_time
from shadowtime.policy.estimate import Actual, Requested
from shadowtime.report import inputs, levels
from shadowtime.report.numbers import number, percent, span
from shadowtime.report.page.bandwidth import bandwidth, energy
from shadowtime.report.page.chart import PLAIN_TICKS, TIME_TICKS, Frame, grid, log_frame, spots, svg
from shadowtime.report.page.fairness import fairness
from shadowtime.report.page.first import group_scores
from shadowtime.report.page.markup import mark, named, section, swatch, table, tabs, text
from shadowtime.report.page.over_time import (
    BINS,
    Line,
    TimeAxis,
    over_time,
    quarters,
    resource_mark,
    stretches,
)
from shadowtime.schedule import Schedule, runs
from shadowtime.study.accuracy import Accuracy, accuracy_report, estimate_of
from shadowtime.types import AnyArray, Floats


def extra_sections(report: inputs.ReportInput) -> str:
    """Resources, fairness, predictions, preemption, bandwidth, energy: those that have data."""
    several = resources(report, group_scores(report, "resources"))
    return (
        several
        + fairness(report)
        + predictions(report)
        + preemption(report)
        + bandwidth(report, group_scores(report, "bandwidth"))
        + energy(report, group_scores(report, "energy"))
    )


ERRORS = (
    "Median error",
    "Mean error",
    "Accuracy",
    "Under-predicted",
    "by (mean)",
    "Over-predicted",
    "by (mean)",
)
TITLES = {"size": "By size, processors", "user": "By user"}
LEAD = (
    "Error: |prediction - run| / run, for every job that started. Accuracy: the smaller of "
    "prediction and run over the larger, 1 if exact. Under-predicted: ran longer than predicted. "
    "Clamped: predictions below a second or beyond the request, which were set to the nearest "
    "possible value."
)


def predictions(report: inputs.ReportInput) -> str:
    """The errors of every policy's estimates, if at least one policy predicts."""
    parts = {i: estimate_of(run.parameters) for i, run in enumerate(report.runs)}
    if all(part is None or isinstance(part, Requested | Actual) for part in parts.values()):
        return ""
    found = {
        i: accuracy_report(report.runs[i].schedule, report.workload, part)
        for i, part in parts.items()
        if part is not None
    }
    rows = [
        [
            named(i, report.runs[i].name),
            text(known.predictor),
            *_measures(known.overall),
            number(report.runs[i].metrics.get("clamped_predictions")),
        ]
        for i, known in found.items()
    ]
    head = ["Predictions", "Predictor", *map(text, ERRORS), "Clamped"]
    panels = [(i, report.runs[i].name, _by_class(known)) for i, known in found.items()]
    body = table(head, rows, kind="numbers") + tabs("predicted", panels)
    return section("predictions", "Predictions", body, lead=LEAD)


def _by_class(known: Accuracy) -> str:
    sizes = _class_table("size", known.by_size)
    users = _class_table("user", known.by_user)
    return f"{sizes}{users}"


def _class_table(kind: str, rows: Sequence[ClassRow]) -> str:
    cells = [[text(row.label), number(row.jobs), *_measures(row.metrics)] for row in rows]
    return table([TITLES[kind], "Jobs", *map(text, ERRORS)], cells, kind="numbers")


def _measures(metrics: Mapping[str, float]) -> list[str]:
    return [
        percent(metrics.get("prediction_error_median")),
        percent(metrics.get("prediction_error_mean")),
        number(metrics.get("prediction_accuracy_mean")),
        percent(metrics.get("prediction_under")),
        span(metrics.get("prediction_under_mean_s")),
        percent(metrics.get("prediction_over")),
        span(metrics.get("prediction_over_mean_s")),
    ]


HOUR = 3600.0
COUNTED = (
    "Preemption",
    "Jobs preempted",
    "of all jobs",
    "Preemptions",
    "Most of one job",
    "Lost processor-hours",
    "of all work done",
)


def preemption(report: inputs.ReportInput) -> str:
    """A row per policy that preempts, and the work each has lost over time; else nothing."""
    rows = [
        [named(i, run.name), *_preempted(run.schedule)]
        for i, run in enumerate(report.runs)
        if len(run.schedule.attempts) or bool((run.schedule.kills > 0).any())
    ]
    if not rows:
        return ""
    lead = "Work of an attempt that was stopped is lost; the job starts again from the beginning."
    if any(run.schedule.attempts.kept is not None for run in report.runs):
        lead = "Lost work must be repeated, from the job's beginning or its last checkpoint."
    body = table([text(h) for h in COUNTED], rows, kind="numbers") + _lost(report)
    return section("preemption", "Preemption", body + group_scores(report, "preemption"), lead=lead)


def _preempted(schedule: Schedule) -> list[str]:
    lost = runs.lost_parts(schedule)
    wasted = float(((lost.until - lost.since) * lost.taken(schedule.procs)).sum())
    hit = schedule.kills[schedule.kills > 0]
    done = runs.started(schedule)
    useful = float((schedule.worked * schedule.procs)[done].sum())
    return [
        number(len(hit)),
        percent(len(hit) / max(1, len(schedule))),
        number(int(hit.sum())),
        number(int(hit.max(initial=0))),
        number(wasted / HOUR),
        percent(wasted / (wasted + useful) if wasted + useful else None),
    ]


def _lost(report: inputs.ReportInput) -> str:
    """Lost work over time: in each interval, and cumulative."""
    begin = int(report.workload.submit[0])
    end = max(int(run.schedule.end.max()) for run in report.runs)
    edges = stretches(begin, end)
    upto = [
        Line(run.name, mark(i), _lost_by(run.schedule, edges))
        for i, run in enumerate(report.runs)
        if len(runs.lost_parts(run.schedule))
    ]
    if not upto:
        return ""
    drawings = [
        over_time(
            lines,
            title=title,
            name="lost",
            caption=title,
            axis=TimeAxis.of(report.workload, edges),
            ticks=quarters(max(float(line.values.max()) for line in lines)),
        )
        for title, lines in (
            ("Processor-hours lost so far", [replace(one, values=one.values[1:]) for one in upto]),
            (
                f"Processor-hours lost in each of {len(edges) - 1} intervals",
                [replace(one, values=np.diff(one.values)) for one in upto],
            ),
        )
    ]
    return f'<div class="pair">{"".join(drawings)}</div>'


def _lost_by(schedule: Schedule, edges: Floats) -> Floats:
    """Processor-hours lost by each edge."""
    moments, area = lost_work(schedule)
    place = np.searchsorted(moments, edges, side="right")
    total: Floats = np.concatenate([[0.0], area / HOUR])[place]
    return total


PER_CENT = tuple((k / 4, f"{25 * k} %") for k in range(5))


def resources(report: inputs.ReportInput, numbers: str) -> str:
    """A drawing per policy, their imbalance in one, and the ``numbers`` of the group.

    Nothing where one resource counts.
    """
    names = counted(report.workload, report.cluster)
    if len(names) < 2 or len(report.workload) == 0:
        return ""
    edges = stretches(int(report.workload.submit[0]), int(report.workload.submit[-1]))
    axis = TimeAxis.of(report.workload, edges)
    shares = {
        run.name: shares_over_time(run.schedule, report.workload, report.cluster)
        for run in report.runs
    }
    drawings = "".join(
        over_time(
            [
                Line(one, resource_mark(k), levels.Level(found.at, found.share[:, k]).means(edges))
                for k, one in enumerate(names)
            ],
            title=f"Resources in use under {name}",
            name="shares",
            caption=name,
            axis=axis,
            ticks=PER_CENT,
        )
        for name, found in shares.items()
    )
    uneven = over_time(
        [
            Line(name, mark(i), _imbalance(found, edges))
            for i, (name, found) in enumerate(shares.items())
        ],
        title="Imbalance over time",
        name="imbalance",
        caption="Imbalance: the fullest resource over the average of all",
        axis=axis,
        ticks=tuple((at, number(at)) for at in (1 + (len(names) - 1) * k / 4 for k in range(5))),
    )
    lead = (
        "Part of each resource in use from the first to the last submission, averaged over "
        f"{BINS} intervals of time. A resource is stranded while the first waiting job finds "
        "enough of it but not of another. Imbalance is 1 if all resources are used alike, and "
        f"{len(names)} if only one is used."
    )
    body = f'<div class="pair">{drawings}{uneven}</div>{numbers}'
    return section("resources", "Resources", body, lead=lead)


def _imbalance(shares: Shares, edges: Floats) -> Floats:
    """Its mean in each interval while anything is in use, nan if nothing is."""
    value = shares.imbalance
    used = ~np.isnan(value)
    total = levels.Level(shares.at, np.where(used, value, 0.0)).means(edges)
    part = levels.Level(shares.at, used.astype(np.float64)).means(edges)
    mean: Floats = np.divide(total, part, out=np.full(len(part), np.nan), where=part > 1e-9)
    return mean


POINTS = 240


def distributions(report: inputs.ReportInput) -> str:
    """The CDFs of wait and bounded slowdown side by side."""
    waits, slowdowns = [], []
    for run in report.runs:
        jobs = Jobs.of(run.schedule, report.shown(run))
        waits.append(np.sort(jobs.wait))
        slowdowns.append(np.sort(jobs.bounded()))
    if not any(len(values) for values in waits):
        return section(
            "distributions", "Distributions", '<p class="empty">No job has finished.</p>'
        )
    names = [run.name for run in report.runs]
    body = (
        f'<div class="pair">{_cdf("wait", "Wait", waits, names, 1.0)}'
        f"{_cdf('bsld', 'Bounded slowdown', slowdowns, names, 1.0)}</div>"
    )
    lead = (
        "Share of the jobs that do no worse than the value below. Higher is better; "
        "the scale is logarithmic."
    )
    return section("distributions", "Distributions", body, lead=lead)


def _cdf(
    name: str, title: str, columns: Sequence[AnyArray], names: Sequence[str], low: float
) -> str:
    high = max(float(values[-1]) for values in columns if len(values))
    frame = log_frame(low, high)
    at = np.geomspace(frame.low, frame.high, POINTS)
    lines = [
        _line(frame, at, values, i, names[i]) for i, values in enumerate(columns) if len(values)
    ]
    ticks, label = (TIME_TICKS, "wait") if name == "wait" else (PLAIN_TICKS, "bounded slowdown")
    legend = "".join(
        f'<li title="{text(n)}">{swatch(i)}<span class="name">{text(n)}</span></li>'
        for i, n in enumerate(names)
    )
    drawing = svg(
        frame, grid(frame, ticks, label=label) + "".join(lines), title=f"CDF of {title}", name=name
    )
    return (
        f'<figure class="cdf" data-cdf="{name}" data-low="{frame.low!r}" '
        f'data-high="{frame.high!r}">'
        f"<figcaption>{title}</figcaption>{drawing}"
        f'<ul class="legend">{legend}</ul></figure>'
    )


def _line(frame: Frame, at: AnyArray, values: AnyArray, index: int, name: str) -> str:
    shares = np.searchsorted(values, at, side="right") / len(values)
    pairs = zip(at.tolist(), shares.tolist(), strict=True)
    points = spots((frame.x(x), frame.y(share)) for x, share in pairs)
    # the shares are included so that the page can read a value under the pointer
    packed = " ".join(f"{share:.4f}" for share in shares.tolist())
    return (
        f'<polyline class="line {mark(index)}" data-name="{text(name)}" data-values="{packed}" '
        f'points="{points}"/>'
    )
