"""What runs found, in a folder, under the digest of all that it depends on: nothing runs twice.

The same store keeps whole schedules (comparisons, replays and what-ifs compare waits job by job,
where a row of numbers is not enough) and what the tasks of papers measure. Values are pickled;
reading them takes nothing but values of this package, of NumPy and of the language.

A command that nobody asked to keep its runs has a store too (:class:`Spare`), in the user's cache,
named by its words and the folder it was started in. Nothing is written in the first minute. Later
finished runs are kept there, and every minute those under way, so that the same command continues
after Ctrl-C. A command that ends removes its folder; folders that nobody came back to are removed
after two weeks.
"""

from __future__ import annotations

import io
import os
import pickle
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from shadowtime.cluster import Cluster
from shadowtime.engine.values import Values
from shadowtime.engine.watch import CHECKPOINT, SAVED_EVERY, Watch
from shadowtime.errors import InputError, ShadowtimeError, UsageError
from shadowtime.private import refuse_foreign, result_file
from shadowtime.schedule import Schedule
from shadowtime.study.compare import Engine
from shadowtime.study.sweep.keys import of_run
from shadowtime.workload import Workload

Found = TypeVar("Found")
FOLDER, ENDING = "kept", ".run"
ONE_AT_A_TIME = threading.Lock()
"""A key reads the source of a function with ``ast``, which in Python 3.11 occasionally fails if two
threads use it (SystemError: recursion depth mismatch)."""


@dataclass(frozen=True)
class Store:
    """The runs of a folder. Files are written atomically: a crash leaves whole ones.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     store = Store.at(place)
    ...     store.once("key", lambda watch: {"wait": (1.5, 2)})
    ...     store.once("key", lambda watch: "not run"), store.has("key"), store.content
    {'wait': (1.5, 2)}
    ({'wait': (1.5, 2)}, True, 'runs found: 1 finished')
    """

    place: Path

    @staticmethod
    def at(folder: str | os.PathLike[str]) -> Store:
        """The store in a folder, which is created."""
        place = Path(folder) / FOLDER
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot create the folder {place}: {error.strerror}") from None
        return Store(place)

    def path(self, key: str) -> Path:
        """The file of a run."""
        return self.place / f"{key}{ENDING}"

    def checkpoint(self, key: str) -> Path:
        """The file of its checkpoint."""
        return self.place / f"{key}{CHECKPOINT}"

    def has(self, key: str) -> bool:
        """Whether a run is there."""
        return self.path(key).exists()

    def once(
        self, key: str, work: Callable[[Watch], Found], *, watch: Watch | None = None
    ) -> Found:
        """What a run found before; else it is performed, with a place for its checkpoint, and kept.

        Ctrl-C and kill -9 lose at most the last minute of a run in progress, which continues from
        its checkpoint (engine/watch.py), or all of it where its engine writes none.
        """
        if self.has(key):
            found: Found = self.read(key)
            return found
        checkpoint = self.checkpoint(key)
        found = work(replace(watch or Watch(), checkpoint=checkpoint))
        self.write(key, found)
        return found

    def write(self, key: str, found: object) -> None:
        """Keep what a run found, instead of its checkpoint."""
        with result_file(self.path(key)) as beside, open(beside, "wb") as file:
            pickle.dump(found, file, protocol=5)
        for one in self.place.glob(f"*{key}{CHECKPOINT}*"):  # and one that was cut in half
            one.unlink(missing_ok=True)

    def read(self, key: str) -> Any:
        """What a run found; a file that contains anything else is rejected."""
        path = self.path(key)
        try:
            return Values(io.BytesIO(path.read_bytes())).load()
        except Exception as error:  # a damaged pickle raises nearly anything
            why = str(error) or type(error).__name__
            raise InputError(f"cannot be read ({why})", path=str(path), hint="Delete it.") from None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(one.stat().st_size for one in self.place.iterdir())

    @property
    def content(self) -> str:
        """How many runs are there, in words; empty where there are none."""
        counts = Counter(one.suffix for one in self.place.glob("[!.]*"))
        words = {ENDING: "finished", CHECKPOINT: "to be continued"}
        found = [f"{counts[end]:,} {word}" for end, word in words.items() if counts[end]]
        return f"runs found: {', '.join(found)}" if found else ""


def run_key(jobs: Workload, cluster: Cluster, policy: Any) -> str:
    """The key of a run, from any thread."""
    with ONE_AT_A_TIME:
        return of_run(jobs, cluster, policy)


