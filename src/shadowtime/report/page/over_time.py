"""Lines over the time of a log: what each stretch of it looked like, one line per name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.report.numbers import number
from shadowtime.report.page.chart import Frame, svg
from shadowtime.report.page.markup import swatch, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadowtime.types import Floats

BINS = 240
DAY = 86_400


def stretches(begin: int, end: int) -> Floats:
    """The edges of equal stretches of time."""
    edges: Floats = np.linspace(begin, max(end, begin + 1), BINS + 1)
    return edges


def over_time(
    lines: Mapping[str, Floats],
    *,
    title: str,
    name: str,
    caption: str,
    days: float,
    ticks: Sequence[tuple[float, str]],
) -> str:
    """A drawing with a line per name and its legend; where a value is missing a line has no point.

    Values hold for equal stretches of ``days``. The first and the last of ``ticks`` are the lower
    and the upper border; what lies outside is drawn on the border.
    """
    frame = Frame(low=0.0, high=1.0, height=200, left=64)
    low, high = ticks[0][0], ticks[-1][0]
    shares = [(values - low) / (high - low) for values in lines.values()]
    drawn = "".join(
        f'<polyline class="line p{k % 8}" points="{_points(frame, share)}"/>'
        for k, share in enumerate(shares)
    )
    legend = "".join(
        f'<li title="{text(one)}">{swatch(k)}<span class="name">{text(one)}</span></li>'
        for k, one in enumerate(lines)
    )
    drawing = svg(frame, _grid(frame, ticks, days) + drawn, title=title, name=name)
    return (
        f'<figure class="{name}"><figcaption title="{text(caption)}">{text(caption)}'
        f'</figcaption>{drawing}<ul class="legend">{legend}</ul></figure>'
    )


def quarters(top: float) -> tuple[tuple[float, str], ...]:
    """Five ticks from 0 to a round number that is not below ``top``.

    Examples
    --------
    >>> [label for _, label in quarters(730.0)]
    ['0', '250', '500', '750', '1,000']
    """
    power = 10.0 ** math.floor(math.log10(top)) if top > 0 else 1.0
    high = next(k * power for k in (1, 2, 4, 10) if k * power >= top)
    return tuple((high * k / 4, number(high * k / 4)) for k in range(5))


def _points(frame: Frame, share: Floats) -> str:
    width = frame.width - frame.left - frame.right
    return " ".join(
        f"{frame.left + (i + 0.5) / len(share) * width:.1f},{frame.y(min(max(y, 0.0), 1.0)):.1f}"
        for i, y in enumerate(share.tolist())
        if not math.isnan(y)
    )


def _grid(frame: Frame, ticks: Sequence[tuple[float, str]], days: float) -> str:
    """The ticks upwards, the length of the log sideways."""
    right = frame.width - frame.right
    low, high = ticks[0][0], ticks[-1][0]
    parts = []
    for value, label in ticks:
        y = frame.y((value - low) / (high - low))
        parts.append(
            f'<path class="grid" d="M{frame.left} {y:.1f}H{right}"/>'
            f'<text x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{text(label)}</text>'
        )
    said = f"{days:,.0f} days" if days >= 2 else f"{days * 24:,.1f} hours"
    parts.append(
        f'<text class="axis-label" x="{right}" y="{frame.height - 12}" text-anchor="end">'
        f"{said}</text>"
    )
    return "".join(parts)
