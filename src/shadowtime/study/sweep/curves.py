"""Metrics over the parameters of a sweep: curves and heat maps, each point with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shadowtime.errors import UsageError
from shadowtime.metrics.intervals import Interval, interval
from shadowtime.study.sweep.shards import SETTING, require_metric


@dataclass(frozen=True, kw_only=True)
class Point:
    """A metric at one setting: on the unmodified log, and over its copies."""

    at: tuple[Any, ...]
    """The values of the parameters."""
    value: float | None
    """The mean over logs and loads of the runs without a copy."""
    interval: Interval | None
    """Over the copies, each with its mean over logs, loads and other parameters; None for fewer
    than two copies."""
    runs: int


def curve(
    table: Any, metric: str, over: str | Sequence[str], *, where: Mapping[str, Any] | None = None
) -> list[Point]:
    """A metric over one parameter, or over two for a heat map; points in the order of their values.

    Failed runs are omitted.
    """
    names = [over] if isinstance(over, str) else list(over)
    # a parameter may have the name of a metric (expansion): the parameter is meant
    known_columns = set(table.column_names)
    columns = [
        f"{SETTING}{name}" if f"{SETTING}{name}" in known_columns or name not in known_columns
        else name
        for name in names
    ]  # fmt: skip
    for name, column in zip(names, columns, strict=True):
        if column not in table.column_names:
            ranged = [n.removeprefix(SETTING) for n in table.column_names if n.startswith(SETTING)]
            known = f"ranged are {', '.join(ranged)}" if ranged else "no parameter has a range"
            raise UsageError(f"the sweep has no parameter {name!r}: {known}")
    require_metric(table, metric)
    picked = dict(where or {})
    for name in picked:
        if name not in table.column_names:
            raise UsageError(f"the sweep has no column {name!r}")
    needed = list(dict.fromkeys([*columns, *picked, "kind", "copy", "seed", metric]))
    rows = table.select(needed).to_pylist()
    plain: dict[tuple[Any, ...], list[float]] = {}
    copies: dict[tuple[Any, ...], dict[tuple[Any, ...], list[float]]] = {}
    for row in rows:
        at = tuple(row[column] for column in columns)
        value = row[metric]
        if None in at or value is None or not math.isfinite(value):
            continue
        if any(row[name] != wanted for name, wanted in picked.items()):
            continue
        if row["kind"] == "none":
            plain.setdefault(at, []).append(value)
        else:
            which = (row["kind"], row["seed"], row["copy"])
            copies.setdefault(at, {}).setdefault(which, []).append(value)
    return [
        Point(
            at=at,
            value=sum(plain[at]) / len(plain[at]) if at in plain else None,
            interval=interval([sum(one) / len(one) for one in copies.get(at, {}).values()]),
            runs=len(plain.get(at, [])) + sum(map(len, copies.get(at, {}).values())),
        )
        for at in sorted({*plain, *copies}, key=lambda at: [(isinstance(x, str), x) for x in at])
    ]
