"""Times as Slurm writes them: instants, spans and limits.

A text that is no time raises ValueError (ClusterError for limits); the reader adds file and line.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from functools import lru_cache

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import NOTHING, parse_count
from shadowtime.types import UNKNOWN

UNLIMITED = -2
"""A time span without a bound: ``UNLIMITED``, ``Partition_Limit``."""
_BOUNDLESS = {"unlimited", "partition_limit", "infinite"}
_SPAN = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?(?:\.(\d+))?")


def parse_stamp(text: str, zone: tzinfo, *, not_before: int = UNKNOWN) -> int:
    """Seconds since 1970 of ``2026-03-29T02:30:00`` (local time of ``zone``) or of an epoch (%s).

    Local times have no offset: where clocks go back an hour occurs twice, and the first is meant
    unless that lies before ``not_before``. -1 where empty.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> parse_stamp("2026-03-01T01:00:10", ZoneInfo("Europe/Zurich"))
    1772323210
    >>> parse_stamp("1772323210", ZoneInfo("Europe/Zurich"))
    1772323210
    """
    word = text.strip()
    if word.isascii() and word.isdigit() and len(word) <= 12:
        return int(word)
    if word.lower() in NOTHING:
        return UNKNOWN
    try:
        moment = datetime.fromisoformat(word)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        stamp = int(moment.timestamp())
        if stamp < not_before:
            stamp = int(moment.replace(fold=1).timestamp())
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:40]!r} is not a time like 2026-03-01T00:00:10") from None
    if stamp < 0:
        raise ValueError(f"{text[:40]!r} lies before 1970")
    return stamp


def _seconds(match: re.Match[str]) -> int:
    """Slurm's six forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
    days-hours:minutes, days-hours:minutes:seconds."""
    days, *parts = match.groups()[:4]
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


def parse_limit(text: str) -> int | None:
    """Seconds of a time limit; None where there is no bound.

    Examples
    --------
    >>> [parse_limit(text) for text in ("60", "10:30", "1-12", "2-00:30:00", "UNLIMITED")]
    [3600, 630, 129600, 174600, None]
    """
    word = text.strip().lower()
    if word in ("unlimited", "infinite", "none", "", "-1", "n/a"):
        return None
    match = _SPAN.fullmatch(word)
    if not match or match[5] or len(match[1] or "") > 6:
        raise ClusterError(f"{text!r} is not a time limit like 60, 1-12 or 2-00:30:00")
    return _seconds(match)


@lru_cache(maxsize=1 << 16)
def parse_span(text: str) -> int:
    """Seconds of a time that passed, to the nearest; -1 where empty, UNLIMITED without a bound.

    Examples
    --------
    >>> [parse_span(text) for text in ("1-02:03:04", "03:04", "00:00:01.500000", "UNLIMITED", "")]
    [93784, 184, 2, -2, -1]
    """
    word = text.strip().lower()
    if word in NOTHING:
        return UNKNOWN
    if word in _BOUNDLESS:
        return UNLIMITED
    match = _SPAN.fullmatch(word)
    if not match or not match[3]:
        raise ValueError(f"{text[:40]!r} is not a time span like 1-02:03:04")
    return _seconds(match) + ((match[5] or "0")[0] >= "5")


@lru_cache(maxsize=1 << 12)
def parse_minutes(text: str) -> int:
    """Seconds of ``TimelimitRaw``, which counts minutes but may be the word UNLIMITED."""
    if text.strip().lower() in _BOUNDLESS:
        return UNLIMITED
    minutes = parse_count(text, "TimelimitRaw")
    return minutes * 60 if minutes >= 0 else UNKNOWN
