"""What time of the day it was when a trace began."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

_START = re.compile(r"UnixStartTime:\s*(\d+)")
_ZONE = re.compile(r"TimeZoneString:\s*([A-Za-z0-9_+/-]+)")


def midnight_offset(header: Sequence[str]) -> int:
    """Seconds past midnight, local time, at second 0 of a trace with these header lines.

    The time zone's offset is that of the trace's start: a change to or from summer time within
    the trace moves its hours by one. Without a start time second 0 is taken for midnight,
    without a known time zone local time for UTC.

    Examples
    --------
    >>> midnight_offset(["; UnixStartTime: 90000", "; TimeZoneString: Etc/GMT-2"]) / 3600
    3.0
    >>> midnight_offset([])
    0
    """
    text = "\n".join(header)
    start, zone = _START.search(text), _ZONE.search(text)
    if start is None:
        return 0
    try:
        moment = datetime.fromtimestamp(int(start[1]), ZoneInfo(zone[1]) if zone else UTC)
    except (KeyError, ValueError, OSError, OverflowError):  # a zone or a year nobody knows
        return int(start[1]) % 86400
    return moment.hour * 3600 + moment.minute * 60 + moment.second
