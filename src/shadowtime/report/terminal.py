"""Tables for the terminal: the winner of each metric marked, the queue as a line of blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.text import Text

from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report import numbers, verdict
from shadowtime.report.contest import Contest, contest, metric_names, runner_up
from shadowtime.report.levels import queue
from shadowtime.report.policy_rows import numbers_table, value

if TYPE_CHECKING:
    from rich.table import Table

BLOCKS = "▁▂▃▄▅▆▇█"
LINE = 12
"""Characters of a sparkline."""

HEADING, NAME = 14, 30
"""Characters of a line of a heading and of a policy's name; longer ones are broken."""


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
    runs: Sequence[PolicyRun], metrics: Sequence[str] | None = None, *, width: int = 80
) -> Group:
    """A row per policy, a column per metric, in as many tables as the width requires.

    By default ``metrics`` are those of the report's first screen. A star marks the best of a
    column, and the last row shows by how much it differs from the runner-up; a line below names
    the metrics that are equal under all policies. The last column draws the length of the queue
    over the run, all policies on one scale.
    """
    names = list(metrics) if metrics is not None else verdict.shown_metrics(runs)
    results = [contest(runs, name) for name in names or metric_names(runs)]
    equal = [result for result in results if result.winners and result.all_equal]
    columns = [_column(result) for result in results if result not in equal]
    lines = queue_lines(runs)
    if any(lines):
        columns.append(("jobs waiting\nover time", [*map(Text, lines), Text()]))
    rows = [Text(_broken(run.name), "cyan") for run in runs] + [Text("best vs runner-up", "dim")]
    parts: list[RenderableType] = []
    while columns:
        fitting = _fitting(rows, columns, width)
        parts += [*([Text()] if parts else []), _table(rows, columns[:fitting])]
        columns = columns[fitting:]
    if equal:
        values = (f"{c.info.short} {numbers.with_unit(c.values[0], c.info.unit)}" for c in equal)
        parts.append(Text(f"equal under all: {', '.join(values)}", "dim"))
    return Group(*parts)


def _broken(name: str) -> str:
    """A long name in several lines, broken after a comma."""
    return name if len(name) <= NAME else fill(name.replace(",", ", "), NAME).replace(", ", ",")


def _column(result: Contest) -> tuple[str, list[Text]]:
    heading = fill(result.info.short, HEADING)
    return heading, [*(value(result, at) for at in range(len(result.values))), _gain(result)]


def _fitting(names: Sequence[Text], columns: Sequence[tuple[str, list[Text]]], width: int) -> int:
    """The number of columns that fit beside the names: at least one."""
    console = Console(width=10_000)
    for count in range(len(columns), 1, -1):
        if console.measure(_table(names, columns[:count])).maximum <= width:
            return count
    return 1


def _table(names: Sequence[Text], columns: Sequence[tuple[str, list[Text]]]) -> Table:
    table = numbers_table("policy", *(heading for heading, _ in columns))
    table.columns[0].max_width, table.columns[0].overflow = NAME, "fold"
    last = len(names) - 1
    for row, name in enumerate(names):
        if row < last or (last > 1 and any(cells[row] for _, cells in columns)):
            table.add_row(name, *(cells[row] for _, cells in columns))
    return table


def _gain(result: Contest) -> Text:
    if result.winner is None:
        return Text("tie" if result.winners else "", style="dim")
    return Text(
        numbers.percent(result.change(result.winner, runner_up(result, result.winner)), signed=True)
    )


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
