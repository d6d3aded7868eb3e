"""Distributes units of work to the workers of an executor, and repeats them if a worker dies."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from multiprocessing.connection import wait as wait_for_end
from typing import TYPE_CHECKING, TypeVar

from shadowtime.errors import ShadowtimeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Pool = Callable[[], contextlib.AbstractContextManager[Executor]]
    """Creates the executor of a round: a broken pool of processes cannot be reused."""

Item = TypeVar("Item")
Result = TypeVar("Result")

DIED = "the worker died in this run: killed, or out of memory"
DEATHS = 2
"""A single item whose worker died this often is abandoned."""
PATIENCE = 60.0
"""Seconds for workers to finish after Ctrl-C."""


def hand_out(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    pool: Pool,
    *,
    done: Callable[[Result], None],
    again: Callable[[list[tuple[Item, str]]], Sequence[Item]],
    stop: Callable[[], None] | None = None,
) -> None:
    """Send items to workers until all are done.

    Rules
    -----
    ``done`` receives each result. Items whose worker died are returned with the reason, and
    ``again`` returns what to send instead. An error of this package or of the operating system ends
    everything. On Ctrl-C ``stop`` tells the workers to return what they have, within a minute;
    without ``stop`` they are not awaited.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> found = []
    >>> hand_out([1, 2], str, lambda: ThreadPoolExecutor(1), done=found.append, again=lambda _: [])
    >>> found
    ['1', '2']
    """
    waiting: Sequence[Item] = list(items)
    while waiting:
        with pool() as executor:
            lost = _round(executor, waiting, work, done, stop)
        waiting = again(lost) if lost else []


def on_executor(executor: Executor | None, workers: int) -> Pool:
    """A given executor, used for every round; else new processes of this machine for each."""
    if executor is None:
        return lambda: process_pool(workers)
    given = executor
    return lambda: contextlib.nullcontext(given)


def _round(
    executor: Executor,
    items: Sequence[Item],
    work: Callable[[Item], Result],
    done: Callable[[Result], None],
    stop: Callable[[], None] | None,
) -> list[tuple[Item, str]]:
    """One attempt at all items; those that were lost are returned with the reason."""
    lost: list[tuple[Item, str]] = []
    futures: dict[Future[Result], Item] = {}
    try:
        try:
            for item in items:
                futures[executor.submit(work, item)] = item
        except BrokenExecutor:  # a worker died while others were still handed in
            lost += [(item, DIED) for item in items[len(futures) :]]
        left = set(futures)
        while left:
            ended, left = wait(left, return_when=FIRST_COMPLETED)
            for future in ended:
                wrong = future.exception()
                if wrong is None:
                    done(future.result())
                elif isinstance(wrong, ShadowtimeError | OSError):
                    raise wrong
                else:  # a broken pool, or whatever an executor calls a lost worker
                    broken = isinstance(wrong, BrokenExecutor) or not str(wrong)
                    why = DIED if broken else f"{type(wrong).__name__}: {wrong}"
                    lost.append((futures[future], why))
    except BaseException:  # Ctrl-C
        if stop is not None:
            stop()
        for future in futures:
            with contextlib.suppress(NotImplementedError):  # Parsl's cannot be cancelled
                future.cancel()
        if stop is not None:
            wait([future for future in futures if future.running()], timeout=PATIENCE)
        raise
    return lost


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool whose workers begin with the modules loaded, and end with their parent.

    They are forked from a server that has no threads of ours, so nothing is held locked in them.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["shadowtime.study.sweep.unit"])
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)


def _begin() -> None:
    """The parent handles Ctrl-C; if the parent is killed, its workers end too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_end([parent.sentinel])
        os._exit(1)
