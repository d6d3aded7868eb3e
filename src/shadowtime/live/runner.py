"""Running a scheduler's commands: bounded in time, never through a shell."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from shadowtime.errors import PortError


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class NotInstalled(PortError):
    """This machine does not have the command."""


class TimedOut(PortError):
    """A command took too long; ``err`` is what it had printed on standard error until then."""

    def __init__(self, message: str, err: str = "") -> None:
        super().__init__(message)
        self.err = err


class Runner(Protocol):
    """Runs a command; tests hand in their own."""

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        """The command's result; PortError if it cannot be run or takes too long."""


class Commands:
    """Runs commands of this machine.

    Examples
    --------
    >>> Commands(timeout=5)(["cat"], text="hello").out
    'hello'
    >>> Commands(timeout=0.05)(["sleep", "9"])
    Traceback (most recent call last):
    ...
    shadowtime.live.runner.TimedOut: sleep did not answer within 0.05 seconds
    """

    concurrent = True
    """Whether several commands may run at the same time."""

    def __init__(self, *, timeout: float = 20.0, env: Mapping[str, str] | None = None) -> None:
        self.timeout = timeout
        self.env = dict(env) if env is not None else None

    def within(self, seconds: float) -> Commands:
        """The same with less time for each, if that is less."""
        return self.allowing(min(self.timeout, seconds))

    def allowing(self, seconds: float) -> Commands:
        """The same with this time for each."""
        return Commands(timeout=seconds, env=self.env)

    def knowing(self, **variables: str) -> Commands:
        """The same with further variables in the environment, which other users cannot see."""
        env = {**(os.environ if self.env is None else self.env), **variables}
        return Commands(timeout=self.timeout, env=env)

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        try:
            done = subprocess.run(
                list(argv),
                input=text.encode(errors="replace"),
                capture_output=True,
                timeout=self.timeout,
                env=self.env,
                check=False,
            )
        except FileNotFoundError:
            raise NotInstalled(f"the command {argv[0]} is not installed here") from None
        except PermissionError:
            raise PortError(f"the command {argv[0]} may not be run here") from None
        except subprocess.TimeoutExpired as error:
            err = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else ""
            why = f"{argv[0]} did not answer within {self.timeout:g} seconds"
            raise TimedOut(why, err) from None
        except (OSError, ValueError) as error:  # no memory, no program, a NUL in a job's name
            raise PortError(f"{argv[0]} could not be run: {error}") from None
        # Line breaks stay as they are: users write \r into jobs, which does not end a line.
        out, err = (raw.decode(errors="replace") for raw in (done.stdout, done.stderr))
        return Done(done.returncode, out, err)


def checked(run: Runner, argv: Sequence[str], *, text: str = "") -> str:
    """What a command prints; PortError with its first error message if it fails.

    Examples
    --------
    >>> checked(Commands(timeout=5), ["false"])
    Traceback (most recent call last):
    ...
    shadowtime.errors.PortError: false: no reason given
    """
    done = run(argv, text=text) if text else run(argv)
    if done.code != 0:
        lines = (done.err.strip() or done.out.strip() or "no reason given").splitlines()
        raise PortError(f"{argv[0]}: {lines[0][:200]}")
    return done.out


def side_by_side(run: Runner, *tasks: Callable[[], Any]) -> list[Any]:
    """The results of tasks that run commands, at the same time if the runner is ``concurrent``.

    Examples
    --------
    >>> run = Commands(timeout=5)
    >>> side_by_side(run, lambda: checked(run, ["echo", "a"]), lambda: checked(run, ["echo", "b"]))
    ['a\\n', 'b\\n']
    """
    first, *others = tasks
    if not getattr(run, "concurrent", False):
        return [task() for task in tasks]
    later = [_started(task) for task in others]
    return [first(), *(one.result() for one in later)]


def _started(task: Callable[[], Any]) -> Future[Any]:
    """A task in a thread that is abandoned if the loop is told to end meanwhile."""
    found: Future[Any] = Future()

    def work() -> None:
        try:
            found.set_result(task())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return found
