"""Schedules as Parquet files: the CSV's columns, typed, with the policy's name and claims."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shadowtime.errors import InputError, optional
from shadowtime.schedule import columns as c
from shadowtime.schedule.schedule import Attempts, Schedule
from shadowtime.types import NO_LIMIT, UNKNOWN, Ints

METADATA = b"shadowtime"


def _pyarrow(purpose: str) -> Any:
    return optional("pyarrow", "parquet", extra="parquet", purpose=purpose)


def write_schedule(
    schedule: Schedule, path: Path, *, more: Mapping[str, Any] | None = None
) -> None:
    """Write a schedule as Parquet; unknown values are -1 as in the CSV, reasons are names.

    ``more`` holds further columns by name, which readers of schedules pass over.
    """
    arrow = _pyarrow("write Parquet files")
    columns: dict[str, Any] = {}
    for name in c.present(schedule):
        column = getattr(schedule, name)
        if name == "reason":
            codes = arrow.array(column, arrow.int8())
            columns[name] = arrow.DictionaryArray.from_arrays(codes, arrow.array(c.LABELS))
        elif name == "limit":
            columns[name] = arrow.array(np.where(column >= NO_LIMIT, UNKNOWN, column))
        else:
            columns[name] = arrow.array(column)
    columns |= {name: arrow.array(values) for name, values in (more or {}).items()}
    about = {"policy": schedule.policy, "claims": schedule.claims, "counters": schedule.counters}
    metadata = {METADATA: json.dumps(about, default=dict).encode()}
    arrow.parquet.write_table(arrow.table(columns, metadata=metadata), path)


def write_attempts(attempts: Attempts, path: Path) -> None:
    """Write the attempts of preempted jobs as Parquet."""
    arrow = _pyarrow("write Parquet files")
    arrow.parquet.write_table(arrow.table(c.attempt_columns(attempts)), path)


def read_schedule(path: Path, attempts: Attempts) -> Schedule:
    """Read a schedule by the rules of the CSV reader."""
    table = _table(path, c.REQUIRED)
    names = [name for name in c.ALWAYS + c.WHERE_KNOWN if name in table.column_names]
    schedule = c.schedule_from(
        {name: _integers(table, name, path) for name in names if name != "place"},
        place=table.column("place").to_pylist() if "place" in names else None,
        attempts=attempts,
        ignored=table.num_columns - len(names),
    )
    about = json.loads((table.schema.metadata or {}).get(METADATA, b"{}"))
    return schedule.replace(
        policy=str(about.get("policy", "")),
        claims=tuple(about.get("claims", ())),
        counters={**about.get("counters", {}), **schedule.counters},
    )


def read_attempts(path: Path) -> Attempts:
    """Read the attempts of preempted jobs."""
    table = _table(path, c.ATTEMPTS)
    names = [name for name in c.ATTEMPTS + c.OF_WORK + c.OF_PIECES if name in table.column_names]
    return c.attempts_from({name: _integers(table, name, path) for name in names})


def _table(path: Path, needed: Sequence[str]) -> Any:
    arrow = _pyarrow("read Parquet files")
    try:
        table = arrow.parquet.read_table(path)
    except (OSError, arrow.ArrowException) as error:
        what = str(error).splitlines()[0]
        raise InputError(
            f"cannot be read: {what}", path=str(path), hint="Check the file and its permissions."
        ) from None
    lacking = [name for name in needed if name not in table.column_names]
    if lacking:
        found = ", ".join(table.column_names)
        raise InputError(
            f"no column {', '.join(lacking)} (found: {found[:200]})",
            path=str(path),
            hint=f"Give {', '.join(needed)}.",
        )
    return table


def _integers(table: Any, name: str, path: Path) -> Ints:
    """A column as whole numbers; reasons may be names."""
    column = table.column(name)
    if str(column.type) in ("int64", "int8", "int32") and column.null_count == 0:
        return _within(name, column.to_numpy().astype(np.int64), path)
    if str(column.type).startswith("dictionary"):
        column = column.cast(column.type.value_type)
    cells = column.to_pylist()
    if name == "reason":
        codes = {None: 0} | {label: code for code, label in enumerate(c.LABELS)}
        cells = [codes.get(cell, cell) for cell in cells]
    elif name in c.UNKNOWN_ALLOWED:
        cells = [UNKNOWN if cell is None else cell for cell in cells]
    try:
        whole = [int(cell) for cell in cells]
        values = np.array(whole, np.int64)
    except (TypeError, ValueError, OverflowError):
        whole, values = [], np.empty(0, np.int64)
    if whole != cells:
        raise InputError(
            f"{name} holds values that are not whole numbers",
            path=str(path),
            hint="Fill what is missing and round what is not whole.",
        )
    return _within(name, values, path)


def _within(name: str, values: Ints, path: Path) -> Ints:
    row = c.first_out_of_range(name, values)
    if row is not None:
        raise InputError(
            f"{name} is {values[row]} in row {row + 1}", path=str(path), hint="Correct the row."
        )
    return values
