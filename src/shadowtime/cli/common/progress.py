"""A sign of life for work that takes more than two seconds, on standard error only."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.progress import TimeRemainingColumn as Remaining

from shadowtime.cli.common.console import errors, note

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 2.0
"""Seconds of silence before work is announced."""


class Advance(Protocol):
    """Report that one more step is done, and what is next."""

    def __call__(self, now_doing: str = "") -> None: ...


@contextlib.contextmanager
def working(
    what: str, *, steps: int | None = None, patience: float = PATIENCE, quiet: bool = False
) -> Iterator[Advance]:
    """Show ``what`` while the block runs, with a bar where the number of steps is known.

    Nothing is shown before ``patience`` seconds. On a terminal the line moves and vanishes at the
    end; elsewhere it is printed once, so that a log says what took so long (not if ``quiet``: the
    caller has said it).
    """
    console = errors()
    columns = [SpinnerColumn(), TextColumn("{task.description}")]
    bar = [BarColumn(bar_width=30), MofNCompleteColumn()] if steps else []
    left = [TextColumn("left"), Remaining()] if steps else []
    progress = Progress(*columns, *bar, Elapsed(), *left, console=console, transient=True)
    task = progress.add_task(what, total=steps)

    def advance(now_doing: str = "") -> None:
        progress.update(task, advance=1, description=now_doing or what)

    def announce() -> None:
        if console.is_terminal:
            progress.start()
        elif not quiet:
            note(f"{what} ...")

    timer = threading.Timer(patience, announce)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        if progress.live.is_started:  # else it would print an empty line
            progress.stop()
