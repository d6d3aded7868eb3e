"""The comment lines of an SWF file, ``; Key: value``, and the columns that they name.

Real logs have odd spacing. ``; ExtraFields: bandwidth deadline`` names columns 19, 20, ... in this
order: extended SWF. Each is a number per job, or -1 where it is not known; a column in which some
number has a point holds fractions. ``bandwidth`` and ``network`` are what one process draws of a
resource that the processes of a node share (MB/s); functions of a policy see every column by its
name. Memory needs no such column: it is field 10 of SWF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np

from shadowtime.errors import InputError
from shadowtime.types import UNKNOWN, AnyArray, Ints
from shadowtime.workload.raw import FIELDS, MAX_AMOUNT, MAX_PROCS

_ENTRY = re.compile(r"[;\s]*([A-Za-z][A-Za-z0-9_]*)\s*:(.*)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+")
_LONGEST = 15
"""Digits of the largest plausible size of a machine."""
_NAMED = re.compile(r"([0-9]{1,15})\s+(\S+)")

KINDS = ("user", "group", "queue", "partition")
"""Columns whose numbers may have names in the header."""


def entries(header: Sequence[str]) -> list[tuple[str, str]]:
    """Keys (lower case) and values in the order of the file; keys may come more than once.

    Examples
    --------
    >>> entries(["; MaxProcs : 338 (batch)", ";Note: a", ";  more of it", "; note: b"])
    [('maxprocs', '338 (batch)'), ('note', 'a'), ('note', 'b')]
    """
    found = (_ENTRY.match(line) for line in header)
    return [(match[1].lower(), match[2].strip()) for match in found if match]


def machine(header: Sequence[str]) -> dict[str, int]:
    """Processors and nodes of the log's machine, where the header gives them.

    A list in parentheses after the number gives the partitions; without a number it is summed.

    Examples
    --------
    >>> machine(["; MaxNodes: 184  ( 6,  171,   7)", ";MaxProcs:1664 (72, 1368, 224)"])
    {'procs': 1664, 'nodes': 184}
    """
    entry = dict(reversed(entries(header)))  # the first of several counts
    found = {}
    for key, name in (("maxprocs", "procs"), ("maxnodes", "nodes")):
        value = entry.get(key, "")
        words = [text.replace(",", "") for text in _NUMBER.findall(value)]
        if not words or value.startswith("-") or max(map(len, words)) > _LONGEST:
            continue
        numbers = [int(word) for word in words]
        number = sum(numbers) if value.startswith("(") else numbers[0]
        if 0 < number <= MAX_PROCS:
            found[name] = number
    return found


def start_moment(header: Sequence[str]) -> datetime | None:
    """The local time at second 0 of the log, where the header gives it.

    Examples
    --------
    >>> start_moment(["; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"])
    datetime.datetime(1996, 9, 23, 14, 0, 31, tzinfo=zoneinfo.ZoneInfo(key='Europe/Stockholm'))
    """
    entry = dict(reversed(entries(header)))
    start, zone = entry.get("unixstarttime", ""), entry.get("timezonestring", "UTC")
    try:
        from zoneinfo import ZoneInfo

        return datetime.fromtimestamp(int(start), ZoneInfo(zone))
    except (KeyError, ValueError, OSError, OverflowError):
        return None


def names(header: Sequence[str]) -> dict[str, dict[int, str]]:
    """The names behind the numbers of users, groups, queues and partitions.

    Examples
    --------
    >>> names(["; Queue:  1  express  (2hr)", "; Queue: 2 high"])["queue"]
    {1: 'express', 2: 'high'}
    """
    found: dict[str, dict[int, str]] = {kind: {} for kind in KINDS}
    for key, value in entries(header):
        match = _NAMED.match(value) if key in found else None
        if match:
            found[key][int(match[1])] = match[2]
    return found


KEY = "ExtraFields"
USUAL = ("bandwidth", "network")
"""Written where a workload has them, whatever its header says."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def extra_names(header: Sequence[str], path: str | None = None) -> tuple[str, ...]:
    """Names of the columns from the 19th on; none where the header does not say.

    Examples
    --------
    >>> extra_names(["; MaxProcs: 8", "; ExtraFields: bandwidth, network"])
    ('bandwidth', 'network')
    """
    values = [value for key, value in entries(header) if key == KEY.lower()]
    if not values:
        return ()
    names = tuple(values[0].replace(",", " ").split())
    bad = [name for name in names if not _NAME.fullmatch(name) or name in FIELDS]
    if bad or len(set(names)) != len(names):
        raise InputError(
            f"{KEY} names {', '.join(bad) or 'a column twice'}",
            path=path,
            hint="Give each column behind the 18th a name of its own, as bandwidth.",
        )
    return names


