"""Times as Slurm writes them: instants, spans and limits.

A text that is no time raises ValueError (ClusterError for limits); the reader adds file and line.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import NOTHING, parse_count
from shadowtime.types import UNKNOWN

UNLIMITED = -2
"""A time span without a bound: ``UNLIMITED``, ``Partition_Limit``."""
_BOUNDLESS = {"unlimited", "partition_limit", "infinite"}
_NOW = re.compile(
    r"now(?:\s*([+-])\s*(\d{1,9})\s*(?:(second|minute|hour|day|week)s?)?)?", re.IGNORECASE
)
_UNIT = {None: 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_WORDS = {"midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}
_PIECE = re.compile(
    r"""(?:[\s-]|(?-i:T)(?=\d))*(?:
    (?P<hour>\d\d?):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?\s*(?P<half>[ap])?(?(half)m)
    | (?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)
    | (?P<m>\d\d?)[/.](?P<d>\d\d?)(?:[/.](?P<y>\d\d))?
    | (?P<mm>\d\d)(?P<dd>\d\d)(?P<yy>\d\d)?
    | (?P<word>today|tomorrow|midnight|elevenses|noon|fika|teatime)
    )(?:(?<!\d)|(?!\d))""",
    re.IGNORECASE | re.VERBOSE,
)
"""A time of the day or a date in one of sbatch's forms; several are written one after another."""
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


def parse_begin(text: str, now: int, zone: tzinfo | None = None) -> int:
    """Seconds since 1970 of ``--begin``: now+2hours, 16:00, noon tomorrow, 12/24, 2026-12-24T8:00.

    ``zone`` None is the one of this machine, whose sbatch would read it. A time of the day that is
    over is tomorrow's, and a date without a year next year's; a date alone begins at midnight.

    Examples
    --------
    >>> from datetime import UTC
    >>> noon = 1_767_268_800  # 2026-01-01T12:00:00
    >>> [parse_begin(text, noon, UTC) - noon for text in ("now + 2 hours", "1:30 pm", "11:00")]
    [7200, 5400, 82800]
    >>> (parse_begin("tomorrow 8:00", noon, UTC) - noon) // 3600, parse_begin("1/1", noon, UTC)
    (20, 1798761600)
    """
    match = _NOW.fullmatch(text.strip())
    if match:
        span = int(match[2] or 0) * _UNIT[match[3] and match[3].lower()]
        return now - span if match[1] == "-" else now + span
    date, clock, year = None, None, 0
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    rest = text.rstrip(" -T\t")
    while rest:
        piece = _PIECE.match(rest)
        if not piece:
            raise ValueError(f"{text[:40]!r} is not a begin like now+2hours, 16:00 or 2026-12-24")
        rest = rest[piece.end() :]
        word, hour, half = (piece["word"] or "").lower(), int(piece["hour"] or 0), piece["half"]
        if word in _WORDS:
            clock = timedelta(hours=_WORDS[word])
        elif word:
            date, year = today + timedelta(days=word == "tomorrow"), 1
        elif piece["hour"]:
            if hour > (12 if half else 23):
                raise ValueError(f"{text[:40]!r} has no such hour")
            hour = hour % 12 + 12 * (half in "pP") if half else hour
            clock = timedelta(hours=hour, minutes=int(piece["minute"]))
            clock += timedelta(seconds=int(piece["second"] or 0))
        else:
            year = int(piece["year"] or piece["y"] or piece["yy"] or 0)
            year += 2000 * (0 < year < 100)
            month = int(piece["month"] or piece["m"] or piece["mm"])
            days = int(piece["day"] or piece["d"] or piece["dd"])
            if not 1 <= days <= 31:
                raise ValueError(f"{text[:40]!r} has no such day")
            date = today.replace(year=year or today.year, month=month, day=1)
            date += timedelta(days=days - 1)
    begin = (date or today) + (clock or timedelta())
    if begin.timestamp() < now and date is None:
        begin += timedelta(days=1)
    elif begin.timestamp() < now and not year:
        begin = begin.replace(year=begin.year + 1)
    return int(begin.timestamp())


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
