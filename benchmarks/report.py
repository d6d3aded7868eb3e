"""The table on a terminal, as a page of the documentation, and as JSON."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from benchmarks.rows import Row, show
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

HEAD = ("what", "figure", "clock", "to C", "bar", "met", "remarks")
REMARK = """\
Each figure is the best of several runs. *CPU* is the processor time of the process; *wall* is
elapsed time. *to C* is the time divided by that of the same algorithm in C (`benchmarks/native`) on
the same arrays, measured alternately in one run. *Bar* is the required figure, *goal* the desired
one. If other programs use the machine at the same time (see *busy* below), the ratios are still
valid and the absolute figures are pessimistic.
"""


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    return (
        row.what,
        show(row.value, row.unit),
        row.clock,
        show(row.ratio, "x"),
        _bars(row),
        _met(row),
        row.note or "-",
    )


def _bars(row: Row) -> str:
    """Both bars in words."""
    words = [row.bar_text(row.bar, row.ratio_bar), row.bar_text(row.goal, row.ratio_goal)]
    if words[1]:
        words[1] = f"goal {words[1]}"
    return "; ".join(filter(None, words)) or "-"


def _met(row: Row) -> str:
    """Yes or no, and whether the goal is reached too."""
    words = {True: ["yes"], False: ["no"], None: []}[row.met]
    words += {True: ["goal reached"], False: ["goal not reached"], None: []}[row.goal_met]
    return ", ".join(words) or "-"


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)


def terminal_table(rows: Iterable[Row]) -> Table:
    """For the terminal: remarks are below the row they concern."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 1, 0))
    for title in HEAD[:-1]:
        table.add_column(title, ratio=3 if title == "what" else None, overflow="fold")
    for row in rows:
        what, *others, remark = cells(row)
        note = "" if remark == "-" else f"\n[dim]{escape(remark)}[/]"
        table.add_row(escape(what) + note, *others, style="red" if row.met is False else None)
    return table


def page(rows: Sequence[Row], machine: Mapping[str, str], when: str, busy: str) -> str:
    """The page of the documentation."""
    about = {**machine, "measured": when, "busy": busy}
    return (
        "# Benchmarks\n\n"
        "Written by `scripts/bench`; the same figures for programs are in `latest.json`.\n\n"
        f"{REMARK}\n"
        f"{markdown_table(HEAD, map(cells, rows))}\n"
        "## Measured on\n\n"
        f"{markdown_table(('what', 'which'), about.items())}"
    )


def as_object(
    rows: Sequence[Row], machine: Mapping[str, str], when: str, busy: str
) -> dict[str, Any]:
    """For programs."""
    return {
        "measured": when,
        "busy": busy,
        "machine": dict(machine),
        "rows": [row.as_object() for row in rows],
    }


def write(
    folder: Path, rows: Sequence[Row], machine: Mapping[str, str], when: str, busy: str
) -> None:
    """Both files of the documentation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(page(rows, machine, when, busy))
    text = json.dumps(as_object(rows, machine, when, busy), indent=2)
    (folder / "latest.json").write_text(text + "\n")


def update(folder: Path, rows: Sequence[Row], remark: str) -> None:
    """Put rows in the place of those of the same name; new ones behind the last of their kind.

    A kind is the words before the first colon. Every other row stays: two benchmarks may print
    rows of one kind.
    """
    known = json.loads((folder / "latest.json").read_text())
    names = [one.name for one in fields(Row)]
    made = [Row(**{name: one[name] for name in names}) for one in known["rows"]]
    for row in rows:
        noted = replace(row, note="; ".join(filter(None, (row.note, remark))))
        same = [at for at, old in enumerate(made) if old.what == row.what]
        if same:
            made[same[0]] = noted
        else:
            kind = row.what.partition(":")[0]
            alike = [at for at, old in enumerate(made) if old.what.partition(":")[0] == kind]
            made.insert(alike[-1] + 1 if alike else len(made), noted)
    write(folder, made, known["machine"], known["measured"], known["busy"])
