"""The lesson as a chart: a row per processor, a column per minute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from shadowtime.study.lesson import Job, Moment

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_green",
           "bright_yellow", "bright_magenta")  # fmt: skip
IDLE, LATER = "·", " "
TICK = 5
WIDE = 2
"""Characters of a minute."""


@dataclass
class Chart:
    """What has happened so far, and what is planned: capitals ran, small letters are expected.

    A job keeps its rows; which ones they are means nothing on a pool.
    """

    procs: int
    width: int
    rows: dict[str, list[int]] = field(default_factory=dict)
    drawn: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Start and end of every job that has started: the end is expected until it is known."""

    def take_in(self, moment: Moment) -> None:
        """Note who ended and who started."""
        for one in moment.ended:
            self.drawn[one.job.name] = (one.start, moment.now)
        for one in moment.running:
            if one.job.name not in self.rows:
                self.rows[one.job.name] = self._free_rows(moment.now, one.job.procs)
                self.drawn[one.job.name] = (one.start, one.expected)

    def _free_rows(self, now: int, count: int) -> list[int]:
        busy = {
            row
            for name, rows in self.rows.items()
            if self.drawn[name][0] <= now < self.drawn[name][1]
            for row in rows
        }
        return [row for row in range(self.procs) if row not in busy][:count]

    def lines(self, moment: Moment) -> list[Text]:
        """The chart at a moment, the time below it."""
        now = moment.now
        grid = [[(IDLE, "dim") if minute < now else (LATER, "") for minute in range(self.width)]
                for _ in range(self.procs)]  # fmt: skip
        for name, (since, until) in self.drawn.items():
            for row in self.rows[name]:
                for minute in range(since, min(until, self.width)):
                    grid[row][minute] = (
                        (name, colour(name)) if minute < now else (name.lower(), colour(name))
                    )
        for job, when in moment.made.promises:
            self._promise(grid, job, when)
        lines = [
            Text.assemble("  ", *((mark * WIDE, style) for mark, style in row))
            for row in reversed(grid)
        ]
        return [*lines, *self._axis(now)]

    def _promise(self, grid: list[list[tuple[str, str]]], job: Job, when: int) -> None:
        """A reservation, on rows that nobody else is expected to use then."""
        minutes = range(when, min(when + job.request, self.width))
        clear = [row for row in grid if all(row[minute][0] == LATER for minute in minutes)]
        for row in clear[: job.procs]:
            for minute in minutes:
                row[minute] = (job.name.lower(), f"reverse {colour(job.name)}")

    def _axis(self, now: int) -> list[Text]:
        numbers = "".join(f"{minute:<{TICK * WIDE}}" for minute in range(0, self.width, TICK))
        return [
            Text.assemble("  ", " " * (WIDE * now), ("^", "bold")),
            Text.assemble("  ", (numbers.rstrip(), "dim")),
        ]


def colour(name: str) -> str:
    """A job's colour, the same all the way."""
    return COLOURS[(ord(name[0]) - ord("A")) % len(COLOURS)]
