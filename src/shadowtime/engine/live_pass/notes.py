"""What is remembered of each job, as columns: thousands pass from one pass to the next unread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shadowtime.types import Ints

Remembered = TypeVar("Remembered")


class Note(NamedTuple):
    """What is remembered of one job that waits or runs."""

    since: int
    """When it entered the queue: its submission, or later where it was not eligible then."""
    estimate: int = -1
    """Expected run time; of a running job as it was frozen at the start."""
    initial: int = -1
    """Prediction at submission."""
    promised: int = -1
    """Its first promised start."""
    blocked_at: int = -1
    """When it was first in order and could not start."""
    due: int = -1
    """A promise for good (reserve=kept)."""
    kills: int = 0


SINCE, ESTIMATE, INITIAL, PROMISED, BLOCKED_AT, DUE, KILLS = range(len(Note._fields))
"""Columns of the values."""
UNKNOWN = Note(since=-1)


class ByJob(Mapping[str, Remembered]):
    """A mapping by job whose values lie in rows of columns; a value is made when it is read."""

    __slots__ = ("_at",)

    def __init__(self, at: dict[str, int]) -> None:
        self._at = at

    def __contains__(self, job: object) -> bool:
        return job in self._at

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"

    def rows_of(self, ids: Iterable[str]) -> Ints:
        """The rows of some jobs, -1 of one that has none."""
        return np.array(list(map(self._at.get, ids, repeat(-1))), np.int64)


class Notes(ByJob[Note]):
    """Notes by job: a row of whole numbers for each; of a job named twice the last one counts.

    Examples
    --------
    >>> kept = Notes.of({"7": Note(since=3), "9": Note(since=4, due=90)})
    >>> kept["9"].due, kept == {"7": Note(since=3), "9": Note(since=4, due=90)}
    (90, True)
    >>> kept.take(kept.rows_of(["9", "8"]))[:, DUE].tolist()
    [90, -1]
    """

    __slots__ = ("values_by_row",)

    def __init__(self, ids: Sequence[str], values: Ints) -> None:
        at = dict(zip(ids, range(len(ids)), strict=True))
        if len(at) < len(ids):
            values = values[list(at.values())]
            at = dict(zip(at, range(len(at)), strict=True))
        super().__init__(at)
        self.values_by_row = values.reshape(-1, len(Note._fields))

    @staticmethod
    def of(notes: Mapping[str, Note]) -> Notes:
        """The same notes as columns."""
        if isinstance(notes, Notes):
            return notes
        flat = chain.from_iterable(notes.values())
        return Notes(list(notes), np.fromiter(flat, np.int64, len(notes) * len(Note._fields)))

    def __getitem__(self, job: str) -> Note:
        return Note._make(self.values_by_row[self._at[job]].tolist())

    def take(self, rows: Ints) -> Ints:
        """The numbers in some rows; those of an unknown job in row -1."""
        if not len(self):
            return np.tile(np.array(UNKNOWN, np.int64), (len(rows), 1))
        found: Ints = self.values_by_row[rows]
        found[rows < 0] = UNKNOWN
        return found

    def and_of(self, notes: Mapping[str, Note]) -> Notes:
        """These, and those of jobs that are not among them."""
        more = Notes.of({job: note for job, note in notes.items() if job not in self._at})
        if not more:
            return self
        return Notes([*self, *more], np.concatenate((self.values_by_row, more.values_by_row)))

    def to_lists(self) -> dict[str, Any]:
        """Plain values by job."""
        return dict(zip(self._at, self.values_by_row.tolist(), strict=True))
