"""The leaderboard as one page with the report's look: several metrics, ties and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import shadowtime
from shadowtime.errors import ShadowtimeError
from shadowtime.policy import parse_policy
from shadowtime.report.metadata import describe
from shadowtime.report.numbers import amount, number, short
from shadowtime.report.page.html import TABLE_SCRIPTS, whole_page
from shadowtime.report.page.templates import fill
from shadowtime.report.tradeoff import listed, lower

if TYPE_CHECKING:
    from shadowtime.study.sweep.leaderboard import Leaderboard, Place, Subject

OWN = "a policy of your own"


def leaderboard_page(boards: Sequence[Leaderboard], *, plan: str = "") -> str:
    """The page: a table of policies by logs for each metric, what the policies and logs are, how to
    add a row. The first board leads.
    """
    first = boards[0]
    top = fill(
        "leaderboard_result.html",
        headline=headline(first),
        copies=any(place.copies for place in first.places.values()),
        held=any(place.held_out is not None for place in first.places.values()),
        semantics=", ".join(map(str, first.semantics)),
    )
    tables = [
        fill("leaderboard_table.html", place=i, **_table(board)) for i, board in enumerate(boards)
    ]
    about = fill(
        "leaderboard_about.html",
        policies=[_policy(first, name) for name in first.policies],
        logs=first.subjects,
        plan=plan,
    )
    return whole_page(
        "Leaderboard",
        [str(top), *map(str, tables), str(about)],
        [],
        versions={"shadowtime": shadowtime.__version__},
        scripts=TABLE_SCRIPTS,
    )


def headline(board: Leaderboard) -> str:
    """Which policies rank best by the first metric, and whether they are tied."""
    if not board.ranks:
        return "No run has finished."
    best = min(board.ranks.values())
    leaders = [short(name) for name in board.policies if board.ranks.get(name) == best]
    logs = f"{len(board.subjects)} log{'s' if len(board.subjects) > 1 else ''}"
    verb = "ranks" if len(leaders) == 1 else "tie as"
    return (
        f"{listed(leaders)} {verb} best by {lower(describe(board.metric).label)}: "
        f"mean rank {number(best)} over {logs}."
    )


def _table(board: Leaderboard) -> dict[str, Any]:
    """One metric: a row per policy, a column per log, each with its own scale."""
    info = describe(board.metric)
    columns = [_Column(board, subject) for subject in board.subjects]
    return {
        "label": info.label,
        "side": f"{info.better} is better",
        "definition": info.definition,
        "same": _same(columns),
        "heads": [(column.subject.name, column.constant) for column in columns],
        "rows": [
            {
                "name": name,
                "rank": number(board.ranks.get(name)),
                "cells": [column.cell(name) for column in columns],
            }
            for name in board.policies
        ],
    }


def _same(columns: Sequence[_Column]) -> str:
    """Instead of a table of equal values: all of them in a sentence; empty if any differ."""
    if not all(column.constant for column in columns):
        return ""
    reasons = " or ".join(dict.fromkeys(column.constant for column in columns))
    shown = [(column.cell(next(iter(column.places)))["shown"], column) for column in columns]
    values = ", ".join(f"{value} on {column.subject.name}" for value, column in shown)
    if len({value for value, _ in shown}) == 1 and len(shown) > 1:
        values = f"{shown[0][0]} on every log"
    return f"{values}; {reasons}."


class _Column:
    """A log: the scale of its values, and why they are all equal if they are."""

    def __init__(self, board: Leaderboard, subject: Subject) -> None:
        self.board, self.subject = board, subject
        self.unit = describe(board.metric).unit
        self.places = {
            name: place for name in board.policies if (place := board.places.get((name, subject)))
        }
        points = [point for place in self.places.values() if (point := _point(place)) is not None]
        ends = [
            end
            for place in self.places.values()
            if place.interval
            for end in (place.interval.low, place.interval.high)
        ]
        self.log = bool(points) and min(points) > 0 and max(points) > 3 * min(points)
        low = min(points, default=0.0) / 1.5 if self.log else -math.inf
        seen = [self._scaled(max(value, low)) for value in (*points, *ends)]
        self.low, self.high = min(seen, default=0.0), max(seen, default=1.0)
        self.constant = constant_reason(board.metric, points)

    def _scaled(self, value: float) -> float:
        return math.log(max(value, 1e-9)) if self.log else value

    def _place(self, value: float) -> float:
        """Per cent of the cell's width."""
        wide = self.high - self.low
        share = (self._scaled(value) - self.low) / wide if wide else 0.5
        return 100 * min(1.0, max(0.0, share))

    def cell(self, name: str) -> dict[str, Any]:
        place = self.places.get(name)
        point = None if place is None else _point(place)
        if place is None or point is None:
            return {"shown": "failed" if place else "not run", "failed": True, "constant": False}
        rank = self.board.rank_on[name, self.subject]
        tied = sum(self.board.rank_on.get((n, self.subject)) == rank for n in self.places) > 1
        inside = place.interval
        return {
            "failed": False,
            "constant": bool(self.constant),
            "value": repr(point),
            "shown": amount(point, self.unit),
            "rank": f"{rank}{'=' if tied else ''}",
            "best": rank == 1,
            "at": f"{self._place(point):.1f}",
            "left": f"{self._place(inside.low):.1f}" if inside else "",
            "wide": f"{self._place(inside.high) - self._place(inside.low):.1f}" if inside else "",
            "title": _title(place, self.unit),
            "never": number(place.unstarted) if place.unstarted else "",
            "held": amount(place.held_out, self.unit) if place.held_out is not None else "",
        }


