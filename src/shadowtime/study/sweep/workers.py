"""Processes of this machine as an executor in which a death concerns one task only."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from concurrent.futures import Executor, Future
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Result = TypeVar("Result")


class WorkerDied(Exception):
    """The process ended while it performed this task, and no other."""


class Workers(Executor):
    """A number of processes, each of which performs one task at a time.

    Rules
    -----
    A process that ends in a task is replaced, and only that task fails, with :class:`WorkerDied`;
    ``ProcessPoolExecutor`` gives up all tasks at once and does not tell which one it was. Processes
    are forked from a server that has the modules loaded and no threads of ours, so nothing is held
    locked in them. They end with their parent, and when a ``with`` block ends by an error.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     sorted(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, count: int) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["shadowtime.study.sweep.unit"])
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Any] | None] = queue.SimpleQueue()
        self._processes: dict[int, BaseProcess] = {}
        self._ended = False
        self._threads = [
            threading.Thread(target=self._attend, args=(place,), daemon=True)
            for place in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Hand in a task; what it is made of and its result are pickled."""
        future: Future[Result] = Future()
        self._tasks.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after the tasks handed in, or after those that have begun."""
        if cancel_futures:
            while not self._tasks.empty():
                task = self._tasks.get()
                if task is not None:
                    task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> None:
        if kind is not None:
            self._ended = True
            for process in self._processes.copy().values():
                process.kill()
        self.shutdown(cancel_futures=kind is not None)

    def _attend(self, place: int) -> None:
        """Pass tasks to one process after another; runs in a thread."""
        pipe: Connection | None = None
        while (task := self._tasks.get()) is not None:
            future, call = task
            if self._ended or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            pipe = pipe or self._start(place)
            try:
                pipe.send(call)
                wait([pipe, self._processes[place].sentinel])
                worked, answer = pipe.recv()
            except (EOFError, OSError):
                pipe.close()
                pipe = None
                future.set_exception(WorkerDied())
            except Exception as error:  # the task cannot be pickled
                future.set_exception(error)
            else:
                if worked:
                    future.set_result(answer)
                else:
                    future.set_exception(answer)
        if pipe is not None:
            pipe.close()  # the process ends: it has nothing to wait for
            self._processes[place].join()

    def _start(self, place: int) -> Connection:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._processes[place] = process
        return ours


def _serve(pipe: Connection) -> None:
    """Perform tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            function, args, kwargs = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, function(*args, **kwargs))
        except BaseException as error:
            answer = (False, error)
        try:
            pipe.send(answer)
        except Exception:  # an answer that cannot be pickled
            pipe.send((False, RuntimeError(repr(answer[1]))))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
