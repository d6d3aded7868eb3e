"""The same comparison on several machines: a section for each, then one table of all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.cli.common import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from shadowtime.cli.compare import Done

SHOWN = ("wait_mean_s", "wait_p95_s", "bsld_mean", "utilisation")


def finish_machines(
    clusters: Sequence[str], done: Sequence[Done], folder: str | None, *, as_json: bool
) -> None:
    """Write a folder for each machine, and print all of them."""
    from rich.text import Text

    from shadowtime.cli.common.console import show
    from shadowtime.cli.common.outputs import wrote
    from shadowtime.cli.compare import show_done
    from shadowtime.result.comparison import write_comparison
    from shadowtime.result.write import file_names

    if folder:
        names = file_names([Path(one).name or one for one in clusters])
        for name, one in zip(names, done, strict=True):
            inner = str(Path(folder) / name)
            write_comparison(one.content, one.found, one.results, inner)
            wrote(inner)
    if as_json:
        machines = [
            {"given": given, **one.content} for given, one in zip(clusters, done, strict=True)
        ]
        options.print_json({"machines": machines})
        return
    for given, one in zip(clusters, done, strict=True):
        show(Text(f"== {given}", "bold"))
        show_done(one)
        show(Text())
    show(_side_by_side(clusters, done))


def _side_by_side(clusters: Sequence[str], done: Sequence[Done]) -> Table:
    """A row per machine, load and policy, with what most people look at."""
    from shadowtime.cli.common.tables import numbers_table
    from shadowtime.report.metadata import describe
    from shadowtime.report.numbers import amount

    loads = len(done[0].found.settings) > 1
    head = ["machine", *(["load"] if loads else []), "policy"]
    table = numbers_table(*head, *(describe(name).short for name in SHOWN))
    table.columns[len(head) - 1].justify = "left"
    for given, one in zip(clusters, done, strict=True):
        for setting, result in zip(one.found.settings, one.results, strict=True):
            for run in result.runs:
                cells = [amount(run.point(name), describe(name).unit) for name in SHOWN]
                load = [str(setting.load)] if loads else []
                table.add_row(given, *load, run.name, *cells)
    return table
