"""Whole columns of an sacct export as numbers: the rules of single fields, applied to many.

What one field means is in :mod:`shadowtime.slurmtext.fields`; here are the quick ways for
what most fields look like, and everything else goes there, field by field. All functions raise
:class:`BadRows` if fields are invalid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from shadowtime.slurmtext import fields, times
from shadowtime.slurmtext.sacct_codes import RowCodes, TextCodes
from shadowtime.types import UNKNOWN, Ints

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from shadowtime.slurmtext.sacct_texts import Texts

_HOUR = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}")
_LOCAL = len("2026-03-01T00:00:10")
_NO_TIME = ("Unknown", "None", "")
"""How sacct writes that there is no time."""
Key = TypeVar("Key")
_BAD = np.iinfo(np.int64).min


class BadRows(ValueError):
    """Rows with an invalid field, and a message about the first of them."""

    def __init__(self, rows: Ints, why: str) -> None:
        super().__init__(why)
        self.rows, self.why = rows, why


@contextmanager
def rows_among(at: Ints) -> Iterator[None]:
    """Bad rows found here are counted among the rows ``at``."""
    try:
        yield
    except BadRows as bad:
        raise BadRows(np.unique(at[bad.rows]), bad.why) from None


def one_by_one(rows: Iterable[int], value: Callable[[int], int]) -> list[int]:
    """The value of each row; the error is that of the first row without one.

    Examples
    --------
    >>> texts = ["1", "x", "3"]
    >>> one_by_one([0, 2], lambda row: int(texts[row]))
    [1, 3]
    """
    found, bad, why = [], [], ""
    for row in rows:
        try:
            found.append(value(row))
        except ValueError as error:
            why = why or str(error)
            bad.append(row)
    if bad:
        raise BadRows(np.array(bad, np.int64), why)
    return found


class Known:
    """The number behind a field's text, computed once per distinct text.

    Examples
    --------
    >>> from shadowtime.slurmtext.sacct_texts import Texts
    >>> lengths = Known(len)
    >>> lengths.column(Texts.of(["a", "bc", "a"])).tolist()
    [1, 2, 1]
    """

    def __init__(self, find: Callable[[str], int]) -> None:
        self._codes, self._values = TextCodes(), _Values(find)

    def column(self, texts: Texts) -> Ints:
        """The number of each."""
        return self._values.of(self._codes.of(texts), lambda rows: texts[rows])


class KnownRows:
    """The number behind the texts of several columns, found once for all rows that have the same.

    Examples
    --------
    >>> from shadowtime.slurmtext.sacct_texts import Texts
    >>> joined = KnownRows(lambda texts: int("".join(texts)))
    >>> texts = [Texts.of("121"), Texts.of("343")]
    >>> joined.column(texts, lambda rows: zip(texts[0][rows], texts[1][rows])).tolist()
    [13, 24, 13]
    """

    def __init__(self, find: Callable[[tuple[str, ...]], int]) -> None:
        self._codes, self._values = RowCodes(), _Values(find)

    def column(
        self, columns: Sequence[Texts], texts: Callable[[Ints], Iterable[tuple[str, ...]]]
    ) -> Ints:
        """The number of each row: ``columns`` say which are equal, ``texts`` what they hold."""
        return self._values.of(self._codes.of(columns), texts)


class _Values(Generic[Key]):
    """The values of what is numbered from 1 on."""

    def __init__(self, find: Callable[[Key], int]) -> None:
        self._find = find
        self._values = np.zeros(1, np.int64)

    def of(self, numbers: Ints, keys: Callable[[Ints], Iterable[Key]]) -> Ints:
        """The value of each row, found for the first of those with one number, from above."""
        new = int(numbers.max(initial=0)) + 1 - len(self._values)
        if new > 0:
            self._values = np.concatenate([self._values, np.full(new, _BAD)])
            each, rows = first_rows(numbers, len(self._values) - new)
            for number, key in zip(each.tolist(), keys(rows), strict=True):
                with suppress(ValueError):
                    self._values[number] = self._find(key)
        found: Ints = self._values[numbers]
        bad = np.flatnonzero(found == _BAD)
        if len(bad):
            try:
                self._find(next(iter(keys(bad[:1]))))
            except ValueError as error:
                raise BadRows(bad, str(error)) from None
        return found


def first_rows(numbers: Ints, least: int = 1) -> tuple[Ints, Ints]:
    """The distinct numbers from ``least`` on as they turn up, and the first row of each.

    Examples
    --------
    >>> first_rows(np.array([9, 4, 9, 3]), 4)
    (array([9, 4]), array([0, 1]))
    """
    rows = np.flatnonzero(numbers >= least)
    if len(rows) and (numbers[rows] == numbers[rows[0]]).all():
        return numbers[rows[:1]], rows[:1]
    each, first = np.unique(numbers[rows], return_index=True)
    order = np.argsort(first)
    return each[order], rows[first[order]]


def counts(texts: Texts, what: str) -> Ints:
    """Whole numbers, -1 where empty (see :func:`fields.parse_count`)."""
    found, plain = texts.numbers(15)
    odd = np.flatnonzero(~plain)
    if len(odd):
        found[odd] = one_by_one(odd.tolist(), lambda row: fields.parse_count(texts[row], what))
    return found


class Clock:
    """Times of one zone (see :func:`slurm_times.parse_stamp`).

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> from shadowtime.slurmtext.sacct_texts import Texts
    >>> clock = Clock(ZoneInfo("Europe/Zurich"))
    >>> clock.stamps(Texts.of(["2026-03-01T01:00:10", "1772323210", "Unknown"])).tolist()
    [1772323210, 1772323210, -1]
    """

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone
        self._hours = Known(self._hour)

    def stamps(self, texts: Texts, *, not_before: Ints | None = None) -> Ints:
        """Seconds since 1970, -1 where empty; an hour that occurs twice is the first
        unless that lies before ``not_before``."""
        found, plain = texts.numbers(12)
        if plain.all():
            return found
        local = np.flatnonzero(~plain & (texts.size == _LOCAL))
        if len(local):
            found[local] = self._local(texts[local])
            plain[local] = found[local] >= 0

        def single(row: int) -> int:
            text = texts[row]
            if text in _NO_TIME:
                return UNKNOWN
            least = UNKNOWN if not_before is None else int(not_before[row])
            return times.parse_stamp(text, self.zone, not_before=least)

        odd = np.flatnonzero(~plain)
        found[odd] = one_by_one(odd.tolist(), single)
        return found

    def _local(self, texts: Texts) -> Ints:
        """Seconds of texts like 2026-03-01T01:00:10, -1 where they are none or may be two."""
        size = np.full(len(texts), 2)
        hour = self._hours.column(texts.part(0, size + 11))
        minute, minutes = texts.part(14, size).numbers(2)
        second, seconds = texts.part(17, size).numbers(2)
        data, colon = texts.block.data, ord(":")
        good = (data[texts.begin + 13] == colon) & (data[texts.begin + 16] == colon)
        good &= minutes & seconds & (minute < 60) & (second < 60) & (hour >= 0)
        return np.where(good, hour + 60 * minute + second, UNKNOWN)

    def _hour(self, text: str) -> int:
        """When an hour of the local clock begins, if it occurs once and whole; else -1."""
        if not _HOUR.fullmatch(text):
            return UNKNOWN
        try:
            times = {
                int(one.replace(fold=fold).timestamp())
                for at in ("00:00", "59:59")
                for one in [datetime.fromisoformat(f"{text}:{at}").replace(tzinfo=self.zone)]
                for fold in (0, 1)
            }
        except (ValueError, OverflowError):
            return UNKNOWN
        once = len(times) == 2 and max(times) - min(times) == 3599
        return max(min(times), UNKNOWN) if once else UNKNOWN


class Table:
    """Columns of numbers, with room for as many rows as are expected (and more if need be)."""

    def __init__(self, fields: int, expected: int) -> None:
        self._room = np.empty((fields, expected), np.int64)
        self.rows = 0

    def more(self, count: int) -> Ints:
        """Room for ``count`` more rows, to be written."""
        before, self.rows = self.rows, self.rows + count
        if self.rows > self._room.shape[1]:
            larger = np.empty((len(self._room), 2 * self.rows), np.int64)
            larger[:, :before] = self._room[:, :before]
            self._room = larger
        return self._room[:, before : self.rows]

    def written(self) -> Ints:
        """All rows."""
        return self._room[:, : self.rows]
