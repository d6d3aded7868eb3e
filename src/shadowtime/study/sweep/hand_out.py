"""Distributes units of work to processes or any executor, and repeats them if a worker dies."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from functools import cache
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from shadowtime.errors import ShadowtimeError, UsageError
from shadowtime.study.fan_out import cores

if TYPE_CHECKING:
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
                connection.wait([pipe, self._processes[place].sentinel])
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
        connection.wait([parent.sentinel])
        os._exit(1)


Pool = contextlib.AbstractContextManager[Executor]
Item = TypeVar("Item")

DIED = "the worker died in this run: killed, or out of memory"
DEATHS = 2
"""A single item whose worker died this often is abandoned."""
PATIENCE = 60.0
"""Seconds for workers to finish after Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a sweep, for display."""

    done: int
    failed: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Lost(Generic[Item]):
    """An item that a worker did not finish."""

    item: Item
    why: str
    certain: bool
    """True if its own worker died, False if it may have been lost with another item."""


def abandon(deaths: Counter[Hashable], name: Hashable, lost: Lost[Item]) -> bool:
    """Charge the certain death of a worker to its item; True if that has had its chances.

    Examples
    --------
    >>> deaths = Counter()
    >>> lost = [Lost(item=1, why="", certain=certain) for certain in (False, True, True)]
    >>> [abandon(deaths, 1, one) for one in lost]
    [False, False, True]
    """
    deaths[name] += lost.certain
    return deaths[name] >= DEATHS


def hand_out(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    pool: Pool,
    *,
    done: Callable[[Result], None],
    again: Callable[[list[Lost[Item]]], Sequence[Item]],
    stop: Callable[[], None] | None = None,
) -> None:
    """Send items to workers until all are done.

    Rules
    -----
    ``done`` receives each result. Lost items are given to ``again``, which returns what to send
    instead. If it is not known whose worker died (a cluster loses a node with several workers),
    what is sent instead goes out one item at a time: the next death is certain. An error of this
    package or of the operating system ends everything. On Ctrl-C ``stop`` tells the workers to
    return what they have, within a minute; without ``stop`` they are not awaited.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> found = []
    >>> hand_out([1, 2], str, ThreadPoolExecutor(1), done=found.append, again=lambda _: [])
    >>> found
    ['1', '2']
    """
    rounds: list[Sequence[Item]] = [list(items)]
    with pool as executor:
        while rounds:
            lost = _round(executor, rounds.pop(), work, done, stop)
            certain = [one for one in lost if one.certain]
            if together := again(certain) if certain else ():
                rounds.append(together)
            if doubtful := [one for one in lost if not one.certain]:
                rounds += [[one] for one in again(doubtful)]


def on_executor(executor: Executor | None, workers: int) -> Pool:
    """A given executor, else processes of this machine."""
    return Workers(workers) if executor is None else contextlib.nullcontext(executor)


def _round(
    executor: Executor,
    items: Sequence[Item],
    work: Callable[[Item], Result],
    done: Callable[[Result], None],
    stop: Callable[[], None] | None,
) -> list[Lost[Item]]:
    """One attempt at all items; those that were lost are returned with the reason."""
    lost: list[Lost[Item]] = []
    futures: dict[Future[Result], Item] = {}
    try:
        for item in items:
            futures[executor.submit(work, item)] = item
        left = set(futures)
        while left:
            ended, left = wait(left, return_when=FIRST_COMPLETED)
            for future in ended:
                wrong = future.exception()
                if wrong is None:
                    done(future.result())
                elif isinstance(wrong, ShadowtimeError | OSError | BrokenExecutor):
                    raise wrong
                else:  # our own, or whatever another executor calls a lost worker
                    certain = isinstance(wrong, WorkerDied) or len(items) == 1
                    why = f"{type(wrong).__name__}: {wrong}" if str(wrong) else DIED
                    lost.append(Lost(item=futures[future], why=why, certain=certain))
    except BrokenExecutor:
        raise UsageError(
            "a worker of the executor died, after which it takes no more work and does not tell "
            "whose it was; what was finished is saved: run it again with workers= instead of "
            "executor=, which finds the run that ends its worker"
        ) from None
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


class Study(Protocol):
    """A study by its inputs: hashable, and small enough to be sent to every worker."""

    def __hash__(self) -> int: ...

    def parts(self) -> Sequence[Callable[[], object]]:
        """What to run; each keeps its result in the study's folder."""


Part = tuple[Study, int]
"""A study and the place of one of its parts."""


def run_parts(
    study: Study,
    missing: Sequence[int],
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Run the missing parts, by their places, on processes or on any executor.

    Rules
    -----
    ``executor`` is any ``concurrent.futures.Executor`` whose workers see the same files; else
    ``workers`` processes of this machine are used. A part whose worker dies is run again, and
    ends the study if its worker dies again.
    """
    deaths: Counter[Hashable] = Counter()
    done = 0

    def count(_: None) -> None:
        nonlocal done
        done += 1
        progress(Progress(done=done, failed=0, total=len(missing)))

    def again(lost: list[Lost[Part]]) -> list[Part]:
        for one in lost:
            if abandon(deaths, one.item[1], one):
                raise ShadowtimeError(f"run {one.item[1] + 1} of the study failed twice: {one.why}")
        return [one.item for one in lost]

    pool = on_executor(executor, max(1, min(workers or cores(), len(missing))))
    hand_out([(study, one) for one in missing], run_part, pool, done=count, again=again)


def run_part(part: Part) -> None:
    """Run one part of a study in this process."""
    study, number = part
    _parts(study)[number]()


@cache
def _parts(study: Study) -> Sequence[Callable[[], object]]:
    """Created once per worker, which reads the logs for it; a worker has one study."""
    return study.parts()
