"""How far a sweep is and how long it will take, on standard error."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from shadowtime.cli.common.console import errors, note
from shadowtime.report.numbers import span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shadowtime.study.sweep.run import Progress

EVERY = 30.0
"""Seconds between two lines where nobody looks on."""


@contextlib.contextmanager
def counting(clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[Progress], None]]:
    """A moving bar on a terminal; elsewhere a line now and then, with the time that is left."""
    console = errors()
    began = spoken = clock()
    if not console.is_terminal:

        def say(now: Progress) -> None:
            nonlocal spoken
            if clock() - spoken >= EVERY:
                spoken = clock()
                note(line(now, clock() - began))

        yield say
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("sweep", total=None)

        def move(now: Progress) -> None:
            failed = f", {now.failed:,} failed" if now.failed else ""
            bar.update(task, completed=now.done, total=now.total, description=f"sweep{failed}")

        yield move


def line(now: Progress, elapsed: float) -> str:
    """The state of a sweep in one line.

    Examples
    --------
    >>> from shadowtime.study.sweep.run import Progress
    >>> line(Progress(done=50, failed=1, total=200), 30.0)
    '50 of 200 runs, 1 failed, about 1 min 30 s left'
    """
    failed = f", {now.failed:,} failed" if now.failed else ""
    left = round(elapsed / now.done * (now.total - now.done)) if now.done else 0
    rest = f", about {span(left)} left" if now.done else ""
    return f"{now.done:,} of {now.total:,} runs{failed}{rest}"
