"""A table of other people's under a map: its cells in our columns and units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

import numpy as np

from shadowtime.errors import ClusterError, InputError
from shadowtime.printable import shown
from shadowtime.slurmtext import tres
from shadowtime.slurmtext.fields import parse_memory
from shadowtime.trace.job_map import NUMBERS, SECONDS, SIZES, SPANS, STATES, TIMES, JobMap
from shadowtime.workload.raw import STATUS_CANCELLED, STATUS_COMPLETED, STATUS_FAILED

INFINITE = 2**32 - 1
"""Slurm's number for no limit."""
_CLOCK = re.compile(
    r"(?:(\d+)(?:-|:(?=\d+:\d\d:)|\s+days?,?\s+|\s+))?(\d+):(\d\d)(?::(\d\d)(?:\.\d+)?)?"
)
_DATE = len("2026-03-01 00:00:10")
_DAYS = re.compile(r"(\d+)\s+days?", re.IGNORECASE)
NOTHING = frozenset(
    ("", "nan", "nat", "none", "null", "(null)", "unknown", "n/a", "na", "none assigned", "-")
)
_WAITING = ("pend", "run", "queue", "wait", "suspend", "configuring", "submitted")


def mapped(
    columns: Mapping[str, Sequence[Any]], found: JobMap, *, path: str | None, first: int = 2,
    zone: tzinfo = UTC,
) -> dict[str, list[Any]]:  # fmt: skip
    """The columns of a table under our names and in our units.

    Rules
    -----
    Times are dates (without a zone of their own: in ``zone``) or numbers, spans numbers,
    ``HH:MM:SS``, ``D-HH:MM:SS`` or ``D days HH:MM:SS``; fractions of a second are rounded half up,
    those of a processor or GPU up. Without a column for the run it is end - start, without one
    for the start submit + wait. A job without a start that has an end left the queue then; so did
    one whose state is cancelled and that ran for 0 s. Completed, finished, succeeded or 0 is SWF's
    status 1, other states are 0; the unit ``slurm`` says that states are Slurm's numbers. An id is
    a whole number, or a name that ends in one.
    A request without a limit (infinite, unlimited, or Slurm's number for it) is not known; memory
    of 0 was not asked for. ``tres`` (``cpu=4,mem=8G,gres/gpu=1``) gives what has no column.
    """
    missing = [theirs for theirs in found.columns.values() if theirs not in columns]
    if missing:
        raise InputError(
            f"the table has no column {missing[0]!r}, which the map {found.name} names", path=path
        )
    n = len(next(iter(columns.values()), []))
    made: dict[str, list[Any]] = {}
    for ours, theirs in found.columns.items():
        cells = columns[theirs]
        made[ours] = _plain_times(ours, cells, zone) or _plain_numbers(ours, cells, found) or []
        if not made[ours]:
            made[ours] = _one_by_one(ours, theirs, cells, found, path, first, zone)
    none: list[Any] = [None] * n
    _when(made, none)
    _amounts(made, found, none)
    made.setdefault("job_id", none)
    return made


def _one_by_one(
    ours: str, theirs: str, cells: Sequence[Any], found: JobMap, path: str | None, first: int,
    zone: tzinfo,
) -> list[Any]:  # fmt: skip
    read = _reader(ours, found, zone)
    known: dict[Any, Any] = {}
    values = []
    for row, cell in enumerate(cells):
        try:
            if cell not in known:
                known[cell] = None if is_empty(cell) else read(cell)
            values.append(known[cell])
        except (ValueError, OverflowError, TypeError, ClusterError):
            raise InputError(
                f"{theirs} must be {_wanted(ours)}, not {shown(str(cell))}",
                path=path, line=first + row,
            ) from None  # fmt: skip
    return values


def _plain_times(ours: str, cells: Sequence[Any], zone: tzinfo) -> list[int] | None:
    """A column of dates in the usual form at once; None where one is not."""
    if ours not in TIMES or (zone is not UTC and str(zone) != "UTC"):
        return None
    if not all(isinstance(cell, str) and len(cell) == _DATE for cell in cells):
        return None
    try:
        found: list[int] = np.array(cells, "datetime64[s]").astype(np.int64).tolist()
    except ValueError:
        return None
    return found


