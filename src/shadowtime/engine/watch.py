"""A run as others see it while it goes on: how far it is, and checkpoints to continue from.

Whoever starts a run may hand it a :class:`Watch`. An engine makes a :class:`Watched` of it for this
run, reports to it now and then, and asks it first whether a checkpoint is there.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.private import result_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TypeAlias

    Pieces: TypeAlias = Sequence[bytes | memoryview]
    """A state as bytes, in pieces: whoever has large arrays need not copy them."""

SAVED_EVERY = 60.0
"""Seconds of work that a killed process loses at most, beside what writing takes."""
SEEN_EVERY = 0.25
"""Seconds between two reports."""
CHECKPOINT = ".checkpoint"
"""How the names of their files end."""
MAGIC = b"shadowtime checkpoint 1"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How far a run is."""

    now: float
    """The simulated time, in seconds of the log's clock."""
    share: float
    """Of the jobs that are over."""
    epoch: int | None = None
    """The log's zero as a Unix time, where it is known."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What a caller wants to see of its runs, and where this one is saved."""

    show: Callable[[object, Seen], None] | None = None
    """Gets every report, with an object that is the same for all reports of one run."""
    checkpoint: Path | None = None
    """The file of this run's checkpoint, named by the digest of the run's inputs; None: it is not
    saved."""
    later: Callable[[], Path] | None = None
    """Where a run is saved that nobody asked to save, asked for when it is due: a run that ends
    before needs no digest. What cannot be written there is left out."""
    clock: Callable[[], float] = time.monotonic
    saved_every: float = SAVED_EVERY
    stride: int = 63
    """Events that an engine written in Python passes by between two looks at the clock."""

    @property
    def saves(self) -> bool:
        """True if checkpoints are to be written."""
        return self.checkpoint is not None or self.later is not None

    def of(self, jobs: int, *, epoch: int | None, code: str = "") -> Watched:
        """Begin to watch one run of so many jobs; ``code`` is the digest of what performs it."""
        return Watched(self, jobs, epoch, code)


class Watched:
    """One run that is watched.

    Examples
    --------
    >>> shares, seconds = [], iter(range(99))
    >>> watch = Watch(show=lambda _, seen: shares.append(seen.share), clock=seconds.__next__)
    >>> run = watch.of(4, epoch=None)
    >>> [run.due and run.look(now, over=now // 10) for now in (10, 20, 30)]
    [None, None, None]
    >>> shares
    [0.25, 0.5, 0.75]
    """

    def __init__(self, watch: Watch, jobs: int, epoch: int | None, code: str) -> None:
        self.watch, self.jobs, self.epoch, self.code = watch, max(1, jobs), epoch, code
        self._saved = watch.clock()
        self._next = 0.0

    @property
    def due(self) -> bool:
        """True if it is time to report."""
        return self.watch.clock() >= self._next

    def look(self, now: float, over: int, state: Callable[[], Pieces] | None = None) -> None:
        """Report that ``over`` jobs are over; ``state`` is asked for if it is time to save it."""
        watch = self.watch
        if watch.show is not None:
            share = min(1.0, max(0.0, over / self.jobs))
            watch.show(self, Seen(now=now, share=share, epoch=self.epoch))
        at = watch.clock()
        if state is not None and watch.saves and self.due_to_save(at):
            if watch.checkpoint is not None:
                write_checkpoint(watch.checkpoint, state(), code=self.code)
            elif watch.later is not None:
                with suppress(OSError, ShadowtimeError):
                    write_checkpoint(watch.later(), state(), code=self.code)
            self._saved = at = watch.clock()
        self._next = at + min(SEEN_EVERY, watch.saved_every)

    def due_to_save(self, at: float) -> bool:
        """True if a checkpoint is due."""
        return at - self._saved >= self.watch.saved_every

    def found(self) -> memoryview | None:
        """The checkpoint of this run; None if there is none."""
        path = self.watch.checkpoint
        return None if path is None else read_checkpoint(path, code=self.code)


def write_checkpoint(path: Path, pieces: Pieces, *, code: str) -> None:
    """Replace a run's checkpoint: the old one or the new one is there at any time."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    head = f" {path.stem} {code} {digest.hexdigest()}\n".encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with result_file(path) as beside, open(beside, "wb") as file:
        file.writelines((MAGIC + head, *pieces))
        file.flush()
        os.fsync(file.fileno())


def read_checkpoint(path: Path, *, code: str) -> memoryview | None:
    """The bytes that :func:`write_checkpoint` wrote; None if there is no such file.

    A damaged file, one of other inputs and one that other code wrote are rejected.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    end = raw.find(b"\n") + 1 or len(raw)
    head, state = raw[:end], memoryview(raw)[end:]
    words = head.removeprefix(MAGIC).split()
    why = ""
    if not head.startswith(MAGIC) or len(words) != 3:
        why = "this is not a checkpoint of this version"
    elif words[0].decode() != path.stem:
        why = "this checkpoint belongs to a run with other inputs"
    elif words[1].decode() != code:
        why = "this checkpoint was written by another version of shadowtime"
    elif words[2].decode() != hashlib.sha256(state).hexdigest():
        why = "this checkpoint is damaged"
    if why:
        hint = "Delete it to simulate this run from its beginning."
        raise InputError(why, path=str(path), hint=hint)
    return state
