"""A reproduction in the terminal: verdicts first, then tables, figures and choices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shadowtime.cli.common.console import show
from shadowtime.report.numbers import DASH, number
from shadowtime.study.papers.reproduction import Reproduction

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.study.papers.values import Claim, Panel, PaperFigure, PaperTable, Row

MARKS = {
    "holds": ("✓", "green"),
    "does not hold": ("✗", "red"),
    "not judged": (DASH, "dim"),
}

HEADING = 12
"""Longer headings are wrapped."""

MANY = 20
"""More points than this are not listed one by one."""


def show_paper(found: Reproduction) -> None:
    """Everything, on standard output."""
    show(*_parts(found))


def _parts(found: Reproduction) -> Iterator[RenderableType]:
    yield Text(found.title, "bold")
    yield Text(found.reference, "dim")
    for subject in found.subjects:
        jobs, procs = len(subject.workload), subject.cluster.procs
        yield Text(
            f"{subject.label}: {subject.workload.name}, {jobs:,} jobs on {procs:,} processors"
        )
    if found.generated:
        yield Text("A generated workload: the paper's logs are not here.", "bold")
    yield from _claims(found)
    yield from _sentences("What reproduces and what does not", found.notes)
    for table in found.tables:
        yield from _table(table)
    for figure in found.figures:
        yield from _figure(figure)
    yield from _sentences("Chosen where the text is silent", found.choices)


def _sentences(title: str, sentences: tuple[str, ...]) -> Iterator[RenderableType]:
    yield Text(f"\n{title}", "bold")
    for sentence in sentences:
        yield Padding(Text(sentence), (0, 0, 0, 2))


def _claims(found: Reproduction) -> Iterator[RenderableType]:
    counts = {verdict: sum(claim.verdict == verdict for claim in found.claims) for verdict in MARKS}
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    yield Text(f"\nClaims, each reading by itself: {summary}", "bold")
    for text, group in groupby(found.claims, key=lambda claim: claim.text):
        claims = list(group)
        first = claims[0]
        number_ = f" Paper: {first.paper}." if first.paper else ""
        yield Text.assemble(text, (f"{number_} ({first.where})", "dim"))
        for claim in claims:
            yield Padding(_verdict(claim), (0, 0, 0, 2))


def _verdict(claim: Claim) -> Text:
    mark, style = MARKS[claim.verdict]
    line = Text.assemble((f"{mark} {claim.verdict}", style))
    if claim.reading:
        line.append(f" [{claim.reading}]", "bold")
    if claim.ours:
        line.append(f" ours: {claim.ours};")
    line.append(f" {claim.evidence}", "dim")
    return line


def _table(table: PaperTable) -> Iterator[RenderableType]:
    """A row per measure; beside each column of ours the paper's, if there is one."""
    beside = [
        any(row.cells[k].paper is not None for row in table.rows) for k in range(len(table.columns))
    ]
    grid = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    grid.add_column("")
    for name, paper in zip(table.columns, beside, strict=True):
        heading = "\n".join(wrap(name, HEADING))
        grid.add_column(heading, justify="right", no_wrap=True)
        if paper:
            grid.add_column("paper", justify="right", no_wrap=True, style="dim")
            grid.add_column("diff", justify="right", no_wrap=True)
    last = ""
    for row in table.rows:
        if row.group != last:
            grid.add_row(Text(row.group, "italic"))
            last = row.group
        grid.add_row(*_cells(row, beside))
    yield Text(f"\n{table.name}. {table.title}", "bold")
    yield grid
    if table.note:
        yield Text(table.note, "dim")


def _cells(row: Row, beside: list[bool]) -> Iterator[str]:
    indent = "  " if row.group else ""
    yield f"{indent}{row.label}{f', {row.unit}' if row.unit else ''}"
    for cell, paper in zip(row.cells, beside, strict=True):
        yield number(cell.ours)
        if paper:
            change = cell.difference
            yield number(cell.paper)
            yield DASH if change is None else signed(change)


def signed(share: float) -> str:
    """A difference in whole per cent, with a digit more where it is small."""
    text = f"{100 * share:+.{1 if abs(share) < 0.0995 else 0}f}%"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def _figure(figure: PaperFigure) -> Iterator[RenderableType]:
    yield Text(f"\n{figure.name}. {figure.title}", "bold")
    if figure.says:
        yield Text(f"Paper: {figure.says}", "italic")
    if figure.note:
        yield Text(figure.note, "dim")
    for panel in figure.panels:
        yield _panel(panel)


def _panel(panel: Panel) -> Table:
    """A row per x, a column per series; a mean with its standard error.

    For many points, only their mean and the largest: the files contain all of them.
    """
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    grid.add_column(f"{panel.title}: {panel.x_label}")
    for one in panel.series:
        grid.add_column(one.name, justify="right")
    if len(panel.x) > MANY:
        known = [[y for y in one.y if y is not None] for one in panel.series]
        grid.add_row(f"  mean of {len(panel.x)}", *(number(sum(y) / len(y)) for y in known))
        grid.add_row("  largest", *(number(max(y)) for y in known))
        return grid
    for k, x in enumerate(panel.x):
        cells = []
        for one in panel.series:
            error = one.error[k] if one.error else None
            cells.append(number(one.y[k]) + (f" ±{number(error)}" if error is not None else ""))
        grid.add_row(f"  {x if isinstance(x, str) else f'{x:g}'}", *cells)
    return grid
