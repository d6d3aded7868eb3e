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
from shadowtime.study.lesson import PROCS, TEN, lesson
from shadowtime.study.lesson_rules import plural

if TYPE_CHECKING:
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


def walk(policy: str, *, auto: bool) -> None:
    """Show the lesson moment by moment; waits for Enter where a person sits at both ends."""
    moments = list(lesson(policy))
    asks = not auto and sys.stdin.isatty() and sys.stdout.isatty()
    chart = Chart(PROCS, max(one.expected for moment in moments for one in moment.running) + 1)
    show(_introduction(policy))
    for number, moment in enumerate(moments, 1):
        chart.take_in(moment)
        if asks and not _next():
            return
        show(_moment(moment, chart, f"{number} of {len(moments)}"))
    if not asks or _next():
        show(_end(policy, moments))


def _next() -> bool:
    """Wait for Enter; False to stop."""
    try:
        answer = input("Enter: next, q: stop ")
    except EOFError:
        return False
    return answer.strip().lower() not in ("q", "quit")


def _introduction(policy: str) -> RenderableType:
    table = numbers_table(
        "job", "arrives at minute", "processors", "asks for, min", "will run, min"
    )
    for job in TEN:
        table.add_row(
            Text(job.name, colour(job.name)),
            *map(str, (job.submit, job.procs, job.request, job.run)),
        )
    head = Text.assemble((policy, "bold cyan"), f" on {PROCS} processors. {INTRODUCTION[policy]}\n")
    note = "The scheduler does not know the last column: it plans with what was asked for."
    return Group(head, table, Text(f"\n{note}\n{LEGEND}", "dim"))


def _moment(moment: Moment, chart: Chart, place: str) -> RenderableType:
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
    parts += [Text(), _decisions(moment), Text(), *chart.lines(moment), Text(), _state(moment)]
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


def _state(moment: Moment) -> Text:
    running = ", ".join(
        f"{one.job.name} (to {one.expected})"
        for one in sorted(moment.running, key=lambda one: one.expected)
    )
    waiting = " ".join(job.name for job in moment.waiting)
    text = Text(f"  free {moment.free} of {PROCS}   running {running or 'nobody'}   ")
    text.append(f"queue {waiting or 'empty'}")
    for job, when in moment.made.promises[:1]:
        if moment.made.extra is not None:
            text.append(f"   shadow time of {job.name}: {when}, {moment.made.extra} extra", "bold")
    if moment.made.extra is None and moment.made.promises:
        promised = ", ".join(f"{job.name} {when}" for job, when in moment.made.promises)
        text.append(f"   promised: {promised}", "bold")
    return text


def _end(policy: str, moments: list[Moment]) -> RenderableType:
    starts = {
        decision.job: (moment.now, decision)
        for moment in moments
        for decision in moment.made.decisions
        if decision.starts
    }
    table = numbers_table("job", "arrived", "started", "waited, min", "")
    table.columns[-1].justify = "left"
    for job in TEN:
        when, decision = starts[job]
        table.add_row(
            Text(job.name, colour(job.name)),
            *map(str, (job.submit, when, when - job.submit)),
            Text(WORDS[decision.kind], "dim"),
        )
    mean = sum(starts[job][0] - job.submit for job in TEN) / len(TEN)
    others = [name for name in INTRODUCTION if name != policy]
    return Group(
        Text(),
        Rule(Text("the end", "bold"), align="left"),
        table,
        Text.assemble((f"\nMean wait under {policy}: {mean:.1f} minutes.", "bold")),
        Text(f"Now try --policy {', '.join(others[:-1])} or {others[-1]}.", "dim"),
    )


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
