"""Tables of jobs as CSV and Parquet files, also of public data sets with columns of their own.

A map assigns the columns of a table to ours (:mod:`shadowtime.trace.job_table`), with their units.
Maps for known data sets are recognised by their columns; for any other table the map is the file
``TABLE.map.toml`` beside it.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.errors import InputError, MissingExtra, UsageError
from shadowtime.printable import shown
from shadowtime.trace.job_table import NEEDED, raw_of, table_of
from shadowtime.workload.raw import STATUS_CANCELLED, STATUS_COMPLETED, STATUS_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shadowtime.workload import Workload
    from shadowtime.workload.raw import RawTrace


TIMES = ("submit", "start", "end")
SPANS = ("run", "request")
WORDS = ("user", "account", "partition", "qos")
NUMBERS = ("job_id", "procs", "nodes")
OURS = (*NUMBERS, *TIMES, *SPANS, *WORDS, "state")
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "ms": 0.001}
INFINITE = 2**32 - 1
"""Slurm's number for no limit."""
_CLOCK = re.compile(r"(?:(\d+)[-:\s](?=\d+:\d+:))?(\d+):(\d\d):(\d\d)(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class JobMap:
    """Our columns and theirs, and the units of spans that are not in seconds."""

    name: str
    columns: Mapping[str, str]
    units: Mapping[str, str]
    source: str = ""

    def fits(self, names: Iterable[str]) -> bool:
        """True if a table has every column of the map."""
        return set(self.columns.values()) <= set(names)


_CINECA = {
    "job_id": "job_id", "user": "user_id", "account": "group_id", "partition": "partition",
    "qos": "qos", "state": "job_state", "submit": "submit_time", "start": "start_time",
    "end": "end_time", "run": "run_time", "request": "time_limit",
}  # fmt: skip
_ALCF = {
    "user": "USERNAME_GENID", "account": "PROJECT_NAME_GENID", "partition": "QUEUE_NAME",
    "submit": "QUEUED_TIMESTAMP", "start": "START_TIMESTAMP", "end": "END_TIMESTAMP",
    "run": "RUNTIME_SECONDS", "request": "WALLTIME_SECONDS", "nodes": "NODES_REQUESTED",
    "procs": "CORES_REQUESTED", "state": "EXIT_STATUS",
}  # fmt: skip

MAPS = (
    JobMap(
        name="eagle",
        source="NREL Eagle job data set",
        columns={
            "job_id": "job_id", "user": "user", "account": "account", "partition": "partition",
            "qos": "qos", "state": "state", "submit": "submit_time", "start": "start_time",
            "end": "end_time", "run": "run_time", "request": "wallclock_req",
            "nodes": "nodes_req", "procs": "processors_req",
        },
        units={},
    ),
    JobMap(
        name="pm100",
        source="PM100 (CINECA Marconi100)",
        columns=_CINECA | {"nodes": "num_nodes_req", "procs": "num_cores_req"},
        units={"request": "min"},
    ),
    JobMap(
        name="m100",
        source="M100 ExaData job table (CINECA Marconi100)",
        columns=_CINECA | {"nodes": "num_nodes", "procs": "num_cpus"},
        units={"request": "min"},
    ),
    JobMap(
        name="f-data",
        source="F-DATA (Fugaku)",
        columns={
            # duration differs from edt - sdt by up to minutes: nodes are occupied from sdt to edt
            "job_id": "jid", "user": "usr", "submit": "adt", "start": "sdt", "end": "edt",
            "request": "elpl", "nodes": "nnumr", "procs": "cnumr", "state": "exit state",
        },
        units={},
    ),
    JobMap(
        name="alcf",
        source="ALCF job composite (Cobalt)",
        columns={"job_id": "COBALT_JOBID"} | _ALCF,
        units={},
    ),
    JobMap(
        name="alcf-pbs",
        source="ALCF job composite (PBS: Polaris, Aurora)",
        columns={"job_id": "JOB_NAME"} | _ALCF,
        units={},
    ),
)  # fmt: skip
"""Maps of data sets whose columns are published."""


def map_for(names: Iterable[str], path: str | None) -> JobMap | None:
    """The map beside a table, else the known one whose columns it has; None for our own columns.

    Examples
    --------
    >>> map_for(["jid", "usr", "adt", "sdt", "edt", "duration", "elpl", "nnumr", "cnumr",
    ...          "exit state", "pri"], None).name
    'f-data'
    """
    given = list(names)
    beside = f"{path}.map.toml" if path else ""
    if beside and os.path.isfile(beside):
        return read_map(beside)
    return next((one for one in MAPS if one.fits(given)), None)


def read_map(path: str) -> JobMap:
    """A map from a TOML file: ``submit = "queued_at"``, and ``[units] request = "min"``."""
    try:
        table = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"not a readable TOML file ({error})", path=path) from None
    units = table.pop("units", {})
    for key, value in table.items():
        if key not in OURS or not isinstance(value, str):
            hint = f"Write OURS = 'THEIRS', where OURS is one of {', '.join(OURS)}."
            raise InputError(f"cannot read the entry {key}", path=path, hint=hint)
    if not isinstance(units, dict) or any(
        key not in (*SPANS, *TIMES) or value not in UNITS for key, value in units.items()
    ):
        hint = f"Units of {', '.join((*SPANS, *TIMES))} are {', '.join(UNITS)}."
        raise InputError("cannot read the table units", path=path, hint=hint)
    if "submit" not in table or not {"run", "end"} & set(table):
        raise InputError("the map needs submit, and run or start and end", path=path)
    return JobMap(name=Path(path).name, columns=table, units=units)


