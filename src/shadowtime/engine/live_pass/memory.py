"""What outlives a pass: promises, predictions, what was learned of each user.

What is remembered of each job, and what jobs on a site were promised for good, is kept as columns:
thousands pass from one pass to the next unread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shadowtime import plain
from shadowtime.engine.live_pass.compression import Compression
from shadowtime.engine.site.plans import Plans, Run
from shadowtime.errors import InputError
from shadowtime.policy.snapshot import Promise
from shadowtime.types import MAX_SPAN, Ints

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


WRITTEN = ("start", "partition", "width", "node", "tasks")
"""Columns of the plans in a state file; where nodes begin follows from their number."""


class Promises(ByJob[Promise]):
    """Promises by job: a row of plans and the checksum of the request for each.

    Examples
    --------
    >>> one = Promise("7", 90, partition="long", place=(("n1", 4),), ask=3)
    >>> kept = Promises.of({"7": one})
    >>> kept["7"] == one, kept.rows_of(["8", "7"]).tolist()
    (True, [-1, 0])
    >>> Promises.from_columns(kept.to_columns()) == kept
    True
    """

    __slots__ = ("ask", "plans")

    def __init__(self, ids: Sequence[str], plans: Plans, ask: Ints) -> None:
        super().__init__(dict(zip(ids, range(len(ids)), strict=True)))
        self.plans, self.ask = plans, ask

    @staticmethod
    def of(promises: Mapping[str, Promise]) -> Promises:
        """The same promises as columns."""
        if isinstance(promises, Promises):
            return promises
        runs = [Run(one.start, dict(one.place), one.partition) for one in promises.values()]
        ask = np.array([one.ask for one in promises.values()], np.int64)
        return Promises(list(promises), Plans.of(runs), ask)

    def __getitem__(self, job: str) -> Promise:
        at = self._at[job]
        run = self.plans.take(np.array([at])).runs()[0]
        return self._promise(job, run, int(self.ask[at]))

    def _promise(self, job: str, run: Run, ask: int) -> Promise:
        place = tuple(run.tasks.items())
        return Promise(job, run.start, partition=run.partition, place=place, ask=ask)

    def to_columns(self) -> dict[str, list[Any]]:
        """Plain values for a state file: lists of whole numbers are written ten times faster than
        a list for each job."""
        plans = self.plans.take(np.arange(len(self)))
        return {
            "jobs": list(self._at),
            "ask": self.ask.tolist(),
            **{name: getattr(plans, name).tolist() for name in WRITTEN},
            "names": list(plans.names),
            "partitions": list(plans.partitions),
        }

    @staticmethod
    def from_columns(values: Mapping[str, Any]) -> Promises:
        """The promises that :meth:`to_columns` wrote; InputError names the column that is wrong."""

        def texts(name: str) -> tuple[str, ...]:
            found = plain.items(plain.entry(values, name), f"{name} of the promises")
            return tuple(plain.text(one, f"{name} of the promises") for one in found)

        def numbers(name: str, count: int, high: int = plain.LARGEST) -> Ints:
            column = f"{name} of the promises"
            found = plain.wholes(plain.entry(values, name), column, low=0, high=high)
            if len(found) != count:
                raise InputError(f"{column} must have {count} numbers, not {len(found)}")
            return np.array(found, np.int64)

        jobs, names, partitions = texts("jobs"), texts("names"), texts("partitions")
        if len(set(jobs)) < len(jobs):
            raise InputError("jobs of the promises must not name a job twice")
        width = numbers("width", len(jobs), high=len(names))
        nodes = int(width.sum())
        plans = Plans(
            start=numbers("start", len(jobs)),
            partition=numbers("partition", len(jobs), high=len(partitions) - 1),
            first=np.cumsum(width) - width,
            width=width,
            node=numbers("node", nodes, high=len(names) - 1),
            tasks=numbers("tasks", nodes),
            names=names,
            partitions=partitions,
        )
        return Promises(jobs, plans, numbers("ask", len(jobs)))


class History(NamedTuple):
    """What estimates know of a user: the last run and its request, and the run before."""

    last_run: int = -1
    last_request: int = -1
    before_run: int = -1


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The memory of a policy between two passes; empty at the beginning.

    Examples
    --------
    >>> kept = Memory(now=7, jobs={"3": Note(since=5, due=90)}, users={"ann": History(3, 10)})
    >>> Memory.from_json(kept.to_json()) == kept
    True
    """

    now: int = -1
    """The instant of the last pass."""
    jobs: Mapping[str, Note] = field(default_factory=dict)
    users: Mapping[str, History] = field(default_factory=dict)
    head: str = ""
    """The blocked head of the last pass, and its shadow time."""
    shadow: int = -1
    extra: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What passes on nodes remember besides: whole numbers by name."""
    own: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What functions of the user's own remember: numbers by ``user:NAME``, ``account:NAME``, ..."""
    promises: Mapping[str, Promise] = field(default_factory=dict)
    """By job, what a policy with kept promises has promised on a site."""
    compression: Compression | None = None
    """How far such a policy has come in moving these promises to earlier starts."""

    @cached_property
    def notes(self) -> Notes:
        """What is remembered of the jobs, as columns."""
        return Notes.of(self.jobs)

    @cached_property
    def kept(self) -> Promises:
        """What was promised for good, as columns."""
        return Promises.of(self.promises)

    def to_json(self) -> dict[str, Any]:
        """The memory as plain values for a state file."""
        values = {
            "now": self.now,
            "jobs": self.notes.to_lists(),
            "users": {user: list(known) for user, known in self.users.items()},
            "head": self.head,
            "shadow": self.shadow,
            "extra": dict(self.extra),
            "own": {name: list(numbers) for name, numbers in self.own.items()},
        }
        if self.promises:
            values["promised"] = self.kept.to_columns()
        if self.compression is not None:
            values["compression"] = self.compression.to_json()
        return values

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Memory:
        """The memory that :meth:`to_json` wrote; InputError names the first value that is wrong."""
        compression = values.get("compression")
        return Memory(
            now=plain.whole(plain.entry(values, "now"), "now", low=-1),
            jobs={
                plain.text(job, "a job"): _note(value, f"the note of job {job}")
                for job, value in plain.mapping(plain.entry(values, "jobs"), "jobs").items()
            },
            users={
                plain.text(user, "a user"): _history(value, f"the history of user {user}")
                for user, value in plain.mapping(plain.entry(values, "users"), "users").items()
            },
            head=plain.text(plain.entry(values, "head"), "head"),
            shadow=plain.whole(plain.entry(values, "shadow"), "shadow"),
            extra={
                name: {
                    plain.text(key, name): plain.whole(known, name)
                    for key, known in plain.mapping(value, name).items()
                }
                for name, value in plain.mapping(values.get("extra", {}), "extra").items()
            },
            own={
                plain.text(name, "a name"): _numbers(value, f"the memory of {name}")
                for name, value in plain.mapping(values.get("own", {}), "own").items()
            },
            promises=_promises(values),
            compression=None if compression is None else Compression.from_json(compression),
        )


