"""Ends the processes of a test cluster if the process that started it is killed.

Run as a program with a setting (``SHADOWTIME_TEST_CLUSTER=`` and a random word): it waits until its
standard input ends, which the kernel sees to when the parent dies of whatever cause, and then kills
every process whose environment holds that setting, and what those have started. The word is given
to the cluster's daemons alone, so nothing else is ended. A signal at the parent's death
(PR_SET_PDEATHSIG) would not do: it is tied to the thread that started a daemon, and daemons start
others, some of them in sessions of their own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

MARK = "SHADOWTIME_TEST_CLUSTER"
PATIENCE = 20.0
"""Seconds for which killing goes on."""


def processes_with(setting: str) -> list[int]:
    """The processes that were started with a setting in their environment.

    Examples
    --------
    >>> processes_with("NOBODY_HAS=this")
    []
    """
    found = []
    wanted = setting.encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            # A process may end while it is read, or belong to another user.
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def started_by(parents: Iterable[int]) -> list[int]:
    """The children of processes, their children, and so on.

    Jobs run with the environment of their submitter, not with that of the daemons.

    Examples
    --------
    >>> started_by([])
    []
    """
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    todo = list(parents)
    while todo:
        new = children.pop(todo.pop(), [])
        found += new
        todo += new
    return found


def end_all(setting: str) -> None:
    """Kill them and what they have started; stopped first, so that they start nothing meanwhile."""
    until = time.monotonic() + PATIENCE
    while (left := processes_with(setting)) and time.monotonic() < until:
        for pid in left:
            _send(pid, signal.SIGSTOP)
        for pid in (*started_by(left), *left):
            _send(pid, signal.SIGKILL)
        time.sleep(0.02)


def _send(pid: int, sign: signal.Signals) -> None:
    with contextlib.suppress(OSError):  # it has ended
        os.kill(pid, sign)


def watch(setting: str) -> subprocess.Popen[bytes]:
    """Start the watchdog; it acts when its standard input is closed."""
    name, _, _ = setting.partition("=")
    return subprocess.Popen(
        [sys.executable, "-m", "shadowtime.testing.watchdog", setting],
        stdin=subprocess.PIPE,
        env={key: value for key, value in os.environ.items() if key != name},
        start_new_session=True,
    )


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_all(sys.argv[1])
