"""Tables for the terminal: the winner of each metric marked, the queue as a line of blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from shadowtime.report.levels import queue
from shadowtime.report.numbers import DASH, cell, percent
from shadowtime.report.verdict import contest, judge, metric_names, runner_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shadowtime.metrics.policy_run import PolicyRun
    from shadowtime.report.verdict import Contest

BLOCKS = "▁▂▃▄▅▆▇█"
LINE = 12
"""Characters of a sparkline."""


def sparkline(values: Iterable[float], *, top: float | None = None) -> str:
    """Values as blocks from nothing to the highest; a gap where there is no value.

    Examples
    --------
    >>> sparkline([0, 1, 2, 4]), sparkline([0, 0]), sparkline([1, 2], top=4)
    ('▁▃▅█', '▁▁', '▃▅')
    """
    column = list(values)
    known = [value for value in column if math.isfinite(value)]
    high = max(known, default=0.0) if top is None else top
    last = len(BLOCKS) - 1
    return "".join(
        " "
        if not math.isfinite(value)
        else BLOCKS[min(last, max(0, round(last * value / high))) if high > 0 else 0]
        for value in column
    )


def comparison_table(
    runs: Sequence[PolicyRun], metrics: Sequence[str] | None = None, *, title: str = ""
) -> Table:
    """Metrics down, policies across; a star marks the best, the last column what it gains.

    By default ``metrics`` are those of the report's first screen. The last row draws the length
    of the queue over the run, all policies on one scale.
    """
    names = list(metrics) if metrics is not None else [c.info.name for c in judge(runs).contests]
    table = Table(title=title or None, title_justify="left", header_style="bold", pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for run in runs:
        table.add_column(escape(run.name), justify="right", max_width=28, min_width=LINE)
    if len(runs) > 1:
        table.add_column("best vs runner-up", justify="right")
    for name in names or metric_names(runs):
        result = contest(runs, name)
        values = [_value(result, i) for i in range(len(runs))]
        table.add_row(result.info.heading, *values, *([_gain(result)] if len(runs) > 1 else []))
    lines = queue_lines(runs)
    if any(lines):
        table.add_section()
        table.add_row("jobs waiting over time", *lines, *([""] if len(runs) > 1 else []))
    return table


def _value(result: Contest, run: int) -> Text:
    value = result.values[run]
    shown = cell(value, result.info.unit) if value is not None else DASH
    all_equal = len(result.winners) == sum(v is not None for v in result.values)
    if run not in result.winners or all_equal:
        return Text(shown)
    return Text(f"★ {shown}", style="bold green")


def _gain(result: Contest) -> Text:
    if result.winner is None:
        return Text("equal" if result.winners else "", style="dim")
    change = result.change(result.winner, runner_up(result, result.winner))
    words = percent(change, signed=True)
    return Text(f"{words} (may be chance)" if result.clear is False else words)


def queue_lines(runs: Sequence[PolicyRun], *, width: int = LINE) -> list[str]:
    """The mean queue of each run in equal parts of the time that any of them covers."""
    levels = [queue(run.schedule) for run in runs]
    first = min((int(level.at[0]) for level in levels if len(level.at)), default=0)
    last = max((int(level.at[-1]) for level in levels if len(level.at)), default=0)
    if last <= first:
        return ["" for _ in runs]
    edges = np.linspace(first, last, width + 1)
    means = [level.means(edges) for level in levels]
    top = max(float(mean.max()) for mean in means)
    return [sparkline(mean.tolist(), top=top) for mean in means]
