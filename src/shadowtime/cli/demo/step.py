"""shadowtime demo --step: a scheduler watched at work, for teaching."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Group
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from shadowtime.cli.common.console import show
from shadowtime.cli.common.tables import numbers_table
from shadowtime.cli.demo.step_bars import Bars, colour
from shadowtime.study.lesson import PROCS, TEN, lesson
from shadowtime.study.lesson_rules import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from shadowtime.study.lesson import Decision, Job, Moment


MARKS = {"head": "▶", "reserved": "▶", "backfilled": "»", "waits": "·"}
LEGEND = "capitals have run, small letters are expected, reversed ones are promised; ^ is now"
INTRODUCTION = {
    "fcfs": "First come, first served: nobody overtakes.",
    "greedy": "Whoever fits, starts; nobody is promised anything.",
    "easy": "The first in the queue is promised a start; others overtake if they do not delay it.",
    "easy-sjbf": "As easy; of those who may overtake, the shortest goes first.",
    "conservative": "Everybody is promised a start on arrival; nobody may overtake at its cost.",
}
WORDS = {"head": "at once", "reserved": "after waiting at the front", "backfilled": "overtaking"}


FEW_PROCS, FEW_MINUTES = 16, 45
"""A chart with a row per processor and two columns per minute fits a terminal up to here."""


def walk(
    policy: str,
    *,
    auto: bool,
    jobs: tuple[Job, ...] = TEN,
    procs: int = PROCS,
    numbers: Mapping[str, int] | None = None,
) -> None:
    """Show the lesson moment by moment; where a person sits at both ends, forward and back.

    ``numbers`` are the jobs' numbers in a log, by letter.
    """
    moments = list(lesson(policy, jobs=jobs, procs=procs))
    asks = not auto and sys.stdin.isatty() and sys.stdout.isatty()
    width = max(one.expected for moment in moments for one in moment.running) + 1
    chart: Chart | Bars = Chart(procs, width)
    if procs > FEW_PROCS or width > FEW_MINUTES:
        chart = Bars(jobs, width)
    pages = [_introduction(policy, jobs, procs, numbers)]
    for number, moment in enumerate(moments, 1):
        chart.take_in(moment)
        pages.append(_moment(moment, chart, f"{number} of {len(moments)}", procs))
    leaf([*pages, _end(policy, moments, jobs)], asks=asks)


def leaf(pages: Sequence[RenderableType], *, asks: bool) -> None:
    """Show page after page; where somebody ``asks``, forward, back or to a page by its number."""
    place = 0
    while place < len(pages):
        show(pages[place])
        if not asks:
            place += 1
            continue
        if place == len(pages) - 1:
            found = turned(_answer("Enter: done, b: back, a number: go there "), place, len(pages))
        else:
            found = turned(
                _answer("Enter: next, b: back, a number: go there, q: stop "), place, len(pages)
            )
        if found is None:
            return
        place = found


def turned(answer: str, place: int, count: int) -> int | None:
    """The page after an answer: 0 is the introduction, then the moments by number; None to stop.

    Examples
    --------
    >>> turned("", 3, 9), turned("b", 3, 9), turned("b", 0, 9), turned("7", 3, 9), turned("q", 3, 9)
    (4, 2, 0, 7, None)
    >>> turned("99", 3, 9), turned("?", 3, 9)
    (8, 3)
    """
    word = answer.strip().lower()
    if word in ("q", "quit"):
        return None
    if word in ("b", "back", "p"):
        return max(0, place - 1)
    if word.isdecimal():
        return min(int(word), count - 1)
    return place + 1 if not word else place


def _answer(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        return "q"


def _introduction(
    policy: str, jobs: tuple[Job, ...], procs: int, numbers: Mapping[str, int] | None
) -> RenderableType:
    known = ("in the log",) if numbers else ()
    table = numbers_table(
        "job", *known, "arrives at minute", "processors", "asks for, min", "will run, min"
    )
    for job in jobs:
        number = (str(numbers[job.name]),) if numbers else ()
        table.add_row(
            Text(job.name, colour(job.name)),
            *number,
            *map(str, (job.submit, job.procs, job.request, job.run)),
        )
    head = Text.assemble((policy, "bold cyan"), f" on {procs} processors. {INTRODUCTION[policy]}\n")
    note = "The scheduler does not know the last column: it plans with what was asked for."
    if numbers:
        note += " Times are rounded up to minutes; nobody else is on the machine."
    return Group(head, table, Text(f"\n{note}\n{LEGEND}", "dim"))


def _moment(moment: Moment, chart: Chart | Bars, place: str, procs: int) -> RenderableType:
    parts: list[RenderableType] = [
        Text(),
        Rule(Text.assemble((f"minute {moment.now}", "bold"), (f"  {place}", "dim")), align="left"),
    ]
    for one in moment.ended:
        early = " earlier than it had asked for" if one.expected > moment.now else ""
        parts.append(Text.assemble("  ", _name(one.job.name), f" ends{early}"))
    parts += [
        Text.assemble(
            "  ",
            _name(job.name),
            f" arrives: {plural(job.procs)} for {job.request} min",
        )
        for job in moment.arrived
    ]
    parts += [Text(f"  {remark}", "italic") for remark in moment.made.remarks]
    parts += [Text(), _decisions(moment), Text(), *chart.lines(moment), Text()]
    parts.append(_state(moment, procs))
    return Group(*parts)


def _name(name: str) -> tuple[str, str]:
    return name, f"bold {colour(name)}"


def _decisions(moment: Moment) -> RenderableType:
    if not moment.made.decisions:
        return Text("  nobody waits: nothing to decide", "dim")
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, width=4, justify="right")
    table.add_column(no_wrap=True, width=7)
    table.add_column()
    for decision in moment.made.decisions:
        table.add_row(*_decision(decision))
    return table


def _decision(decision: Decision) -> tuple[Text, Text, Text]:
    style = "green" if decision.starts else "dim"
    mark = Text.assemble((f"{MARKS[decision.kind]} ", style), _name(decision.job.name))
    return mark, Text("starts" if decision.starts else "waits", style), Text(f"{decision.why}.")


def _state(moment: Moment, procs: int) -> Text:
    running = ", ".join(
        f"{one.job.name} (to {one.expected})"
        for one in sorted(moment.running, key=lambda one: one.expected)
    )
    waiting = " ".join(job.name for job in moment.waiting)
    text = Text(f"  free {moment.free} of {procs}   running {running or 'nobody'}   ")
    text.append(f"queue {waiting or 'empty'}")
    for job, when in moment.made.promises[:1]:
        if moment.made.extra is not None:
            text.append(f"   shadow time of {job.name}: {when}, {moment.made.extra} extra", "bold")
    if moment.made.extra is None and moment.made.promises:
        promised = ", ".join(f"{job.name} {when}" for job, when in moment.made.promises)
        text.append(f"   promised: {promised}", "bold")
    return text


def _end(policy: str, moments: list[Moment], jobs: tuple[Job, ...]) -> RenderableType:
    starts = {
        decision.job: (moment.now, decision)
        for moment in moments
        for decision in moment.made.decisions
        if decision.starts
    }
    table = numbers_table("job", "arrived", "started", "waited, min", "")
    table.columns[-1].justify = "left"
    for job in jobs:
        when, decision = starts[job]
        table.add_row(
            Text(job.name, colour(job.name)),
            *map(str, (job.submit, when, when - job.submit)),
            Text(WORDS[decision.kind], "dim"),
        )
    mean = sum(starts[job][0] - job.submit for job in jobs) / len(jobs)
    others = [name for name in INTRODUCTION if name != policy]
    return Group(
        Text(),
        Rule(Text("the end", "bold"), align="left"),
        table,
        Text.assemble((f"\nMean wait under {policy}: {mean:.1f} minutes.", "bold")),
        Text(f"Now try --policy {', '.join(others[:-1])} or {others[-1]}.", "dim"),
    )


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
