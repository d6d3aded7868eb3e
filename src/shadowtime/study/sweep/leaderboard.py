"""From the rows of a sweep to a leaderboard: policies by logs, with intervals and proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shadowtime.errors import UsageError
from shadowtime.metrics import REGISTRY
from shadowtime.metrics.intervals import Interval, interval, paired
from shadowtime.study.comparison import NEVER
from shadowtime.study.sweep.shards import require_metric

HELD_OUT = "heldout_"
"""Before the name of a metric of the last part of a log."""
PROVED = "proved"
NOTICEABLE = 0.005
"""Share of a value below which a difference, however clear, is a tie: nobody would notice it."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A policy on a log."""

    value: float | None
    """On the unmodified log."""
    interval: Interval | None
    """Over the copies."""
    copies: tuple[float, ...] = ()
    """The value on each copy, in their order: the same copies under every policy."""
    held_out: float | None
    """On the last part of the log alone."""
    runs: int
    failed: int
    proved: int | None
    """Runs whose schedule was proved; None if the plan requests no proof."""
    unstarted: float = 0
    """Jobs of the unmodified log that never start."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A log on a machine."""

    name: str
    machine: str
    trace: str


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Policies, best first by their mean rank, and their places on every log."""

    metric: str
    subjects: tuple[Subject, ...]
    policies: tuple[str, ...]
    ranks: dict[str, float]
    """The mean rank of a policy over the logs where it ran."""
    places: dict[tuple[str, Subject], Place]
    rank_on: dict[tuple[str, Subject], int]
    """The rank on each log: one more than the policies that are clearly better there."""
    semantics: tuple[int, ...]


def leaderboard(table: Any, metric: str = "bsld_mean") -> Leaderboard:
    """Rank the policies of a collected table by a metric, at the recorded load.

    On a log, a policy's rank is one more than the number of policies that are clearly better: those
    whose differences from it, copy by copy, exclude zero and are at least half a per cent; without
    copies, those with a better value. Policies that differ by no more than chance share a rank. A
    policy that starts fewer jobs than another is behind it.
    """
    require_metric(table, metric)
    if REGISTRY[metric].better not in ("lower", "higher"):
        raise UsageError(f"{metric} has no direction of improvement: nothing can be ranked by it")
    rows = [row for row in table.to_pylist() if row["load"] == "as recorded"]
    groups: dict[tuple[str, Subject], list[dict[str, Any]]] = {}
    for row in rows:
        subject = Subject(name=row["log"], machine=row["machine"] or "", trace=row["trace"])
        groups.setdefault((row["policy"], subject), []).append(row)
    places = {key: _place(mine, metric) for key, mine in groups.items()}
    subjects = sorted({key[1] for key in groups}, key=lambda one: (one.name, one.machine))
    names = sorted({key[0] for key in groups})
    sign = -1 if REGISTRY[metric].better == "higher" else 1
    rank_on = _ranks(places, names, subjects, sign)
    ranks = _means(rank_on)
    # among equals by the intervals, the better value comes first; it has no better rank
    plain = {key: replace(place, copies=()) for key, place in places.items()}
    order = _means(_ranks(plain, names, subjects, sign))
    return Leaderboard(
        metric=metric,
        subjects=tuple(subjects),
        policies=tuple(
            sorted(names, key=lambda n: (ranks.get(n, math.inf), order.get(n, math.inf), n))
        ),
        ranks=ranks,
        places=places,
        rank_on=rank_on,
        semantics=tuple(sorted({row["semantics"] for row in rows})),
    )


def _place(rows: Sequence[dict[str, Any]], metric: str) -> Place:
    plain = next((row for row in rows if row["kind"] == "none"), None)
    good = [row for row in rows if row["error"] is None and row.get(metric) is not None]
    proofs = [row.get(PROVED) for row in good]
    made = [one for one in proofs if one is not None]
    copies = [row for row in good if row["kind"] != "none"]
    copies.sort(key=lambda row: row["copy"])
    return Place(
        value=plain.get(metric) if plain else None,
        interval=interval([row[metric] for row in copies]),
        copies=tuple(row[metric] for row in copies),
        held_out=plain.get(HELD_OUT + metric) if plain else None,
        runs=len(rows),
        failed=len(rows) - len(good),
        proved=int(sum(made)) if made else None,
        unstarted=(plain.get(NEVER) or 0) if plain else 0,
    )


def ranked_metrics(table: Any, first: str) -> list[str]:
    """The metrics of a table that have a better side, ``first`` before the others."""
    names = [name for name in table.column_names if name in REGISTRY]
    known = [name for name in names if REGISTRY[name].better != "neither"]
    return [first, *(name for name in known if name != first)]


def _ranks(
    places: dict[tuple[str, Subject], Place], names: Sequence[str], subjects: Sequence[Subject],
    sign: int,
) -> dict[tuple[str, Subject], int]:  # fmt: skip
    found = {}
    for subject in subjects:
        there = {
            name: place
            for name in names
            if (place := places.get((name, subject))) and place.value is not None
        }
        for name, place in there.items():
            better = sum(_better(other, place, sign) for other in there.values())
            found[name, subject] = 1 + better
    return found


def _better(one: Place, other: Place, sign: int) -> bool:
    """Better by more than chance; by the value where there are no copies to tell.

    A policy that starts fewer jobs than another is behind it.
    """
    if one.unstarted != other.unstarted:
        return one.unstarted < other.unstarted
    if len(one.copies) == len(other.copies) > 1:
        gap = paired(one.copies, other.copies)
        if gap is None or abs(gap.mean) < NOTICEABLE * abs(sum(other.copies) / len(other.copies)):
            return False
        return gap.high < 0 if sign > 0 else gap.low > 0
    assert one.value is not None and other.value is not None
    return sign * one.value < sign * other.value


def _means(ranks: dict[tuple[str, Subject], int]) -> dict[str, float]:
    """The mean rank of each policy over the logs."""
    found: dict[str, list[int]] = {}
    for (name, _), rank in ranks.items():
        found.setdefault(name, []).append(rank)
    return {name: sum(mine) / len(mine) for name, mine in found.items()}
