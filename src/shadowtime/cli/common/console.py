"""What appears in the terminal: results on standard output, everything else on standard error.

Colour and moving progress are used only on a terminal with NO_COLOR unset. rich is loaded only when
needed, so not in a pipe (plain.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from shadowtime.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from shadowtime.cli.common.plain import Columns, Words

PLAIN_WIDTH = 100
"""Columns of a table written to a file or a pipe, unless COLUMNS is set."""


@cache
def safe_console() -> type[Console]:
    """A console that prints names from outside without their control characters."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else printable(text, keep="\n"), style, control)

    return SafeConsole


def output() -> Console:
    """Standard output."""
    return _console(stderr=False)


def errors() -> Console:
    """Standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = safe_console()(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PLAIN_WIDTH
    return console


def is_plain(stream: Any) -> bool:
    """True for a file or a pipe, unless the environment forces terminal output."""
    forced = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))
    return not forced and not stream.isatty()


def show(*parts: RenderableType | Words | Columns) -> None:
    """Print results on standard output; in a file or a pipe no line ends in blanks."""
    if is_plain(sys.stdout):
        from shadowtime.cli.common.plain import plainly

        given = os.environ.get("COLUMNS", "")
        width = int(given) if given.isdecimal() else PLAIN_WIDTH
        if (lines := plainly(parts, width)) is not None:
            for line in lines:
                print(printable(line))
            return
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
    if is_plain(sys.stderr):
        print(printable(text, keep="\n"), file=sys.stderr, flush=True)
        return
    errors().print(text, style="dim", markup=False, soft_wrap=True)