def _point(place: Place) -> float | None:
    """The mean over the copies where there are any, so that it lies in its interval."""
    return place.value if place.interval is None else place.interval.mean


def _title(place: Place, unit: str) -> str:
    parts = []
    if place.interval is not None:
        low, high = (amount(end, unit) for end in (place.interval.low, place.interval.high))
        parts.append(
            f"95 % interval {low} to {high}; the unmodified log: {amount(place.value, unit)}"
        )
    if place.held_out is not None:
        parts.append(f"last part of the log: {amount(place.held_out, unit)}")
    return "; ".join(parts)


def constant_reason(metric: str, values: Sequence[float]) -> str:
    """Why a metric is the same under all policies; empty if it is not.

    Examples
    --------
    >>> constant_reason("wait_mean_s", [0.0, 0.0])
    'all equal: no job waits under any policy'
    >>> constant_reason("wait_mean_s", [1.0, 2.0])
    ''
    """
    if len(values) < 2 or max(values) - min(values) > 1e-9 * max(1.0, abs(max(values))):
        return ""
    waits = metric.startswith(("wait_", "bsld_", "slowdown_"))
    if waits and values[0] in (0.0, 1.0):
        return "all equal: no job waits under any policy"
    if metric in ("utilisation", "goodput"):
        return "all equal: the same work is done in the same time, whatever the order"
    return "all equal: on this log the policies decide alike, as far as this metric can tell"


def _policy(board: Leaderboard, name: str) -> dict[str, Any]:
    """What a policy is, and how many of its schedules were proved."""
    places = [place for (policy, _), place in board.places.items() if policy == name]
    asked = any(place.proved is not None for place in places)
    runs = sum(place.runs for place in places)
    try:
        known = parse_policy(name)
        summary, paper = getattr(known, "summary", "") or OWN, getattr(known, "paper", "")
    except (ShadowtimeError, OSError):
        summary, paper = OWN, ""
    return {
        "name": name,
        "summary": summary,
        "paper": paper,
        "proved": f"{sum(place.proved or 0 for place in places)} of {runs}"
        if asked
        else "not asked",
        "failed": sum(place.failed for place in places),
    }
