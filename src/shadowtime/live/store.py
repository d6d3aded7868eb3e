"""The state file: the loop's memory between two runs, replaced atomically.

The scheduler's own state is authoritative, and the file only explains it. So a file that is damaged
or cannot be written never stops the cluster: the loop reports it and continues with what it has.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from shadowtime import __version__, plain, private
from shadowtime.engine.live_pass import Memory
from shadowtime.errors import InputError, UsageError
from shadowtime.policy.snapshot import KINDS

VERSION = 3
LARGEST_FILE = 1 << 28
"""Bytes: a hundred times the state of ten thousand waiting jobs."""


@dataclass(frozen=True, kw_only=True)
class LoopState:
    """What the loop knows besides what the scheduler reports.

    ``intents`` are decisions in progress, by job: written before they are carried out, removed when
    their effect is seen. The scheduler's own state is authoritative; an intent only explains it.
    ``aside`` are waiting jobs that take part in no pass, with the reason; ``port`` is what the port
    needs after a restart.
    """

    policy: str = ""
    memory: Memory = field(default_factory=Memory)
    intents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    aside: Mapping[str, str] = field(default_factory=dict)
    port: Mapping[str, Any] = field(default_factory=dict)

    def replace(self, **changes: Any) -> LoopState:
        """A variant."""
        return replace(self, **changes)


class Store(Protocol):
    """Where the loop stores its memory."""

    def load(self) -> LoopState:
        """What was saved last, or an empty one."""

    def save(self, kept: LoopState) -> None:
        """Save this."""


class InMemory:
    """A store for tests and for shadow runs without a state file."""

    def __init__(self, kept: LoopState | None = None) -> None:
        self.kept = kept or LoopState()

    def load(self) -> LoopState:
        return self.kept

    def save(self, kept: LoopState) -> None:
        self.kept = kept


class StateFile:
    """A store in one JSON file, readable by its owner only, beside the previous one.

    Rules
    -----
    A file of an earlier version is read directly; the first save writes the current version and
    keeps the old file as NAME.vN (N: its version), for a return to an earlier release. A file of a
    later version cannot be read. A file that cannot be read is reported and kept as NAME.broken,
    and the previous one (NAME.previous) is used; if that fails too, an empty memory. A file that
    cannot be written is reported once, and once more when it can be written again; meanwhile the
    loop keeps its state in memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = StateFile(Path(folder) / "live.json", tell=print)
    ...     store.save(LoopState(policy="fcfs"))
    ...     store.save(LoopState(policy="easy"))
    ...     _ = store.path.write_text("{")
    ...     StateFile(store.path).load().policy
    'fcfs'
    """

    def __init__(self, path: Path, *, tell: Callable[[str], None] = lambda line: None) -> None:
        self.path, self.tell = path, tell
        self.previous = path.with_name(f"{path.name}.previous")
        self.broken = path.with_name(f"{path.name}.broken")
        self.trouble = ""
        """Why the state is not on disk now; empty if it is."""
        self._last = b""
        self._memory: tuple[Memory | None, str] = (None, "")
        """The memory that was written last, and its text."""
        self._set_aside = False
        self._old = VERSION
        """The version of the file on disk."""

    def load(self) -> LoopState:
        """The saved state, else the one before, else an empty memory; changes no file."""
        for path, otherwise in (
            (self.path, f"continuing with the previous state, {self.previous.name}"),
            (self.previous, "continuing with an empty memory: promises and predictions are lost"),
        ):
            try:
                version, kept = _kept(_read(path))
                if path == self.path:
                    self._old = version
                return kept
            except FileNotFoundError:
                if path == self.path and not self.previous.exists():
                    return LoopState()  # the first run
                self.tell(f"there is no state file {path}: {otherwise}")
            except (OSError, InputError) as error:
                self._set_aside = self._set_aside or path == self.path
                why = error.strerror if isinstance(error, OSError) else error
                self.tell(f"the state file {path} cannot be read ({why}): {otherwise}")
        return LoopState()

    def save(self, kept: LoopState) -> None:
        """Replace the file atomically; a failure is reported, not raised."""
        values = {
            "version": VERSION,
            "writer": __version__,
            "policy": kept.policy,
            "intents": dict(kept.intents),
            "counters": dict(kept.counters),
            "aside": dict(kept.aside),
            "port": dict(kept.port),
        }
        if self._memory[0] is not kept.memory:  # the largest part, and often the same as before
            self._memory = (kept.memory, _compact(kept.memory.to_json()))
        raw = f'{_compact(values)[:-1]},"memory":{self._memory[1]}}}'.encode()
        if raw == self._last:
            return
        try:
            if self._set_aside:
                os.replace(self.path, self.broken)
                self._set_aside = False
            if self._old != VERSION:
                self._keep_old()
            private.replace_whole(self.path, raw, keep=self.previous)
        except OSError as error:
            why = error.strerror or str(error)
            if why != self.trouble:
                self.tell(
                    f"the state file {self.path} cannot be written ({why}): continuing without it; "
                    "a restart now would begin with an older memory"
                )
            self.trouble = why
            return
        if self.trouble:
            self.tell(f"the state file {self.path} is written again")
        self.trouble, self._last = "", raw

    def _keep_old(self) -> None:
        """Keep a file of an earlier version beside it, for a return to that release."""
        beside = self.path.with_name(f"{self.path.name}.v{self._old}")
        private.replace_whole(beside, _read(self.path))
        self.tell(
            f"the state file {self.path} had version {self._old} and has version {VERSION} now; "
            f"the old one is kept as {beside.name}"
        )
        self._old = VERSION

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let one loop at a time use the file; its folder must exist and be writable."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(private.locked(lock))
            except BlockingIOError:
                raise UsageError(
                    f"another loop uses {self.path}: stop it, or give --state another file"
                ) from None
            except OSError as error:
                raise UsageError(f"the lock {lock} cannot be created: {error.strerror}") from None
            yield


def _compact(values: Any) -> str:
    return json.dumps(values, separators=(",", ":"))


def _read(path: Path) -> bytes:
    handle = private.open_plain(path, os.O_RDONLY)
    with os.fdopen(handle, "rb") as file:
        raw = file.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise InputError(f"it has more than {LARGEST_FILE} bytes")
    return raw


def _from_1(values: dict[str, Any]) -> dict[str, Any]:
    """Version 1 did not name its writer; the first files had neither ``aside`` nor ``port``."""
    return {"writer": "", "aside": {}, "port": {}, **values}


def _from_2(values: dict[str, Any]) -> dict[str, Any]:
    """Version 2 lists promises job by job, which :class:`Memory` still reads."""
    return values


UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1, 2: _from_2}
"""From each earlier version to the next one."""


def _kept(raw: bytes) -> tuple[int, LoopState]:
    """The version of a file and the state in it; InputError if it is invalid."""
    values = plain.load(raw)
    version = old = plain.whole(plain.entry(values, "version"), "version")
    if version > VERSION:
        raise InputError(
            f"it has version {version}, which a later release of Shadowtime wrote: this one reads "
            f"versions up to {VERSION}"
        )
    while version != VERSION:
        if version not in UPGRADES:
            raise InputError(f"there is no version {version} of it")
        values, version = UPGRADES[version](values), version + 1
    intents = plain.mapping(plain.entry(values, "intents"), "intents")
    counters = plain.mapping(plain.entry(values, "counters"), "counters")
    aside = plain.mapping(plain.entry(values, "aside"), "aside")
    plain.text(plain.entry(values, "writer"), "writer")
    return old, LoopState(
        policy=plain.text(plain.entry(values, "policy"), "policy"),
        memory=Memory.from_json(plain.mapping(plain.entry(values, "memory"), "memory")),
        intents={plain.text(job, "a job"): _intent(stored, job) for job, stored in intents.items()},
        counters={plain.text(k, "a counter"): plain.whole(v, k) for k, v in counters.items()},
        aside={job: plain.text(why, f"the reason of job {job}") for job, why in aside.items()},
        port=plain.mapping(plain.entry(values, "port"), "port"),
    )


def _intent(stored: Any, job: str) -> dict[str, Any]:
    """A decision in progress, as the loop writes it; further entries are kept unchanged."""
    name = f"the intent of job {job}"
    values = plain.mapping(stored, name)
    if plain.entry(values, "kind") not in KINDS:
        raise InputError(f"{name} must be to {', to '.join(KINDS)}")
    plain.whole(plain.entry(values, "at"), name)
    plain.pairs(values.get("place", []), name)
    return values
