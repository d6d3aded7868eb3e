"""The state file: what the loop remembers between two runs of it, replaced whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from shadowtime.engine.once import Memory
from shadowtime.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What the loop knows besides what the scheduler tells it.

    ``intents`` are decisions on their way, by job: written before they are carried out, struck out
    when their effect is seen. The scheduler's own state is the truth; an intent only explains it.
    """

    policy: str = ""
    memory: Memory = field(default_factory=Memory)
    intents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)

    def replace(self, **changes: Any) -> Kept:
        """A variant."""
        return replace(self, **changes)


class Store(Protocol):
    """Where the loop keeps what it knows."""

    def load(self) -> Kept:
        """What was saved last, or an empty one."""

    def save(self, kept: Kept) -> None:
        """Keep this."""


class InMemory:
    """A store for tests and for shadow runs without a state file."""

    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()

    def load(self) -> Kept:
        return self.kept

    def save(self, kept: Kept) -> None:
        self.kept = kept


class StateFile:
    """A store in one JSON file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = StateFile(Path(folder) / "live.json")
    ...     store.save(Kept(policy="easy"))
    ...     store.load().policy
    'easy'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last = b""

    def load(self) -> Kept:
        """The saved state; an unreadable file is an error, never an empty memory."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return Kept()
        except OSError as error:
            raise UsageError(f"the state file {self.path} cannot be read: {error}") from None
        try:
            values = json.loads(raw)
            if values["version"] != VERSION:
                raise ValueError(f"version {values['version']}, not {VERSION}")
            return Kept(
                policy=str(values["policy"]),
                memory=Memory.from_json(values["memory"]),
                intents=dict(values["intents"]),
                counters={str(k): int(v) for k, v in values["counters"].items()},
            )
        except (ValueError, KeyError, TypeError, InputError) as error:
            raise InputError(
                f"this is no state file of a live loop ({error})",
                path=str(self.path),
                hint="Move it away to begin with an empty memory.",
            ) from None

    def save(self, kept: Kept) -> None:
        """Write beside, flush to disk, then rename: a crash leaves the old file or the new one."""
        values = {
            "version": VERSION,
            "policy": kept.policy,
            "memory": kept.memory.to_json(),
            "intents": dict(kept.intents),
            "counters": dict(kept.counters),
        }
        raw = json.dumps(values, separators=(",", ":")).encode()
        if raw == self._last:
            return
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise UsageError(f"the state file {self.path} cannot be written: {error}") from None
        self._last = raw

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let one loop at a time use the file."""
        import fcntl

        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with lock.open("w") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise UsageError(
                        f"another loop uses {self.path}: stop it, or give --state another file"
                    ) from None
                yield
        except OSError as error:
            raise UsageError(f"the lock {lock} cannot be made: {error}") from None
