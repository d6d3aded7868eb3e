"""A child process that takes tasks and answers them, and that ends with its parent.

The parent holds a :class:`Child`; the process reads :class:`Tasks`. The first task is in a file, so
that no parent waits for a process that is slow to start; further tasks and all answers go through a
pipe. What is printed in the process cannot disturb them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

PYTHON = (sys.executable or "python3", "-P", "-c")
"""How a command of Python code begins."""
PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when its parent ends."""


class ChildEnded(Exception):
    """The process ended without an answer; the text gives the reason."""


class Child:
    """The parent's side of a child process.

    ``command`` gets the number of the pipe as its last argument. Unless ``keep_errors``, errors go
    where those of the parent go.

    Examples
    --------
    >>> twice = "from shadowtime.child_process import Tasks; tasks = Tasks()"
    >>> child = Child((*PYTHON, f"{twice}\\nfor task in tasks: tasks.answer(2 * task)"), packed(21))
    >>> child.receive()
    42
    >>> child.send(packed(4))
    >>> child.answered(60), child.receive()
    (True, 8)
    >>> child.end()
    """

    def __init__(
        self,
        command: Sequence[str],
        task: bytes,
        *,
        env: Mapping[str, str] | None = None,
        keep_errors: bool = True,
    ) -> None:
        self._errors: IO[bytes] | None = None
        with contextlib.ExitStack() as opened:
            self.pipe, there = Pipe()
            opened.enter_context(self.pipe)
            if keep_errors:
                self._errors = opened.enter_context(tempfile.TemporaryFile())
            with there, tempfile.TemporaryFile() as first:
                first.write(pickle.dumps(os.getpid()) + task)
                first.seek(0)
                self.process = subprocess.Popen(
                    (*command, str(there.fileno())),
                    stdin=first,
                    stderr=self._errors,
                    pass_fds=(there.fileno(),),
                    env=os.environ | dict(env or {}),
                )
            opened.pop_all()  # it is started: they are closed at its end
        weakref.finalize(self, self.process.kill)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def send(self, task: bytes) -> None:
        """Hand over a further task; whether the process has ended shows when it is asked."""
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(task)

    def answered(self, seconds: float) -> bool:
        """Whether there is an answer, or the end of the process, within some seconds."""
        try:
            return self.pipe.poll(seconds)
        except OSError:
            return True

    def receive(self) -> Any:
        """The next answer; ChildEnded where there is none any more."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            code = self.process.wait()
            raise ChildEnded(self.last_line() or f"exit code {code}") from None

    def last_line(self) -> str:
        """The last line that it wrote about an error, where those are kept."""
        if self._errors is None:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def end(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        self.pipe.close()
        if self._errors is not None:
            self._errors.close()


def packed(task: Any) -> bytes:
    """A task as it is handed over."""
    return pickle.dumps(task)


class Tasks:
    """The tasks of a parent, in the process that was started for them.

    The process is ended by its parent alone: with the parent, when there are no more tasks, or by
    the parent's signal. An ``interruptible`` one also ends by Ctrl-C in the terminal, which the
    parent gets too.
    """

    def __init__(self, *, interruptible: bool = False) -> None:
        die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_DFL if interruptible else signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        number = int(sys.argv[-1])
        os.set_inheritable(number, False)
        # A copy: the pipe itself stays open until the process ends, which its end stands for.
        self._pipe: Connection = Connection(os.dup(number))

    def __iter__(self) -> Iterator[Any]:
        if os.getppid() != pickle.load(sys.stdin.buffer):
            sys.exit("the process that started this one has ended")
        task = pickle.load(sys.stdin.buffer)
        while True:
            yield task
            try:
                task = self._pipe.recv()
            except (EOFError, OSError):
                return

    def answer(self, content: Any) -> None:
        """Answer the task at hand."""
        self._pipe.send(content)


def die_with_parent() -> None:
    """Ask Linux to end this process with the one that started it, even while it spins."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
