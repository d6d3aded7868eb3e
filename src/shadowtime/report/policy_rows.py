"""Policies side by side in the terminal: a row per policy, the best value of a column marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shadowtime.metrics.policy_run import PolicyRun
from shadowtime.report import metadata, numbers

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from shadowtime.report.contest import Contest

STAR, HOLLOW = "\N{BLACK STAR}", "\N{WHITE STAR}"
"""Marks for the best of a column: certain, and possibly by chance."""

WORDS = {
    "bsld": "bounded slowdown",
    "mwbs": "the same weighted by processors",
    "killed": "by contention",
    "penalised": "mean share of the run time that sharing costs",
}
"""Last words of headings that need an explanation."""


def plain_table(*columns: str) -> Table:
    """A table without lines: blanks separate, so that it can be cut and pasted."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column)
    return table


def numbers_table(first: str, *columns: str) -> Table:
    """The same with numbers, aligned to the right, after the first column."""
    table = plain_table(first)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def policy_rows(runs: Sequence[PolicyRun], names: Sequence[str], *, stars: bool = True) -> Table:
    """A row per policy, a column per metric; ``stars`` mark the best unless all are equal."""
    from rich.text import Text

    from shadowtime.report.contest import contest

    contests = [contest(runs, name) for name in names]
    table = numbers_table("policy", *(metadata.describe(name).short for name in names))
    table.columns[0].style, table.columns[0].no_wrap = "cyan", True
    for place, run in enumerate(runs):
        cells = (value(each, place, star=stars) for each in contests)
        table.add_row(Text(run.name), *cells)
    return table


def value(result: Contest, place: int, *, star: bool = True) -> Text:
    """The value of one run, marked if it is the best."""
    from rich.text import Text

    shown = numbers.amount(result.values[place], result.info.unit)
    if not star or place not in result.winners or result.all_equal:
        return Text(shown)
    sure = result.clear is not False
    mark = Text(f"{STAR if sure else HOLLOW} ", "green")
    return mark.append(shown, "bold green" if sure else "")


def legend(headings: Iterable[str], copies: str = "") -> str:
    """What the marks and the short headings mean; ``copies`` if the values are means over them.

    Examples
    --------
    >>> legend(["mean wait", "mean bsld", "killed at the limit"])
    '★ best of its column; bsld: bounded slowdown'
    """
    shown = {heading.rpartition(" ")[-1] for heading in headings}
    means = f" ({HOLLOW} may be chance); means over {copies}" if copies else ""
    words = ", ".join(f"{name}: {meaning}" for name, meaning in WORDS.items() if name in shown)
    return f"{STAR} best of its column{means}{f'; {words}' if words else ''}"
