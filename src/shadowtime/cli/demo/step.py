"""shadowtime demo --step: watch a scheduler decide, for teaching."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from shadowtime.cli.common import console, tables
from shadowtime.policy.snapshot import PythonPolicy, WaitingJob, name_of
from shadowtime.study.lesson import (
    PROCS,
    TEN,
    Job,
    Moment,
    Outcome,
    find_policy,
    lesson,
    lesson_jobs,
)
from shadowtime.study.lesson_rules import plural

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_green",
           "bright_yellow", "bright_magenta")  # fmt: skip
COLUMNS = 64
WAITS, PROMISED = "·", "="


@dataclass
class Drawing:
    """What has happened so far: when each job started and ended, as far as that is known."""

    width: int
    """Minutes from the first to the last column."""
    drawn: dict[str, tuple[int, int]] = field(default_factory=dict, init=False)
    """Start and end of every job that has started: the end is expected until it is known."""

    def take_in(self, moment: Moment) -> None:
        """Note which jobs ended and started."""
        for one in moment.ended:
            self.drawn[one.id] = (one.start, moment.now)
        for one in moment.running:
            self.drawn[one.id] = (one.start, one.expected_end)


@dataclass
class Bars(Drawing):
    """Jobs from top to bottom, time from left to right: dots wait, capitals ran, small letters
    are expected, = is promised.

    Examples
    --------
    >>> from shadowtime.study.lesson import Job, lesson
    >>> jobs = (Job("A", 0, 2, 64, 32), Job("B", 0, 2, 32, 32))
    >>> bars = Bars(128, jobs)
    >>> first = next(iter(lesson("easy", jobs=jobs, procs=2)))
    >>> bars.take_in(first)
    >>> [line.plain.rstrip() for line in bars.lines(first)][:2]
    ['  A aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '  B                                 ================']
    """

    jobs: Sequence[Job]

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
    """A job's colour, the same in all events."""
    return COLOURS[(ord(name[0]) - ord("A")) % len(COLOURS)]


MARKS = {"head": "▶", "reserved": "▶", "backfilled": "»", "waits": "·"}
LEGEND = "capitals have run, small letters are expected, reversed ones are promised; ^ is now"
INTRODUCTION = {
    "fcfs": "First come, first served: no job overtakes another.",
    "greedy": "Every job that fits starts; none is promised a start.",
    "easy": "The first in the queue is promised a start; others overtake if they do not delay it.",
    "easy-sjbf": "As easy; of the jobs that may overtake, the shortest goes first.",
    "conservative": "Every job is promised a start on arrival; no job that overtakes delays it.",
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
    """Show the lesson event by event; interactively, forward and back.

    ``numbers`` are the jobs' numbers in a log, by letter.
    """
    chosen = find_policy(policy)
    moments = list(lesson(chosen, jobs=jobs, procs=procs))
    asks = not auto and sys.stdin.isatty() and sys.stdout.isatty()
    width = max(one.expected_end for moment in moments for one in moment.running) + 1
    chart: Chart | Bars = Chart(width, procs)
    if procs > FEW_PROCS or width > FEW_MINUTES:
        chart = Bars(width, jobs)
    pages = [_introduction(chosen, jobs, procs, numbers)]
    for number, moment in enumerate(moments, 1):
        chart.take_in(moment)
        pages.append(_moment(moment, chart, f"{number} of {len(moments)}", procs))
    leaf([*pages, _end(name_of(chosen), moments, jobs)], asks=asks)


def walk_log(
    policy: str,
    log: str,
    jobs: tuple[int, int | None] | None,
    cluster: str | None,
    *,
    auto: bool,
) -> None:
    """Show jobs of a log, on its machine."""
    from shadowtime.cli.common.running import Cleaning, load

    workload, machine = load(log, cluster, Cleaning())
    chosen = lesson_jobs(workload, *(jobs or (0, None)))
    walk(
        policy,
        auto=auto,
        jobs=tuple(job for _, job in chosen.values()),
        procs=machine.procs,
        numbers={letter: number for letter, (number, _) in chosen.items()},
    )


def leaf(pages: Sequence[RenderableType], *, asks: bool) -> None:
    """Show page after page; with ``asks``, forward, back or to a page by its number."""
    place = 0
    while place < len(pages):
        console.show(pages[place])
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
    policy: PythonPolicy, jobs: tuple[Job, ...], procs: int, numbers: Mapping[str, int] | None
) -> RenderableType:
    known = ("in the log",) if numbers else ()
    table = tables.numbers_table(
        "job", *known, "arrives at minute", "processors", "asks for, min", "will run, min"
    )
    for job in jobs:
        number = (str(numbers[job.name]),) if numbers else ()
        table.add_row(
            Text(job.name, colour(job.name)),
            *number,
            *map(str, (job.submit, job.procs, job.request, job.run)),
        )
    name = name_of(policy)
    words = INTRODUCTION.get(name, "A policy written in Python.")
    head = Text.assemble((name, "bold cyan"), f" on {procs} processors. {words}\n")
    note = "The scheduler does not know the last column: it plans with what was asked for."
    if numbers:
        note += " Times are rounded up to minutes; no other job is on the machine."
    return Group(head, table, Text(f"\n{note}\n{LEGEND}", "dim"))


def _moment(moment: Moment, chart: Chart | Bars, place: str, procs: int) -> RenderableType:
    parts: list[RenderableType] = [
        Text(),
        Rule(Text.assemble((f"minute {moment.now}", "bold"), (f"  {place}", "dim")), align="left"),
    ]
    for one in moment.ended:
        early = " earlier than it had asked for" if one.expected_end > moment.now else ""
        parts.append(Text.assemble("  ", _name(one.id), f" ends{early}"))
    parts += [
        Text.assemble(
            "  ",
            _name(job.id),
            f" arrives: {plural(job.procs)} for {job.request} min",
        )
        for job in moment.arrived
    ]
    parts += [Text(f"  {remark}", "italic") for remark in moment.remarks]
    parts += [Text(), _decisions(moment), Text(), *chart.lines(moment), Text()]
    parts.append(_state(moment, procs))
    return Group(*parts)


def _name(name: str) -> tuple[str, str]:
    return name, f"bold {colour(name)}"


def _decisions(moment: Moment) -> RenderableType:
    if not moment.outcomes:
        return Text("  no job waits: nothing to decide", "dim")
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, width=4, justify="right")
    table.add_column(no_wrap=True, width=7)
    table.add_column()
    for outcome in moment.outcomes:
        table.add_row(*_outcome(outcome))
    return table


