"""Heartbeats: a file with the time of the loop's last poll, and systemd's watchdog.

A loop that hangs looks like a loop that has nothing to do. The heartbeat distinguishes the two: it
is a file beside the state file, is written at every poll whatever its outcome, and names what the
loop is waiting for.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime import plain, private
from shadowtime.errors import InputError
from shadowtime.types import MAX_SPAN

if TYPE_CHECKING:
    from shadowtime.engine.live_pass import Memory, Snapshot
    from shadowtime.live.clock import Clock


@dataclass(frozen=True, kw_only=True)
class Beat:
    """One heartbeat."""

    looked: float
    """When the loop last polled, in seconds since 1970."""
    waiting_for: str
    pid: int
    understood: float = 0.0
    """When a poll was last understood; 0 if none was yet, or where the loop is an earlier one."""


def heartbeat_of(state: Path) -> Path:
    """The heartbeat beside a state file.

    Examples
    --------
    >>> from pathlib import Path
    >>> str(heartbeat_of(Path("/var/lib/shadowtime/slurm-batch.json")))
    '/var/lib/shadowtime/slurm-batch.json.heartbeat'
    """
    return state.with_name(f"{state.name}.heartbeat")


@dataclass(kw_only=True)
class Heartbeat:
    """Writes heartbeats: call it after every poll with what the loop is waiting for.

    Rules
    -----
    ``path`` None: no file. ``notify`` sends a message to systemd: its watchdog hears of a poll that
    was understood only, so that it restarts a loop that polls and understands nothing. A beat that
    cannot be written is not reported: the next one follows, and the state file reports the disk.
    """

    path: Path | None
    clock: Clock
    notify: Callable[[str], None]
    last: float = 0.0
    """When a poll was last understood."""

    def __call__(self, waiting_for: str, *, understood: bool = True) -> None:
        now = self.clock.now()
        self.last = now if understood else self.last
        beat = Beat(looked=now, waiting_for=waiting_for, pid=os.getpid(), understood=self.last)
        alive = "WATCHDOG=1\n" if understood else ""
        self.notify(f"{alive}STATUS=waiting for {waiting_for}")
        if self.path is not None:
            with contextlib.suppress(OSError):
                raw = json.dumps(asdict(beat)).encode()
                private.replace_whole(self.path, raw, flush=False)


def awaited(state: Snapshot, memory: Memory) -> str:
    """What a loop that has just polled is waiting for, in words.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster, Host
    >>> from shadowtime.engine.live_pass import Memory, Snapshot, WaitingJob
    >>> one = Cluster(shape="nodes", hosts=(Host("n1", (4,)),))
    >>> awaited(Snapshot(now=9, cluster=one), Memory())
    'jobs'
    >>> wide = WaitingJob(id="7", submit=3, need=(4,), request=60)
    >>> state = Snapshot(now=9, cluster=one, waiting=(wide,))
    >>> awaited(state, Memory(head="7", shadow=69))
    'room for job 7 at the head of 1 waiting, expected in 60 s'
    """
    waits = {job.id for job in state.waiting}
    if state.closed:
        return f"a node that can be used, with {len(waits)} jobs waiting"
    if not waits:
        return "jobs"
    if memory.head not in waits:
        return f"room for {len(waits)} waiting jobs"
    expected = memory.shadow - state.now
    when = f", expected in {expected} s" if 0 < expected < MAX_SPAN else ""
    return f"room for job {memory.head} at the head of {len(waits)} waiting{when}"


def read_beat(path: Path) -> Beat | None:
    """The last heartbeat; None if there is none that can be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_beat(Path("/nowhere/heartbeat"))
    """
    try:
        handle = private.open_plain(path, os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            values = plain.load(file.read(1 << 16))
        return Beat(
            looked=plain.number(plain.entry(values, "looked"), "looked"),
            waiting_for=plain.text(plain.entry(values, "waiting_for"), "waiting_for"),
            pid=plain.whole(plain.entry(values, "pid"), "pid"),
            understood=plain.number(values.get("understood", 0.0), "understood"),
        )
    except (OSError, InputError):
        return None


def notifier(environment: Mapping[str, str] = os.environ) -> Callable[[str], None]:
    """How to notify systemd: over the socket in NOTIFY_SOCKET, or not at all without one.

    Rules
    -----
    ``READY=1`` once the loop runs, ``WATCHDOG=1`` at every poll that was understood (the unit's
    WatchdogSec restarts a loop that stops sending it), ``STATUS=`` for `systemctl status`,
    ``STOPPING=1`` at the end. A name that begins with @ is in Linux's abstract namespace. Never
    raises and never waits.

    Examples
    --------
    >>> notifier({})("READY=1")
    """
    where = environment.get("NOTIFY_SOCKET", "")
    if not where.startswith(("/", "@")):
        return lambda message: None
    address = f"\0{where[1:]}" if where.startswith("@") else where

    def tell(message: str) -> None:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one,
        ):
            one.setblocking(False)
            one.sendto(message.encode(), address)

    return tell
