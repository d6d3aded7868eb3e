"""Sections that appear where the data is there: resources, fairness, preemption, bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.report.numbers import DASH, number, percent, span
from shadowtime.report.page.first import scoreboard
from shadowtime.report.page.markup import section, swatch, table, text
from shadowtime.report.page.resources import resources
from shadowtime.report.verdict import contest, metric_names
from shadowtime.schedule.runs import started
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from shadowtime.report.inputs import PolicyRun, ReportInput
    from shadowtime.schedule import Schedule


def extra_sections(report: ReportInput) -> str:
    """The sections that have something to show."""
    several = resources(report, _group(report, "resources"))
    return several + _fairness(report) + _preemption(report) + _bandwidth(report)


def _group(report: ReportInput, group: str) -> str:
    contests = tuple(
        result
        for result in (contest(report.runs, name) for name in metric_names(report.runs))
        if result.info.group == group
    )
    return scoreboard(report, contests) if contests else ""


def _named(index: int, run: PolicyRun) -> str:
    return f'{swatch(index)}<span class="name" title="{text(run.name)}">{text(run.name)}</span>'


def _fairness(report: ReportInput) -> str:
    rows = [
        [_named(i, run), *_promises(run.schedule)]
        for i, run in enumerate(report.runs)
        if run.schedule.promised is not None and bool((run.schedule.promised != UNKNOWN).any())
    ]
    numbers = _group(report, "fairness")
    if not rows and not numbers:
        return ""
    head = [
        "Promises",
        "Jobs held up at the head",
        "Got a promise",
        "Started by then",
        "Later",
        "Mean delay of those",
        "Mean time gained by the others",
    ]
    promises = table([text(h) for h in head], rows, kind="numbers") if rows else ""
    lead = "A promise is the first start a policy announced to a job that it held up."
    return section("fairness", "Fairness", numbers + promises, lead=lead)


def _promises(schedule: Schedule) -> list[str]:
    assert schedule.promised is not None
    blocked = 0 if schedule.blocked_at is None else int((schedule.blocked_at != UNKNOWN).sum())
    given = (schedule.promised != UNKNOWN) & started(schedule)
    slip = (schedule.start - schedule.promised)[given]
    late = slip[slip > 0]
    early = -slip[slip <= 0]
    count = len(slip)
    return [
        number(blocked),
        number(count),
        f"{number(len(early))} ({percent(len(early) / count if count else None)})",
        number(len(late)),
        span(float(late.mean())) if len(late) else DASH,
        span(float(early.mean())) if len(early) else DASH,
    ]


def _preemption(report: ReportInput) -> str:
    rows = []
    for i, run in enumerate(report.runs):
        attempts, schedule = run.schedule.attempts, run.schedule
        if not len(attempts) and not bool((schedule.kills > 0).any()):
            continue
        order = np.argsort(schedule.job_id, kind="stable")
        lost = attempts.killed == 1
        at = order[np.searchsorted(schedule.job_id, attempts.job_id[lost], sorter=order)]
        wasted = float(((attempts.end - attempts.start)[lost] * schedule.procs[at]).sum())
        hit = schedule.kills[schedule.kills > 0]
        done = started(schedule)
        useful = float(((schedule.end - schedule.start) * schedule.procs)[done].sum())
        rows.append(
            [
                _named(i, run),
                number(len(hit)),
                percent(len(hit) / max(1, len(schedule))),
                number(int(hit.sum())),
                number(int(hit.max(initial=0))),
                number(wasted / 3600),
                percent(wasted / (wasted + useful) if wasted + useful else None),
            ]
        )
    numbers = _group(report, "preemption")
    if not rows:
        return ""
    head = [
        "Preemption",
        "Jobs preempted",
        "of all jobs",
        "Preemptions",
        "Most of one job",
        "Lost processor-hours",
        "of all work done",
    ]
    lead = "Work of an attempt that was stopped is lost; the job starts again from the beginning."
    return section(
        "preemption",
        "Preemption",
        table([text(h) for h in head], rows, kind="numbers") + numbers,
        lead=lead,
    )


def _bandwidth(report: ReportInput) -> str:
    numbers = _group(report, "bandwidth")
    strip = (
        '<canvas class="strip" data-series="bandwidth" tabindex="-1"></canvas>'
        if "bandwidth" in report.workload.extra
        else ""
    )
    if not numbers and not strip:
        return ""
    lead = (
        "Bandwidth that the running jobs ask for, MB/s, on the time axis of the schedule above."
        if strip
        else ""
    )
    return section("bandwidth", "Bandwidth", strip + numbers, lead=lead)
