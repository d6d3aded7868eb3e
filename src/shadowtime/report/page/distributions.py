"""Distributions: how many jobs wait less than x, under every policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.report.classes import bounded_slowdown
from shadowtime.report.page.chart import PLAIN_TICKS, TIME_TICKS, Frame, grid, log_frame, svg
from shadowtime.report.page.markup import mark, section, swatch, text
from shadowtime.schedule.runs import started

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.report.inputs import ReportInput
    from shadowtime.types import AnyArray

POINTS = 240


def distributions(report: ReportInput) -> str:
    """The CDFs of wait and bounded slowdown side by side."""
    waits, slowdowns = [], []
    for run in report.runs:
        done = started(run.schedule)
        wait = run.schedule.wait[done]
        waits.append(np.sort(wait))
        slowdowns.append(np.sort(bounded_slowdown(wait, run.schedule.worked[done])))
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
    points = " ".join(
        f"{frame.x(x):.1f},{frame.y(s):.1f}"
        for x, s in zip(at.tolist(), shares.tolist(), strict=True)
    )
    # the shares ride along so that the page can read a value under the pointer
    packed = " ".join(f"{share:.4f}" for share in shares.tolist())
    return (
        f'<polyline class="line {mark(index)}" data-name="{text(name)}" data-values="{packed}" '
        f'points="{points}"/>'
    )
