"""A figure drawn as SVG: its panels side by side, one legend, no other program needed.

Colours are Okabe and Ito's, which colour-blind readers can distinguish; lines differ by their
marks too. The same figure gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.study.papers.values import Panel, PaperFigure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#a89a00", "#4d5560")
INK, GREY, RULE = "#15191e", "#5a6470", "#e1e5e9"
WIDTH, HEIGHT = 330, 250
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 30, 46
COLUMNS = 3
FONT = 11
LETTER = 0.65
"""About how wide a letter is, in sizes of the font."""
MOST_TICKS = 14
"""The most numbers that fit below a line."""
HEAD, LEGEND = 30, 18
"""Heights of the title and of a line of the legend."""


def svg(figure: PaperFigure) -> str:
    """The whole figure as one SVG document.

    Examples
    --------
    >>> from shadowtime.study.papers.values import Panel, PaperFigure, Series
    >>> panel = Panel(title="A", kind="line", x_label="x", y_label="y", x=(0.0, 2.0),
    ...     series=(Series(name="ours", y=(3.0, 4.0)),))
    >>> text = svg(PaperFigure(name="Figure 1", title="Two points", panels=(panel,)))
    >>> text.startswith("<svg"), text.count("<circle")
    (True, 2)
    """
    count = len(figure.panels)
    columns = min(COLUMNS if count % 2 or count <= COLUMNS else 2, max(count, 1))
    names = [one.name for one in figure.panels[0].series] if count else []
    rows = math.ceil(count / columns)
    legend = list(_legend(names, columns * WIDTH))
    down = HEAD + LEGEND * (1 + max((line for line, _ in legend), default=0))
    width, height = columns * WIDTH, down + rows * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="11" fill="{INK}">',
        f"<title>{escape(f'{figure.name}: {figure.title}')}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="14" y="20" font-size="14" font-weight="600">{escape(figure.name)}. '
        f"{escape(figure.title)}</text>",
        *(part for _, part in legend),
    ]
    for k, panel in enumerate(figure.panels):
        x, y = (k % columns) * WIDTH, down + (k // columns) * HEIGHT
        parts.append(f'<g transform="translate({x} {y})">{"".join(_panel(panel))}</g>')
    return "".join([*parts, "</svg>\n"])


def _legend(names: list[str], width: int) -> Iterator[tuple[int, str]]:
    """The names in their colours, as many to a line as fit."""
    x, line = 14.0, 0
    for k, name in enumerate(names):
        need = 26 + 6.2 * len(name)
        if x + need > width and x > 14:
            x, line = 14.0, line + 1
        y = HEAD + LEGEND * line + 4
        yield (
            line,
            f'<rect x="{x:.0f}" y="{y}" width="10" height="10" rx="2" fill="{_colour(k)}"/>'
            f'<text x="{x + 15:.0f}" y="{y + 9}">{escape(name)}</text>',
        )
        x += need


def _colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def _panel(panel: Panel) -> Iterator[str]:
    known = [
        y + (error or 0.0)
        for one in panel.series
        for y, error in zip(one.y, one.error or [0.0] * len(one.y), strict=True)
        if y is not None
    ]
    top = max(known, default=1.0) or 1.0
    ticks = nice_ticks(top)
    high = max(top * 1.05, ticks[-1])

    def at(value: float) -> float:
        return TOP + (1 - value / high) * (HEIGHT - TOP - BOTTOM)

    room = WIDTH - LEFT - RIGHT
    size = min(FONT, room / (LETTER * max(len(panel.title), 1)))
    yield (
        f'<text x="{LEFT}" y="18" font-weight="600" font-size="{size:.3g}">'
        f"{escape(panel.title)}</text>"
    )
    for tick in ticks:
        y = at(tick)
        yield (
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{RULE}"/>'
            f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" fill="{GREY}">{tick:g}</text>'
        )
    yield (
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end" fill="{GREY}">'
        f"{escape(panel.x_label)}</text>"
        f"{_unit(panel, room)}"
    )
    yield from (_lines(panel, at) if panel.kind == "line" else _bars(panel, at))


def _unit(panel: Panel, room: float) -> str:
    """What the ticks count: beside the title, below the panel where the title is long."""
    text = escape(panel.y_label)
    if FONT * LETTER * (len(panel.title) + len(panel.y_label) + 2) <= room:
        return f'<text x="{WIDTH - RIGHT}" y="18" text-anchor="end" fill="{GREY}">{text}</text>'
    return f'<text x="{LEFT}" y="{HEIGHT - 8}" fill="{GREY}">{text}</text>'


def nice_ticks(top: float) -> list[float]:
    """Round values from 0 to about ``top``, four or five of them.

    Examples
    --------
    >>> nice_ticks(38.0), nice_ticks(0.9)
    ([0.0, 10.0, 20.0, 30.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    rough = top / 4.5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.99)
    return [float(f"{k * step:.6g}") for k in range(int(top / step) + 1)]


def _lines(panel: Panel, at: Callable[[float], float]) -> Iterator[str]:
    numbers = [float(x) for x in panel.x]
    low, high = min(numbers), max(max(numbers), min(numbers) + 1e-9)

    def across(x: float) -> float:
        return LEFT + 8 + (x - low) / (high - low) * (WIDTH - LEFT - RIGHT - 16)

    for x in numbers[:: -(-len(numbers) // MOST_TICKS)]:
        yield (
            f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" '
            f'fill="{GREY}" font-size="10">{x:g}</text>'
        )
    for k, one in enumerate(panel.series):
        points = [(across(x), at(y)) for x, y in zip(numbers, one.y, strict=True) if y is not None]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        if path:
            yield f'<path d="M{path}" fill="none" stroke="{_colour(k)}" stroke-width="1.8"/>'
        size = 2.2 + 0.5 * (k % 3)
        for x, y in points:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{_colour(k)}"/>'
        for x, middle, error in zip(numbers, one.y, one.error, strict=False):
            if middle is not None and error:
                yield (
                    f'<path d="M{across(x):.1f} {at(middle - error):.1f}V{at(middle + error):.1f}" '
                    f'stroke="{_colour(k)}"/>'
                )


def _bars(panel: Panel, at: Callable[[float], float]) -> Iterator[str]:
    groups, series = len(panel.x), len(panel.series)
    room = (WIDTH - LEFT - RIGHT) / max(groups, 1)
    thick = 0.8 * room / max(series, 1)
    longest = max((len(str(name)) for name in panel.x), default=1)
    size = min(10.0, 0.96 * room / (LETTER * longest))
    for g, name in enumerate(panel.x):
        middle = LEFT + (g + 0.5) * room
        yield (
            f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" '
            f'fill="{GREY}" font-size="{size:.3g}">{escape(str(name))}</text>'
        )
        there = [(k, y) for k, one in enumerate(panel.series) if (y := one.y[g]) is not None]
        for place, (k, y) in enumerate(there):
            x = middle + (place - len(there) / 2) * thick
            yield (
                f'<rect x="{x:.1f}" y="{at(y):.1f}" width="{thick * 0.92:.1f}" '
                f'height="{at(0.0) - at(y):.1f}" fill="{_colour(k)}"><title>'
                f"{escape(f'{name}, {panel.series[k].name}: {y:.4g}')}</title></rect>"
            )
            error = panel.series[k].error[g] if panel.series[k].error else None
            if error:
                low, high = at(max(y - error, 0.0)), at(y + error)
                yield f'<path d="M{x + thick * 0.46:.1f} {low:.1f}V{high:.1f}" stroke="{INK}"/>'
