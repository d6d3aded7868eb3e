"""Whole columns of an sacct export as numbers: the rules of single fields, applied to many.

What one field means is in :mod:`shadowtime.trace.slurm_fields`; here are the quick ways for
what most fields look like, and everything else goes there, field by field. All functions raise
ValueError if a field makes no sense; which one it was is found by reading the rows singly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from shadowtime.trace import slurm_fields as fields
from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from shadowtime.types import Ints

Column = Sequence[str]
Key = TypeVar("Key", bound=Hashable)

_HOUR = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}")
_SECOND = re.compile(r":([0-5][0-9]):([0-5][0-9])")
_NO_TIME = ("Unknown", "None", "")
"""How sacct writes that there is no time."""


class Known(dict[Key, int], Generic[Key]):
    """The number of a field's text, found once for each text that turns up.

    Examples
    --------
    >>> lengths = Known(len)
    >>> lengths.column(["a", "bc", "a"]).tolist(), dict(lengths)
    ([1, 2, 1], {'a': 1, 'bc': 2})
    """

    def __init__(self, find: Callable[[Key], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, text: Key) -> int:
        value = self[text] = self._find(text)
        return value

    def column(self, texts: Iterable[Key]) -> Ints:
        """The number of each."""
        return np.array(list(map(self.__getitem__, texts)), np.int64)


def are_digits(texts: Column, most: int) -> bool:
    """Is each of them a number of at most so many decimal digits, and nothing else?

    Examples
    --------
    >>> are_digits(["1", "22"], 2), are_digits(["1", ""], 2), are_digits(["1", "-2"], 2)
    (True, False, False)
    """
    together = "".join(texts)
    if not (together.isascii() and together.isdigit()):
        return False
    sizes = set(map(len, texts))
    return 0 not in sizes and max(sizes) <= most


def counts(texts: Column, what: str) -> Ints:
    """Whole numbers, -1 where empty (see :func:`slurm_fields.parse_count`)."""
    if are_digits(texts, 15):
        return np.array(list(map(int, texts)), np.int64)
    return np.array([fields.parse_count(text, what) for text in texts], np.int64)


class Clock:
    """Times of one zone (see :func:`slurm_fields.parse_stamp`).

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> clock = Clock(ZoneInfo("Europe/Zurich"))
    >>> clock.stamps(["2026-03-01T01:00:10", "1772323210", "Unknown"]).tolist()
    [1772323210, 1772323210, -1]
    """

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone
        self._hours: dict[str, int] = {}
        """When an hour of the local clock begins, if it occurs once and whole."""
        self._seconds: dict[str, int] = {}

    def stamps(self, texts: Column, *, not_before: Ints | None = None) -> Ints:
        """Seconds since 1970, -1 where empty; an hour that occurs twice is the first
        unless that lies before ``not_before``."""
        if are_digits(texts, 12):
            return np.array(list(map(int, texts)), np.int64)
        found = []
        hours, seconds = self._hours.get, self._seconds.get
        for row, text in enumerate(texts):
            stamp = hours(text[:13], UNKNOWN)
            second = seconds(text[13:], UNKNOWN)
            if stamp < 0 or second < 0:
                if text in _NO_TIME:
                    found.append(UNKNOWN)
                    continue
                least = UNKNOWN if not_before is None else int(not_before[row])
                found.append(fields.parse_stamp(text, self.zone, not_before=least))
                self._learn(text)
            else:
                found.append(stamp + second)
        return np.array(found, np.int64)

    def _learn(self, text: str) -> None:
        """Keep the hour and the second of a plain local time."""
        hour, second = text[:13], _SECOND.fullmatch(text[13:])
        if second is None or not second[0].isascii() or not _HOUR.fullmatch(hour):
            return
        self._seconds[second[0]] = int(second[1]) * 60 + int(second[2])
        begin, end = (
            datetime.fromisoformat(f"{hour}:{at}").replace(tzinfo=self.zone)
            for at in ("00:00", "59:59")
        )
        times = {int(one.replace(fold=fold).timestamp()) for one in (begin, end) for fold in (0, 1)}
        if len(times) == 2 and max(times) - min(times) == 3599 and min(times) >= 0:
            self._hours[hour] = min(times)
