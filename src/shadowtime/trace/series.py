"""Series from CSV files: a time and a value per line, as ``--series price=prices.csv`` names them.

Times are dates (2024-05-01T13:00:00+02:00; without a zone UTC), seconds on the log's clock, or
times of day (08:00), which repeat every day.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.workload import Workload
from shadowtime.workload.series import Series

DAY = 86_400
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?")


def with_series(workload: Workload, given: Sequence[str]) -> Workload:
    """The workload with the series that texts such as ``price=prices.csv`` name."""
    found = dict(workload.series)
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name.isidentifier() or not path:
            raise UsageError(f"--series {text}: write NAME=FILE.csv, as in carbon=grid.csv")
        found[name] = read_series(path, name=name, epoch=workload.epoch)
    return workload.replace(series=found)


def read_series(path: str | Path, *, name: str, epoch: int | None = None) -> Series:
    """A series from a CSV file; ``epoch`` is the date at which the log's clock reads 0.

    Rules
    -----
    The first column is the time, the second the value; a first line without numbers names them,
    and the value's name is its unit in pages. Further columns are refused. Times ascend.
    """
    rows = _rows(Path(path))
    unit = ""
    if rows and not _is_number(rows[0][1][1]):
        unit, rows = rows[0][1][1].strip(), rows[1:]
    if not rows:
        raise InputError("there is no value in it", path=str(path), hint=_HINT)
    times: list[int] = []
    values: list[float] = []
    kinds = set()
    for line, (when, number) in rows:
        kind, seconds = _instant(when.strip(), path, line)
        kinds.add(kind)
        if not _is_number(number):
            raise InputError(f"{number.strip()!r} is no number", path=str(path), line=line)
        if times and seconds <= times[-1]:
            raise InputError("the times do not ascend", path=str(path), line=line)
        times.append(seconds)
        values.append(float(number))
    if len(kinds) > 1:
        raise InputError(f"it mixes {' and '.join(sorted(kinds))}", path=str(path), hint=_HINT)
    (kind,) = kinds
    shift, period = 0, 0
    if kind == "dates":
        if epoch is None:
            raise InputError(
                "it has dates, but the log does not say when its clock began",
                path=str(path),
                hint="Give seconds on the log's clock, or add UnixStartTime to the log's header.",
            )
        shift = -epoch
    elif kind == "times of day":
        shift, period = -((epoch or 0) % DAY), DAY
    time = np.array(times, np.int64) + shift
    value = np.array(values)
    if period:  # midnight of the clock is anywhere in the round
        order = np.argsort(time % period, kind="stable")
        time, value = (time % period)[order], value[order]
    return Series(name=name, time=time, value=value, unit=unit, period=period)


_HINT = "A line is TIME,VALUE: dates, seconds of the log's clock, or times of day such as 08:00."


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Lines of two cells each, with their numbers."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            table = csv.reader(lines)
            rows = [(table.line_num, row) for row in table if any(cell.strip() for cell in row)]
    except FileNotFoundError:
        raise InputError("no such file", path=str(path)) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read: {error}", path=str(path)) from None
    for line, row in rows:
        if len(row) != 2:
            raise InputError(f"{len(row)} cells, not 2", path=str(path), line=line, hint=_HINT)
    return rows


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _instant(text: str, path: str | Path, line: int) -> tuple[str, int]:
    """What kind of time it is, and its seconds."""
    if _is_number(text):
        return "seconds", round(float(text))
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return "times of day", 3600 * hours + 60 * minutes + seconds
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is no time", path=str(path), line=line, hint=_HINT) from None
    zoned = when if when.tzinfo else when.replace(tzinfo=UTC)
    return "dates", round(zoned.timestamp())
