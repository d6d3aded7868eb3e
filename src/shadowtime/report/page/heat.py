"""Heat maps by size and run time: the mean wait of each policy, and its difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report.classes import runtime_classes, size_classes
from shadowtime.report.inputs import ReportInput
from shadowtime.report.numbers import MINUS, number, span
from shadowtime.report.page import chart, templates
from shadowtime.types import AnyArray

STEPS = 9
FLOOR = 10.0
"""Mean waits below this many seconds have the palest colour."""
STRONG = 4
"""Steps of colour on each side of no difference."""
EVEN = 60.0
"""Differences below this many seconds have no colour: they are too small to notice. On a map whose
largest is small the bound is lower, so that its legend means something."""


@dataclass(frozen=True, eq=False)
class Maps:
    """Mean wait and jobs of every cell (run time down, size across) under each policy."""

    sizes: tuple[str, ...]
    lengths: tuple[str, ...]
    waits: tuple[AnyArray, ...]
    jobs: tuple[AnyArray, ...]

    @staticmethod
    def of(report: ReportInput) -> Maps | None:
        """Classes without any job are omitted; None if no job has started."""
        size, sizes = size_classes(report.workload.procs)
        length, lengths = runtime_classes(report.workload.run)
        shape = len(lengths), len(sizes)
        maps = [mean_waits(run, report.shown(run), size, length, shape) for run in report.runs]
        some = np.sum([jobs for _, jobs in maps], axis=0)
        if not some.any():
            return None
        across, down = np.flatnonzero(some.any(axis=0)), np.flatnonzero(some.any(axis=1))
        cut = np.ix_(down, across)
        return Maps(
            sizes=tuple(sizes[i] for i in across),
            lengths=tuple(lengths[i] for i in down),
            waits=tuple(means[cut] for means, _ in maps),
            jobs=tuple(jobs[cut] for _, jobs in maps),
        )


def heat_maps(report: ReportInput) -> str:
    """The maps of all policies, the darkest cell being the longest mean wait of all."""
    maps = Maps.of(report)
    if maps is None:
        return ""
    filled = np.concatenate([w[n > 0] for w, n in zip(maps.waits, maps.jobs, strict=True)])
    low, top = max(FLOOR, float(filled.min())), float(filled.max())

    def shown(run: int, row: int, column: int) -> dict[str, str] | None:
        wait, count = float(maps.waits[run][row, column]), int(maps.jobs[run][row, column])
        if not count:
            return None
        title = f"{number(count)} jobs, mean wait {span(wait)}"
        return {"kind": f"h{step(wait, low, top)}", "shown": short_span(wait), "title": title}

    return templates.fill(
        "heat.html",
        figures=_figures(report, maps, range(len(report.runs)), shown),
        sizes=maps.sizes,
        low=span(min(low, top)),
        high=span(top),
        bounds=(low, top),
        steps=[f"h{k}" for k in range(STEPS)],
    )


def difference_maps(report: ReportInput) -> str:
    """Each other policy's mean waits minus the baseline's, on one scale around zero."""
    maps = Maps.of(report)
    if maps is None or len(report.runs) < 2:
        return ""
    base = maps.waits[0]
    gaps = [waits - base for waits in maps.waits]
    top = chart.robust_top([float(np.nanmax(np.abs(g), initial=0.0)) for g in gaps[1:]])

    def shown(run: int, row: int, column: int) -> dict[str, str] | None:
        gap = float(gaps[run][row, column])
        if math.isnan(gap):
            return None
        now, before = float(maps.waits[run][row, column]), float(base[row, column])
        title = (
            f"{number(int(maps.jobs[run][row, column]))} jobs, mean wait {span(before)} "
            f"to {span(now)}"
        )
        return {"kind": change_step(gap, top), "shown": signed_span(gap), "title": title}

    return templates.fill(
        "difference_maps.html",
        baseline=report.baseline.name,
        figures=_figures(report, maps, range(1, len(report.runs)), shown),
        sizes=maps.sizes,
        top=span(top),
        bound=top,
        steps=[f"gain-{k}" for k in range(STRONG, 0, -1)]
        + ["even"]
        + [f"loss-{k}" for k in range(1, STRONG + 1)],
    )


def _figures(report: ReportInput, maps: Maps, runs: range, shown: Any) -> list[dict[str, Any]]:
    return [
        {
            "index": i,
            "name": report.runs[i].name,
            "rows": [
                (label, [shown(i, row, column) for column in range(len(maps.sizes))])
                for row, label in enumerate(maps.lengths)
            ],
        }
        for i in runs
    ]


def mean_waits(
    run: PolicyRun, done: AnyArray, size: AnyArray, length: AnyArray, shape: tuple[int, int]
) -> tuple[AnyArray, AnyArray]:
    """Mean wait (nan if there is none) and jobs of each cell, of the jobs that ``done`` selects."""
    lengths, sizes = shape
    where = length[done] * sizes + size[done]
    jobs = np.bincount(where, minlength=sizes * lengths).reshape(lengths, sizes)
    total = np.bincount(where, weights=run.schedule.wait[done], minlength=sizes * lengths)
    means = np.full(jobs.shape, np.nan)
    np.divide(total.reshape(jobs.shape), jobs, out=means, where=jobs > 0)
    return means, jobs


def step(value: float, low: float, top: float) -> int:
    """The colour of a mean wait.

    Examples
    --------
    >>> step(0, 10, 1e5), step(1e5, 10, 1e5), 0 < step(1000, 10, 1e5) < STEPS - 1
    (0, 8, True)
    """
    if value <= low or top <= low:
        return 0
    return min(STEPS - 1, int(STEPS * math.log(value / low) / math.log(top / low)))


def change_step(gap: float, top: float) -> str:
    """The colour of a difference between mean waits: gains and losses in four steps each.

    Steps follow the square root of the difference over the largest one, so that an hour shows
    beside a week.

    Examples
    --------
    >>> change_step(-1e5, 1e5), change_step(30, 1e5), change_step(3600, 1e5), change_step(-30, 40)
    ('gain-4', 'even', 'loss-1', 'gain-4')
    """
    size = abs(gap)
    if size == 0 or size < min(EVEN, top / (2 * STRONG)):
        return "even"
    share = math.sqrt(size / top) if top else 1.0
    return f"{'gain' if gap < 0 else 'loss'}-{min(STRONG, 1 + int(STRONG * share))}"


def short_span(seconds: float) -> str:
    """A span in one unit that fits a cell.

    Examples
    --------
    >>> short_span(0), short_span(50), short_span(400), short_span(4000), short_span(200000)
    ('0', '50 s', '7 min', '1.1 h', '2.3 d')
    """
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 and size > 60 else f"{value:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 0.5 else "0"


def signed_span(seconds: float) -> str:
    """A difference in one unit, with its sign.

    Examples
    --------
    >>> signed_span(4000), signed_span(-30).replace(MINUS, "-"), signed_span(0.2)
    ('+1.1 h', '-30 s', '0')
    """
    shown = short_span(abs(seconds))
    return shown if shown == "0" else f"{'+' if seconds > 0 else MINUS}{shown}"
