"""The comment lines of an SWF file: ``; Key: value``, with odd spacing in real logs."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from shadowtime.workload.raw import MAX_PROCS

if TYPE_CHECKING:
    from collections.abc import Sequence

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