def _note(value: Any, name: str) -> Note:
    found = plain.wholes(value, name, low=-1)
    if not 1 <= len(found) <= len(Note._fields):
        raise InputError(f"{name} must have 1 to {len(Note._fields)} numbers, not {len(found)}")
    note = Note(*found)
    if max(note.estimate, note.initial, note.kills) > MAX_SPAN:
        raise InputError(f"{name} expects a run of more than {MAX_SPAN} seconds")
    return note


def _promises(values: Mapping[str, Any]) -> Mapping[str, Promise]:
    """Promises as columns, or job by job as earlier releases wrote them."""
    if "promised" in values:
        return Promises.from_columns(plain.mapping(values["promised"], "promised"))
    return {
        plain.text(job, "a job"): _promise(job, value)
        for job, value in plain.mapping(values.get("promises", {}), "promises").items()
    }


def _promise(job: str, value: Any) -> Promise:
    name = f"the promise of job {job}"
    if not isinstance(value, list) or len(value) != 4:
        raise InputError(f"{name} must be a list of 4 values: start, partition, place, request")
    start, partition, place, ask = value
    return Promise(
        job,
        plain.whole(start, name, low=0),
        partition=plain.text(partition, name),
        place=plain.pairs(place, name, lambda count, of: plain.whole(count, of, low=0)),
        ask=plain.whole(ask, name, low=0),
    )


def _numbers(value: Any, name: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not all(
        isinstance(number, int | float) and math.isfinite(number) for number in value
    ):
        raise InputError(f"{name} must be a list of finite numbers")
    return tuple(map(float, value))


def _history(value: Any, name: str) -> History:
    found = plain.wholes(value, name, low=-1, high=MAX_SPAN)
    if len(found) > len(History._fields):
        raise InputError(f"{name} must have at most {len(History._fields)} numbers")
    return History(*found)