def _plain_numbers(ours: str, cells: Sequence[Any], found: JobMap) -> list[int] | None:
    """A column of numbers in our units, or in others of time, at once; None where one is not."""
    unit = found.units.get(ours, "")
    if ours not in (*TIMES, *SPANS, *NUMBERS) or unit == "milli":
        return None
    try:
        values = np.array(list(map(float, cells)))
    except (ValueError, TypeError):
        return None
    if not np.isfinite(values).all() or (ours == "request" and bool((values == INFINITE).any())):
        return None
    if ours in NUMBERS and bool((values % 1 != 0).any()):
        return None
    whole: list[int] = np.floor(values * SECONDS.get(unit or "s", 1.0) + 0.5).astype(int).tolist()
    return whole


def _when(made: dict[str, list[Any]], none: list[Any]) -> None:
    """Start, run, status and the end of waiting, from whatever times there are."""
    submit, states = made["submit"], made.pop("state", None)
    told = bool({"start", "wait"} & made.keys())
    end, waited = made.pop("end", none), made.pop("wait", none)
    start = made.get("start", none)
    if "start" not in made:
        start = [
            a + b if a is not None and b is not None else None
            for a, b in zip(submit, waited, strict=True)
        ]
    run = made.get("run", none)
    if "run" not in made:
        run = [
            b - a if a is not None and b is not None else None
            for a, b in zip(start, end, strict=True)
        ]
    statuses, cancel = [], []
    start, run = list(start), list(run)
    for row, (begun, ended, lasted) in enumerate(zip(start, end, run, strict=True)):
        word = (states[row] or "").strip().lower() if states is not None else ""
        if begun is not None and begun <= 0 < (submit[row] or 0):
            begun = None  # 0 is how some write that there is no time
        if word.startswith("cancel") and begun is not None and not (lasted or 0) > 0:
            begun = None
        left = told and begun is None and ended is not None and ended > 0
        cancel.append(ended if left else None)
        ran = begun is not None or not told
        start[row] = begun
        run[row] = lasted if ran and lasted is not None and lasted >= 0 else None
        statuses.append(_status(word, never=not ran, left=left))
    made["run"] = run
    if told:
        made["start"], made["cancel_at"] = start, cancel
    if states is not None:
        made["status"] = statuses
    eligible = made.pop("eligible", None)
    if eligible is not None:
        made["begin"] = [
            one if one is not None and at is not None and one > at else None
            for one, at in zip(eligible, submit, strict=True)
        ]


def _status(word: str, *, never: bool, left: bool) -> int | None:
    if not word:
        return None
    if never and (left or not word.startswith(_WAITING)):
        return STATUS_CANCELLED
    done = word.startswith(("complete", "success", "succeed", "pass")) or word in (
        "finished", "done", "0", "0.0", "0:0", "ok",
    )  # fmt: skip
    return STATUS_COMPLETED if done else STATUS_FAILED


