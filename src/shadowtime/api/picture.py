"""A figure that shows itself in a notebook and can be saved."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    import os

    from shadowtime.report import ReportInput


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure; notebooks show it inline."""

    figure: Any
    name: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as SVG, PDF or PNG, by the ending."""
        self.figure.savefig(path, dpi=200)
        return Path(path)

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        self.figure.savefig(text, format="svg")
        return text.getvalue()

    def __repr__(self) -> str:
        return f"Picture({self.name})"


def draw(name: str, result: ReportInput) -> Picture:
    """One of the figures of ``--figures``."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="figures", purpose="draw figures") from error
    from shadowtime.report import figure_axes
    from shadowtime.report.figures import STYLE

    drawings = {
        "over-time": figure_axes.over_time,
        "distributions": figure_axes.cdf,
        "heat": figure_axes.heat,
        "classes": figure_axes.class_bars,
        "gantt": figure_axes.gantt,
        "bandwidth": figure_axes.bandwidth,
    }
    if name not in drawings:
        raise UsageError(f"there is no figure {name!r}: choose one of {', '.join(drawings)}")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        if not drawings[name](figure, result):
            raise UsageError(f"the figure {name} has nothing to show for this run")
    return Picture(figure, name)
