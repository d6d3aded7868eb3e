"""The lines of an HTCondor job event log as events: number, job, time and what it says.

An event begins with ``005 (7.000.000) 2026-11-15 05:57:10.468 Job terminated.`` and ends with a
line of three dots. Old logs leave the year out; the JSON spelling has an object per event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shadowtime.trace.condor_ads import long_value, split_ads
from shadowtime.trace.slurm_fields import parse_stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

_HEAD = re.compile(
    r"(\d{3}) \((-?\d{1,15})\.(-?\d{1,15})\.(-?\d{1,15})\) "
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\d\d/\d\d \d\d:\d\d:\d\d)"
    r"(?:\.\d+)?(Z|[-+]\d\d:?\d\d)? ?(.*)"
)
_ATTRIBUTE = re.compile(r"\s*([A-Za-z_]\w*) = (.*)")
_TABLE = re.compile(r"\s*Partitionable Resources\s*:")
_FIRST_YEAR = 2000
_HALF_A_YEAR = 15_552_000


@dataclass
class Event:
    """One event; ``table`` has (used, requested, allocated) by resource, None where blank."""

    line: int
    number: int
    cluster: int
    proc: int
    node: int
    at: int
    text: str
    attributes: dict[str, Any] = field(default_factory=dict)
    table: dict[str, tuple[int | None, int | None, int | None]] = field(default_factory=dict)


@dataclass
class Clock:
    """Times of events in seconds since 1970; years are counted where the log leaves them out."""

    zone: tzinfo
    year: int = _FIRST_YEAR
    last: int = 0
    without_year: int = 0

    def read(self, stamp: str, offset: str | None) -> int:
        """The time of an event, a fraction of a second cut off."""
        if offset:
            told = stamp.replace(" ", "T") + ("+00:00" if offset == "Z" else offset)
            return int(datetime.fromisoformat(told).timestamp())
        if "/" not in stamp:
            return parse_stamp(stamp.replace(" ", "T"), self.zone)
        self.without_year += 1
        month, day = stamp[:2], stamp[3:5]
        at = parse_stamp(f"{self.year}-{month}-{day}T{stamp[6:]}", self.zone)
        if at < self.last - _HALF_A_YEAR:  # December is behind us
            self.year += 1
            at = parse_stamp(f"{self.year}-{month}-{day}T{stamp[6:]}", self.zone)
        self.last = max(self.last, at)
        return at


def is_event_log(first: str) -> bool:
    """Does a file with this first line look like a job event log?

    Examples
    --------
    >>> is_event_log("000 (7.000.000) 2026-11-15 05:57:07 Job submitted from host: <...>")
    True
    """
    return _HEAD.fullmatch(first.strip()) is not None


def split_events(text: str, clock: Clock) -> Iterator[Event | tuple[int, str]]:
    """Every event of the log; (line, sentence) where one makes no sense."""
    if text.lstrip()[:1] in ("[", "{"):
        yield from _json_events(text, clock)
        return
    block: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.rstrip() == "...":
            if block:
                yield _event(block, first, clock)
            block = []
        elif block or line.strip():
            first = first if block else number
            block.append(line)
    if block:  # the log is still being written, or was cut
        yield _event(block, first, clock)


def _event(block: list[str], line: int, clock: Clock) -> Event | tuple[int, str]:
    match = _HEAD.fullmatch(block[0].strip())
    if match is None:
        return line, f"expected an event like 000 (7.000.000) ..., found {block[0].strip()[:40]!r}"
    number, cluster, proc, node = (int(match[group]) for group in (1, 2, 3, 4))
    try:
        at = clock.read(match[5], match[6])
    except ValueError as error:
        return line, str(error)
    event = Event(line, number, cluster, proc, node, at, "\n".join([match[7], *block[1:]]))
    ends: list[int] = []
    for row in block[1:]:
        if _TABLE.match(row):
            ends = [row.find(word) + len(word) for word in ("Usage", "Request", "Allocated")]
        elif ends and ":" in row:
            _table_row(event, row, ends)
        elif found := _ATTRIBUTE.fullmatch(row):
            event.attributes[found[1].lower()] = long_value(found[2])
            ends = []
        else:
            ends = []
    return event


def _table_row(event: Event, row: str, ends: list[int]) -> None:
    """A line such as ``   Memory (MB)          :        5     1000      1024``."""
    name = row.partition(":")[0].partition("(")[0].strip().lower()
    cells: list[int | None] = [None, None, None]
    for found in re.finditer(r"(?<!\S)[0-9]{1,15}(?:\.[0-9]+)?(?!\S)", row):
        nearest = min(range(3), key=lambda column: abs(ends[column] - found.end()))
        if abs(ends[nearest] - found.end()) <= 2 and found.start() > row.index(":"):
            cells[nearest] = int(float(found[0]) + 0.5)
    event.table[name] = (cells[0], cells[1], cells[2])


def _json_events(text: str, clock: Clock) -> Iterator[Event | tuple[int, str]]:
    for line, told in split_ads(text):
        if isinstance(told, str):
            yield line, told
            continue
        try:
            stamp = re.fullmatch(
                r"(\S{10}T\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[-+]\d\d:?\d\d)?", str(told["eventtime"])
            )
            if stamp is None:
                raise ValueError(f"{told['eventtime']!r} is not the time of an event")
            yield Event(
                line,
                int(told["eventtypenumber"]),
                int(told["cluster"]),
                int(told.get("proc", 0)),
                int(told.get("subproc", told.get("node", 0)) or 0),
                clock.read(stamp[1], stamp[2]),
                "",
                attributes=told,
            )
        except KeyError as missing:
            yield line, f"the event has no {missing}"
        except (TypeError, ValueError, OverflowError) as error:
            yield line, str(error)
