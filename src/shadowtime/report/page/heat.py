"""Heat maps: mean wait by size and run time, one map per policy on one scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.report.classes import runtime_classes, size_classes
from shadowtime.report.numbers import number, span
from shadowtime.report.page.markup import section, swatch, text
from shadowtime.schedule.runs import started

if TYPE_CHECKING:
    from shadowtime.report.inputs import PolicyRun, ReportInput
    from shadowtime.types import AnyArray

STEPS = 9
FLOOR = 10.0
"""Mean waits below this many seconds share the palest colour at least."""


def heat_maps(report: ReportInput) -> str:
    """The maps of all policies, the darkest cell being the longest mean wait of all."""
    size, sizes = size_classes(report.workload.procs)
    length, lengths = runtime_classes(report.workload.run)
    maps = [mean_waits(run, size, length, len(sizes), len(lengths)) for run in report.runs]
    filled = np.concatenate([means[jobs > 0] for means, jobs in maps])
    if not len(filled):
        return ""
    low, top = max(FLOOR, float(filled.min())), float(filled.max())
    some = np.sum(
        [jobs for _, jobs in maps], axis=0
    )  # classes without any job are left out everywhere
    across, down = np.flatnonzero(some.any(axis=0)), np.flatnonzero(some.any(axis=1))
    sizes, lengths = tuple(sizes[i] for i in across), tuple(lengths[i] for i in down)
    cut = np.ix_(down, across)
    figures = "".join(
        _map(i, run, means[cut], jobs[cut], sizes, lengths, (low, top))
        for i, (run, (means, jobs)) in enumerate(zip(report.runs, maps, strict=True))
    )
    scale = "".join(f'<i class="h{k}"></i>' for k in range(STEPS))
    body = (
        f'<div class="maps">{figures}</div>'
        f'<p class="scale"><span>{span(min(low, top))}</span>{scale}'
        f"<span>{span(top)}</span></p>"
    )
    lead = (
        "Mean wait of the jobs of each size (across) and run time (down), on one logarithmic scale."
    )
    return section("heat", "Wait by size and run time", body, lead=lead)


def mean_waits(
    run: PolicyRun, size: AnyArray, length: AnyArray, sizes: int, lengths: int
) -> tuple[AnyArray, AnyArray]:
    done = started(run.schedule)
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


def _map(
    index: int,
    run: PolicyRun,
    means: AnyArray,
    jobs: AnyArray,
    sizes: tuple[str, ...],
    lengths: tuple[str, ...],
    scale: tuple[float, float],
) -> str:
    head = "".join(f'<th scope="col">{text(label)}</th>' for label in sizes)
    rows = []
    for label, waits, counts in zip(lengths, means.tolist(), jobs.tolist(), strict=True):
        cells = "".join(
            f'<td class="h{step(wait, *scale)}" '
            f'title="{number(count)} jobs, mean wait {span(wait)}">'
            f"{short_span(wait)}</td>"
            if count
            else "<td></td>"
            for wait, count in zip(waits, counts, strict=True)
        )
        rows.append(f'<tr><th scope="row">{text(label)}</th>{cells}</tr>')
    return (
        f'<figure class="map"><figcaption title="{text(run.name)}">{swatch(index)}'
        f'<span class="name">{text(run.name)}</span></figcaption><table><thead><tr><th>processors'
        f"</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></figure>"
    )


def short_span(seconds: float) -> str:
    """A span in one unit that fits a cell.

    Examples
    --------
    >>> short_span(0), short_span(50), short_span(4000), short_span(200000)
    ('0', '50 s', '1.1 h', '2.3 d')
    """
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 0.5 else "0"
