"""Static figures as SVG and PDF for papers and slides (needs matplotlib)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from shadowtime.errors import optional
from shadowtime.metrics import Jobs
from shadowtime.report import classes, clock, levels, metadata, verdict
from shadowtime.report.inputs import ReportInput
from shadowtime.report.page.bandwidth import allocated
from shadowtime.report.page.heat import mean_waits, short_span
from shadowtime.report.rows import Rows, lay_out
from shadowtime.schedule.runs import runs
from shadowtime.types import AnyArray, Ints, Reason

PALETTE = (
    "#0072b2",
    "#d55e00",
    "#008a64",
    "#78113f",
    "#4800ad",
    "#b463fa",
    "#7d4b05",
    "#104375",
    "#8a87af",
    "#f03978",
    "#6f49e4",
    "#3b624a",
)
"""The colours of policies, as on the page."""

REASONS = ("#858d96", "#afc0d0", "#e1b942", "#5f9e6e", "#8e4967", "#ffffff")
LOST = "#cc79a7"
DAY = 86_400
POINTS = 600
PIXELS = 1_400


def over_time(figure: Any, report: ReportInput) -> bool:
    """Jobs waiting above, utilisation below, in days from the first submission."""
    start = clock.first_submit(report.workload)
    end = max(int(runs(run.schedule).until.max(initial=start)) for run in report.runs)
    if end <= start:
        return False
    edges = np.linspace(start, end, POINTS + 1)
    days = (edges[:-1] + edges[1:]) / 2 / DAY - start / DAY
    above, below = figure.subplots(2, 1, sharex=True)
    for i, run in enumerate(report.runs):
        colour = PALETTE[i % len(PALETTE)]
        above.plot(
            days, levels.queue(run.schedule).means(edges), color=colour, lw=1, label=run.name
        )
        use = 100 * levels.busy(run.schedule).means(edges) / report.cluster.procs
        below.plot(days, use, color=colour, lw=1)
    above.set_ylabel("jobs waiting")
    below.set_ylabel("utilisation, %")
    below.set_xlabel("days")
    above.set_ylim(bottom=0)
    below.set_ylim(0, max(105.0, below.get_ylim()[1]))
    above.legend(ncols=min(4, len(report.runs)), loc="upper left")
    return True


def bandwidth(figure: Any, report: ReportInput) -> bool:
    """Bandwidth requested by the running jobs, and the total of all nodes (HPerf thesis, 4.1)."""
    lines, days = allocated(report)
    if not lines:
        return False
    axes = figure.subplots()
    for i, (name, values) in enumerate(lines.items()):
        at = (np.arange(len(values)) + 0.5) / len(values) * days * 24
        limit = name == "capacity"
        colour, style = ("#15191e", "--") if limit else (PALETTE[i % len(PALETTE)], "-")
        axes.plot(at, values / 1000, style, color=colour, lw=1, label=name)
    axes.set_xlabel("hours")
    axes.set_ylabel("bandwidth requested, GB/s")
    axes.set_ylim(bottom=0)
    axes.legend(ncols=min(4, len(lines)))
    return True


def cdf(figure: Any, report: ReportInput) -> bool:
    """Share of the jobs that do no worse, for wait and bounded slowdown."""
    if not any(bool(report.shown(run).any()) for run in report.runs):
        return False
    left, right = figure.subplots(1, 2, sharey=True)
    for i, run in enumerate(report.runs):
        jobs = Jobs.of(run.schedule, report.shown(run))
        columns = ((left, np.sort(jobs.wait), 3600.0), (right, np.sort(jobs.bounded()), 1.0))
        for axes, values, unit in columns:
            if len(values):
                low = 1.0 / unit if unit > 1 else 1.0
                at = np.geomspace(low, max(values[-1] / unit, 10 * low), POINTS)
                share = np.searchsorted(values, at * unit, side="right") / len(values)
                axes.plot(at, 100 * share, color=PALETTE[i % len(PALETTE)], lw=1.4, label=run.name)
    for axes, label in ((left, "wait, h"), (right, "bounded slowdown")):
        axes.set_xscale("log")
        axes.set_xlabel(label)
    left.set_ylim(0, 101)
    left.set_ylabel("jobs, %")
    left.legend(loc="lower right")
    return True


def heat(figure: Any, report: ReportInput) -> bool:
    """Mean wait by size and run time, a map per policy on one scale."""
    from matplotlib.colors import LogNorm

    size, sizes = classes.size_classes(report.workload.procs)
    length, lengths = classes.runtime_classes(report.workload.run)
    shape = len(lengths), len(sizes)
    maps = [mean_waits(run, report.shown(run), size, length, shape)[0] for run in report.runs]
    filled = np.concatenate([means[np.isfinite(means)] for means in maps])
    if not len(filled):
        return False
    low = max(10.0, float(filled.min()))
    norm = LogNorm(low, max(2 * low, float(filled.max())))
    figure.set_size_inches(3.4 * len(maps) + 0.6, 3.4)
    for axes, run, means in zip(
        figure.subplots(1, len(maps), squeeze=False)[0], report.runs, maps, strict=True
    ):
        axes.imshow(np.maximum(means, low), cmap="Blues", norm=norm, aspect="auto")
        axes.set_title(run.name, fontsize=9)
        axes.set_xticks(range(len(sizes)), sizes, rotation=45)
        axes.set_yticks(range(len(lengths)), lengths)
        axes.grid(visible=False)
        for (y, x), wait in np.ndenumerate(means):
            if np.isfinite(wait):
                dark = norm(max(wait, low)) > 0.55
                colour = "white" if dark else "black"
                axes.text(
                    x, y, short_span(wait), ha="center", va="center", fontsize=6, color=colour
                )
    return True


def class_bars(figure: Any, report: ReportInput) -> bool:
    """What each class gains or loses: the changes of winner_payers(), against the first policy."""
    found = verdict.winner_payers(report)
    known = [] if found is None else [c for c in found.changes if np.isfinite(c.change)]
    if found is None or not known:
        return False
    figure.set_size_inches(7.2, 0.8 + 0.2 * len(known))
    axes = figure.subplots()
    values = [100 * change.change for change in known]
    places = list(range(len(known)))[::-1]
    colours = [PALETTE[1] if value > 0 else PALETTE[0] for value in values]
    axes.barh(places, values, color=colours, height=0.7)
    units = {"size": " processors"}
    labels = [f"{change.label}{units.get(change.kind, '')}" for change in known]
    axes.set_yticks(places, labels, fontsize=7)
    axes.axvline(0, color="#15191e", lw=0.6)
    axes.set_xlabel(f"mean wait, change in % ({found.policy} against {found.against})")
    return True


Bar = tuple[str, float, float, float]
"""A name, its value, and the ends of its interval, which are equal if there is none."""


def metric_bars(figure: Any, report: ReportInput) -> bool:
    """The metrics of the verdict by policy, with the intervals over the copies."""
    panels: list[tuple[str, list[Bar]]] = []
    for contest in verdict.verdict_of(report).contests:
        metric, bars = contest.info.name, []
        for run in report.runs:
            value, inside = run.point(metric), run.interval(metric)
            if value is not None and np.isfinite(value):
                ends = (inside.low, inside.high) if inside else (value, value)
                bars.append((run.name, float(value), *ends))
        if bars:
            panels.append((metric, bars))
    return bool(panels) and draw_bars(figure, panels, "")


def draw_bars(figure: Any, panels: Sequence[tuple[str, Sequence[Bar]]], title: str) -> bool:
    """A panel for each metric, a bar for each name, a whisker over its interval."""
    longest = max((len(name) for _, bars in panels for name, *_ in bars), default=0)
    across = min(3 if longest <= 18 else 2, len(panels))
    down = -(-len(panels) // across)
    most = max((len(bars) for _, bars in panels), default=0)
    if not most:
        return False
    figure.set_size_inches(7.2, 0.3 + down * (0.75 + 0.17 * most))
    if title:
        figure.suptitle(title, fontsize=9)
    order = list(dict.fromkeys(name for _, bars in panels for name, *_ in bars))
    grid = figure.subplots(down, across, squeeze=False)
    for k, axes in enumerate(grid.flat):
        if k >= len(panels):
            axes.set_axis_off()
            continue
        metric, bars = panels[k]
        info = metadata.describe(metric)
        scale, unit = {"s": (1 / 3600, ", h"), "share": (100.0, ", %")}.get(info.unit, (1.0, ""))
        for row, (name, value, low, high) in enumerate(reversed(bars)):
            colour = PALETTE[order.index(name) if len(order) <= len(PALETTE) else 0]
            axes.barh(row, value * scale, color=colour, height=0.7)
            if low < high:
                axes.plot([low * scale, high * scale], [row, row], color="#15191e", lw=1.1)
                axes.plot(
                    [low * scale, high * scale], [row, row], "|", color="#15191e", ms=5, mew=1.1
                )
        labels = [name for name, *_ in reversed(bars)]
        axes.set_yticks(range(len(bars)), labels if k % across == 0 else [""] * len(bars))
        axes.tick_params(labelsize=7)
        axes.set_xlim(left=0)
        axes.set_ylim(-0.6, len(bars) - 0.4)
        axes.set_title(fill(f"{info.label}{unit}", 26), fontsize=8)
        axes.grid(visible=False, axis="y")
    return True


def gantt(figure: Any, report: ReportInput) -> bool:
    """The rows of the baseline and the winner, coloured by reason; the boxes are one picture."""
    from matplotlib.patches import Patch

    winner = verdict.verdict_of(report).winner
    shown = [report.runs[0]] + ([report.runs[winner]] if winner else [])
    laid = [(run, lay_out(run.schedule, report.cluster)) for run in shown]
    if not any(len(rows.runs) for _, rows in laid):
        return False
    start = clock.first_submit(report.workload)
    end = max(int(rows.runs.end.max(initial=start + 1)) for _, rows in laid)
    figure.set_size_inches(7.2, 0.8 + 2.2 * len(laid))
    panels = figure.subplots(len(laid), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (run, rows) in zip(panels, laid, strict=True):
        kind = np.where(rows.runs.lost == 1, len(REASONS), run.schedule.reason[rows.runs.job])
        most, full = raster(rows, kind, len(REASONS) + 1, start=start, end=end, width=PIXELS)
        axes.imshow(
            _coloured(most.astype(np.int64), full),
            extent=(0, (end - start) / DAY, 0, rows.rows * rows.unit),
            origin="lower",
            aspect="auto",
            interpolation="antialiased",
        )
        axes.set_ylabel("processors")
        axes.set_title(run.name, fontsize=9, loc="left")
        axes.grid(visible=False)
    panels[-1].set_xlabel("days")
    seen = {int(reason) for run, _ in laid for reason in np.unique(run.schedule.reason)}
    seen -= {int(Reason.UNSTARTED)}  # it has no box
    handles = [Patch(color=REASONS[r], label=Reason(r).label) for r in sorted(seen)]
    if any(bool(rows.runs.lost.any()) for _, rows in laid):
        handles.append(Patch(color=LOST, label="lost work"))
    figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), fontsize=8)
    return True


def _coloured(kind: AnyArray, full: AnyArray) -> AnyArray:
    """Pixels as red, green, blue and how full they are."""
    table = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in (*REASONS, LOST)])
    return np.concatenate([table[kind], full[..., None]], axis=2)


def raster(rows: Rows, kind: Ints, kinds: int, *, start: int, end: int, width: int) -> AnyArray:
    """Which kind covers most of a pixel (or -1), and how full it is, as two planes.

    A pixel is a row high and (end - start) / width wide. ``kind`` has an entry per run. A box is
    spread evenly over the columns it touches, which keeps its area.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.report.rows import lay_out
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[5, 10], procs=[1, 1], recorded_start=[0, 0])
    >>> rows = lay_out(Schedule.recorded(w), Cluster.pool(2))
    >>> raster(rows, np.array([0, 1]), 2, start=0, end=10, width=2)[0].tolist()
    [[0.0, -1.0], [1.0, 1.0]]
    """
    per_pixel = max(end - start, 1) / width
    of = rows.owner
    left = (rows.runs.start[of] - start) / per_pixel
    right = (rows.runs.end[of] - start) / per_pixel
    first = np.clip(np.floor(left).astype(np.int64), 0, width - 1)
    last = np.clip(np.ceil(right).astype(np.int64), first + 1, width)
    share = (right - left) / (last - first)
    # corners of every box; two running sums fill them
    sums = np.zeros((kinds, rows.rows + 1, width + 1))
    low, high = rows.row, rows.row + rows.width
    for y, x, sign in ((low, first, 1), (low, last, -1), (high, first, -1), (high, last, 1)):
        np.add.at(sums, (kind[of], y, x), sign * share)
    covered = np.cumsum(np.cumsum(sums, axis=1), axis=2)[:, : rows.rows, :width]
    total = np.clip(covered.sum(axis=0), 0.0, 1.0)
    most = np.where(total > 1e-9, covered.argmax(axis=0), -1)
    return np.stack([most.astype(np.float64), total])


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
"""The same input gives the same bytes: no file contains a date."""


DRAWINGS: dict[str, Callable[..., bool]] = {
    "metrics": metric_bars,
    "over-time": over_time,
    "distributions": cdf,
    "heat": heat,
    "classes": class_bars,
    "gantt": gantt,
    "bandwidth": bandwidth,
}
"""The figures by name; each reports whether it had anything to show."""


def _matplotlib() -> Any:
    return optional("matplotlib", "figure", extra="figures", purpose="draw figures")


def draw(name: str, report: ReportInput) -> Any:
    """One figure by its name in DRAWINGS; None if it has nothing to show."""
    return _drawn(partial(DRAWINGS[name], report=report))


def _drawn(drawing: Callable[[Any], bool]) -> Any:
    matplotlib = _matplotlib()
    with matplotlib.rc_context(STYLE):
        figure = matplotlib.figure.Figure(figsize=(7.2, 4.4), layout="constrained")
        return figure if drawing(figure) else None


def write_figures(
    report: ReportInput, folder: str | Path, *, formats: tuple[str, ...] = FORMATS
) -> list[Path]:
    """Draw every figure that has data and return the files.

    metrics: those of the verdict as bars with intervals over the copies.
    over-time: queue and utilisation. distributions: CDFs of wait and bounded slowdown.
    heat: mean wait by size and run time. classes: what the classes gain. gantt: the rows.
    bandwidth: what running jobs request, and what the nodes have.
    """
    return [
        path
        for name, drawing in DRAWINGS.items()
        for path in save_figure(
            partial(drawing, report=report), Path(folder), name, formats=formats
        )
    ]


def save_figure(
    drawing: Callable[[Any], bool], folder: Path, name: str, *, formats: tuple[str, ...] = FORMATS
) -> list[Path]:
    """Any drawing in the same style; returns the files, none if there is nothing to show."""
    with _matplotlib().rc_context(STYLE):
        folder.mkdir(parents=True, exist_ok=True)
        figure = _drawn(drawing)
        paths = [] if figure is None else [folder / f"{name}.{kind}" for kind in formats]
        for path, kind in zip(paths, formats, strict=False):
            figure.savefig(path, metadata=DATELESS.get(kind), dpi=200)
    return paths
