"""Ctrl-C is answered within a second, also while compiled code runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from shadowtime.private import user_cache

GRACE = 0.7
"""Seconds in which Python has the chance to end by itself and tidy up."""
TIDY = ("live", "sweep", "pull", "hperf", "--on")
"""Commands that shut down by their own rules, which may take longer; submitted jobs of a cluster
(--on) must be cancelled."""
SHOW_CURSOR = "\x1b[?25h"


def answer_interrupts(arguments: Sequence[str]) -> None:
    """Watch for Ctrl-C: a process that has not ended after GRACE seconds is ended.

    Python runs its handler between two of its own instructions, so a long call of compiled code
    would have to end first. That code leaves the interpreter's lock to others: a thread can read
    what the signal writes into a pipe, and end the process. Files are complete or not there at
    all (private.py), so nothing is cut in half.
    """
    if any(one in TIDY for one in arguments) or not hasattr(signal, "set_wakeup_fd"):
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader, arguments), daemon=True).start()


def folder_of(words: Sequence[str]) -> Path | None:
    """Where what a command has done is kept if it is interrupted; None if there is no such place.

    The words are those that follow ``shadowtime``, as they were typed.
    """
    try:
        text = "\0".join((os.getcwd(), *words)).encode("utf-8", "surrogateescape")
    except OSError:  # the folder is gone
        return None
    digest = hashlib.sha256(text).hexdigest()[:32]
    return user_cache("interrupted", made=False) / digest if words else None


def interrupted(arguments: Sequence[str]) -> str:
    """What is printed after Ctrl-C.

    Examples
    --------
    >>> interrupted(["replay", "site"]), interrupted(["replay", "site", "--resume", "runs"])
    ('interrupted', 'interrupted: what is done is kept, the same command continues')
    """
    kept = any(one == "--resume" or one.startswith("--resume=") for one in arguments)
    if not kept:
        folder = folder_of(arguments)
        kept = folder is not None and folder.is_dir()
    return (
        "interrupted: what is done is kept, the same command continues" if kept else "interrupted"
    )


def forget(arguments: Sequence[str]) -> None:
    """A command has ended: what was kept of it is not needed any more."""
    folder = folder_of(arguments)
    if folder is not None and folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)


def _watch(reader: int, arguments: Sequence[str]) -> None:
    while True:
        if signal.SIGINT in os.read(reader, 64):
            break
    threading.Event().wait(GRACE)
    if sys.stderr.isatty():
        os.write(2, SHOW_CURSOR.encode())
    os.write(2, f"shadowtime: {interrupted(arguments)}\n".encode())
    os._exit(130)