def read_extra(
    data: bytes, lines: Ints, names: tuple[str, ...], *, path: str | None, drop: bool
) -> tuple[dict[str, AnyArray], AnyArray]:
    """The extra columns of the good ones of these lines (from 1), and which lines are good.

    A line without them, or with something else than a number from -1 on, is refused with its
    place, or with ``drop`` marked as bad.
    """
    text = data.split(b"\n")
    rows: list[list[float]] = []
    good = np.ones(len(lines), bool)
    for row, line in enumerate(lines.tolist()):
        words = text[line - 1].split(b";", 1)[0].split()[len(FIELDS) :]
        try:
            rows.append(_numbers(words, names))
        except ValueError as wrong:
            if not drop:
                raise InputError(str(wrong), path=path, line=line, hint=_hint(names)) from None
            good[row] = False
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: _column(values) for name, values in zip(names, columns, strict=True)}, good


def _column(values: Sequence[float]) -> AnyArray:
    """Whole numbers, unless one was written with a point."""
    whole = all(isinstance(value, int) for value in values)
    return np.array(values, np.int64 if whole else np.float64)


def _numbers(words: list[bytes], names: tuple[str, ...]) -> list[float]:
    """A line's columns; ValueError says what is wrong with them."""
    if len(words) < len(names):
        raise ValueError(
            f"expected {len(FIELDS) + len(names)} columns, found {len(FIELDS) + len(words)}"
        )
    found: list[float] = []
    for place, name in enumerate(names):
        word = words[place].decode("utf-8", "backslashreplace")
        if not re.fullmatch(r"-?[0-9]{1,17}(\.[0-9]{0,17})?", word):
            raise ValueError(f"{name} must be a number, not {word[:30]!r}")
        value = float(word) if "." in word else int(word)
        if not UNKNOWN <= value <= MAX_AMOUNT:
            raise ValueError(f"{name} is {word}, outside -1 to {MAX_AMOUNT}")
        found.append(value)
    return found


def _hint(names: tuple[str, ...]) -> str:
    return (
        f"The header's {KEY} names {', '.join(names)}: give every job a number from 0, or -1 "
        "for unknown; or skip and count such lines with --bad-lines drop."
    )


def converted(
    source: str,
    origin: int,
    *,
    zone: str = "",
    computers: Iterable[str] = (),
    names: Mapping[str, Mapping[str, int]] | None = None,
) -> tuple[str, ...]:
    """The header of a log that was converted; ``origin`` is when its clock reads 0.

    ``names`` are the numbers of labels by kind, such as user.

    Examples
    --------
    >>> converted("sacct", 900, zone="UTC", names={"user": {"eva": 1}})[1:]
    ('; Conversion: from sacct by shadowtime', '; UnixStartTime: 900', '; TimeZoneString: UTC', \
'; User: 1 eva')
    """
    lines = ["; Version: 2.2", f"; Conversion: from {source} by shadowtime"]
    lines += [f"; Computer: {one}" for one in computers if one]
    lines += [f"; UnixStartTime: {origin}", *([f"; TimeZoneString: {zone}"] if zone else [])]
    for kind, numbers in (names or {}).items():
        lines += [
            f"; {kind.capitalize()}: {number} {'_'.join(label.split())}"
            for label, number in numbers.items()
            if label
        ]
    return tuple(lines)


def extra_to_write(header: Sequence[str], columns: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """The columns of a workload or raw trace that go behind the 18th, in order."""
    names = dict.fromkeys([*extra_names(header), *USUAL])
    found = {name: columns[name] for name in names if name in columns}
    return {n: each.astype(np.int64) if n in USUAL else each for n, each in found.items()}


def with_names(header: list[str], names: Sequence[str]) -> list[str]:
    """The header with the line that names the extra columns, or without one.

    Examples
    --------
    >>> with_names(["; A: 1", "; ExtraFields: old"], ["bandwidth"])
    ['; A: 1', '; ExtraFields: bandwidth']
    """
    kept = [line for line in header if not any(k == KEY.lower() for k, _ in entries([line]))]
    return [*kept, f"; {KEY}: {' '.join(names)}"] if names else kept
