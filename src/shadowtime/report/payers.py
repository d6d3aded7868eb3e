"""Which classes pay for a policy, for the terminal and the page; the figure draws the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.report.numbers import THIN, percent, short, span
from shadowtime.report.verdict import challenger, verdict_of
from shadowtime.study.losers import WORSE, Change, changes, class_rows, losers, named_rows

if TYPE_CHECKING:
    from shadowtime.metrics import ClassRow
    from shadowtime.metrics.policy_run import PolicyRun
    from shadowtime.report.inputs import ReportInput

KINDS = {"size": "by size", "runtime": "by run time", "user": "by user"}
MANY = 3
"""The number of items of a kind that a sentence names."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Payers:
    """The classes of one run against the first run: all of them, and those that lose."""

    run: int
    policy: str
    against: str
    changes: tuple[Change, ...]
    losers: tuple[Change, ...]
    """The largest losses first."""

    @property
    def sentence(self) -> str:
        """Which classes pay, with the metric and the baseline."""
        head = f"Mean wait under {short(self.policy)} against {short(self.against)}"
        judged = [change for change in self.changes if change.kind in KINDS]
        lost = [change for change in self.losers if change.kind in KINDS]
        if not judged:
            return f"{head}: no class can be compared."
        if not lost:
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


def classes_of(report: ReportInput, run: PolicyRun) -> tuple[ClassRow, ...]:
    """The classes of a run, computed if the run has none."""
    if run.classes is not None:
        return run.classes
    only = report.counted
    rows = class_rows(report.workload, run.schedule, only=only)
    return rows + named_rows(report.workload, run.schedule, only=only)


def payers(report: ReportInput, run: int) -> Payers:
    """Which classes pay under one run compared with the first run."""
    mine, first = (classes_of(report, report.runs[place]) for place in (run, 0))
    return Payers(
        run=run,
        policy=report.runs[run].name,
        against=report.baseline.name,
        changes=tuple(changes(mine, first)),
        losers=tuple(losers(mine, first)),
    )


def winner_payers(report: ReportInput) -> Payers | None:
    """Which classes pay for the winner (or the compared policy); None for one run."""
    place = challenger(report.runs, verdict_of(report))
    return None if place is None else payers(report, place)


def _named(change: Change) -> str:
    label = change.label.removeprefix("user ") if change.kind == "user" else change.label
    if change.kind == "size":
        label = "1 processor" if label == "1" else f"{label} processors"
    if change.before_s < 1:
        return f"{label} (+{span(change.wait_s)})"
    return f"{label} ({percent(change.change, signed=True)})"
