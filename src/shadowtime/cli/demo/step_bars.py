"""A lesson with long times or many processors: a bar per job instead of a row per processor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.study.lesson import Job, Moment

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_green",
           "bright_yellow", "bright_magenta")  # fmt: skip
COLUMNS = 64
WAITS, PROMISED = "·", "="


@dataclass
class Bars:
    """Jobs from top to bottom, time from left to right: dots wait, capitals ran, small letters
    are expected, = is promised.

    Examples
    --------
    >>> from shadowtime.study.lesson import Job, lesson
    >>> jobs = (Job("A", 0, 2, 64, 32), Job("B", 0, 2, 32, 32))
    >>> bars = Bars(jobs, 128)
    >>> first = next(iter(lesson("easy", jobs=jobs, procs=2)))
    >>> bars.take_in(first)
    >>> [line.plain.rstrip() for line in bars.lines(first)][:2]
    ['  A aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '  B                                 ================']
    """

    jobs: Sequence[Job]
    width: int
    """Minutes from the first to the last column."""
    drawn: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take_in(self, moment: Moment) -> None:
        """Note which jobs ended and started."""
        for one in moment.ended:
            self.drawn[one.id] = (one.start, moment.now)
        for one in moment.running:
            self.drawn[one.id] = (one.start, one.expected_end)

    def lines(self, moment: Moment) -> list[Text]:
        """The bars at a moment, the time below them."""
        promised = {one.job: one.start for one in moment.promises}
        step = max(1, -(-self.width // COLUMNS))
        lines = []
        for job in self.jobs:
            if job.submit > moment.now:
                continue
            cells = []
            for column in range(COLUMNS):
                since, until = column * step, (column + 1) * step
                cells.append(self._cell(job, since, until, moment.now, promised.get(job.name)))
            lines.append(Text.assemble(f"  {job.name} ", (("".join(cells)), colour(job.name))))
        now = min(COLUMNS - 1, moment.now // step)
        lines.append(Text.assemble("    ", " " * now, ("^", "bold")))
        lines.append(Text(f"    a column is {step} minute{'s' * (step > 1)}", "dim"))
        return lines

    def _cell(self, job: Job, since: int, until: int, now: int, promised: int | None) -> str:
        begun, end = self.drawn.get(job.name, (now + 1, now + 1))
        if job.name in self.drawn and since < end and until > begun:
            return job.name if since < now else job.name.lower()
        if promised is not None and since < promised + job.request and until > promised:
            return PROMISED
        waits_until = begun if job.name in self.drawn else now
        return WAITS if job.submit < until and since < waits_until else " "


def colour(name: str) -> str:
    """A job's colour, the same all the way."""
    return COLOURS[(ord(name[0]) - ord("A")) % len(COLOURS)]