def kept(engine: Engine, folder: str | os.PathLike[str]) -> Engine:
    """The same engine, which reuses the folder's schedules and saves new ones.

    Examples
    --------
    >>> import tempfile
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[3, 4])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = kept(simulate, place)(jobs, Cluster.pool(4), parse_policy("easy"))
    ...     again = kept(None, place)(jobs, Cluster.pool(4), parse_policy("easy"))  # no engine
    >>> again.start.tolist()
    [0, 9]
    """
    store = Store.at(folder)

    def run(
        jobs: Workload, cluster: Cluster, policy: Any, /, *, watch: Watch | None = None
    ) -> Schedule:
        key = run_key(jobs, cluster, policy)
        return store.once(key, lambda seen: engine(jobs, cluster, policy, watch=seen), watch=watch)

    return run


ROOM = 4 << 30
"""Bytes that finished runs of one command may take."""
FORGOTTEN = 14 * 86_400.0
"""Seconds after which a folder is removed."""


@dataclass(frozen=True)
class Spare:
    """The runs of one command.

    Examples
    --------
    >>> import tempfile
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.engine import simulate
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(submit=[0, 1], run=[9, 5], procs=[3, 4])
    >>> world = jobs, Cluster.pool(4), parse_policy("easy")
    >>> with tempfile.TemporaryDirectory() as place:
    ...     seconds = iter((0, 59, 60))
    ...     spare = Spare(Path(place) / "command", clock=seconds.__next__)
    ...     run = spare.engine(simulate)
    ...     for _ in range(2):
    ...         run(*world).start.tolist(), spare.content
    ...     spare.engine(None)(*world).start.tolist()  # no engine
    ([0, 9], '')
    ([0, 9], 'runs found: 1 finished')
    [0, 9]
    """

    folder: Path
    clock: Callable[[], float] = time.monotonic
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "begun", self.clock())

    @cached_property
    def store(self) -> Store:
        """The runs of this version of the engines: no other can read what they saved."""
        import shadowtime.slurm.run as slurm
        from shadowtime.engine.saved import ENGINE
        from shadowtime.kernel.sources import source_digest

        refuse_foreign(self.folder.parent)
        return Store.at(self.folder / source_digest(ENGINE, Path(slurm.__file__)))

    @property
    def content(self) -> str:
        """How many runs are there, in words."""
        found = self.found
        return found.content if found is not None else ""

    @property
    def found(self) -> Store | None:
        """The runs that are there; None where there are none, or none that can be reached."""
        try:
            return self.store if self.folder.is_dir() else None
        except (OSError, ShadowtimeError):
            return None

    def engine(self, engine: Engine) -> Engine:
        """The same engine, whose runs are kept once the command has taken a minute."""

        def run(
            jobs: Workload, cluster: Cluster, policy: Any, /, *, watch: Watch | None = None
        ) -> Schedule:
            key = cache(lambda: run_key(jobs, cluster, policy))
            fresh = replace(watch or Watch(), later=lambda: self.store.checkpoint(key()))
            seen, store = fresh, self.found
            if store is not None and _is_known(key):
                if store.has(key()):
                    with suppress(InputError):  # a damaged file: it is run again
                        return cast("Schedule", store.read(key()))
                if store.checkpoint(key()).exists():
                    seen = replace(fresh, checkpoint=store.checkpoint(key()))
            try:
                found = engine(jobs, cluster, policy, watch=seen)
            except InputError as wrong:
                if seen.checkpoint is None or wrong.path != str(seen.checkpoint):
                    raise
                seen.checkpoint.unlink()  # damaged
                found = engine(jobs, cluster, policy, watch=fresh)
            if self.clock() - self.begun >= SAVED_EVERY:
                with suppress(OSError, ShadowtimeError):  # nobody asked for it
                    if self.store.size < ROOM:
                        self.store.write(key(), found)
            return found

        return run


def _is_known(key: Callable[[], str]) -> bool:
    """False for code whose source is not there."""
    try:
        return bool(key())
    except ShadowtimeError:
        return False


def forget_old(folders: Path, now: float) -> None:
    """Remove the folders of commands that nobody repeated."""
    with suppress(OSError):
        for one in os.scandir(folders):
            if now - one.stat().st_mtime > FORGOTTEN:
                shutil.rmtree(one.path, ignore_errors=True)
