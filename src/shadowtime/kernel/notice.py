"""A call before anything is compiled, without importing Numba to find out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


class Notice:
    """Listens to Numba's compile events from the moment Numba is there; calls back once."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback
        self.stop: Callable[[], None] | None = None

    def listen(self) -> None:
        """Begin, if not done yet."""
        if self.stop is not None:
            return
        from numba.core import event

        notice = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                if notice is not _open[-1]:
                    return
                callback, notice.callback = notice.callback, None
                if callback is not None:
                    callback()

            def on_end(self, event: Any) -> None:
                pass

        listener = Listener()
        event.register("numba:compile", listener)
        self.stop = lambda: event.unregister("numba:compile", listener)


_open: list[Notice] = []
"""Blocks that are being run: Numba may be imported inside any of them, in any thread."""


def numba_is_here() -> None:
    """Called after Numba was imported in order to compile."""
    for notice in _open:
        notice.listen()


@contextlib.contextmanager
def before_first_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call ``callback`` once if something has to be compiled inside the block.

    It is called before that and may raise, so that nothing is compiled. Of blocks inside each other
    the innermost is meant.
    """
    notice = Notice(callback)
    _open.append(notice)
    try:
        if "numba" in sys.modules:
            notice.listen()
        yield
    finally:
        _open.remove(notice)
        if notice.stop is not None:
            notice.stop()
