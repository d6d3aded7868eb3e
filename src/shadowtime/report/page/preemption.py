"""Preemption: whom it hit, and the work that was lost, over time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.metrics import lost_work
from shadowtime.report.numbers import number, percent
from shadowtime.report.page.first import group_scores
from shadowtime.report.page.markup import mark, named, section, table, text
from shadowtime.report.page.over_time import Line, TimeAxis, over_time, quarters, stretches
from shadowtime.schedule.runs import lost_parts, started

if TYPE_CHECKING:
    from shadowtime.report.inputs import ReportInput
    from shadowtime.schedule import Schedule
    from shadowtime.types import Floats

HOUR = 3600.0
HEAD = (
    "Preemption",
    "Jobs preempted",
    "of all jobs",
    "Preemptions",
    "Most of one job",
    "Lost processor-hours",
    "of all work done",
)


def preemption(report: ReportInput) -> str:
    """A row per policy that preempts, and what each has lost by every moment; else nothing."""
    rows = [
        [named(i, run.name), *_cells(run.schedule)]
        for i, run in enumerate(report.runs)
        if len(run.schedule.attempts) or bool((run.schedule.kills > 0).any())
    ]
    if not rows:
        return ""
    lead = "Work of an attempt that was stopped is lost; the job starts again from the beginning."
    if any(run.schedule.attempts.kept is not None for run in report.runs):
        lead = "Lost is what a stopped job has to do again, from its beginning or last checkpoint."
    body = table([text(h) for h in HEAD], rows, kind="numbers") + _lost(report)
    return section("preemption", "Preemption", body + group_scores(report, "preemption"), lead=lead)


def _cells(schedule: Schedule) -> list[str]:
    lost = lost_parts(schedule)
    wasted = float(((lost.until - lost.since) * schedule.procs[lost.row]).sum())
    hit = schedule.kills[schedule.kills > 0]
    done = started(schedule)
    useful = float((schedule.worked * schedule.procs)[done].sum())
    return [
        number(len(hit)),
        percent(len(hit) / max(1, len(schedule))),
        number(int(hit.sum())),
        number(int(hit.max(initial=0))),
        number(wasted / HOUR),
        percent(wasted / (wasted + useful) if wasted + useful else None),
    ]


def _lost(report: ReportInput) -> str:
    """Lost work over time: how much in each stretch, and how much by then."""
    begin = int(report.workload.submit[0])
    end = max(int(run.schedule.end.max()) for run in report.runs)
    edges = stretches(begin, end)
    upto = [
        Line(run.name, mark(i), _by(run.schedule, edges))
        for i, run in enumerate(report.runs)
        if len(lost_parts(run.schedule))
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
            ("Processor-hours lost by then", [replace(one, values=one.values[1:]) for one in upto]),
            (
                f"Processor-hours lost in each of {len(edges) - 1} stretches",
                [replace(one, values=np.diff(one.values)) for one in upto],
            ),
        )
    ]
    return f'<div class="pair">{"".join(drawings)}</div>'


def _by(schedule: Schedule, edges: Floats) -> Floats:
    """Processor-hours lost by each edge."""
    moments, area = lost_work(schedule)
    place = np.searchsorted(moments, edges, side="right")
    total: Floats = np.concatenate([[0.0], area / HOUR])[place]
    return total
