"""Small drawing helpers for charts as inline SVG; colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shadowtime.report.page.markup import text

TIME_TICKS = (
    (1, "1 s"),
    (10, "10 s"),
    (60, "1 min"),
    (600, "10 min"),
    (3_600, "1 h"),
    (36_000, "10 h"),
    (86_400, "1 d"),
    (864_000, "10 d"),
    (8_640_000, "100 d"),
    (86_400_000, "1,000 d"),
)
PLAIN_TICKS = tuple((10**k, f"{10**k:,}") for k in range(9))


@dataclass(frozen=True)
class Frame:
    """A plot area with a logarithmic x axis and a y axis from 0 to 1."""

    low: float
    high: float
    width: int = 560
    height: int = 300
    left: int = 46
    right: int = 14
    top: int = 12
    bottom: int = 34

    def x(self, value: float) -> float:
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.left + share * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        return self.top + (1 - share) * (self.height - self.top - self.bottom)

    @property
    def end(self) -> int:
        """Where the plot ends on the right."""
        return self.width - self.right

    def upwards(self, ticks: Iterable[tuple[float, str]]) -> str:
        """Lines across at shares of the height, with their labels."""
        return "".join(
            f'<path class="grid" d="M{self.left} {y:.1f}H{self.end}"/><text class="value" '
            f'x="{self.left - 8}" y="{y + 4:.1f}" text-anchor="end">{text(label)}</text>'
            for y, label in ((self.y(share), label) for share, label in ticks)
        )

    def below(self, x: float, label: object, side: str = "middle") -> str:
        """A label of the axis sideways."""
        return (
            f'<text class="time" x="{x:.1f}" y="{self.height - self.bottom + 17}" '
            f'text-anchor="{side}">{text(label)}</text>'
        )


def log_frame(low: float, high: float) -> Frame:
    """A frame that holds both ends with a decade at least."""
    return Frame(low, max(high, 10 * low) * 1.05)


def grid(frame: Frame, ticks: Sequence[tuple[int, str]], *, label: str) -> str:
    """Axis lines, ticks and labels: per cent upwards, the ticks that fit sideways."""
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = frame.y(share)
        parts.append(
            f'<path class="grid" d="M{frame.left} {y:.1f}H{frame.width - frame.right}"/>'
            f'<text x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{share * 100:.0f} %'
            "</text>"
        )
    last = -100.0
    for value, name in ticks:
        if not frame.low <= value <= frame.high:
            continue
        x = frame.x(value)
        if x - last < 52:
            continue
        last = x
        parts.append(
            f'<path class="grid" d="M{x:.1f} {frame.top}V{frame.height - frame.bottom}"/>'
            f'<text class="time" x="{x:.1f}" y="{frame.height - frame.bottom + 17}" '
            f'text-anchor="middle">{name}'
            "</text>"
        )
    parts.append(
        f'<text class="axis-label" x="{frame.width - frame.right}" y="{frame.height - 2}" '
        f'text-anchor="end">{text(label)}</text>'
    )
    return "".join(parts)


def svg(frame: Frame, body: str, *, title: str, name: str) -> str:
    """The finished drawing, which scales with its column."""
    return (
        f'<svg class="chart" data-chart="{text(name)}" viewBox="0 0 {frame.width} {frame.height}" '
        f'role="img" aria-label="{text(title)}">{body}</svg>'
    )


def spots(found: Iterable[tuple[float, float]]) -> str:
    """Places as a line of SVG takes them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in found)


def dotted(kind: str, name: object, found: Sequence[tuple[float, float]], size: float) -> str:
    """A line with a dot at each place."""
    dots = (f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size:g}"/>' for x, y in found)
    line = f'<polyline class="line {kind}" data-name="{text(name)}" points="{spots(found)}"/>'
    return "".join([line, *dots])


def robust_top(values: Sequence[float]) -> float:
    """The highest value that does not exceed three times the median: one outlier flattens nothing.

    Values above it are cut and marked.

    Examples
    --------
    >>> robust_top([1.0, 2.0, 2.5, 90.0]), robust_top([1.0, 2.0]), robust_top([])
    (2.5, 2.0, 0.0)
    """
    known = sorted(values)
    if not known:
        return 0.0
    middle = known[(len(known) - 1) // 2]
    return max(value for value in known if value <= 3 * middle) if middle > 0 else known[-1]
