"""A run as a table: one row per job, with the names behind the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.errors import MissingExtra, optional
from shadowtime.schedule import Schedule
from shadowtime.schedule.columns import LABELS, present
from shadowtime.types import UNKNOWN, AnyArray

if TYPE_CHECKING:
    from shadowtime.metrics import Window
    from shadowtime.metrics.where import Where
    from shadowtime.workload import Workload

OF_GROUPS = ("wait_mean_s", "wait_median_s", "wait_p95_s", "bsld_mean", "bsld_p95")
"""Numbers of a group of jobs."""

FROM_LOG = ("run", "request", "user", "group", "partition", "queue", "executable")
"""Columns that come from the log rather than from the schedule."""


def columns_of(workload: Workload, schedule: Schedule, *, policy: str) -> dict[str, Any]:
    """Every column of a run by name.

    Examples
    --------
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0], run=[5], procs=[2], recorded_start=[3], user=[0],
    ...                    names={"user": ("ada",)})
    >>> found = columns_of(w, Schedule.recorded(w), policy="recorded")
    >>> found["wait"].tolist(), found["user"], found["reason"]
    ([3], ['ada'], ['recorded'])
    """
    found: dict[str, Any] = {name: getattr(schedule, name) for name in present(schedule)}
    found["reason"] = [LABELS[code] for code in schedule.reason.tolist()]
    found["wait"] = np.where(schedule.unstarted, UNKNOWN, schedule.wait)
    for name in FROM_LOG:
        found[name] = named(workload, name)
    found["policy"] = [policy] * len(workload)
    return found


def named(workload: Workload, column: str) -> AnyArray | list[str | None]:
    """A column with names instead of numbers if the log has them."""
    values = getattr(workload, column)
    names = workload.names.get(column)
    if not names:
        return np.asarray(values)
    return [names[at] if 0 <= at < len(names) else None for at in values.tolist()]


def group_rows(
    runs: Sequence[Any],
    workload: Workload,
    by: str | Sequence[str],
    *,
    window: Window,
    where: Where | None = None,
) -> list[dict[str, Any]]:
    """A row for each group of jobs under each run's policy.

    ``runs`` have a name and a schedule of the workload; ``by`` is what ``--by`` accepts.
    """
    from shadowtime.metrics.by_class import by_groups
    from shadowtime.metrics.groups import parse_by

    kinds = parse_by(by if isinstance(by, str) else ",".join(by))
    only = where.mask(workload) if where else None
    return [
        {
            "by": row.kind,
            "name": row.label,
            "policy": run.name,
            "jobs": row.jobs,
            **{name: row.metrics[name] for name in OF_GROUPS if name in row.metrics},
        }
        for run in runs
        for row in by_groups(run.schedule, workload, kinds, window=window, only=only)
    ]


def to_arrow(columns: Mapping[str, Any]) -> Any:
    """An Arrow table."""
    pyarrow = optional("pyarrow", extra="parquet", purpose="make Arrow tables")
    return pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})


def to_frame(columns: Mapping[str, Any]) -> Any:
    """A data frame of pandas, or of polars where pandas is not installed."""
    try:
        import pandas

        return pandas.DataFrame(dict(columns))
    except ImportError:
        pass
    try:
        import polars

        return polars.DataFrame(dict(columns))
    except ImportError:
        raise MissingExtra("pandas or polars", extra="frames", purpose="make frames") from None


def html_table(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A small HTML table for notebooks; every cell is escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
