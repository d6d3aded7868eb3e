"""Lines over the time of a log: a value for each interval, one line per name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shadowtime.report.clock import time_ticks, unix_start
from shadowtime.report.page.chart import Frame, spots, svg
from shadowtime.report.page.markup import text
from shadowtime.types import Floats
from shadowtime.workload import Workload

BINS = 240
RESOURCE_COLOURS = 6
STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Between two ticks, times a power of ten."""


@dataclass(frozen=True, eq=False)
class Line:
    """A name, the class that colours it, and a value for each interval of time (or nan)."""

    name: str
    mark: str
    values: Floats


@dataclass(frozen=True)
class TimeAxis:
    """A span of the log's seconds, with the time at which they begin, if known."""

    begin: float
    end: float
    epoch: int | None

    @staticmethod
    def of(workload: Workload, edges: Floats) -> TimeAxis:
        return TimeAxis(float(edges[0]), float(edges[-1]), unix_start(workload))


def stretches(begin: int, end: int) -> Floats:
    """The edges of equal intervals of time."""
    edges: Floats = np.linspace(begin, max(end, begin + 1), BINS + 1)
    return edges


def resource_mark(place: int) -> str:
    """The class of a resource's line: its own colours, and a dash that differs too.

    Examples
    --------
    >>> resource_mark(0), resource_mark(7)
    ('r0 dash0', 'r1 dash1')
    """
    return f"r{place % RESOURCE_COLOURS} dash{place % RESOURCE_COLOURS}"


def over_time(
    lines: Sequence[Line],
    *,
    title: str,
    name: str,
    caption: str,
    axis: TimeAxis,
    ticks: Sequence[tuple[float, str]],
) -> str:
    """A drawing with a line per name and its legend; a line has no point if a value is missing.

    Values apply to equal intervals of the axis. The first and the last of ``ticks`` are the lower
    and the upper border; values outside are drawn on the border.
    """
    frame = Frame(low=0.0, high=1.0, height=210, left=64)
    low, high = ticks[0][0], ticks[-1][0]
    drawn = "".join(
        f'<polyline class="line {line.mark}" data-name="{text(line.name)}" '
        f'data-values="{_packed(line.values)}" '
        f'points="{_points(frame, (line.values - low) / (high - low))}"/>'
        for line in lines
    )
    legend = "".join(
        f'<li><i class="swatch {line.mark}"></i><span class="name">{text(line.name)}</span></li>'
        for line in lines
    )
    drawing = svg(frame, _grid(frame, ticks, axis) + drawn, title=title, name=name)
    return (
        f'<figure class="{name}" data-begin="{axis.begin!r}" data-end="{axis.end!r}" '
        f'data-top="{high!r}"><figcaption>{text(caption)}</figcaption>{drawing}'
        f'<ul class="legend">{legend}</ul></figure>'
    )


def quarters(top: float) -> tuple[tuple[float, str], ...]:
    """Five ticks from 0 to a round number that is not below ``top``.

    Examples
    --------
    >>> [label for _, label in quarters(730.0)]
    ['0', '200', '400', '600', '800']
    >>> [label for _, label in quarters(0.0)]
    ['0', '0.25', '0.5', '0.75', '1']
    """
    step = quarter(top) if top > 0 else 0.25
    return tuple((step * k, f"{step * k:,.12g}") for k in range(5))


def quarter(top: float) -> float:
    """The smallest round number that is not below a quarter of ``top``: little is left empty.

    Examples
    --------
    >>> quarter(4.7), quarter(5.2), quarter(1000.0)
    (1.5, 1.5, 250.0)
    """
    power = 10.0 ** math.floor(math.log10(top / 4))
    return next(k * power for k in STEPS if k * power >= top / 4 * (1 - 1e-12))


def _packed(values: Floats) -> str:
    """The values for the page's script, empty where there is none."""
    return " ".join("-" if math.isnan(value) else f"{value:.6g}" for value in values.tolist())


def _points(frame: Frame, share: Floats) -> str:
    width = frame.end - frame.left
    return spots(
        (frame.left + (i + 0.5) / len(share) * width, frame.y(min(max(y, 0.0), 1.0)))
        for i, y in enumerate(share.tolist())
        if not math.isnan(y)
    )


def _grid(frame: Frame, ticks: Sequence[tuple[float, str]], axis: TimeAxis) -> str:
    """The ticks upwards, the calendar sideways."""
    low, high = ticks[0][0], ticks[-1][0]
    parts = [frame.upwards(((value - low) / (high - low), label) for value, label in ticks)]
    bottom = frame.height - frame.bottom
    for at, label in time_ticks(axis.begin, axis.end, axis.epoch):
        share = (at - axis.begin) / max(axis.end - axis.begin, 1e-9)
        x = frame.left + share * (frame.end - frame.left)
        side = "end" if x > frame.end - 24 else "middle"
        line = f'<path class="grid" d="M{x:.1f} {frame.top}V{bottom}"/>'
        parts.append(line + frame.below(x, label, side))
    return "".join(parts)
