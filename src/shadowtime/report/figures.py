"""Static figures as SVG and PDF for papers and slides (needs matplotlib)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import MissingExtra
from shadowtime.report.figure_axes import bandwidth, cdf, class_bars, gantt, heat, over_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.report.inputs import ReportInput

FORMATS = ("svg", "pdf")
STYLE: Any = {
    "svg.hashsalt": "shadowtime",  # ids inside the file are random without it
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e9ec",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.edgecolor": "#5a6470",
    "legend.frameon": False,
}
DATELESS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "Shadowtime"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "Shadowtime", "Producer": None},
}
"""The same input gives the same bytes: no file says when it was made."""


DRAWINGS: dict[str, Callable[[Any, ReportInput], bool]] = {
    "over-time": over_time,
    "distributions": cdf,
    "heat": heat,
    "classes": class_bars,
    "gantt": gantt,
    "bandwidth": bandwidth,
}
"""The figures by name; each says whether it had anything to show."""


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="figures", purpose="draw figures") from error
    return matplotlib


def draw(name: str, report: ReportInput) -> Any:
    """One figure by its name in DRAWINGS; None where it has nothing to show."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(STYLE):
        figure = matplotlib.figure.Figure(figsize=(7.2, 4.4), layout="constrained")
        return figure if DRAWINGS[name](figure, report) else None


def write_figures(
    report: ReportInput, folder: str | Path, *, formats: tuple[str, ...] = FORMATS
) -> list[Path]:
    """Draw every figure that has data and return the files.

    over-time: queue and utilisation. distributions: CDFs of wait and bounded slowdown.
    heat: mean wait by size and run time. classes: what the classes gain. gantt: the rows.
    bandwidth: what running jobs ask for, beside what the nodes have.
    """
    matplotlib = _matplotlib()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with matplotlib.rc_context(STYLE):
        for name in DRAWINGS:
            figure = draw(name, report)
            if figure is None:
                continue
            for kind in formats:
                path = folder / f"{name}.{kind}"
                figure.savefig(path, metadata=DATELESS.get(kind), dpi=200)
                written.append(path)
    return written
