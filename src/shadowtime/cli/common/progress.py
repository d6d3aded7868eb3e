"""Progress of work that takes more than two seconds, on standard error only.

The first run on a machine compiles the engine, which is reported, or it would look like a hang.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from shadowtime.cli.common.console import errors, note

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from shadowtime.engine.watch import Seen
    from shadowtime.study.compare import Engine

PATIENCE = 2.0
"""Seconds of silence before work is announced."""
EVERY = 10.0
"""Seconds between two lines where output is not a terminal."""
RESUMED = 0.05
"""A run whose first report is beyond this share began before this process did."""


@contextlib.contextmanager
def working(
    what: str,
    *,
    steps: int | None = None,
    patience: float = PATIENCE,
    quiet: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[State]:
    """Show ``what`` while the block runs, with a bar where the number of steps is known.

    Nothing is shown before ``patience`` seconds. On a terminal the line moves and disappears at the
    end; elsewhere it is printed once, so that a log shows what took so long (not if ``quiet``: the
    caller has printed it), and every ten seconds how far the runs are that are watched.
    """
    state = State(what, steps, clock)

    def announce() -> None:
        console = errors()
        if console.is_terminal:
            state.show(console)
        elif not quiet:
            note(f"{what} ...")
            state.announced = clock()

    timer = threading.Timer(patience, announce)
    timer.daemon = True
    timer.start()
    try:
        yield state
    finally:
        timer.cancel()
        timer.join()
        if state.line is not None:
            state.line.stop()


class State:
    """Progress of the work; the moving line is created only when it is shown.

    Called, it reports that one more step is done, and what is next.
    """

    def __init__(self, what: str, steps: int | None, clock: Callable[[], float]) -> None:
        self.what, self.now_doing, self.steps, self.done = what, what, steps, 0
        self.line: Progress | None = None
        self.clock = clock
        self.begun = clock()
        self.announced: float | None = None
        """When a line was last printed, where output is not a terminal."""
        self.lock = threading.Lock()
        self.runs: WeakKeyDictionary[object, Seen] = WeakKeyDictionary()
        """The runs under way that are watched."""
        self.first: tuple[float, float] | None = None
        """Share and time of the first report: a resumed run does not begin at 0."""

    def __call__(self, now_doing: str = "") -> None:
        with self.lock:
            self.done += 1
            self.now_doing = now_doing or self.what
            self._move()
            told = self._told()
        if told:
            note(told)

    def count(self, done: int, total: int, *, failed: int = 0) -> None:
        """Report how many of all runs are done, and how many of these failed."""
        with self.lock:
            self.done, self.steps = done, total
            self.now_doing = f"{self.what}, {failed:,} failed" if failed else self.what
            # Until the first are done, workers wait in a queue and load: no measure of a run.
            self.first = self.first or (self.share, self.clock())
            self._move()
            told = self._told()
        if told:
            note(told)

    def watched(self, engine: Engine) -> Engine:
        """The same engine, whose runs report how far they are."""
        from shadowtime.engine.watch import Watch

        return partial(engine, watch=Watch(show=self.see, clock=self.clock))

    def see(self, run: object, seen: Seen) -> None:
        """A run reports how far it is; from any thread."""
        with self.lock:
            known = run in self.runs
            self.runs[run] = seen
            if self.first is None:
                self.first = self.share, self.clock()
            elif not known and seen.share > RESUMED:
                self.first = self.first[0] + seen.share / (self.steps or 1), self.first[1]
            self._move()
            told = self._told()
        if told:
            note(told)

    def _told(self) -> str:
        """The next line where output is not a terminal; empty if it is too early for one."""
        now = self.clock()
        if self.announced is None or now - self.announced < EVERY:
            return ""
        self.announced = now
        return f"{self.now_doing}: {self.far}"

    @property
    def share(self) -> float:
        """The share of all runs that is done."""
        return (self.done + sum(one.share for one in self.runs.values())) / (self.steps or 1)

    @property
    def far(self) -> str:
        """How far the work is: runs, share, the simulated date of the last run, the time left."""
        share = self.share
        first, since = self.first or (0.0, self.begun)
        words = [f"{self.done:,} of {self.steps:,}"] if self.steps and self.steps > 1 else []
        if self.runs:
            last = min(self.runs.values(), key=lambda one: one.share)
            words.append(f"{share:.0%} at {when(last)}")
        made, spent = share - first, self.clock() - since
        if made > 0 and self.steps:
            from shadowtime.report.numbers import span

            words.append(f"about {span(round(spent / made * (1 - share)))} left")
        return ", ".join(words)

    def _move(self) -> None:
        if self.line is not None:
            done = self.share * self.steps if self.steps else self.done
            self.line.update(
                self.line.task_ids[0], completed=done, total=self.steps,
                description=self.now_doing, far=self.far,
            )  # fmt: skip

    def show(self, console: Console) -> None:
        """Begin to show it, with the time since the beginning of the work."""
        made = self.made(console)
        with self.lock:
            made.add_task(self.what, total=self.steps, far="")
            made.tasks[0].start_time = self.begun
            made.start()
            self.line = made
            self._move()

    def made(self, console: Console) -> Progress:
        """The line: a bar (it moves to and fro while nothing is counted), time, how far it is."""
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        return Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            Elapsed(),
            TextColumn("{task.fields[far]}"),
            console=console,
            transient=True,
            get_time=self.clock,
        )


def when(seen: Seen) -> str:
    """The simulated date; the day where the log does not know its own.

    Examples
    --------
    >>> from shadowtime.engine.watch import Seen
    >>> when(Seen(now=86_400, share=0.1, epoch=1_700_000_000)), when(Seen(now=86_400, share=0.1))
    ('2023-11-15 22:13', 'day 2')
    """
    if seen.epoch is None:
        return f"day {int(seen.now // 86_400) + 1:,}"
    return f"{datetime.fromtimestamp(seen.epoch + seen.now, UTC):%Y-%m-%d %H:%M}"


@contextlib.contextmanager
def compile_notice(what: str, how_long: str) -> Iterator[None]:
    """Print a line if anything has to be compiled inside the block.

    In a checkout, the line also reports a library of compiled kernels that is older than a source.
    """
    from shadowtime.kernel import library
    from shadowtime.kernel.notice import before_first_compile

    def announce() -> None:
        note(f"compiling {what} for this machine: once, {how_long} ...")
        if changed := library.stale():
            note(
                f"({', '.join(changed)} changed since the library of compiled kernels was built: "
                "scripts/build library rebuilds it)"
            )

    with before_first_compile(announce):
        yield


@contextlib.contextmanager
def while_reading(what: str) -> Iterator[None]:
    """Show that a log or a folder is read, and that its reader is compiled, if it is."""
    with working(f"reading {what}"), compile_notice("the log reader", "a few seconds"):
        yield


@contextlib.contextmanager
def while_simulating(what: str = "simulating", *, steps: int | None = None) -> Iterator[State]:
    """Show that something is simulated, and that the engine is compiled, if it is."""
    with working(what, steps=steps) as advance, compile_notice("the engine", "up to a minute"):
        yield advance