def mapped(
    columns: Mapping[str, Sequence[Any]], found: JobMap, *, path: str | None, first: int = 2
) -> dict[str, list[Any]]:
    """The columns of a table under our names and in our units.

    Rules
    -----
    Times are dates (without a zone: UTC) or numbers, spans numbers, ``HH:MM:SS`` or
    ``D-HH:MM:SS``; fractions of a second are rounded half up. Without a column for the run it is
    end - start. A state of cancelled, with no start, is SWF's status 5; completed, finished or 0
    is 1; other states are 0. If an id is not a whole number or occurs twice, all jobs are numbered
    by their row. Rows without a submission are an error.
    A request without a limit (infinite, unlimited, or Slurm's number for it) is not known.
    """
    missing = [theirs for theirs in found.columns.values() if theirs not in columns]
    if missing:
        raise InputError(
            f"the table has no column {missing[0]!r}, which the map {found.name} names", path=path
        )
    n = len(next(iter(columns.values()), []))
    made: dict[str, list[Any]] = {}
    for ours, theirs in found.columns.items():
        scale = UNITS[found.units.get(ours, "s")]
        cells = columns[theirs]
        read = _READ[_kind(ours)]
        values = []
        for row, cell in enumerate(cells):
            try:
                unknown = _empty(cell) or (ours == "request" and _unlimited(cell))
                values.append(None if unknown else read(cell, scale))
            except (ValueError, OverflowError, TypeError):
                raise InputError(
                    f"{theirs} must be {_WANTED[_kind(ours)]}, not {shown(str(cell))}",
                    path=path, line=first + row,
                ) from None  # fmt: skip
        made[ours] = values
    start, end = made.get("start", [None] * n), made.pop("end", [None] * n)
    if "run" not in made:
        made["run"] = [
            b - a if a is not None and b is not None else None
            for a, b in zip(start, end, strict=True)
        ]
    made["run"] = [value if value is not None and value >= 0 else None for value in made["run"]]
    states = made.pop("state", None)
    if states is not None:
        made["status"] = [_status(one, begun) for one, begun in zip(states, start, strict=True)]
    ids = made.get("job_id", [None] * n)
    if None in ids or len(set(ids)) < n or not all(isinstance(one, int) for one in ids):
        made["job_id"] = list(range(1, n + 1))
    return made


def _kind(ours: str) -> str:
    if ours == "job_id":
        return "id"
    for kind, names in (("time", TIMES), ("span", SPANS), ("number", NUMBERS)):
        if ours in names:
            return kind
    return "word"


def _empty(cell: Any) -> bool:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or cell != cell:
        return True
    return isinstance(cell, str) and cell.strip().lower() in ("", "nan", "nat", "none", "null")


