"""Runs of compiled passes while they go on: reports, and the tables of a run as a checkpoint.

A thread beside reads the registers of the run: compiled code leaves Python's lock to others, and
need not know that it is watched. When a checkpoint is due the thread sets the register PAUSE, and
the loop returns before its next instant, as it does where a table lacks room. Everything that a run
knows is then in its arrays. A run that continues makes the same tables of the same inputs, and the
arrays of the checkpoint are put in their places.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from shadowtime.engine.events import to_be_saved
from shadowtime.engine.values import Values
from shadowtime.engine.watch import SEEN_EVERY, Watch, Watched
from shadowtime.kernel.library import flatten
from shadowtime.kernel.registers import ARRIVED, NOW, PASSES, PAUSE, RUNNING, WAITING
from shadowtime.kernel.sources import source_digest
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.engine.watch import Pieces

Tables = TypeVar("Tables", bound="tuple[Any, ...]")
ENGINE = Path(__file__).with_name("simulate.py")


class Pauses:
    """The checkpoints of one run; without a watch there are none."""

    def __init__(self, run: Watched | None, reg: Ints) -> None:
        self.run, self.reg = run, reg

    def continued(self, tables: Tables) -> tuple[Tables, Any]:
        """The tables and what else was saved in a checkpoint, or the tables as they are."""
        raw = None if self.run is None else self.run.found()
        if raw is None:
            return tables, None
        found = put_back(tables, raw)
        self._again()
        return found

    def paused(self, tables: tuple[Any, ...], more: Any = None) -> bool:
        """True if the loop returned to be saved, which is done then; False if it lacks room."""
        if self.run is None or not to_be_saved(self.reg):
            return False
        self.run.look(*self.far, lambda: as_pieces(tables, more))
        self._again()
        return True

    def _again(self) -> None:
        """Where every checkpoint is wanted the next one is due at once."""
        assert self.run is not None
        always = self.run.watch.saved_every <= 0
        self.reg[PAUSE] = self.reg[PASSES] + 2 if always else 0

    @property
    def far(self) -> tuple[int, int]:
        """The simulated time, and how many jobs are over."""
        reg = self.reg
        return int(reg[NOW]), int(reg[ARRIVED] - reg[WAITING] - reg[RUNNING])

    def look(self, *, saves: bool) -> None:
        """Of the thread: report, and ask the loop to return where a checkpoint is due."""
        assert self.run is not None
        self.run.look(*self.far)
        if saves and self.run.due_to_save(self.run.watch.clock()):
            self.reg[PAUSE] = 1


@contextmanager
def reading(
    watch: Watch | None, workload: Workload, reg: Ints, *, saves: bool = False
) -> Iterator[Pauses]:
    """Report on a run from a thread; ``saves``: its caller writes checkpoints when it is asked."""
    saves = saves and watch is not None and watch.saves
    if watch is None or (watch.show is None and not saves):
        yield Pauses(None, reg)
        return
    code = source_digest(ENGINE) if saves else ""
    pauses = Pauses(watch.of(len(workload), epoch=workload.epoch, code=code), reg)
    if saves:
        reg[PAUSE] = watch.saved_every <= 0
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(SEEN_EVERY):
            pauses.look(saves=saves)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield pauses if saves else Pauses(None, reg)
    finally:
        ended.set()
        thread.join()


def as_pieces(tables: tuple[Any, ...], more: Any = None) -> Pieces:
    """The arrays of a run, and ``more``, as bytes; the arrays are not copied.

    Examples
    --------
    >>> raw = memoryview(b"".join(as_pieces((np.array([1, 2]), (np.array([[3.5]]), 4)), "more")))
    >>> put_back((np.array([0, 0]), (np.array([[0.5], [0.5]]), 4)), raw)
    ((array([1, 2]), (array([[3.5]]), 4)), 'more')
    """
    leaves: list[Any] = []
    flatten(tables, leaves)
    arrays = [one for one in leaves if isinstance(one, np.ndarray)]
    kinds = [(dtype_to_descr(one.dtype), one.shape) for one in arrays]
    head = pickle.dumps((kinds, more), protocol=5)
    held = [np.ascontiguousarray(one).reshape(-1).view(np.uint8).data for one in arrays]
    return [len(head).to_bytes(8, "big"), head, *held]


def put_back(tables: Tables, raw: memoryview) -> tuple[Tables, Any]:
    """Tables with the arrays of a checkpoint, and what else was saved.

    An array keeps its place in memory, of which others may know; one that had grown is replaced.
    """
    end = 8 + int.from_bytes(raw[:8], "big")
    kinds, more = Values(io.BytesIO(raw[8:end])).load()
    found = []
    for written, shape in kinds:
        kind = descr_to_dtype(written)
        first, end = end, end + kind.itemsize * int(np.prod(shape, dtype=np.int64))
        found.append(np.frombuffer(raw[first:end], kind).reshape(shape))
    made: Tables = _with(tables, iter(found))
    return made, more


def _with(value: Any, found: Iterator[AnyArray]) -> Any:
    if isinstance(value, tuple):
        made = [_with(one, found) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    if not isinstance(value, np.ndarray):
        return value
    saved = next(found)
    if saved.shape != value.shape:
        return saved.astype(value.dtype)  # a file forgets how the columns of a table are aligned
    if value.flags.writeable:
        np.copyto(value, saved)
    return value
