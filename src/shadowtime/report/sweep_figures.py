"""Figures of a sweep for papers: metrics by policy as bars with their intervals."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.report.figures import draw_bars, save_figure
from shadowtime.report.metadata import describe, ordered
from shadowtime.report.page.sweep import METRICS, bars_of

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 20
"""Policies in a figure: the best by the first metric."""


def write_sweep_figures(
    table: Any, folder: str | Path, *, metrics: Sequence[str] = ()
) -> list[Path]:
    """A figure ``bars`` for each log on each machine at each load; returns the files."""
    known = [name for name in table.column_names if describe(name).better != "neither"]
    shown = list(metrics) or ordered(known)[:METRICS]
    rows = table.select(["log", "machine", "load"]).to_pylist()
    settings = list({tuple(sorted(row.items())): row for row in rows}.values())
    settings.sort(key=lambda row: (row["log"], row["machine"] or "", row["load"]))
    written: list[Path] = []
    for i, where in enumerate(settings):
        first = [name for name, *_ in bars_of(table, where, shown[0])][:MOST]
        panels = []
        for metric in shown:
            found = {bar[0]: bar for bar in bars_of(table, where, metric)}
            panels.append((metric, [found[name] for name in first if name in found]))
        name = "bars" if len(settings) == 1 else f"bars-{i + 1}"
        title = f"{where['log']} {where['machine'] or ''}".strip()
        load = "" if where["load"] == "as recorded" else f", load {where['load']}"
        drawing = partial(draw_bars, panels=panels, title=title + load)
        written += save_figure(drawing, Path(folder), name)
    return written
