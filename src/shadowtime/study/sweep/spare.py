"""What a command has done when it is interrupted, though nobody asked to keep it.

Every command has a folder in the user's cache, named by its words and the folder it was started in.
Nothing is written in the first minute. Later finished runs are kept there, and every minute those
under way, so that the same command continues after Ctrl-C. A command that ends removes its folder;
folders that nobody came back to are removed after two weeks.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

from shadowtime.cluster import Cluster
from shadowtime.engine.watch import SAVED_EVERY, Watch
from shadowtime.errors import InputError, ShadowtimeError
from shadowtime.private import refuse_foreign
from shadowtime.schedule import Schedule
from shadowtime.study.compare import Engine
from shadowtime.study.sweep.store import Store, run_key
from shadowtime.workload import Workload

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
