"""Progress of work that takes more than two seconds, on standard error only."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Protocol

from shadowtime.cli.common.console import errors, note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress

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

    Nothing is shown before ``patience`` seconds. On a terminal the line moves and disappears at the
    end; elsewhere it is printed once, so that a log shows what took so long (not if ``quiet``: the
    caller has printed it).
    """
    state = State(what, steps)

    def announce() -> None:
        console = errors()
        if console.is_terminal:
            state.show(console)
        elif not quiet:
            note(f"{what} ...")

    timer = threading.Timer(patience, announce)
    timer.daemon = True
    timer.start()
    try:
        yield state.advance
    finally:
        timer.cancel()
        timer.join()
        if state.line is not None:
            state.line.stop()


class State:
    """Progress of the work; the moving line is created only when it is shown."""

    def __init__(self, what: str, steps: int | None) -> None:
        self.what, self.now_doing, self.steps, self.done = what, what, steps, 0
        self.line: Progress | None = None
        self.begun = time.monotonic()
        self.lock = threading.Lock()

    def advance(self, now_doing: str = "") -> None:
        """One more step is done."""
        with self.lock:
            self.done += 1
            self.now_doing = now_doing or self.what
            if self.line is not None:
                task = self.line.task_ids[0]
                self.line.update(task, completed=self.done, description=self.now_doing)

    def show(self, console: Console) -> None:
        """Begin to show it, with the time since the beginning of the work."""
        made = self.made(console)
        with self.lock:
            task = made.add_task(self.what, total=self.steps)
            made.tasks[0].start_time = self.begun
            if self.done:
                made.update(task, completed=self.done, description=self.now_doing)
            made.start()
            self.line = made

    def made(self, console: Console) -> Progress:
        """The line: a bar and the time that is left where the number of steps is known."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed
        from rich.progress import TimeRemainingColumn as Remaining

        columns = [SpinnerColumn(), TextColumn("{task.description}")]
        bar = [BarColumn(bar_width=30), MofNCompleteColumn()] if self.steps else []
        left = [TextColumn("left"), Remaining()] if self.steps else []
        return Progress(
            *columns,
            *bar,
            Elapsed(),
            *left,
            console=console,
            transient=True,
            get_time=time.monotonic,
        )