def _amounts(made: dict[str, list[Any]], found: JobMap, none: list[Any]) -> None:
    """Memory per node or cpu and GPUs as GRES; what only the TRES list says."""
    per = dict(found.per)
    lists = made.pop("tres", None)
    if lists is not None:
        told = [{} if one is None else one for one in lists]
        for ours, name in (("procs", "cpu"), ("nodes", "node")):
            made.setdefault(ours, [one.get(name) for one in told])
        if "memory" not in made:
            made["memory"], per["memory"] = [one.get("mem") for one in told], "job"
        made.setdefault("gpus", [tres.gpus_of(one) or None for one in told])
    for column in ("procs", "nodes", "tasks", "cpus_per_task"):
        if column in made:  # 0 is how some write that it was not given
            made[column] = [one or None for one in made[column]]
    nodes = made.get("nodes", none)
    if "memory" in made:
        kind = per.get("memory", "node")
        made["memory"] = [
            None if not one else -(-one // (count or 1)) if kind == "job" else one
            for one, count in zip(made["memory"], nodes, strict=True)
        ]
        made["memory_per"] = ["cpu" if kind == "cpu" else "node"] * len(none)
    gpus = made.pop("gpus", None)
    if gpus is not None:
        each = per.get("gpus", "job") == "node"
        made["gres"] = [
            None if not one
            else f"gpu:{one}/node" if each
            else f"gpu:{one // (count or 1)}/node" if one % (count or 1) == 0
            else f"gpu:{one}/job"
            for one, count in zip(gpus, nodes, strict=True)
        ]  # fmt: skip


def _reader(ours: str, found: JobMap, zone: tzinfo) -> Callable[[Any], Any]:
    """What reads the cells of a column."""
    unit = found.units.get(ours, "")
    if ours in TIMES:
        return lambda cell: _time(cell, SECONDS[unit or "s"], zone)
    if ours in SPANS:
        scale = SECONDS[unit or "s"]
        return lambda cell: None if _unlimited(cell) else span(cell, scale)
    if ours in NUMBERS:
        return _milli if unit == "milli" else _count
    if ours == "memory":
        bare = SIZES[unit or "MB"]
        return lambda cell: _size(cell, bare)
    if ours == "state" and unit == "slurm":
        return _slurm_state
    return {"job_id": _id, "tres": lambda cell: dict(tres.parse_tres(str(cell)))}.get(ours, _text)


def _wanted(ours: str) -> str:
    kinds = (
        ("a date or a number of seconds", TIMES), ("a span of time", SPANS),
        ("a whole number", NUMBERS), ("an amount of memory", ("memory",)),
        ("a list like cpu=4,mem=8G", ("tres",)),
    )  # fmt: skip
    return next((what for what, names in kinds if ours in names), "a text")


def is_empty(cell: Any) -> bool:
    """Does a cell say nothing?"""
    if isinstance(cell, str):
        return cell.strip().lower() in NOTHING
    return cell is None or cell != cell


def _unlimited(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in ("infinite", "unlimited", "partition_limit", str(INFINITE))
    return isinstance(cell, int | float) and cell == INFINITE


def _text(cell: Any) -> str:
    return str(cell).strip().removesuffix(".0")  # numbers of a column with gaps are floats


def _slurm_state(cell: Any) -> str:
    """The name of a state; flags stand above its eight bits.

    Examples
    --------
    >>> _slurm_state("3"), _slurm_state(4.0), _slurm_state(0x4003), _slurm_state("FAILED")
    ('completed', 'cancelled', 'completed', 'FAILED')
    """
    word = _text(cell)
    number = int(word) & 0xFF if word.isdigit() else -1
    return STATES[number] if 0 <= number < len(STATES) else word


def _time(cell: Any, scale: float, zone: tzinfo) -> int:
    if isinstance(cell, str):
        word = cell.strip()
        if re.fullmatch(r"-?\d+(\.\d+)?(e\+?\d+)?", word):
            return _whole(float(word) * scale)
        cell = datetime.fromisoformat(word.removesuffix(" UTC").replace("/", "-"))
    if isinstance(cell, datetime):
        zoned = cell if cell.tzinfo else cell.replace(tzinfo=zone)
        return _whole(zoned.timestamp())
    if isinstance(cell, date):
        return _whole(datetime(cell.year, cell.month, cell.day, tzinfo=zone).timestamp())
    return _whole(float(cell) * scale)


def span(cell: Any, scale: float = 1.0) -> int:
    """Seconds of a span of time.

    Examples
    --------
    >>> [span(text) for text in ("90", "1-02:03:04", "4 days 00:00:00", "02:03:04", "3 days")]
    [90, 93784, 345600, 7384, 259200]
    """
    if isinstance(cell, timedelta):
        return _whole(cell.total_seconds())
    if isinstance(cell, str):
        if match := _CLOCK.fullmatch(cell.strip()):
            days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
            if match[4] is None and match[1] is None:  # 10:30 is minutes, as in Slurm
                hours, minutes, seconds = 0, hours, minutes
            return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        if match := _DAYS.fullmatch(cell.strip()):
            return int(match[1]) * 86_400
    return _whole(float(cell) * scale)


def _count(cell: Any) -> int:
    value = float(cell)
    if not value.is_integer():
        raise ValueError("not whole")
    return int(value)


def _milli(cell: Any) -> int:
    return math.ceil(float(cell) / 1000)


def _size(cell: Any, bare: str) -> int:
    """KB; Slurm's ``4000Mc`` and ``4Gn`` name what they are per, which the map does."""
    if isinstance(cell, str):
        word = cell.strip().rstrip("cn") if cell.strip()[-2:-1].isalpha() else cell.strip()
    else:
        word = str(math.ceil(float(cell)))
    if word.replace(".", "", 1).isdigit():
        return parse_memory(f"{word}{bare}B")
    return parse_memory(word)


def _id(cell: Any) -> int | None:
    match = re.fullmatch(r"\D*?(\d{1,15})(?:\.0)?", str(cell).strip())
    return int(match[1]) if match else None


def _whole(value: float) -> int:
    if not math.isfinite(value):
        raise ValueError("not finite")
    return math.floor(value + 0.5)
