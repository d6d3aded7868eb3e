"""Metrics over the parameters of a sweep: curves and heat maps, each point with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadowtime.errors import UsageError
from shadowtime.metrics.intervals import Interval, interval
from shadowtime.study.sweep.shards import SETTING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class Point:
    """A metric at one setting: on the log as it is, and over its copies."""

    at: tuple[Any, ...]
    """The values of the parameters."""
    value: float | None
    """The mean over logs and loads of the runs without a copy."""
    interval: Interval | None
    """Over all copies; None for fewer than two."""
    runs: int


def curve(
    table: Any, metric: str, over: str | Sequence[str], *, where: Mapping[str, Any] | None = None
) -> list[Point]:
    """A metric over one parameter, or over two for a heat map; points in the order of their values.

    Runs that failed are left out.
    """
    names = [over] if isinstance(over, str) else list(over)
    columns = [name if name in table.column_names else f"{SETTING}{name}" for name in names]
    for name, column in zip(names, columns, strict=True):
        if column not in table.column_names:
            ranged = [n.removeprefix(SETTING) for n in table.column_names if n.startswith(SETTING)]
            known = f"ranged are {', '.join(ranged)}" if ranged else "no parameter has a range"
            raise UsageError(f"the sweep has no parameter {name!r}: {known}")
    if metric not in table.column_names:
        raise UsageError(f"the sweep has no metric {metric!r}")
    picked = dict(where or {})
    for name in picked:
        if name not in table.column_names:
            raise UsageError(f"the sweep has no column {name!r}")
    needed = list(dict.fromkeys([*columns, *picked, "kind", metric]))
    rows = table.select(needed).to_pylist()
    plain: dict[tuple[Any, ...], list[float]] = {}
    copies: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        at = tuple(row[column] for column in columns)
        value = row[metric]
        if None in at or value is None or not math.isfinite(value):
            continue
        if any(row[name] != wanted for name, wanted in picked.items()):
            continue
        (plain if row["kind"] == "none" else copies).setdefault(at, []).append(value)
    return [
        Point(
            at=at,
            value=sum(plain[at]) / len(plain[at]) if at in plain else None,
            interval=interval(copies.get(at, [])),
            runs=len(plain.get(at, [])) + len(copies.get(at, [])),
        )
        for at in sorted({*plain, *copies}, key=_sortable)
    ]


def _sortable(at: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((isinstance(one, str), one) for one in at)
