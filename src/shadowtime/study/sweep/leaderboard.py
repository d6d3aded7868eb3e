"""From the rows of a sweep to a leaderboard: policies by logs, with intervals and proofs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError
from shadowtime.metrics import REGISTRY
from shadowtime.metrics.intervals import Interval, interval
from shadowtime.study.ranking import NEVER
from shadowtime.study.sweep.shards import require_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

HELD_OUT = "heldout_"
"""Before the name of a metric of the last part of a log."""
PROVED = "proved"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A policy on a log."""

    value: float | None
    """On the unmodified log."""
    interval: Interval | None
    """Over the copies."""
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
    semantics: tuple[int, ...]


def leaderboard(table: Any, metric: str = "bsld_mean") -> Leaderboard:
    """Rank the policies of a collected table by a metric, at the recorded load.

    A rank is that of the value on the unmodified log; equal values share the better rank. A policy
    that starts fewer jobs than another is behind it.
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
    ranks = _ranks(places, names, subjects, -1 if REGISTRY[metric].better == "higher" else 1)
    return Leaderboard(
        metric=metric,
        subjects=tuple(subjects),
        policies=tuple(sorted(names, key=lambda name: (ranks.get(name, math.inf), name))),
        ranks=ranks,
        places=places,
        semantics=tuple(sorted({row["semantics"] for row in rows})),
    )


def _place(rows: Sequence[dict[str, Any]], metric: str) -> Place:
    plain = next((row for row in rows if row["kind"] == "none"), None)
    good = [row for row in rows if row["error"] is None and row.get(metric) is not None]
    proofs = [row.get(PROVED) for row in good]
    made = [one for one in proofs if one is not None]
    return Place(
        value=plain.get(metric) if plain else None,
        interval=interval([row[metric] for row in good if row["kind"] != "none"]),
        held_out=plain.get(HELD_OUT + metric) if plain else None,
        runs=len(rows),
        failed=len(rows) - len(good),
        proved=int(sum(made)) if made else None,
        unstarted=(plain.get(NEVER) or 0) if plain else 0,
    )


def _ranks(
    places: dict[tuple[str, Subject], Place], names: Sequence[str], subjects: Sequence[Subject],
    sign: int,
) -> dict[str, float]:  # fmt: skip
    found: dict[str, list[int]] = {}
    for subject in subjects:
        values = {
            name: (place.unstarted, sign * value)
            for name in names
            if (place := places.get((name, subject))) and (value := place.value) is not None
        }
        for name, mine in values.items():
            found.setdefault(name, []).append(1 + sum(one < mine for one in values.values()))
    return {name: sum(ranks) / len(ranks) for name, ranks in found.items()}
