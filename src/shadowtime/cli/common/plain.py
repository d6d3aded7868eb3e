"""Lines and tables for files and pipes, which need no terminal library.

Loading rich takes longer than a simulation of 30,000 jobs. In a file or a pipe there are no colours
and no width to fit, so the text is written directly, character for character as rich would; on a
terminal, and wherever a line would have to be wrapped, rich draws it (``__rich__``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

GAP = "  "
WIDE = re.compile("[^\x20-\x7e\xa0-\u02ff\u2013\u202f\u2212]")
"""Characters that may be wider or narrower than one column."""


class Words:
    """Text in pieces, each plain or with a style.

    Examples
    --------
    >>> Words(("easy", "bold"), " on KTH").lines()
    ['easy on KTH']
    """

    def __init__(self, *pieces: str | tuple[str, str]) -> None:
        self.pieces = pieces

    def lines(self) -> list[str]:
        """The text without styles."""
        return "".join(one if isinstance(one, str) else one[0] for one in self.pieces).split("\n")

    def __rich__(self) -> Any:
        from rich.text import Text

        return Text.assemble(*self.pieces)


class Columns:
    """A table without lines; columns are aligned to the left or, for numbers, to the right.

    Examples
    --------
    >>> table = Columns("<>", header=("policy", "wait"))
    >>> table.add("easy", "9 s")
    >>> table.lines()
    ['policy  wait', 'easy     9 s']
    """

    def __init__(
        self, sides: str, *, header: Sequence[str] = (), styles: Sequence[str] = ()
    ) -> None:
        self.sides, self.header = sides, tuple(header)
        self.styles = tuple(styles) or ("",) * len(sides)
        self.rows: list[tuple[str, ...]] = []

    def add(self, *cells: str) -> None:
        """One more row."""
        self.rows.append(cells)

    def lines(self) -> list[str]:
        """The table as text; blanks at the ends of lines are left out."""
        rows = [self.header, *self.rows] if self.header else self.rows
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        return [
            GAP.join(
                f"{cell:{side}{width}}"
                for cell, side, width in zip(row, self.sides, widths, strict=True)
            ).rstrip()
            for row in rows
        ]

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(
            box=None,
            padding=(0, 2, 0, 0),
            header_style="bold",
            show_header=bool(self.header),
        )
        for number, side in enumerate(self.sides):
            name = self.header[number] if self.header else ""
            right = side == ">"
            table.add_column(name, justify="right" if right else "left", no_wrap=right)
        for row in self.rows:
            table.add_row(*(Text(*each) for each in zip(row, self.styles, strict=True)))
        return table


def plainly(parts: Sequence[Any], width: int) -> list[str] | None:
    """The lines of some parts; None if rich has to draw them."""
    if not all(isinstance(part, Words | Columns) for part in parts):
        return None
    lines = [line.rstrip() for part in parts for line in part.lines()]
    simple = all(len(line) <= width and not WIDE.search(line) for line in lines)
    return lines if simple else None
