"""Read the shards of a sweep and write or print them as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.cli.common import options
from shadowtime.cli.common.console import note, show
from shadowtime.cli.common.outputs import check_file
from shadowtime.cli.common.tables import plain_table
from shadowtime.report.numbers import number
from shadowtime.study.sweep.curves import curve
from shadowtime.study.sweep.shards import Shards, numbered, write_table

if TYPE_CHECKING:
    from rich.console import RenderableType


def collect_results(
    *,
    folder: str,
    output: str | None,
    metric: str,
    over: str | None,
    sql: str | None,
    as_json: bool,
) -> None:
    """Collect the shards, and print or write the table that was requested."""
    if output:
        check_file("--output", output)
    table = Shards(Path(folder)).collect()
    if output:
        write_table(table, Path(output))
        note(f"wrote {output}: {table.num_rows:,} rows")
    if sql is not None:
        from shadowtime.study.sweep.sql import query

        answer = query(numbered(table), sql)
        if as_json:
            options.print_json({"rows": answer.to_pylist()})
        else:
            show(_rows(answer))
    elif not output or over:
        points = curve(numbered(table), metric, over or ["log", "policy"])
        if as_json:
            options.print_json({"metric": metric, "points": [_point(one) for one in points]})
        else:
            show(_points(points, metric, [over] if over else ["log", "policy"]))


def _point(point: Any) -> dict[str, Any]:
    inside = point.interval.as_dict() if point.interval else None
    return {"at": list(point.at), "value": point.value, "interval": inside, "runs": point.runs}


def _points(points: list[Any], metric: str, names: list[str]) -> RenderableType:
    table = plain_table(*names, metric, "over the copies (95 %)", "runs")
    for one in points:
        at = [number(value) if isinstance(value, float) else str(value) for value in one.at]
        inside = one.interval
        span = f"{number(inside.mean)} ± {number(inside.half)}" if inside else ""
        table.add_row(*at, number(one.value), span, str(one.runs))
    return table


def _rows(answer: Any) -> RenderableType:
    table = plain_table(*answer.column_names)
    for row in answer.to_pylist():
        table.add_row(*(number(v) if isinstance(v, float) else str(v) for v in row.values()))
    return table
