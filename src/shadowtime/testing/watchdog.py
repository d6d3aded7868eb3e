"""Ends what a test cluster left behind, should the process that started it be killed.

Run as a program with a setting (``SLURM_CONF=/tmp/x/etc/slurm.conf``): it waits until its standard
input ends, which the kernel sees to when the parent dies of whatever cause, and then kills every
process whose environment holds that setting. A signal at the parent's death (PR_SET_PDEATHSIG)
would not do: it is tied to the thread that started a daemon, and daemons start others.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

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
            # A process may end while it is looked at, or belong to somebody else.
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def end_all(setting: str) -> None:
    """Kill them, and those they start meanwhile."""
    until = time.monotonic() + PATIENCE
    while (left := processes_with(setting)) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


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
