"""Which classes pay for a policy, for the terminal and the page; the figure draws the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shadowtime.metrics import ClassRow, classes, policy_run
from shadowtime.report.inputs import ReportInput
from shadowtime.report.numbers import THIN, percent, short, span
from shadowtime.study.losers import (
    NAMED,
    WORSE,
    Change,
    changes,
    class_rows,
    clear_changes,
    losers,
)

KINDS = {"size": "by size", "runtime": "by run time", "user": "by user"}
MANY = 3
"""The number of items of a kind that a sentence names."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Payers:
    """The classes of one run against another: all of them, and those that lose."""

    run: int
    policy: str
    against: str
    changes: tuple[Change, ...]

    @property
    def losers(self) -> list[Change]:
        """The classes that lose, the largest losses first."""
        return losers(self.changes)

    @property
    def sentence(self) -> str:
        """Which classes pay, with the metric and the baseline."""
        head = f"Mean wait under {short(self.policy)} against {short(self.against)}"
        judged = [change for change in self.changes if change.kind in KINDS]
        lost = [change for change in self.losers if change.kind in KINDS]
        if not judged:
            return f"{head}: no class can be compared."
        if not lost:
            maybe = [one for one in judged if one.change > WORSE]
            if maybe:
                most = max(maybe, key=lambda one: one.change)
                jobs = f"{most.jobs:,} job{'s' * (most.jobs != 1)}"
                return (
                    f"{head}: no class clearly pays; the largest difference, {_named(most)} of "
                    f"{jobs}, may be chance."
                )
            return (
                f"{head}: no class pays: none by size, run time or user waits more than "
                f"{100 * WORSE:g}{THIN}% longer."
            )
        parts = []
        for kind, words in KINDS.items():
            worst = [change for change in lost if change.kind == kind][:MANY]
            if worst:
                parts.append(f"{words}: {', '.join(_named(change) for change in worst)}")
        count = f"{len(lost)} of {len(judged)} classes wait more than {100 * WORSE:g}{THIN}% longer"
        return f"{head}: {count}, most of all {'; '.join(parts)}."


def classes_of(report: ReportInput, run: policy_run.PolicyRun) -> tuple[ClassRow, ...]:
    """The classes of a run: of the jobs that the metrics count, computed if the run has none.

    Accounts, partitions and QOS are added if the log names them.
    """
    known, only = run.classes, report.counted
    if known is None:
        known = class_rows(report.workload, run.schedule, only=only)
    if not known or any(row.kind in NAMED for row in known):
        return known
    return (*known, *class_rows(report.workload, run.schedule, only=only, kinds=NAMED))


def with_classes(report: ReportInput) -> ReportInput:
    """The same report with the classes of each run, so that they are computed once."""
    runs = tuple(replace(run, classes=classes_of(report, run)) for run in report.runs)
    return report.replace(runs=runs)


def payers(report: ReportInput, run: int, against: int = 0) -> Payers:
    """Which classes pay under one run compared with another, by default the first."""
    mine, other = report.runs[run], report.runs[against]
    clear = clear_changes(report.workload, mine.schedule, other.schedule, only=report.counted)
    found = changes(classes_of(report, mine), classes_of(report, other), clear)
    return Payers(run=run, policy=mine.name, against=other.name, changes=tuple(found))


def class_named(kind: str, label: str) -> str:
    """The jobs of a class in words.

    Examples
    --------
    >>> class_named("size", "65-256"), class_named("runtime", "6 h - 24 h")
    ('jobs on 65-256 processors', 'jobs that run 6 h to 24 h')
    >>> class_named("runtime", ">= 24 h"), class_named("user", "user 21")
    ('jobs that run 24 h or longer', 'user 21')
    """
    if kind == "size":
        return f"jobs on {_processors(label)}"
    if kind != "runtime":
        return label
    if label.startswith("<"):
        return f"jobs that run less than {label[1:].strip()}"
    if label.startswith(">="):
        return f"jobs that run {label[2:].strip()} or longer"
    return f"jobs that run {label.replace(' - ', ' to ')}"


def class_words(change: Change) -> str:
    """The jobs of a class and their verb: jobs wait, a user waits."""
    many = change.kind in ("size", "runtime") or change.label == classes.OTHERS
    return f"{class_named(change.kind, change.label)} {'wait' if many else 'waits'}"


def _processors(label: str) -> str:
    words = label.replace("> ", "more than ")
    return "1 processor" if words == "1" else f"{words} processors"


def _named(change: Change) -> str:
    label = change.label.removeprefix("user ") if change.kind == "user" else change.label
    if change.kind == "size":
        label = _processors(label)
    if change.before_s < 1:
        return f"{label} (+{span(change.wait_s)})"
    return f"{label} ({percent(change.change, signed=True)})"
