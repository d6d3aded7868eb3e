"""Ending a loop by a signal: within a second or two, whatever it is doing."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)
GRACE = 1.0
"""Seconds left for a loop that is carrying out decisions."""


class Interrupted(BaseException):
    """A signal asks the loop to end; not an Exception, so that no handler retries it."""


class Undisturbed:
    """What a loop reports about itself, without a listener: see :class:`Signals`."""

    def computing(self) -> contextlib.AbstractContextManager[None]:
        """A pass is being computed: nothing is lost if it is abandoned."""
        return contextlib.nullcontext()

    def acting(self) -> contextlib.AbstractContextManager[None]:
        """Decisions are being carried out: better finish them."""
        return contextlib.nullcontext()


class Signals(Undisturbed):
    """Turns SIGTERM and SIGINT into :class:`Interrupted`.

    Rules
    -----
    Compiled code runs no signal handler of Python's: while a pass computes, a signal has its
    default effect and ends the process at once. That loses nothing: what was decided before is in
    the state file. Waiting for an answer of the scheduler is abandoned at once. A loop that carries
    decisions out may finish, but has a second for it; a restarted loop knows what was begun.

    Examples
    --------
    >>> import os
    >>> with Signals() as signals:
    ...     try:
    ...         with signals.acting():
    ...             os.kill(os.getpid(), signal.SIGTERM)
    ...             print("to the end")
    ...     except Interrupted:
    ...         print("interrupted")
    to the end
    interrupted
    """

    def __init__(self) -> None:
        self._asked = self._busy = False

    def __enter__(self) -> Signals:
        self._before = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGALRM)}
        self._listen()
        return self

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        # Blocked while the handlers change: a signal is seen by the one or by the other.
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        try:
            yield
        finally:
            self._listen()

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        if self._asked:
            raise Interrupted

    def _listen(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._heard)
        signal.signal(signal.SIGALRM, self._out_of_time)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if not self._busy:
            raise Interrupted
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def _out_of_time(self, number: int, frame: FrameType | None) -> None:
        raise Interrupted
