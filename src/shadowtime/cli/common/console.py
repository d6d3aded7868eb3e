"""What appears in the terminal: results on standard output, everything else on standard error.

Colour and moving progress only where a person looks: on a terminal, and NO_COLOR unset.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment

from shadowtime.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleOptions, RenderableType

PLAIN_WIDTH = 100
"""Columns of a table that goes to a file or a pipe, where COLUMNS does not say."""


class SafeConsole(Console):
    """A console that prints names from outside without their control characters."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text, keep="\n"), style, control)


def output() -> Console:
    """Standard output."""
    return _console(stderr=False)


def errors() -> Console:
    """Standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = SafeConsole(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PLAIN_WIDTH
    return console


def show(*parts: RenderableType) -> None:
    """Print results on standard output; in a file or a pipe no line ends in blanks."""
    console = output()
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    for line in captured.get().splitlines():
        print(line.rstrip())


def note(text: str) -> None:
    """A remark on standard error, left in one line however wide the terminal is."""
    errors().print(text, style="dim", markup=False, soft_wrap=True)
