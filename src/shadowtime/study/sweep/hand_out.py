"""Distributes units of work to the workers of an executor, and repeats them if a worker dies.

The runs of a study (a what-if, a paper) are performed by workers into a folder from which the study
reads them, saved by key (``sweep.store``). A worker rebuilds the study from its description and
performs one of its runs; the result is in the folder. So an interrupted study resumes, and only a
number is sent.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from shadowtime.errors import ShadowtimeError, UsageError
from shadowtime.study.fan_out import cores
from shadowtime.study.sweep.workers import WorkerDied, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    Pool = contextlib.AbstractContextManager[Executor]
    from concurrent.futures import Executor


Item = TypeVar("Item")
Result = TypeVar("Result")

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


class Deaths:
    """How often the worker of a single item died, for certain.

    Examples
    --------
    >>> deaths = Deaths()
    >>> lost = [Lost(item=1, why="", certain=certain) for certain in (False, True, True)]
    >>> [deaths.abandon(1, one) for one in lost]
    [False, False, True]
    """

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()

    def abandon(self, name: Hashable, lost: Lost[Item]) -> bool:
        """Charge a death to an item; True if it has had its chances."""
        self._counts[name] += lost.certain
        return self._counts[name] >= DEATHS


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
    deaths = Deaths()
    done = 0

    def count(_: None) -> None:
        nonlocal done
        done += 1
        progress(Progress(done=done, failed=0, total=len(missing)))

    def again(lost: list[Lost[Part]]) -> list[Part]:
        for one in lost:
            if deaths.abandon(one.item[1], one):
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
