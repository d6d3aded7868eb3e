"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool whose workers begin with the modules loaded, and end with their parent.

    They are forked from a server that has no threads of ours, so nothing is held locked in them.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["shadowtime.study.sweep.unit"])
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)


def _begin() -> None:
    """Ctrl-C is the parent's affair; a parent that was killed takes its workers along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