def _unlimited(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in ("infinite", "unlimited", str(INFINITE))
    return isinstance(cell, int | float) and cell == INFINITE


def _time(cell: Any, scale: float) -> int:
    if isinstance(cell, str):
        word = cell.strip()
        if re.fullmatch(r"-?\d+(\.\d+)?", word):
            return _whole(float(word) * scale)
        cell = datetime.fromisoformat(word)
    if isinstance(cell, datetime):
        zoned = cell if cell.tzinfo else cell.replace(tzinfo=UTC)
        return _whole(zoned.timestamp())
    return _whole(float(cell) * scale)


def _span(cell: Any, scale: float) -> int:
    if isinstance(cell, timedelta):
        return _whole(cell.total_seconds())
    if isinstance(cell, str) and (match := _CLOCK.fullmatch(cell.strip())):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return _whole(float(cell) * scale)


def _count(cell: Any, _: float) -> int:
    value = float(cell)
    if not value.is_integer():
        raise ValueError("not whole")
    return int(value)


def _id(cell: Any, _: float) -> int | str:
    word = str(cell).strip().removesuffix(".0")
    return int(word) if re.fullmatch(r"\d{1,15}", word) else word


def _whole(value: float) -> int:
    if not math.isfinite(value):
        raise ValueError("not finite")
    return math.floor(value + 0.5)


def _status(state: str | None, start: int | None) -> int | None:
    word = (state or "").strip().lower()
    if not word:
        return None
    if start is None:
        return STATUS_CANCELLED
    done = word.startswith("complete") or word in ("finished", "0", "0.0", "ok")
    return STATUS_COMPLETED if done else STATUS_FAILED


_READ: dict[str, Any] = {
    "id": _id, "time": _time, "span": _span, "number": _count,
    "word": lambda cell, _: str(cell),
}  # fmt: skip
_WANTED = {
    "id": "an id", "time": "a date or a number of seconds", "span": "a span of time",
    "number": "a whole number", "word": "a text",
}  # fmt: skip


def is_job_table(first_line: str) -> bool:
    """Is this the header of a table of jobs, or of a data set whose columns we know?

    Examples
    --------
    >>> is_job_table("job_id,submit,run,nodes"), is_job_table("JobID,Submit,Start")
    (True, False)
    """
    names = {name.strip().strip('"') for name in first_line.split(",")}
    return set(NEEDED) <= names or any(one.fits(names) for one in MAPS)


def parse_job_csv(text: str, *, name: str, path: str | None = None) -> RawTrace:
    """The jobs of a CSV text with a header."""
    reader = csv.reader(io.StringIO(text))
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:  # a line break within a cell, or a cell without end
        raise InputError(
            f"not readable as CSV ({error})",
            path=path,
            line=reader.line_num,
            hint="Put cells with line breaks into quotes.",
        ) from None
    if not rows:
        raise InputError("the file is empty", path=path)
    head = [column.strip() for column in rows[0]]
    if len(set(head)) != len(head):
        raise InputError("a column is named twice", path=path, line=1)
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(head):
            raise InputError(
                f"expected {len(head)} columns, found {len(row)}", path=path, line=line
            )
    columns = {column: [row[k] for row in rows[1:]] for k, column in enumerate(head)}
    found = map_for(head, path)
    ours = columns if found is None else mapped(columns, found, path=path)
    return raw_of(ours, name=name, path=path)


def parse_job_parquet(data: bytes, *, name: str, path: str) -> RawTrace:
    """The jobs of a Parquet file's bytes."""
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("pyarrow", extra="parquet", purpose="read Parquet") from None
    try:
        columns = parquet.read_table(pyarrow.BufferReader(data)).to_pydict()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        what = str(error).splitlines()[0]
        raise InputError(f"cannot be read ({what})", path=path) from None
    found = map_for(columns, path)
    ours = columns if found is None else mapped(columns, found, path=path, first=1)
    return raw_of(ours, name=name, path=path, first=1)


def write_jobs(workload: Workload, path: str | os.PathLike[str]) -> None:
    """Write a workload as a table of jobs, CSV or Parquet by the file's suffix."""
    file = Path(path)
    columns = table_of(workload)
    if file.suffix == ".csv":
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    elif file.suffix == ".parquet":
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError:
            raise MissingExtra("pyarrow", extra="parquet", purpose="write Parquet") from None
        parquet.write_table(pyarrow.table(columns), file)
    else:
        raise UsageError(f"{file}: a table of jobs ends in .csv or .parquet")