def _outcome(one: Outcome) -> tuple[Text, Text, Text]:
    style = "green" if one.starts else "dim"
    mark = Text.assemble((f"{MARKS[one.kind]} ", style), _name(one.job.id))
    return mark, Text("starts" if one.starts else "waits", style), Text(f"{one.why}.")


def _state(moment: Moment, procs: int) -> Text:
    running = ", ".join(
        f"{one.id} (to {one.expected_end})"
        for one in sorted(moment.running, key=lambda one: one.expected_end)
    )
    waiting = " ".join(job.id for job in moment.waiting)
    text = Text(f"  free {moment.free} of {procs}   running {running or 'nothing'}   ")
    text.append(f"queue {waiting or 'empty'}")
    for one in moment.promises[:1]:
        if one.extra is None:
            promised = ", ".join(f"{each.job} {each.start}" for each in moment.promises)
            text.append(f"   promised: {promised}", "bold")
        else:
            text.append(f"   shadow time of {one.job}: {one.start}, {one.extra} extra", "bold")
    return text


def _end(policy: str, moments: list[Moment], jobs: tuple[Job, ...]) -> RenderableType:
    starts = {
        one.job.id: (moment.now, one) for moment in moments for one in moment.outcomes if one.starts
    }
    table = tables.numbers_table("job", "arrived", "started", "waited, min", "")
    table.columns[-1].justify = "left"
    for job in jobs:
        when, outcome = starts[job.name]
        table.add_row(
            Text(job.name, colour(job.name)),
            *map(str, (job.submit, when, when - job.submit)),
            Text(WORDS[outcome.kind], "dim"),
        )
    mean = sum(starts[job.name][0] - job.submit for job in jobs) / len(jobs)
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
class Chart(Drawing):
    """What has happened so far, and what is planned: capitals ran, small letters are expected.

    A job keeps its rows; which ones they are means nothing on a pool.
    """

    procs: int
    rows: dict[str, list[int]] = field(default_factory=dict)

    def take_in(self, moment: Moment) -> None:
        """Note which jobs ended and started; those that started get rows."""
        before = dict(self.drawn)
        super().take_in(moment)
        for one in moment.running:
            if before.get(one.id, (-1, -1))[0] != one.start:
                self.rows[one.id] = self._free_rows(moment.now, one.procs)

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
        waiting = {job.id: job for job in moment.waiting}
        for one in moment.promises:
            self._promise(grid, waiting[one.job], one.start)
        lines = [
            Text.assemble("  ", *((mark * WIDE, style) for mark, style in row))
            for row in reversed(grid)
        ]
        return [*lines, *self._axis(now)]

    def _promise(self, grid: list[list[tuple[str, str]]], job: WaitingJob, when: int) -> None:
        """A reservation, on rows that no other job is expected to use then."""
        minutes = range(when, min(when + job.request, self.width))
        clear = [row for row in grid if all(row[minute][0] == LATER for minute in minutes)]
        for row in clear[: job.procs]:
            for minute in minutes:
                row[minute] = (job.id.lower(), f"reverse {colour(job.id)}")

    def _axis(self, now: int) -> list[Text]:
        numbers = "".join(f"{minute:<{TICK * WIDE}}" for minute in range(0, self.width, TICK))
        return [
            Text.assemble("  ", " " * (WIDE * now), ("^", "bold")),
            Text.assemble("  ", (numbers.rstrip(), "dim")),
        ]
